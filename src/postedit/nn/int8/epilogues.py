"""What is done to sixteen numbers at a time: scale sums of products, round to bytes, steps of attention."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from postedit.nn.int8 import simd as v


@v.built
def dots_panel(_: Any, x: Any, rows: Any, panels: Any, out: Any) -> Any:
    """Write the scalar products of x and 16 rows, all of 16 Float32 times `panels`.

    Of the rows the first 16 numbers stand side by side, then the next 16. `x`, `rows` and `out` are addresses.
    """

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x, rows, out = v.pointers(builder, arguments[0], arguments[1], arguments[3])

        def step(number: Any, held: list[Any]) -> list[Any]:
            factor = v.load(builder, v.FLOATS, x, v.times(builder, number, 4 * v.TILE))
            start = v.at(builder, rows, v.times(builder, number, 4 * v.TILE * v.TILE))
            numbers = [v.load(builder, v.FLOATS, start, v.number(4 * v.TILE * row)) for row in range(v.TILE)]
            return [v.fused(builder, factor, each, total) for each, total in zip(numbers, held, strict=True)]

        found = v.loop(builder, arguments[2], step, [v.floats(0.0)] * v.TILE)
        v.store(builder, _sums(builder, found), out)
        return context.get_dummy_value()

    return types.void(x, rows, panels, out), build


def _sums(builder: Any, vectors: list[Any]) -> Any:
    """Build the sums of 16 vectors, one a lane.

    Each turn makes one vector of two: half as many sums not yet finished of twice as many vectors, side by side.
    """
    side = 1
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        lanes = [lane for lane in range(v.TILE) if not lane & side]
        # Of both vectors in turn: from every other group of lanes, and from those between them.
        first = [lane + of for i in range(0, len(lanes), side) for of in (0, v.TILE) for lane in lanes[i : i + side]]
        second = [lane + side for lane in first]
        vectors = [builder.fadd(v.chosen(builder, a, first, b), v.chosen(builder, a, second, b)) for a, b in pairs]
        side *= 2
    return vectors[0]


@v.built
def softmax_panel(_: Any, scores: Any, added: Any, panels: Any) -> Any:
    """Replace a row of 16 scores Float32 times `panels` by powers of e, and return one over their sum.

    What is `added` to scores is 0, or -inf where nobody may look. Each power is divided by that of the highest score;
    if nobody may look anywhere, 0 is returned. `scores` and `added` are addresses.
    """

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        scores, added = v.pointers(builder, arguments[0], arguments[1])

        def greater(number: Any, held: list[Any]) -> list[Any]:
            place = v.times(builder, number, 4 * v.TILE)
            x = builder.fadd(v.load(builder, v.FLOATS, scores, place), v.load(builder, v.FLOATS, added, place))
            v.store(builder, x, scores, place)
            return [builder.select(builder.fcmp_ordered(">", x, held[0]), x, held[0])]

        def add(number: Any, held: list[Any]) -> list[Any]:
            place = v.times(builder, number, 4 * v.TILE)
            power = _power(builder, builder.fsub(v.load(builder, v.FLOATS, scores, place), highest))
            v.store(builder, power, scores, place)
            return [builder.fadd(held[0], power)]

        (lanes,) = v.loop(builder, arguments[2], greater, [v.floats(-np.inf)])
        highest = _folded(builder, lanes, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
        highest = builder.select(builder.fcmp_ordered("==", highest, v.floats(-np.inf)), v.floats(0.0), highest)
        (lanes,) = v.loop(builder, arguments[2], add, [v.floats(0.0)])
        total = builder.extract_element(_folded(builder, lanes, builder.fadd), ir.Constant(v.I32, 0))
        share = builder.fdiv(ir.Constant(total.type, 1.0), total)
        return builder.select(builder.fcmp_ordered("==", total, ir.Constant(total.type, 0.0)), total, share)

    return types.float32(scores, added, panels), build


def _folded(builder: Any, lanes: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Build what all lanes give together, in each of them."""
    side = v.TILE // 2
    while side:
        lanes = combine(lanes, v.chosen(builder, lanes, [lane ^ side for lane in range(v.TILE)]))
        side //= 2
    return lanes


def _power(builder: Any, x: Any) -> Any:
    """Build e^x for x up to 0, to single precision: 2^t = 2^n 2^f with f within a half of 0; 2^-127 counts as 0."""
    t = builder.fmul(x, v.floats(1.4426950408889634))
    lowest = v.floats(-127.0)
    t = builder.select(builder.fcmp_ordered("<", t, lowest), lowest, t)  # what is no number stays so
    n = builder.fptosi(builder.fsub(t, v.floats(0.5)), v.INTS)
    y = builder.fmul(builder.fsub(t, builder.sitofp(n, v.FLOATS)), v.floats(0.6931471805599453))
    result = v.floats(1 / 720)
    for divisor in (120, 24, 6, 2, 1, 1):
        result = builder.fadd(builder.fmul(result, y), v.floats(1 / divisor))
    bits = builder.shl(builder.add(n, ir.Constant(v.INTS, [127] * v.TILE)), ir.Constant(v.INTS, [23] * v.TILE))
    return builder.fmul(result, builder.bitcast(bits, v.FLOATS))


@v.built
def scale_panel(
    _: Any, sums: Any, zeros: Any, steps: Any, bias: Any, scale: Any, floor: Any, to: Any, panels: Any, out: Any
) -> Any:
    """Write max(floor, (sums - zeros) (scale steps) + bias) for 16 outputs times `panels`, one or more.

    `scale` and `floor` are Float32, `sums` and `zeros` addresses of Int32, the others of Float32. `to` is an address in
    the array `out`; if that is UInt16, the upper halves of the numbers are written, rounded.
    """
    half = out.dtype == types.uint16

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        sums, zeros, steps, bias, to = v.pointers(builder, *(arguments[i] for i in (0, 1, 2, 3, 6)))
        scale, floor = (v.spread(builder, arguments[i]) for i in (4, 5))

        def step(number: Any, _: Any) -> list[Any]:
            at = v.times(builder, number, 4 * v.TILE)
            whole = builder.sub(v.load(builder, v.INTS, sums, at), v.load(builder, v.INTS, zeros, at))
            factor = builder.fmul(scale, v.load(builder, v.FLOATS, steps, at))
            y = v.fused(builder, builder.sitofp(whole, v.FLOATS), factor, v.load(builder, v.FLOATS, bias, at))
            y = builder.select(builder.fcmp_ordered("<", y, floor), floor, y)  # what is no number stays so
            y, size = (_halves(builder, y), 2) if half else (y, 4)
            place = v.at(builder, to, v.times(builder, number, size * v.TILE))
            builder.store(y, builder.bitcast(place, y.type.as_pointer()), align=size)
            return []

        v.loop(builder, arguments[7], step)
        return context.get_dummy_value()

    return types.void(sums, zeros, steps, bias, scale, floor, to, panels, out), build


def _halves(builder: Any, values: Any) -> Any:
    """Build the upper halves of numbers, rounded to the nearest, to an even one if two are as near."""

    def all_of(value: int) -> Any:
        return ir.Constant(v.INTS, [value] * v.TILE)

    bits = builder.bitcast(values, v.INTS)
    odd = builder.and_(builder.lshr(bits, all_of(16)), all_of(1))
    rounded = builder.add(bits, builder.add(odd, all_of(0x7FFF)))
    rounded = builder.select(builder.fcmp_unordered("uno", values, values), all_of(0x7FC00000), rounded)
    return builder.trunc(builder.lshr(rounded, all_of(16)), v.HALVES)


@v.built
def widen_panel(_: Any, halves: Any, panels: Any, to: Any, panel: Any) -> Any:
    """Write 16 Float32 times `panels`, one or more, whose upper halves are UInt16.

    `halves` and `to` are addresses; `panel` is the way to the next 16 Float32 in bytes.
    """

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        halves, to = v.pointers(builder, arguments[0], arguments[2])
        upper = ir.Constant(v.INTS, [16] * v.TILE)

        def step(number: Any, _: Any) -> list[Any]:
            place = v.at(builder, halves, v.times(builder, number, 2 * v.TILE))
            narrow = builder.load(builder.bitcast(place, v.HALVES.as_pointer()), align=2)
            whole = builder.shl(builder.zext(narrow, v.INTS), upper)
            v.store(builder, whole, to, builder.mul(number, arguments[3]))
            return []

        v.loop(builder, arguments[1], step)
        return context.get_dummy_value()

    return types.void(halves, panels, to, panel), build


@v.built
def largest_panel(_: Any, x: Any, panels: Any) -> Any:
    """Return the bits, without that of the sign, of the largest absolute value among 16 Float32 times `panels`."""

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        (x,) = v.pointers(builder, arguments[0])

        def step(number: Any, held: list[Any]) -> list[Any]:
            bits = builder.and_(v.load(builder, v.INTS, x, v.times(builder, number, 4 * v.TILE)), magnitude)
            return [builder.select(builder.icmp_signed(">", bits, held[0]), bits, held[0])]

        magnitude = ir.Constant(v.INTS, [0x7FFFFFFF] * v.TILE)
        (found,) = v.loop(builder, arguments[1], step, [ir.Constant(v.INTS, None)])
        reduce = v.declared(builder, "llvm.vector.reduce.smax.v16i32", ir.FunctionType(v.I32, [v.INTS]))
        return builder.call(reduce, [found])

    return types.int32(x, panels), build


@v.built
def bytes_panel(_: Any, x: Any, factor: Any, out: Any, panels: Any) -> Any:
    """Write 128 + x factor, rounded, for 16 Float32 times `panels`."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x, out = v.pointers(builder, arguments[0], arguments[2])
        factor = v.spread(builder, arguments[1])

        def step(number: Any, _: Any) -> list[Any]:
            values = v.load(builder, v.FLOATS, x, v.times(builder, number, 4 * v.TILE))
            whole = builder.fptosi(v.fused(builder, values, factor, v.floats(128.5)), v.INTS)
            narrow = ir.VectorType(v.I8, v.TILE)
            place = builder.bitcast(v.at(builder, out, v.times(builder, number, v.TILE)), narrow.as_pointer())
            builder.store(builder.trunc(whole, narrow), place, align=1)
            return []

        v.loop(builder, arguments[3], step)
        return context.get_dummy_value()

    return types.void(x, factor, out, panels), build
