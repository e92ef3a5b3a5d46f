"""Sums of products of bytes and rounded weights, by the instructions that the processor has for them.

A product of a few rows waits for its weights to come from memory. These kernels read them in the order in which they
stand, 64 bytes at a time, and start at once. AMX multiplies tiles of 16 rows and 16 columns, VNNI a row and 16 columns;
where there is neither, AVX2 or ordinary vectors do the same more slowly. All give the same exact integers from the same
layout.

Letters: M rows of width K, times weights for N outputs; both in steps of integers. M, K and N are rounded up for whole
tiles: to 16, 64 and 64. What stands in padding of rows is multiplied by weights of zero, or its result is not used.
"""

import ctypes
import math
import platform
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from postedit.nn.int8 import simd as v
from postedit.nn.int8.simd import address

STEP: Final = 64
"""What K and N are rounded up to."""


def _may_use_tiles() -> bool:
    """Ask Linux for the use of tiles, as each process has to; whether they can be had."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0)


_VNNI: Final = {"avx512vnni", "avx512f"} <= v.features()
_AVX2: Final = "avx2" in v.features()
_AMX: Final = {"amx-int8", "amx-tile"} <= v.features()
_TILES_ALLOWED: Final = _AMX and _may_use_tiles()


def tiles() -> NDArray[np.uint8]:
    """Return how AMX shall divide its registers, UInt8[64]: eight tiles of 16 rows of 64 bytes; empty without AMX."""
    if not _TILES_ALLOWED:
        return np.empty(0, np.uint8)
    settings = np.zeros(64, np.uint8)
    settings[0] = 1  # the palette
    settings[16:32:2] = 64  # bytes of a row, of two bytes each
    settings[48:56] = v.TILE  # rows
    return settings


def aligned(shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return zeros that begin at a multiple of 64 bytes."""
    size = math.prod(shape)
    room = np.zeros(size + STEP, np.int8)
    start = -room.ctypes.data % STEP
    return room[start : start + size].reshape(shape)


def packed(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return Int8[N/16,K/4,16,4] of weights Int8[N,K], filled up with zeros and aligned to 64 bytes."""
    outputs, inputs = (-(-size // STEP) * STEP for size in weight.shape)
    whole = aligned((outputs // v.TILE, inputs // 4, v.TILE, 4))
    filled = np.zeros((outputs, inputs), np.int8)
    filled[: weight.shape[0], : weight.shape[1]] = weight
    whole[...] = filled.reshape(outputs // v.TILE, v.TILE, inputs // 4, 4).transpose(0, 2, 1, 3)
    return whole


def _dot_by_vnni(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    dot = v.declared(builder, "llvm.x86.avx512.vpdpbusd.512", ir.FunctionType(v.INTS, [v.INTS] * 3))
    return builder.call(dot, [sums, v.repeated(builder, four, v.INTS), builder.bitcast(weights, v.INTS)])


def _dot_by_vectors(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """Any processor's: a byte times a weight has 16 bits, their sums have 32."""
    short, whole = ir.VectorType(ir.IntType(16), v.BYTES.count), ir.VectorType(v.I32, v.BYTES.count)
    factor = builder.zext(v.repeated(builder, four, v.BYTES), short)
    products = builder.sext(builder.mul(factor, builder.sext(weights, short)), whole)
    return builder.add(sums, _sums_of_pairs(builder, _sums_of_pairs(builder, products)))


def _dot_by_pairs(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """AVX2's: an instruction multiplies numbers of 16 bits and adds the products of each two; two sums an output."""
    words, quarter = ir.VectorType(ir.IntType(16), v.TILE), ir.VectorType(v.I32, v.TILE // 2)
    multiply_add = v.declared(builder, "llvm.x86.avx2.pmadd.wd", ir.FunctionType(quarter, [words] * 2))
    factor = v.chosen(builder, v.repeated(builder, four, v.BYTES), range(v.TILE))
    factor, found = builder.zext(factor, words), []
    for start in range(0, v.BYTES.count, v.TILE):
        some = builder.sext(v.chosen(builder, weights, range(start, start + v.TILE)), words)
        found.append(builder.call(multiply_add, [factor, some]))
    while len(found) > 1:
        found = [_joined(builder, *found[i : i + 2]) for i in range(0, len(found), 2)]
    return builder.add(sums, found[0])


def _sums_of_pairs(builder: Any, sums: Any) -> Any:
    even, odd = (v.chosen(builder, sums, range(first, sums.type.count, 2)) for first in (0, 1))
    return builder.add(even, odd)


def _joined(builder: Any, first: Any, second: Any) -> Any:
    return v.chosen(builder, first, range(2 * first.type.count), second)


def _dot_of_floats(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    return v.fused(builder, v.repeated(builder, four, v.FLOATS), builder.bitcast(weights, v.FLOATS), sums)


def _row_panel(
    dot: Callable[[Any, Any, Any, Any], Any],
    total: Any = v.INTS,
    finish: Callable[[Any, Any], Any] = lambda _, sums: sums,
) -> Callable[..., None]:
    """Return what multiplies some rows by weights for some times 16 outputs.

    `dot` adds to vectors of type `total`, of which `finish` makes vectors of 16 in the end.
    """

    @v.built
    def panel(
        _: Any, rows: Any, columns: Any, x: Any, x_row: Any, x_step: Any, w: Any, w_column: Any, w_step: Any,
        steps: Any, sums: Any, sums_row: Any,
    ) -> Any:  # fmt: skip
        """Write the sums of `rows` rows for `columns` times 16 outputs.

        A step takes four bytes of a row and 64 bytes of weights. Addresses are followed by the ways to the next row or
        column, and to the next step, in bytes.
        """
        if not (isinstance(rows, types.IntegerLiteral) and isinstance(columns, types.IntegerLiteral)):
            return None  # numba asks again, with their values
        shape = [(row, column) for row in range(rows.literal_value) for column in range(columns.literal_value)]

        def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            x_row, x_step, w_column, w_step, steps, sums_row = (arguments[i] for i in (3, 4, 6, 7, 8, 10))
            x, w, sums = v.pointers(builder, arguments[2], arguments[5], arguments[9])

            def step(k: Any, held: list[Any]) -> list[Any]:
                weights = [
                    v.load(builder, v.BYTES, w, v.times(builder, w_column, column), builder.mul(w_step, k))
                    for column in range(columns.literal_value)
                ]
                fours = [
                    v.load(builder, v.I32, x, v.times(builder, x_row, row), builder.mul(x_step, k))
                    for row in range(rows.literal_value)
                ]
                return [dot(builder, total, fours[r], weights[c]) for total, (r, c) in zip(held, shape)]

            found = v.loop(builder, steps, step, [ir.Constant(total, None)] * len(shape))
            for value, (row, column) in zip(found, shape):
                place = v.at(builder, sums, v.times(builder, sums_row, row), v.number(4 * v.TILE * column))
                value = finish(builder, value)
                builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=4)
            return context.get_dummy_value()

        numbers = (x, x_row, x_step, w, w_column, w_step, steps, sums, sums_row)
        return types.void(rows, columns, *numbers), build

    made: Callable[..., None] = panel
    return made


def _call(builder: Any, name: str, *arguments: Any) -> None:
    """Build an instruction that gives nothing."""
    signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(v.declared(builder, f"llvm.x86.{name}", signature), arguments)


@v.built
def _divide_registers(_: Any, settings: Any) -> Any:
    """Make tiles of registers, as is written at the address."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        _call(builder, "ldtilecfg", *v.pointers(builder, *arguments))
        return context.get_dummy_value()

    return types.void(settings), build


@v.built
def _release_registers(_: Any) -> Any:
    """Give the tiles back, for others and for the sake of switches between processes."""

    def build(context: Any, builder: Any, _: Any, __: Any) -> Any:
        _call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), build


@v.built
def _tile_panel(
    _: Any, high: Any, x: Any, x_row: Any, w: Any, w_column: Any, steps: Any, sums: Any, sums_row: Any
) -> Any:
    """Write the sums of `high` times 16 rows for twice 16 outputs, in steps of 64 bytes; see `_row_panel`."""
    if not isinstance(high, types.IntegerLiteral):
        return None
    rows, columns = range(high.literal_value), range(_TILE_COLUMNS)

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x_row, w_column, steps, sums_row = (arguments[i] for i in (2, 4, 5, 7))
        x, w, sums = v.pointers(builder, arguments[1], arguments[3], arguments[6])
        numbers = iter(range(8))
        totals = {(r, c): ir.Constant(v.I8, next(numbers)) for r in rows for c in columns}
        factors, weights = ([ir.Constant(v.I8, next(numbers)) for _ in of] for of in (rows, columns))
        for total in totals.values():
            _call(builder, "tilezero", total)

        def step(k: Any, _: Any) -> list[Any]:
            for r in rows:
                place = v.at(builder, x, v.times(builder, x_row, v.TILE * r), v.times(builder, k, STEP))
                _call(builder, "tileloadd64", factors[r], place, x_row)
            for c in columns:
                place = v.at(builder, w, v.times(builder, w_column, c), v.times(builder, k, STEP * v.TILE))
                # The processor foresees reading within 4 kB alone. To ask for what is behind the last weights does no
                # harm, nor does asking again in the next block of rows.
                next_turn = v.at(builder, place, v.times(builder, w_column, _TILE_COLUMNS))
                for line in range(v.TILE):
                    v.prefetch(builder, v.at(builder, next_turn, v.number(STEP * line)))
                _call(builder, "tileloadd64", weights[c], place, v.number(4 * v.TILE))
                for r in rows:
                    _call(builder, "tdpbusd", totals[r, c], factors[r], weights[c])
            return []

        v.loop(builder, steps, step)
        for (r, c), total in totals.items():
            place = v.at(builder, sums, v.times(builder, sums_row, v.TILE * r), v.number(4 * v.TILE * c))
            _call(builder, "tilestored64", total, place, sums_row)
        return context.get_dummy_value()

    return types.void(high, x, x_row, w, w_column, steps, sums, sums_row), build


_TILE_COLUMNS: Final = 2
"""With two by two tiles of sums, each tile of rows and of weights that is loaded is used twice."""

_ROWS, _COLUMNS = (6, 4) if _VNNI else (2, 1) if _AVX2 else (4, 1)
"""Rows and columns of 16 outputs that are multiplied at a time: all their sums stay in registers."""

_panel: Final = (
    _row_panel(_dot_by_vnni)
    if _VNNI
    else _row_panel(_dot_by_pairs, ir.VectorType(v.I32, 2 * v.TILE), _sums_of_pairs)
    if _AVX2
    else _row_panel(_dot_by_vectors)
)
_float_panel: Final = _row_panel(_dot_of_floats, v.FLOATS)


@v.compiled
def _multiply_rows(x: Any, rows: Any, weights: Any, sums: Any) -> None:
    x_row, w_column, steps, sums_row = x.shape[1], 64 * weights.shape[1], weights.shape[1], 4 * sums.shape[1]
    for column in range(0, len(weights), _COLUMNS):
        w, at, to, left = address(weights) + column * w_column, address(x), address(sums) + 64 * column, rows
        while left:
            if left >= _ROWS:
                _panel(_ROWS, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = _ROWS
            elif left >= 2:
                _panel(2, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 2
            else:
                _panel(1, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 1
            at, to, left = at + done * x_row, to + done * sums_row, left - done


@v.compiled
def multiply_floats(
    x: Any,
    x_row: Any,
    x_step: Any,
    rows: Any,
    weights: Any,
    w_step: Any,
    columns: Any,
    steps: Any,
    out: Any,
    out_row: Any,
) -> None:
    """Write sums over `steps` of x[row,step] w[step,output], for `columns` times 16 outputs.

    `x`, `weights` and `out` are addresses of Float32; what follows them are the ways to the next row and step in bytes.
    Outputs stand side by side.
    """
    column = 0
    while column < columns:
        w, at, to, left = weights + 64 * column, x, out + 64 * column, rows
        wide = 4 if columns - column >= 4 else 2 if columns - column >= 2 else 1
        while left:
            done = 1
            if wide == 4 and left >= 4:
                _float_panel(4, 4, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
                done = 4
            elif wide == 4:
                _float_panel(1, 4, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
            elif wide == 2 and left >= 8:
                _float_panel(8, 2, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
                done = 8
            elif wide == 2:
                _float_panel(1, 2, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
            elif left >= 8:
                _float_panel(8, 1, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
                done = 8
            else:
                _float_panel(1, 1, at, x_row, x_step, w, 64, w_step, steps, to, out_row)
            at, to, left = at + done * x_row, to + done * out_row, left - done
        column += wide


@v.compiled
def _multiply_tiles(x: Any, rows: Any, weights: Any, sums: Any, tiles: Any) -> None:
    x_row, w_column, steps, sums_row = x.shape[1], 64 * weights.shape[1], weights.shape[1] // 16, 4 * sums.shape[1]
    _divide_registers(address(tiles))
    for column in range(0, len(weights), _TILE_COLUMNS):
        at, to, i = address(weights) + column * w_column, address(sums) + 64 * column, 0
        while i + 16 < rows:
            _tile_panel(2, address(x) + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 32
        if i < rows:
            _tile_panel(1, address(x) + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
    _release_registers()


@v.compiled
def _multiply(x: Any, rows: Any, weights: Any, sums: Any, tiles: Any) -> None:
    if tiles.size:
        _multiply_tiles(x, rows, weights, sums, tiles)
    else:
        _multiply_rows(x, rows, weights, sums)


@v.compiled
def _multiply_without_tiles(x: Any, rows: Any, weights: Any, sums: Any, _: Any) -> None:
    _multiply_rows(x, rows, weights, sums)


multiply: Final = _multiply if _AMX else _multiply_without_tiles
"""Write the first `rows` rows of sums; what is in the other rows of their tile is lost.

Args:
    x: UInt8[M,K], M and K rounded up; best aligned to 64 bytes.
    rows: how many of them are wanted.
    weights: Int8[N/16,K/4,16,4], of `packed`; a stretch of its first dimension will do, of a multiple of four.
    sums: Int32[M,N], M and N rounded up.
    tiles: of `tiles()`.
"""
