import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

segments = pytest.importorskip('graphgym_nc.kernels.triton.segments', reason='needs triton')


def matrix_of(lengths, num_cols, dtype=torch.int32):
    """A matrix of counts with rows of these lengths, in CSR form."""
    rowptr = torch.tensor([0, *lengths]).cumsum(0)
    generator = torch.Generator().manual_seed(0)
    col = torch.randint(num_cols, (int(rowptr[-1]),), generator=generator)
    return rowptr.to(dtype), col.to(dtype)


def exact_sums(src, rowptr, col):
    row = torch.arange(rowptr.numel() - 1).repeat_interleave(rowptr.diff())
    out = torch.zeros(rowptr.numel() - 1, src.size(1), dtype=torch.double)
    return out.index_add_(0, row, src.double()[col.long()])


def assert_sums_are_exact(lengths, width, dtype=torch.int32):
    src = torch.randn(20, width)
    rowptr, col = matrix_of(lengths, 20, dtype)
    found = segments.sum_rows(src, rowptr, col)
    torch.testing.assert_close(found.double(), exact_sums(src, rowptr, col), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('dtype', [torch.int32, torch.int64])
@pytest.mark.parametrize('width', [1, 70, 130])
def test_ragged_rows(width, dtype):
    assert_sums_are_exact([0, 3, 1, 0, 0, 17, 2, 40, 0], width, dtype)


# Rows that begin or end just at, before or behind the border of a window of eight.
@pytest.mark.parametrize(
    'lengths',
    [[8, 8, 9], [9, 8], [1, 9, 6, 9], [7, 9, 0, 33, 0], [40], [0, 0, 16, 0], [3, 10, 10, 1]],
)
def test_long_rows_are_split(lengths, monkeypatch):
    monkeypatch.setattr(segments, 'WINDOW', 8)
    assert_sums_are_exact(lengths, 3)


@settings(max_examples=10)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=6))
def test_rows_of_any_length(lengths):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, 'WINDOW', 8)
        assert_sums_are_exact(lengths, 2)


def test_a_row_of_a_hundred_thousand_entries(monkeypatch):
    monkeypatch.setattr(segments, '_ENTRIES', segments.WINDOW)  # an interpreter loops slowly
    assert_sums_are_exact([2, 100_000, 0, 600, 1], 3)


def test_sums_of_bfloat16_are_taken_in_float32():
    rowptr, col = matrix_of([300], 20)
    src = torch.ones(20, 2, dtype=torch.bfloat16)  # which cannot count beyond 256
    assert segments.sum_rows(src, rowptr, col).tolist() == [[300, 300]]
    assert segments.sum_rows(src, rowptr, col, dtype=torch.float32).tolist() == [[300, 300]]


@pytest.mark.parametrize('window', [4, 512])
def test_sums_of_normalised_rows_of_edges(window, monkeypatch):
    monkeypatch.setattr(segments, 'WINDOW', window)
    torch.manual_seed(0)
    x, ends, norm = torch.randn(6, 5), torch.randint(6, (10, 2)), torch.randn(segments.OF_NORM, 5)
    rowptr, col = matrix_of([0, 3, 9, 1], 10)
    scale, shift = norm[segments.SCALE.value], norm[segments.SHIFT.value]
    rows = (x[ends].sum(1) * scale + shift).relu()
    found = segments.sum_rows(x, rowptr, col, ends.flatten().int(), norm, relu=True)
    torch.testing.assert_close(found.double(), exact_sums(rows, rowptr, col))


def test_what_is_no_number_stays_none():
    norm = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    rowptr, col = matrix_of([2, 1], 1)
    found = segments.sum_rows(torch.tensor([[torch.nan]]), rowptr, col, None, norm, relu=True)
    assert found.isnan().all()


def test_no_rows():
    rowptr, col = matrix_of([], 1)
    assert segments.sum_rows(torch.ones(1, 3), rowptr, col).shape == (0, 3)
