"""Vectors of sixteen, and loops over them, for kernels that numba compiles: what Python has no words for.

A kernel's innermost loop is written in the language of LLVM, as an intrinsic of numba's; the rest is ordinary Python.
Vectors are as wide as AVX-512 has them; for other processors LLVM divides them.
"""

import platform
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from postedit.compiled import compiled_with

TILE: Final = 16
"""Numbers in a vector; rows of a tile of AMX, and columns, each of them of four bytes of a row."""

built: Final[Callable[[Any], Any]] = intrinsic  # has no types
compiled: Final = compiled_with(error_model="numpy")

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
INTS, FLOATS = ir.VectorType(I32, TILE), ir.VectorType(ir.FloatType(), TILE)
BYTES, HALVES = ir.VectorType(I8, 4 * TILE), ir.VectorType(ir.IntType(16), TILE)


def features() -> frozenset[str]:
    """Return the instructions that numba compiles for; they are part of the key of what it keeps on disk."""
    *_, features = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(part[1:] for part in features.split(",") if part.startswith("+"))


_FUSED: Final = "fma" in features() or platform.machine() not in ("x86_64", "AMD64")


def number(value: int) -> Any:
    """Return a whole number of 64 bits."""
    return ir.Constant(I64, value)


def pointers(builder: Any, *addresses: Any) -> list[Any]:
    """Build pointers to bytes at addresses."""
    return [builder.inttoptr(address, I8.as_pointer()) for address in addresses]


def at(builder: Any, pointer: Any, *offsets: Any) -> Any:
    """Build the place some bytes after a pointer."""
    for offset in offsets:
        pointer = builder.gep(pointer, [offset])
    return pointer


def load(builder: Any, kind: Any, pointer: Any, *offsets: Any) -> Any:
    """Build what has the type `kind` some bytes after a pointer."""
    return builder.load(builder.bitcast(at(builder, pointer, *offsets), kind.as_pointer()), align=4)


def store(builder: Any, value: Any, pointer: Any, *offsets: Any) -> None:
    """Build the writing of a value some bytes after a pointer."""
    builder.store(value, builder.bitcast(at(builder, pointer, *offsets), value.type.as_pointer()), align=4)


def chosen(builder: Any, vector: Any, lanes: Sequence[int], other: Any = None) -> Any:
    """Build a vector of some lanes of one, or of two side by side."""
    places = ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, vector if other is None else other, places)


def times(builder: Any, value: Any, factor: int) -> Any:
    """Build `value` times a constant."""
    return builder.mul(value, number(factor))


def declared(builder: Any, name: str, signature: Any) -> Any:
    """Return an operation of LLVM's."""
    return builder.module.globals.get(name) or ir.Function(builder.module, signature, name)


def loop(
    builder: Any, steps: Any, body: Callable[[Any, list[Any]], list[Any]], starts: Sequence[Any] = ()
) -> list[Any]:
    """Build a loop of `steps`, one or more; `body` has the number of a step and what the one before it gave."""
    before, inside, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(inside)
    builder.position_at_end(inside)
    turn = builder.phi(I64)
    turn.add_incoming(number(0), before)
    held = [builder.phi(start.type) for start in starts]
    for phi, start in zip(held, starts):
        phi.add_incoming(start, before)
    given = body(turn, held)
    following = builder.add(turn, number(1))
    turn.add_incoming(following, inside)
    for phi, value in zip(held, given):
        phi.add_incoming(value, inside)
    builder.cbranch(builder.icmp_signed("<", following, steps), inside, after)
    builder.position_at_end(after)
    return given


def prefetch(builder: Any, pointer: Any) -> None:
    """Build the asking for 64 bytes that will be read soon, to come to the second cache."""
    signature = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
    read, second, data = (ir.Constant(I32, value) for value in (0, 2, 1))
    builder.call(declared(builder, "llvm.prefetch.p0i8", signature), [pointer, read, second, data])


def repeated(builder: Any, four: Any, of: Any) -> Any:
    """Return four bytes sixteen times, as a vector of that type."""
    first = builder.insert_element(ir.Constant(INTS, ir.Undefined), four, ir.Constant(I32, 0))
    return builder.bitcast(builder.shuffle_vector(first, first, ir.Constant(INTS, None)), of)


def spread(builder: Any, value: Any) -> Any:
    """Build a vector of one Float32, sixteen times."""
    first = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, first, ir.Constant(INTS, None))


def floats(value: float) -> Any:
    """Return a vector of a constant, sixteen times."""
    return ir.Constant(FLOATS, [float(np.float32(value))] * TILE)


def fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Build x y + z, rounded once where the processor can; where it cannot that would take a call for each number."""
    if not _FUSED:
        return builder.fadd(builder.fmul(x, y), z)
    return builder.call(declared(builder, "llvm.fma.v16f32", ir.FunctionType(FLOATS, [FLOATS] * 3)), [x, y, z])


@compiled
def address(array: Any) -> Any:
    """Return where an array begins, with a sign, so that sums of it stay whole numbers."""
    return np.int64(array.ctypes.data)
