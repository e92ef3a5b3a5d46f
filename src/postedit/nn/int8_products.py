"""Sums of products of bytes and rounded weights, by the instructions that the processor has for them.

A product of a few rows waits for its weights to come from memory. These kernels read them in the order in which they
stand, 64 bytes at a time, and start at once. AMX multiplies tiles of 16 rows and 16 columns, VNNI a row and 16 columns;
where there is neither, ordinary vectors do the same more slowly. All give the same exact integers from the same layout.

Letters: M rows of width K, times weights for N outputs; both in steps of integers. M, K and N are rounded up for whole
tiles: to 16, 64 and 64. What stands in padding of rows is multiplied by weights of zero, or its result is not used.
"""

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.registry import cpu_target
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
_SUMS, _FLOATS = ir.VectorType(_I32, _TILE), ir.VectorType(ir.FloatType(), _TILE)
_BYTES = ir.VectorType(_I8, 4 * _TILE)


def _features() -> frozenset[str]:
    """Return the instructions that numba compiles for; they are part of the key of what it keeps on disk."""
    *_, features = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(part[1:] for part in features.split(",") if part.startswith("+"))


def _may_use_tiles() -> bool:
    """Ask Linux for the use of tiles, as each process has to; whether they can be had."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0)


_VNNI: Final = {"avx512vnni", "avx512f"} <= _features()
_AMX: Final = {"amx-int8", "amx-tile"} <= _features()
_TILES_ALLOWED: Final = _AMX and _may_use_tiles()
_FUSED: Final = "fma" in _features() or platform.machine() not in ("x86_64", "AMD64")


def tiles() -> NDArray[np.uint8]:
    """Return how AMX shall divide its registers, UInt8[64]: eight tiles of 16 rows of 64 bytes; empty without AMX."""
    if not _TILES_ALLOWED:
        return np.empty(0, np.uint8)
    settings = np.zeros(64, np.uint8)
    settings[0] = 1  # the palette
    settings[16:32:2] = 64  # bytes of a row, of two bytes each
    settings[48:56] = _TILE  # rows
    return settings


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


def _load(builder: Any, kind: Any, pointer: Any, *offsets: Any) -> Any:
    return builder.load(builder.bitcast(_at(builder, pointer, *offsets), kind.as_pointer()), align=4)


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


def _repeated(builder: Any, four: Any, of: Any) -> Any:
    """Return four bytes sixteen times, as a vector of that type."""
    first = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), four, ir.Constant(_I32, 0))
    return builder.bitcast(builder.shuffle_vector(first, first, ir.Constant(_SUMS, None)), of)


def _dot_by_vnni(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    dot = _declared(builder, "llvm.x86.avx512.vpdpbusd.512", ir.FunctionType(_SUMS, [_SUMS] * 3))
    return builder.call(dot, [sums, _repeated(builder, four, _SUMS), builder.bitcast(weights, _SUMS)])


def _dot_by_vectors(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    """Any processor's: a byte times a weight has 16 bits, their sums have 32."""

    def pick(vector: Any, places: Sequence[int]) -> Any:
        return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_I32, len(places)), list(places)))

    def pairs(vector: Any) -> Any:
        count = vector.type.count
        wide = builder.sext(vector, ir.VectorType(_I32, count)) if vector.type.element != _I32 else vector
        return builder.add(pick(wide, range(0, count, 2)), pick(wide, range(1, count, 2)))

    short = ir.VectorType(ir.IntType(16), _BYTES.count)
    factor = builder.zext(_repeated(builder, four, _BYTES), short)
    return builder.add(sums, pairs(pairs(builder.mul(factor, builder.sext(weights, short)))))


def _dot_of_floats(builder: Any, sums: Any, four: Any, weights: Any) -> Any:
    return _fused(builder, _repeated(builder, four, _FLOATS), builder.bitcast(weights, _FLOATS), sums)


def _row_panel(dot: Callable[[Any, Any, Any, Any], Any], total: Any = _SUMS) -> Callable[..., None]:
    """Return what multiplies some rows by weights for some times 16 outputs, and adds up in vectors of type `total`."""

    @_built
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
            x, w, sums = _pointers(builder, arguments[2], arguments[5], arguments[9])

            def step(k: Any, held: list[Any]) -> list[Any]:
                weights = [
                    _load(builder, _BYTES, w, _times(builder, w_column, column), builder.mul(w_step, k))
                    for column in range(columns.literal_value)
                ]
                fours = [
                    _load(builder, _I32, x, _times(builder, x_row, row), builder.mul(x_step, k))
                    for row in range(rows.literal_value)
                ]
                return [dot(builder, total, fours[r], weights[c]) for total, (r, c) in zip(held, shape)]

            found = _loop(builder, steps, step, [ir.Constant(total, None)] * len(shape))
            for value, (row, column) in zip(found, shape):
                place = _at(builder, sums, _times(builder, sums_row, row), _number(4 * _TILE * column))
                builder.store(value, builder.bitcast(place, total.as_pointer()), align=4)
            return context.get_dummy_value()

        numbers = (x, x_row, x_step, w, w_column, w_step, steps, sums, sums_row)
        return types.void(rows, columns, *numbers), build

    made: Callable[..., None] = panel
    return made


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
"""With six rows by four columns, or four by one where registers are fewer, all sums stay in registers."""

_panel: Final = _row_panel(_dot_by_vnni if _VNNI else _dot_by_vectors)
_float_panel: Final = _row_panel(_dot_of_floats, _FLOATS)


@_compiled
def address(array: Any) -> Any:
    """Return where an array begins, with a sign, so that sums of it stay whole numbers."""
    return np.int64(array.ctypes.data)


@_compiled
def _multiply_rows(x: Any, rows: Any, weights: Any, sums: Any) -> None:
    x_row, w_column, steps, sums_row = x.shape[1], 64 * weights.shape[1], weights.shape[1], 4 * sums.shape[1]
    for column in range(0, len(weights), _COLUMNS):
        w, at, to, left = address(weights) + column * w_column, address(x), address(sums) + 64 * column, rows
        while left:
            if _VNNI and left >= 6:
                _panel(6, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 6
            elif left >= 4:
                _panel(4, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 4
            elif left >= 2:
                _panel(2, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 2
            else:
                _panel(1, _COLUMNS, at, x_row, 4, w, w_column, 64, steps, to, sums_row)
                done = 1
            at, to, left = at + done * x_row, to + done * sums_row, left - done


@_compiled
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


@_built
def softmax_panel(_: Any, scores: Any, added: Any, row: Any, rows: Any, totals: Any) -> Any:
    """Replace 16 columns of `rows` scores Float32 by powers of e, and write one over the sum of each column.

    What is `added` to scores is 0, or -inf where nobody may look. Each power is divided by that of the highest score of
    its column; where nobody may look at anything, 0 is written instead of one over the sum. `scores`, `added` and
    `totals` are addresses; `row` is the way to the next row in bytes.
    """

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        scores, added, totals = _pointers(builder, arguments[0], arguments[1], arguments[4])
        row, rows = arguments[2], arguments[3]

        def place(number: Any, of: Any = scores) -> Any:
            return builder.bitcast(_at(builder, of, builder.mul(row, number)), _FLOATS.as_pointer())

        def greater(number: Any, held: list[Any]) -> list[Any]:
            at = place(number)
            x = builder.fadd(builder.load(at, align=4), builder.load(place(number, added), align=4))
            builder.store(x, at, align=4)
            return [builder.select(builder.fcmp_ordered(">", x, held[0]), x, held[0])]

        def add(number: Any, held: list[Any]) -> list[Any]:
            at = place(number)
            power = _power(builder, builder.fsub(builder.load(at, align=4), highest))
            builder.store(power, at, align=4)
            return [builder.fadd(held[0], power)]

        (highest,) = _loop(builder, rows, greater, [_floats(-np.inf)])
        highest = builder.select(builder.fcmp_ordered("==", highest, _floats(-np.inf)), _floats(0.0), highest)
        (total,) = _loop(builder, rows, add, [_floats(0.0)])
        share = builder.fdiv(_floats(1.0), total)
        share = builder.select(builder.fcmp_ordered("==", total, _floats(0.0)), total, share)
        builder.store(share, builder.bitcast(totals, _FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(scores, added, row, rows, totals), build


@_built
def scale_panel(
    _: Any, sums: Any, zeros: Any, steps: Any, bias: Any, scale: Any, floor: Any, out: Any, panels: Any, half: Any
) -> Any:
    """Write max(floor, (sums - zeros) (scale steps) + bias) for 16 outputs times `panels`, one or more.

    `scale` and `floor` are Float32, `sums` and `zeros` addresses of Int32, the others of Float32. If `half`, the upper
    halves of the numbers are written, rounded: UInt16.
    """
    if not isinstance(half, types.BooleanLiteral):
        return None

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        sums, zeros, steps, bias, out = _pointers(builder, *(arguments[i] for i in (0, 1, 2, 3, 6)))
        scale, floor = (_spread(builder, arguments[i]) for i in (4, 5))

        def step(number: Any, _: Any) -> list[Any]:
            at = _times(builder, number, 4 * _TILE)
            whole = builder.sub(_load(builder, _SUMS, sums, at), _load(builder, _SUMS, zeros, at))
            factor = builder.fmul(scale, _load(builder, _FLOATS, steps, at))
            y = _fused(builder, builder.sitofp(whole, _FLOATS), factor, _load(builder, _FLOATS, bias, at))
            y = builder.select(builder.fcmp_ordered("<", y, floor), floor, y)  # what is no number stays so
            y, size = (_halves(builder, y), 2) if half.literal_value else (y, 4)
            place = _at(builder, out, _times(builder, number, size * _TILE))
            builder.store(y, builder.bitcast(place, y.type.as_pointer()), align=size)
            return []

        _loop(builder, arguments[7], step)
        return context.get_dummy_value()

    return types.void(sums, zeros, steps, bias, scale, floor, out, panels, half), build


def _halves(builder: Any, values: Any) -> Any:
    """Build the upper halves of numbers, rounded to the nearest, to an even one if two are as near."""

    def all_of(value: int) -> Any:
        return ir.Constant(_SUMS, [value] * _TILE)

    bits = builder.bitcast(values, _SUMS)
    odd = builder.and_(builder.lshr(bits, all_of(16)), all_of(1))
    rounded = builder.add(bits, builder.add(odd, all_of(0x7FFF)))
    rounded = builder.select(builder.fcmp_unordered("uno", values, values), all_of(0x7FC00000), rounded)
    return builder.trunc(builder.lshr(rounded, all_of(16)), ir.VectorType(ir.IntType(16), _TILE))


@_built
def largest_panel(_: Any, x: Any, panels: Any) -> Any:
    """Return the bits, without that of the sign, of the largest absolute value among 16 Float32 times `panels`."""

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        (x,) = _pointers(builder, arguments[0])

        def step(number: Any, held: list[Any]) -> list[Any]:
            bits = builder.and_(_load(builder, _SUMS, x, _times(builder, number, 4 * _TILE)), magnitude)
            return [builder.select(builder.icmp_signed(">", bits, held[0]), bits, held[0])]

        magnitude = ir.Constant(_SUMS, [0x7FFFFFFF] * _TILE)
        (found,) = _loop(builder, arguments[1], step, [ir.Constant(_SUMS, None)])
        reduce = _declared(builder, "llvm.vector.reduce.smax.v16i32", ir.FunctionType(_I32, [_SUMS]))
        return builder.call(reduce, [found])

    return types.int32(x, panels), build


@_built
def bytes_panel(_: Any, x: Any, factor: Any, out: Any, panels: Any) -> Any:
    """Write 128 + x factor, rounded, for 16 Float32 times `panels`."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x, out = _pointers(builder, arguments[0], arguments[2])
        factor = _spread(builder, arguments[1])

        def step(number: Any, _: Any) -> list[Any]:
            values = _load(builder, _FLOATS, x, _times(builder, number, 4 * _TILE))
            whole = builder.fptosi(_fused(builder, values, factor, _floats(128.5)), _SUMS)
            narrow = ir.VectorType(_I8, _TILE)
            place = builder.bitcast(_at(builder, out, _times(builder, number, _TILE)), narrow.as_pointer())
            builder.store(builder.trunc(whole, narrow), place, align=1)
            return []

        _loop(builder, arguments[3], step)
        return context.get_dummy_value()

    return types.void(x, factor, out, panels), build


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Build x y + z, rounded once where the processor can; where it cannot that would take a call for each number."""
    if not _FUSED:
        return builder.fadd(builder.fmul(x, y), z)
    return builder.call(_declared(builder, "llvm.fma.v16f32", ir.FunctionType(_FLOATS, [_FLOATS] * 3)), [x, y, z])


def _spread(builder: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, first, ir.Constant(_SUMS, None))


def _floats(value: float) -> Any:
    return ir.Constant(_FLOATS, [float(np.float32(value))] * _TILE)


def _power(builder: Any, x: Any) -> Any:
    """Build e^x for x up to 0, to single precision: 2^t = 2^n 2^f with f within a half of 0; 2^-127 counts as 0."""
    t = builder.fmul(x, _floats(1.4426950408889634))
    t = builder.select(builder.fcmp_ordered("<", t, _floats(-127.0)), _floats(-127.0), t)  # what is no number stays so
    n = builder.fptosi(builder.fsub(t, _floats(0.5)), _SUMS)
    y = builder.fmul(builder.fsub(t, builder.sitofp(n, _FLOATS)), _floats(0.6931471805599453))
    result = _floats(1 / 720)
    for divisor in (120, 24, 6, 2, 1, 1):
        result = builder.fadd(builder.fmul(result, y), _floats(1 / divisor))
    bits = builder.shl(builder.add(n, ir.Constant(_SUMS, [127] * _TILE)), ir.Constant(_SUMS, [23] * _TILE))
    return builder.fmul(result, builder.bitcast(bits, _FLOATS))


@_compiled
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
"""Write the first `rows` rows of sums; what is in the other rows of their tile is lost.

Args:
    x: UInt8[M,K], M and K rounded up; best aligned to 64 bytes.
    rows: how many of them are wanted.
    weights: Int8[N/16,K/4,16,4], of `packed`; a stretch of its first dimension will do, of a multiple of four.
    sums: Int32[M,N], M and N rounded up.
    tiles: of `tiles()`.
"""
