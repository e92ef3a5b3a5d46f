"""Matrix products of unsigned bytes and 8-bit weights, with the instructions that the processor has for them.

A product of few rows is limited by memory bandwidth, so kernels read weights in memory order, 64 bytes at a time. AMX
multiplies tiles of 16 rows and 16 columns, VNNI one row by 16 columns; without either, AVX2 or generic vectors do the
same more slowly. All give the same exact integers from the same layout of weights.

Letters: M rows of width K, times weights for N outputs, all quantised integers. M, K and N are padded to multiples of
16, 64 and 64. Padding of rows is multiplied by zero weights, or its result is not used.
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

ALIGNMENT: Final = 64
"""Bytes in a tile row and in a cache line: K and N are padded to multiples of it, and weights are aligned to it."""


def _request_tiles() -> bool:
    """Request the use of AMX tiles from Linux, which every process has to do; return whether it was granted."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0)


_VNNI: Final = {"avx512vnni", "avx512f"} <= v.features()
_AVX2: Final = "avx2" in v.features()
_AMX: Final = {"amx-int8", "amx-tile"} <= v.features()
_TILES_ALLOWED: Final = _AMX and _request_tiles()


def tile_config() -> NDArray[np.uint8]:
    """Return the AMX tile configuration UInt8[64]: eight tiles of 16 rows of 64 bytes; empty without AMX."""
    if not _TILES_ALLOWED:
        return np.empty(0, np.uint8)
    config = np.zeros(64, np.uint8)
    config[0] = 1  # palette
    config[16:32:2] = 64  # bytes per row, as 16-bit numbers
    config[48:56] = v.LANES  # rows
    return config


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return zeros that start at a multiple of 64 bytes."""
    size = math.prod(shape)
    buffer = np.zeros(size + ALIGNMENT, np.int8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + size].reshape(shape)


def pack_weights(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return Int8[N/16,K/4,16,4] from weights Int8[N,K], padded with zeros and aligned to 64 bytes."""
    outputs, inputs = (-(-size // ALIGNMENT) * ALIGNMENT for size in weight.shape)
    result = aligned_zeros((outputs // v.LANES, inputs // 4, v.LANES, 4))
    padded = np.zeros((outputs, inputs), np.int8)
    padded[: weight.shape[0], : weight.shape[1]] = weight
    result[...] = padded.reshape(outputs // v.LANES, v.LANES, inputs // 4, 4).transpose(0, 2, 1, 3)
    return result


def _vnni_dot(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    dot = v.declare(builder, "llvm.x86.avx512.vpdpbusd.512", ir.FunctionType(v.INTS, [v.INTS] * 3))
    return builder.call(dot, [sums, v.broadcast_bytes(builder, four, v.INTS), builder.bitcast(weights, v.INTS)])


def _vector_dot(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """Build a dot product for any processor: a byte times a weight has 16 bits, sums have 32."""
    short, whole = ir.VectorType(ir.IntType(16), v.BYTES.count), ir.VectorType(v.I32, v.BYTES.count)
    factor = builder.zext(v.broadcast_bytes(builder, four, v.BYTES), short)
    products = builder.sext(builder.mul(factor, builder.sext(weights, short)), whole)
    return builder.add(sums, _pair_sums(builder, _pair_sums(builder, products)))


def _avx2_dot(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """Build a dot product for AVX2, which multiplies 16-bit numbers and adds pairs of products: two sums per output."""
    words, quarter = ir.VectorType(ir.IntType(16), v.LANES), ir.VectorType(v.I32, v.LANES // 2)
    multiply_add = v.declare(builder, "llvm.x86.avx2.pmadd.wd", ir.FunctionType(quarter, [words] * 2))
    factor = v.shuffle(builder, v.broadcast_bytes(builder, four, v.BYTES), range(v.LANES))
    factor, found = builder.zext(factor, words), []
    for start in range(0, v.BYTES.count, v.LANES):
        some = builder.sext(v.shuffle(builder, weights, range(start, start + v.LANES)), words)
        found.append(builder.call(multiply_add, [factor, some]))
    while len(found) > 1:
        found = [_concatenate(builder, *found[i : i + 2]) for i in range(0, len(found), 2)]
    return builder.add(sums, found[0])


def _pair_sums(builder: Any, sums: Any) -> Any:
    even, odd = (v.shuffle(builder, sums, range(first, sums.type.count, 2)) for first in (0, 1))
    return builder.add(even, odd)


def _concatenate(builder: Any, first: Any, second: Any) -> Any:
    return v.shuffle(builder, first, range(2 * first.type.count), second)


def _float_dot(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    return v.multiply_add(builder, v.broadcast_bytes(builder, four, v.FLOATS), builder.bitcast(weights, v.FLOATS), sums)


def _row_panel(
    dot: Callable[[Any, Any, Any, Any], Any],
    total: Any = v.INTS,
    finish: Callable[[Any, Any], Any] = lambda _, sums: sums,
) -> Callable[..., None]:
    """Return a kernel that multiplies a block of rows by weights for a block of 16-output columns.

    `dot` adds to vectors of type `total`; `finish` reduces them to vectors of 16 at the end.
    """

    @v.llvm_intrinsic
    def panel(
        _: Any, rows: Any, columns: Any, x: Any, x_row: Any, x_step: Any, w: Any, w_column: Any, w_step: Any,
        steps: Any, sums: Any, sums_row: Any,
    ) -> Any:  # fmt: skip
        """Write the sums of `rows` rows for `columns` times 16 outputs.

        A step takes four bytes of a row and 64 bytes of weights. Each address is followed by its strides in bytes: to
        the next row or column, then to the next step.
        """
        if not (isinstance(rows, types.IntegerLiteral) and isinstance(columns, types.IntegerLiteral)):
            return None  # numba calls again with the literal values
        shape = [(row, column) for row in range(rows.literal_value) for column in range(columns.literal_value)]

        def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            x_row, x_step, w_column, w_step, steps, sums_row = (arguments[i] for i in (3, 4, 6, 7, 8, 10))
            x, w, sums = v.to_pointers(builder, arguments[2], arguments[5], arguments[9])

            def step(k: Any, carried: list[Any]) -> list[Any]:
                weights = [
                    v.load(builder, v.BYTES, w, v.multiply_int(builder, w_column, column), builder.mul(w_step, k))
                    for column in range(columns.literal_value)
                ]
                fours = [
                    v.load(builder, v.I32, x, v.multiply_int(builder, x_row, row), builder.mul(x_step, k))
                    for row in range(rows.literal_value)
                ]
                return [dot(builder, total, fours[r], weights[c]) for total, (r, c) in zip(carried, shape)]

            found = v.loop(builder, steps, step, [ir.Constant(total, None)] * len(shape))
            for value, (row, column) in zip(found, shape):
                place = v.offset(builder, sums, v.multiply_int(builder, sums_row, row), v.int64(4 * v.LANES * column))
                value = finish(builder, value)
                builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=4)
            return context.get_dummy_value()

        numbers = (x, x_row, x_step, w, w_column, w_step, steps, sums, sums_row)
        return types.void(rows, columns, *numbers), build

    made: Callable[..., None] = panel
    return made


def _call(builder: Any, name: str, *arguments: Any) -> None:
    """Build a call of an x86 instruction without a result."""
    signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(v.declare(builder, f"llvm.x86.{name}", signature), arguments)


@v.llvm_intrinsic
def _load_tile_config(_: Any, config: Any) -> Any:
    """Configure the tile registers from the configuration at the address `config`."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        _call(builder, "ldtilecfg", *v.to_pointers(builder, *arguments))
        return context.get_dummy_value()

    return types.void(config), build


@v.llvm_intrinsic
def _release_tiles(_: Any) -> Any:
    """Release the tile registers, which makes later context switches cheaper."""

    def build(context: Any, builder: Any, _: Any, __: Any) -> Any:
        _call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), build


@v.llvm_intrinsic
def _tile_panel(
    _: Any, high: Any, x: Any, x_row: Any, w: Any, w_column: Any, steps: Any, sums: Any, sums_row: Any
) -> Any:
    """Write the sums of `high` times 16 rows for two times 16 outputs, in steps of 64 bytes; see `_row_panel`."""
    if not isinstance(high, types.IntegerLiteral):
        return None
    rows, columns = range(high.literal_value), range(_TILE_COLUMNS)

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x_row, w_column, steps, sums_row = (arguments[i] for i in (2, 4, 5, 7))
        x, w, sums = v.to_pointers(builder, arguments[1], arguments[3], arguments[6])
        numbers = iter(range(8))
        totals = {(r, c): ir.Constant(v.I8, next(numbers)) for r in rows for c in columns}
        factors, weights = ([ir.Constant(v.I8, next(numbers)) for _ in of] for of in (rows, columns))
        for total in totals.values():
            _call(builder, "tilezero", total)

        def step(k: Any, _: Any) -> list[Any]:
            for r in rows:
                place = v.offset(
                    builder, x, v.multiply_int(builder, x_row, v.LANES * r), v.multiply_int(builder, k, ALIGNMENT)
                )
                _call(builder, "tileloadd64", factors[r], place, x_row)
            for c in columns:
                place = v.offset(
                    builder, w, v.multiply_int(builder, w_column, c), v.multiply_int(builder, k, ALIGNMENT * v.LANES)
                )
                # The hardware prefetcher stops at each 4 kB page. Prefetching beyond the last weights does no harm, nor
                # does prefetching again in the next block of rows.
                next_columns = v.offset(builder, place, v.multiply_int(builder, w_column, _TILE_COLUMNS))
                for line in range(v.LANES):
                    v.prefetch(builder, v.offset(builder, next_columns, v.int64(ALIGNMENT * line)))
                _call(builder, "tileloadd64", weights[c], place, v.int64(4 * v.LANES))
                for r in rows:
                    _call(builder, "tdpbusd", totals[r, c], factors[r], weights[c])
            return []

        v.loop(builder, steps, step)
        for (r, c), total in totals.items():
            place = v.offset(builder, sums, v.multiply_int(builder, sums_row, v.LANES * r), v.int64(4 * v.LANES * c))
            _call(builder, "tilestored64", total, place, sums_row)
        return context.get_dummy_value()

    return types.void(high, x, x_row, w, w_column, steps, sums, sums_row), build


_TILE_COLUMNS: Final = 2
"""With two by two tiles of sums, each tile of rows or weights that is loaded is used twice."""

_ROWS, _COLUMNS = (6, 4) if _VNNI else (2, 1) if _AVX2 else (4, 1)
"""Rows and columns of 16 outputs in one block: all their sums stay in registers."""

_panel: Final = (
    _row_panel(_vnni_dot)
    if _VNNI
    else _row_panel(_avx2_dot, ir.VectorType(v.I32, 2 * v.LANES), _pair_sums)
    if _AVX2
    else _row_panel(_vector_dot)
)
_float_panel: Final = _row_panel(_float_dot, v.FLOATS)


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
    """Write the sums over `steps` of x[row,step] w[step,output], for `columns` times 16 outputs.

    `x`, `weights` and `out` are addresses of Float32; each is followed by its strides in bytes, to the next row and the
    next step. Outputs are contiguous.
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
    _load_tile_config(address(tiles))
    for column in range(0, len(weights), _TILE_COLUMNS):
        at, to, i = address(weights) + column * w_column, address(sums) + 64 * column, 0
        while i + 16 < rows:
            _tile_panel(2, address(x) + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
            i += 32
        if i < rows:
            _tile_panel(1, address(x) + i * x_row, x_row, at, w_column, steps, to + i * sums_row, sums_row)
    _release_tiles()


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
"""Write the first `rows` rows of sums; other rows of the same tile are overwritten.

Args:
    x: UInt8[M,K], padded; best aligned to 64 bytes.
    rows: number of rows wanted.
    weights: Int8[N/16,K/4,16,4], from `pack_weights`; or a slice of its first dimension, of a multiple of four.
    sums: Int32[M,N], padded.
    tiles: from `tile_config`.
"""
