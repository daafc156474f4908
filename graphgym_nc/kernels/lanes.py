"""A part of a row that stays in the processor's registers.

A sum over many rows is as fast as these can be read, if it never goes back to memory
itself. numba keeps no array in registers, whatever its size; here is what it lacks. A *tile*
stands for some columns: a tuple of as many zeros as there are groups of :data:`LANES`
columns. Its type alone counts, as what is compiled depends on it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

#: The columns that one group has: a register of AVX-512, and two or four of others.
LANES = 16

_MOST_GROUPS = 5  # of a tile; two such in registers leave some free, even with AVX2

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_ZERO = ir.Constant(_VECTOR, [ir.Constant(ir.FloatType(), 0.0)] * LANES)


class _Group(types.Type):
    def __init__(self) -> None:
        super().__init__('_Group')


@register_model(_Group)
class _GroupModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, _VECTOR)


_GROUP = _Group()


def _groups(tile: Any) -> Any:
    return types.UniTuple(_GROUP, len(tile))


def _pointer(context: Any, builder: Any, signature: Any, args: Any, k: int) -> Any:
    """Where group :obj:`k` of a row lies, of arguments that begin with rows, row and column."""
    rows = context.make_array(signature.args[0])(context, builder, args[0])
    first = cgutils.get_item_pointer(context, builder, signature.args[0], rows, args[1:3])
    return builder.gep(builder.bitcast(first, _VECTOR.as_pointer()), [ir.IntType(32)(k)])


def _of_groups(function: Callable[..., Any]) -> Any:
    """What a function of some groups does to tuples of them."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = zip(*(cgutils.unpack_tuple(builder, arg) for arg in args), strict=True)
        return context.make_tuple(
            builder, signature.return_type, [function(builder, *part) for part in parts]
        )

    return codegen


@intrinsic
def zeros(context: Any, tile: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_tuple(builder, signature.return_type, [_ZERO] * len(tile))

    return _groups(tile)(tile), codegen


@intrinsic
def load(context: Any, rows: Any, row: Any, column: Any, tile: Any) -> Any:
    """The columns of a row from one on, as many as a tile has."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [
            builder.load(_pointer(context, builder, signature, args, k), align=4)
            for k in range(len(tile))
        ]
        return context.make_tuple(builder, signature.return_type, parts)

    return _groups(tile)(rows, types.intp, types.intp, tile), codegen


@intrinsic
def store(context: Any, rows: Any, row: Any, column: Any, values: Any) -> Any:
    """Writes columns of a row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for k, part in enumerate(cgutils.unpack_tuple(builder, args[3])):
            builder.store(part, _pointer(context, builder, signature, args, k), align=4)
        return context.get_dummy_value()

    return types.void(rows, types.intp, types.intp, values), codegen


@intrinsic
def add(context: Any, x: Any, y: Any) -> Any:
    return x(x, x), _of_groups(lambda builder, x, y: builder.fadd(x, y))


@intrinsic
def add_times(context: Any, x: Any, factor: Any, y: Any) -> Any:
    """Adds a multiple of y to x."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = builder.insert_element(_ZERO, args[1], ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        factor = builder.shuffle_vector(one, _ZERO, mask)

        def of_group(builder: Any, x: Any, y: Any) -> Any:
            product = builder.fmul(y, factor, flags=('contract',))
            return builder.fadd(x, product, flags=('contract',))

        return _of_groups(of_group)(context, builder, signature, (args[0], args[2]))

    return x(x, types.float32, x), codegen


@intrinsic
def relu(context: Any, x: Any) -> Any:
    def of_group(builder: Any, x: Any) -> Any:
        return builder.select(builder.fcmp_ordered('<', x, _ZERO), _ZERO, x)  # NaN stays

    return x(x), _of_groups(of_group)


@intrinsic
def relu_backward(context: Any, grad: Any, x: Any) -> Any:
    """The gradient of x, given that of its ReLU."""

    def of_group(builder: Any, grad: Any, x: Any) -> Any:
        return builder.select(builder.fcmp_ordered('<=', x, _ZERO), _ZERO, grad)

    return grad(grad, grad), _of_groups(of_group)


@njit(inline='always')  # a function that is an argument would keep all from being kept on disk
def in_tiles(loop: Any, width: int, args: Any) -> None:
    """Calls a loop over rows, whose last two arguments are the first column and the tile, for
    one tile after the other.
    """
    groups = width // LANES
    tiles = (groups + _MOST_GROUPS - 1) // _MOST_GROUPS
    for i in range(tiles):
        begin, end = groups * i // tiles, groups * (i + 1) // tiles
        column = begin * LANES
        if end - begin == 1:
            loop(*args, column, (0,))
        elif end - begin == 2:
            loop(*args, column, (0, 0))
        elif end - begin == 3:
            loop(*args, column, (0, 0, 0))
        elif end - begin == 4:
            loop(*args, column, (0, 0, 0, 0))
        else:
            loop(*args, column, (0, 0, 0, 0, 0))
