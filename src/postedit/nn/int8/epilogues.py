"""Vector kernels between integer products: dequantise, quantise, and the steps of attention, 16 numbers at a time.

A panel is 16 numbers, one vector. Kernels take addresses instead of arrays; each processes one or more panels.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from postedit.nn.int8 import simd as v


@v.llvm_intrinsic
def dot_products(_: Any, x: Any, rows: Any, panels: Any, out: Any) -> Any:
    """Write the dot products of x with 16 rows, each of `16 * panels` Float32.

    The rows are interleaved: the first 16 numbers of every row, then the next 16. `x`, `rows` and `out` are addresses.
    """

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x, rows, out = v.to_pointers(builder, arguments[0], arguments[1], arguments[3])

        def step(panel: Any, carried: list[Any]) -> list[Any]:
            factor = v.load(builder, v.FLOATS, x, v.multiply_int(builder, panel, 4 * v.LANES))
            start = v.offset(builder, rows, v.multiply_int(builder, panel, 4 * v.LANES * v.LANES))
            numbers = [v.load(builder, v.FLOATS, start, v.int64(4 * v.LANES * row)) for row in range(v.LANES)]
            return [v.multiply_add(builder, factor, each, total) for each, total in zip(numbers, carried, strict=True)]

        found = v.loop(builder, arguments[2], step, [v.float_vector(0.0)] * v.LANES)
        v.store(builder, _lane_sums(builder, found), out)
        return context.get_dummy_value()

    return types.void(x, rows, panels, out), build


def _lane_sums(builder: Any, vectors: list[Any]) -> Any:
    """Build a vector whose lane i is the sum of vector i of 16.

    Each round makes one vector of two. It halves the number of partial sums per input vector and puts twice as many
    input vectors side by side.
    """
    side = 1
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        lanes = [lane for lane in range(v.LANES) if not lane & side]
        # Alternate groups of `side` lanes of both vectors, and the groups between them.
        first = [
            lane + base for i in range(0, len(lanes), side) for base in (0, v.LANES) for lane in lanes[i : i + side]
        ]
        second = [lane + side for lane in first]
        vectors = [builder.fadd(v.shuffle(builder, a, first, b), v.shuffle(builder, a, second, b)) for a, b in pairs]
        side *= 2
    return vectors[0]


@v.llvm_intrinsic
def exponentials(_: Any, scores: Any, added: Any, panels: Any) -> Any:
    """Replace `16 * panels` scores Float32 by exp(score - highest score); return one over the sum of the exponentials.

    `added` is added to the scores: 0, or -inf at masked positions. If every position is masked the result is 0.
    `scores` and `added` are addresses.
    """

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        scores, added = v.to_pointers(builder, arguments[0], arguments[1])

        def maximum(panel: Any, carried: list[Any]) -> list[Any]:
            position = v.multiply_int(builder, panel, 4 * v.LANES)
            x = builder.fadd(v.load(builder, v.FLOATS, scores, position), v.load(builder, v.FLOATS, added, position))
            v.store(builder, x, scores, position)
            return [builder.select(builder.fcmp_ordered(">", x, carried[0]), x, carried[0])]

        def add(panel: Any, carried: list[Any]) -> list[Any]:
            position = v.multiply_int(builder, panel, 4 * v.LANES)
            exponential = _exp(builder, builder.fsub(v.load(builder, v.FLOATS, scores, position), highest))
            v.store(builder, exponential, scores, position)
            return [builder.fadd(carried[0], exponential)]

        (lanes,) = v.loop(builder, arguments[2], maximum, [v.float_vector(-np.inf)])
        highest = _reduce_lanes(builder, lanes, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
        nothing = builder.fcmp_ordered("==", highest, v.float_vector(-np.inf))
        highest = builder.select(nothing, v.float_vector(0.0), highest)
        (lanes,) = v.loop(builder, arguments[2], add, [v.float_vector(0.0)])
        total = builder.extract_element(_reduce_lanes(builder, lanes, builder.fadd), ir.Constant(v.I32, 0))
        inverse = builder.fdiv(ir.Constant(total.type, 1.0), total)
        return builder.select(builder.fcmp_ordered("==", total, ir.Constant(total.type, 0.0)), total, inverse)

    return types.float32(scores, added, panels), build


def _reduce_lanes(builder: Any, lanes: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Build the reduction of all lanes by `combine`, in every lane."""
    side = v.LANES // 2
    while side:
        lanes = combine(lanes, v.shuffle(builder, lanes, [lane ^ side for lane in range(v.LANES)]))
        side //= 2
    return lanes


def _exp(builder: Any, x: Any) -> Any:
    """Build e^x for x <= 0 in single precision: 2^t = 2^n 2^f with |f| <= 1/2; 2^-127 counts as 0."""
    t = builder.fmul(x, v.float_vector(1.4426950408889634))
    lowest = v.float_vector(-127.0)
    t = builder.select(builder.fcmp_ordered("<", t, lowest), lowest, t)  # keeps NaN
    n = builder.fptosi(builder.fsub(t, v.float_vector(0.5)), v.INTS)
    y = builder.fmul(builder.fsub(t, builder.sitofp(n, v.FLOATS)), v.float_vector(0.6931471805599453))
    result = v.float_vector(1 / 720)
    for divisor in (120, 24, 6, 2, 1, 1):
        result = builder.fadd(builder.fmul(result, y), v.float_vector(1 / divisor))
    bits = builder.shl(builder.add(n, ir.Constant(v.INTS, [127] * v.LANES)), ir.Constant(v.INTS, [23] * v.LANES))
    return builder.fmul(result, builder.bitcast(bits, v.FLOATS))


@v.llvm_intrinsic
def dequantise(
    _: Any, sums: Any, zeros: Any, steps: Any, bias: Any, scale: Any, floor: Any, to: Any, panels: Any, out: Any
) -> Any:
    """Write max(floor, (sums - zeros) (scale steps) + bias) for `16 * panels` outputs.

    `scale` and `floor` are Float32, `sums` and `zeros` addresses of Int32, `steps` and `bias` addresses of Float32.
    `to` is an address within the array `out`; if `out` is UInt16, the results are rounded to bfloat16.
    """
    narrow = out.dtype == types.uint16

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        sums, zeros, steps, bias, to = v.to_pointers(builder, *(arguments[i] for i in (0, 1, 2, 3, 6)))
        scale, floor = (v.broadcast_float(builder, arguments[i]) for i in (4, 5))

        def step(panel: Any, _: Any) -> list[Any]:
            at = v.multiply_int(builder, panel, 4 * v.LANES)
            whole = builder.sub(v.load(builder, v.INTS, sums, at), v.load(builder, v.INTS, zeros, at))
            factor = builder.fmul(scale, v.load(builder, v.FLOATS, steps, at))
            y = v.multiply_add(builder, builder.sitofp(whole, v.FLOATS), factor, v.load(builder, v.FLOATS, bias, at))
            y = builder.select(builder.fcmp_ordered("<", y, floor), floor, y)  # keeps NaN
            y, size = (_to_bfloat16(builder, y), 2) if narrow else (y, 4)
            position = v.offset(builder, to, v.multiply_int(builder, panel, size * v.LANES))
            builder.store(y, builder.bitcast(position, y.type.as_pointer()), align=size)
            return []

        v.loop(builder, arguments[7], step)
        return context.get_dummy_value()

    return types.void(sums, zeros, steps, bias, scale, floor, to, panels, out), build


def _to_bfloat16(builder: Any, values: Any) -> Any:
    """Build the upper halves of Float32 numbers, rounded to nearest, ties to even."""

    def constant(value: int) -> Any:
        return ir.Constant(v.INTS, [value] * v.LANES)

    bits = builder.bitcast(values, v.INTS)
    odd = builder.and_(builder.lshr(bits, constant(16)), constant(1))
    rounded = builder.add(bits, builder.add(odd, constant(0x7FFF)))
    rounded = builder.select(builder.fcmp_unordered("uno", values, values), constant(0x7FC00000), rounded)
    return builder.trunc(builder.lshr(rounded, constant(16)), v.SHORTS)


@v.llvm_intrinsic
def widen_bfloat16(_: Any, halves: Any, panels: Any, to: Any, stride: Any) -> Any:
    """Convert `16 * panels` bfloat16 numbers to Float32.

    `halves` and `to` are addresses; `stride` is the distance in bytes from one panel of the result to the next.
    """

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        halves, to = v.to_pointers(builder, arguments[0], arguments[2])
        upper = ir.Constant(v.INTS, [16] * v.LANES)

        def step(panel: Any, _: Any) -> list[Any]:
            position = v.offset(builder, halves, v.multiply_int(builder, panel, 2 * v.LANES))
            narrow = builder.load(builder.bitcast(position, v.SHORTS.as_pointer()), align=2)
            whole = builder.shl(builder.zext(narrow, v.INTS), upper)
            v.store(builder, whole, to, builder.mul(panel, arguments[3]))
            return []

        v.loop(builder, arguments[1], step)
        return context.get_dummy_value()

    return types.void(halves, panels, to, stride), build


@v.llvm_intrinsic
def largest_magnitude(_: Any, x: Any, panels: Any) -> Any:
    """Return the bits of the largest absolute value among `16 * panels` Float32."""

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        (x,) = v.to_pointers(builder, arguments[0])

        def step(panel: Any, carried: list[Any]) -> list[Any]:
            bits = builder.and_(v.load(builder, v.INTS, x, v.multiply_int(builder, panel, 4 * v.LANES)), magnitude)
            return [builder.select(builder.icmp_signed(">", bits, carried[0]), bits, carried[0])]

        magnitude = ir.Constant(v.INTS, [0x7FFFFFFF] * v.LANES)
        (found,) = v.loop(builder, arguments[1], step, [ir.Constant(v.INTS, None)])
        reduce = v.declare(builder, "llvm.vector.reduce.smax.v16i32", ir.FunctionType(v.I32, [v.INTS]))
        return builder.call(reduce, [found])

    return types.int32(x, panels), build


@v.llvm_intrinsic
def quantise(_: Any, x: Any, factor: Any, out: Any, panels: Any) -> Any:
    """Write 128 + x factor, rounded, as bytes, for `16 * panels` Float32."""

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        x, out = v.to_pointers(builder, arguments[0], arguments[2])
        factor = v.broadcast_float(builder, arguments[1])

        def step(panel: Any, _: Any) -> list[Any]:
            values = v.load(builder, v.FLOATS, x, v.multiply_int(builder, panel, 4 * v.LANES))
            whole = builder.fptosi(v.multiply_add(builder, values, factor, v.float_vector(128.5)), v.INTS)
            narrow = ir.VectorType(v.I8, v.LANES)
            position = builder.bitcast(
                v.offset(builder, out, v.multiply_int(builder, panel, v.LANES)), narrow.as_pointer()
            )
            builder.store(builder.trunc(whole, narrow), position, align=1)
            return []

        v.loop(builder, arguments[3], step)
        return context.get_dummy_value()

    return types.void(x, factor, out, panels), build
