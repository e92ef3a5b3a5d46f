"""Sums of products of bytes and rounded weights, by the instructions that the processor has for them.

A product of a few rows waits for its weights to come from memory. These kernels read them in the order in which they
stand, 64 bytes at a time, and start at once. AMX multiplies tiles of 16 rows and 16 columns, VNNI a row and 16 columns;
where there is neither, ordinary vectors do the same more slowly. All give the same exact integers from the same layout.

Letters: M rows of width K, times weights for N outputs; both in steps of integers. M, K and N are rounded up for whole
tiles: to 16, 64 and 64. What stands in padding of rows is multiplied by weights of zero, or its result is not used.
"""

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_TILE: Final = 16
"""Rows of a tile, and columns; a column has four bytes of a row's."""

STEP: Final = 64
"""What K and N are rounded up to."""

# Neither has types.
_built: Final[Callable[[Any], Any]] = intrinsic
_compiled: Final[Callable[[Any], Any]] = njit(cache=True, nogil=True, error_model="numpy")

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_SUMS, _BYTES = ir.VectorType(_I32, _TILE), ir.VectorType(_I8, 4 * _TILE)


def _features() -> frozenset[str]:
    """Return the instructions that numba compiles for; they are part of the key of what it keeps on disk."""
    wanted = [os.environ.get(f"NUMBA_CPU_{what}") for what in ("NAME", "FEATURES")]
    if any(wanted):  # others than the processor has
        return frozenset(part[1:] for part in (wanted[1] or "").split(",") if part.startswith("+"))
    return frozenset(name for name, there in llvmlite.binding.get_host_cpu_features().items() if there)


_VNNI: Final = {"avx512vnni", "avx512f"} <= _features()
_AMX: Final = {"amx-int8", "amx-tile"} <= _features() and sys.platform == "linux"


def tiles() -> NDArray[np.uint8]:
    """Return how AMX shall divide its registers, UInt8[64]: eight tiles of 16 rows of 64 bytes; empty without AMX."""
    if not (_AMX and _may_use_tiles()):
        return np.empty(0, np.uint8)
    settings = np.zeros(64, np.uint8)
    settings[0] = 1  # the palette
    settings[16:32:2] = 64  # bytes of a row, of two bytes each
    settings[48:56] = _TILE  # rows
    return settings


def _may_use_tiles() -> bool:
    """Ask Linux for the use of tiles, which a process has to; whether they can be had."""
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return platform.machine() == "x86_64" and ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0


def packed(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return Int8[N/16,K/4,16,4] of weights Int8[N,K], filled up with zeros and aligned to 64 bytes."""
    outputs, inputs = (-(-size // STEP) * STEP for size in weight.shape)
    room = np.zeros(outputs * inputs + STEP, np.int8)
    start = -room.ctypes.data % STEP
    whole = room[start : start + outputs * inputs].reshape(outputs // _TILE, inputs // 4, _TILE, 4)
    filled = np.zeros((outputs, inputs), np.int8)
    filled[: weight.shape[0], : weight.shape[1]] = weight
    whole[...] = filled.reshape(outputs // _TILE, _TILE, inputs // 4, 4).transpose(0, 2, 1, 3)
    return whole


def _number(value: int) -> Any:
    return ir.Constant(_I64, value)


def _pointers(builder: Any, *addresses: Any) -> list[Any]:
    return [builder.inttoptr(address, _I8.as_pointer()) for address in addresses]


def _declared(builder: Any, name: str, signature: Any) -> Any:
    return builder.module.globals.get(name) or ir.Function(builder.module, signature, name)


def _at(builder: Any, pointer: Any, *offsets: Any) -> Any:
    for offset in offsets:
        pointer = builder.gep(pointer, [offset])
    return pointer


def _times(builder: Any, number: Any, factor: int) -> Any:
    return builder.mul(number, _number(factor))


def _loop(
    builder: Any, steps: Any, body: Callable[[Any, list[Any]], list[Any]], starts: Sequence[Any] = ()
) -> list[Any]:
    """Build a loop of `steps`, one or more; `body` has the number of a step and what the one before it gave."""
    before, inside, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(inside)
    builder.position_at_end(inside)
    number = builder.phi(_I64)
    number.add_incoming(_number(0), before)
    held = [builder.phi(start.type) for start in starts]
    for phi, start in zip(held, starts):
        phi.add_incoming(start, before)
    given = body(number, held)
    following = builder.add(number, _number(1))
    number.add_incoming(following, inside)
    for phi, value in zip(held, given):
        phi.add_incoming(value, inside)
    builder.cbranch(builder.icmp_signed("<", following, steps), inside, after)
    builder.position_at_end(after)
    return given


def _dot_by_vnni(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    name, signature = "llvm.x86.avx512.vpdpbusd.512", ir.FunctionType(_SUMS, [_SUMS] * 3)
    factor = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), four, ir.Constant(_I32, 0))
    factor = builder.shuffle_vector(factor, factor, ir.Constant(_SUMS, None))
    return builder.call(_declared(builder, name, signature), [sums, factor, builder.bitcast(weights, _SUMS)])


def _dot_by_vectors(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """Any processor's: a byte times a weight has 16 bits, their sums have 32."""

    def pick(vector: Any, places: Sequence[int]) -> Any:
        return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_I32, len(places)), list(places)))

    def pairs(vector: Any) -> Any:
        count = vector.type.count
        wide = builder.sext(vector, ir.VectorType(_I32, count)) if vector.type.element != _I32 else vector
        return builder.add(pick(wide, range(0, count, 2)), pick(wide, range(1, count, 2)))

    short = ir.VectorType(ir.IntType(16), _BYTES.count)
    factor = pick(builder.bitcast(four, ir.VectorType(_I8, 4)), [i % 4 for i in range(_BYTES.count)])
    product = builder.mul(builder.zext(factor, short), builder.sext(weights, short))
    return builder.add(sums, pairs(pairs(product)))


def _row_panel(dot: Callable[[Any, Any, Any, Any], Any], columns: int) -> Any:
    """Return what multiplies some rows by weights for `columns` times 16 outputs."""

    @_built
    def panel(
        _: Any, rows: Any, x: Any, x_row: Any, w: Any, w_column: Any, steps: Any, sums: Any, sums_row: Any
    ) -> Any:
        """Write the sums of `rows` rows, in steps of four bytes; an address is followed by the way to the next row."""
        if not isinstance(rows, types.IntegerLiteral):
            return None  # numba asks again, with its value
        count = rows.literal_value

        def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            x_row, w_column, steps, sums_row = (arguments[i] for i in (2, 4, 5, 7))
            x, w, sums = _pointers(builder, arguments[1], arguments[3], arguments[6])

            def step(k: Any, held: list[Any]) -> list[Any]:
                weights, given = [], []
                for column in range(columns):
                    place = _at(builder, w, _times(builder, w_column, column), _times(builder, k, 4 * _TILE))
                    weights.append(builder.load(builder.bitcast(place, _BYTES.as_pointer()), align=4 * _TILE))
                for row in range(count):
                    place = _at(builder, x, _times(builder, x_row, row), _times(builder, k, 4))
                    four = builder.load(builder.bitcast(place, _I32.as_pointer()), align=4)
                    given += [dot(builder, held[row * columns + c], four, weights[c]) for c in range(columns)]
                return given

            found = _loop(builder, steps, step, [ir.Constant(_SUMS, None)] * (count * columns))
            for i, total in enumerate(found):
                row, column = divmod(i, columns)
                place = _at(builder, sums, _times(builder, sums_row, row), _number(4 * _TILE * column))
                builder.store(total, builder.bitcast(place, _SUMS.as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(rows, x, x_row, w, w_column, steps, sums, sums_row), build

    return panel


def _call(builder: Any, name: str, *arguments: Any) -> None:
    """Build an instruction that gives nothing."""
    signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(_declared(builder, f"llvm.x86.{name}", signature), arguments)


@_built
def _divide_registers(_: Any, settings: Any) -> Any:
    """Make tiles of registers, as is written at the address."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        _call(builder, "ldtilecfg", *_pointers(builder, *arguments))
        return context.get_dummy_value()

    return types.void(settings), build


@_built
def _release_registers(_: Any) -> Any:
    """Give the tiles back, for others and for the sake of switches between processes."""

    def build(context: Any, builder: Any, _: Any, __: Any) -> Any:
        _call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), build


@_built
def _tile_panel(
    _: Any, high: Any, x: Any, x_row: Any, w: Any, w_column: Any, steps: Any, sums: Any, sums_row: Any
) -> Any:
    """Write the sums of `high` times 16 rows for twice 16 outputs, in steps of 64 bytes; see `_row_panel`."""
    if not isinstance(high, types.IntegerLiteral):
        return None
    rows, columns = range(high.literal_value), range(_TILE_COLUMNS)

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x_row, w_column, steps, sums_row = (arguments[i] for i in (2, 4, 5, 7))
        x, w, sums = _pointers(builder, arguments[1], arguments[3], arguments[6])
        numbers = iter(range(8))
        totals = {(r, c): ir.Constant(_I8, next(numbers)) for r in rows for c in columns}
        factors, weights = ([ir.Constant(_I8, next(numbers)) for _ in of] for of in (rows, columns))
        for total in totals.values():
            _call(builder, "tilezero", total)

        def step(k: Any, _: Any) -> list[Any]:
            for r in rows:
                place = _at(builder, x, _times(builder, x_row, _TILE * r), _times(builder, k, STEP))
                _call(builder, "tileloadd64", factors[r], place, x_row)
            for c in columns:
                place = _at(builder, w, _times(builder, w_column, c), _times(builder, k, STEP * _TILE))
                _call(builder, "tileloadd64", weights[c], place, _number(4 * _TILE))
                for r in rows:
                    _call(builder, "tdpbusd", totals[r, c], factors[r], weights[c])
            return []

        _loop(builder, steps, step)
        for (r, c), total in totals.items():
            place = _at(builder, sums, _times(builder, sums_row, _TILE * r), _number(4 * _TILE * c))
            _call(builder, "tilestored64", total, place, sums_row)
        return context.get_dummy_value()

    return types.void(high, x, x_row, w, w_column, steps, sums, sums_row), build


_TILE_COLUMNS: Final = 2
"""With two by two tiles of sums, each tile of rows and of weights that is loaded is used twice."""

_COLUMNS: Final = 4 if _VNNI else 1
_panel: Final = _row_panel(_dot_by_vnni if _VNNI else _dot_by_vectors, _COLUMNS)


@_compiled
def _multiply_rows(x: Any, rows: Any, weights: Any, sums: Any) -> None:
    """Six rows at a time, or four where registers are fewer: what is held of them stays in registers."""
    x_row, w_column, steps, sums_row = x.shape[1], 64 * weights.shape[1], weights.shape[1], 4 * sums.shape[1]
    for column in range(0, len(weights), _COLUMNS):
        at, to, i = weights.ctypes.data + column * w_column, sums.ctypes.data + 64 * column, 0
        while _VNNI and i + 6 <= rows:
            _panel(6, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 6
        while i + 4 <= rows:
            _panel(4, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 4
        while i + 2 <= rows:
            _panel(2, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 2
        if i < rows:
            _panel(1, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)


@_compiled
def _multiply_tiles(x: Any, rows: Any, weights: Any, sums: Any, tiles: Any) -> None:
    x_row, w_column, steps, sums_row = x.shape[1], 64 * weights.shape[1], weights.shape[1] // 16, 4 * sums.shape[1]
    _divide_registers(tiles.ctypes.data)
    for column in range(0, len(weights), _TILE_COLUMNS):
        at, to, i = weights.ctypes.data + column * w_column, sums.ctypes.data + 64 * column, 0
        while i + 16 < rows:
            _tile_panel(2, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 32
        if i < rows:
            _tile_panel(1, x.ctypes.data + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
    _release_registers()


@_compiled
def _multiply(x: Any, rows: Any, weights: Any, sums: Any, tiles: Any) -> None:
    if tiles.size:
        _multiply_tiles(x, rows, weights, sums, tiles)
    else:
        _multiply_rows(x, rows, weights, sums)


@_compiled
def _multiply_without_tiles(x: Any, rows: Any, weights: Any, sums: Any, _: Any) -> None:
    _multiply_rows(x, rows, weights, sums)


multiply: Final = _multiply if _AMX else _multiply_without_tiles
"""Write the first `rows` rows of sums.

Args:
    x: UInt8[M,K], M and K rounded up, aligned to 64 bytes.
    rows: how many of them are wanted.
    weights: Int8[N/16,K/4,16,4], of `packed`; a stretch of its first dimension will do, of a multiple of four.
    sums: Int32[M,N], M and N rounded up.
    tiles: of `tiles()`.
"""
