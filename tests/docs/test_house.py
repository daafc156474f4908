import importlib.util
from types import ModuleType

import networkx as nx
import pytest

from tests.docs.pages import DOCS


@pytest.fixture(scope='module')
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location('house', DOCS / 'house.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(house: ModuleType) -> None:
    assert house.PAGE.read_text() == house.page(house.imports()), 'run python docs/house.py'


def test_picture_is_up_to_date(house: ModuleType) -> None:
    source = house.picture(house.imports())
    assert source in house.PICTURE.read_text(), 'run python docs/house.py'


def test_rooms_form_no_cycle(house: ModuleType) -> None:
    rooms = house.imports()
    assert nx.is_directed_acyclic_graph(rooms)
    assert nx.has_path(rooms, 'training', 'utils')


def test_a_step_that_is_gone_is_named(house: ModuleType) -> None:
    with pytest.raises(AttributeError, match='no_such_step'):
        house.purpose('training.no_such_step')
