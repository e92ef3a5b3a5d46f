"""LLVM building blocks for numba kernels: vectors of sixteen numbers and loops over them.

The innermost loop of a kernel is LLVM IR, built by a numba intrinsic, because numba has no vector types and no name for
the instructions that the kernels need. The rest of a kernel is ordinary Python. Vectors have the width of AVX-512; for
other processors LLVM splits them.
"""

import platform
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from postedit.compiled import compiled_with

LANES: Final = 16
"""Numbers in a vector; also the rows of an AMX tile, and its columns of four bytes each."""

llvm_intrinsic: Final[Callable[[Any], Any]] = intrinsic  # numba has no type annotations
compiled: Final = compiled_with(error_model="numpy")

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
INTS, FLOATS = ir.VectorType(I32, LANES), ir.VectorType(ir.FloatType(), LANES)
BYTES, SHORTS = ir.VectorType(I8, 4 * LANES), ir.VectorType(ir.IntType(16), LANES)


def features() -> frozenset[str]:
    """Return the processor features that numba compiles for; they are part of the key of its cache on disk."""
    *_, features = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(part[1:] for part in features.split(",") if part.startswith("+"))


_HAS_FMA: Final = "fma" in features() or platform.machine() not in ("x86_64", "AMD64")


def int64(value: int) -> Any:
    """Return a 64-bit integer constant."""
    return ir.Constant(I64, value)


def to_pointers(builder: Any, *addresses: Any) -> list[Any]:
    """Build byte pointers from addresses."""
    return [builder.inttoptr(address, I8.as_pointer()) for address in addresses]


def offset(builder: Any, pointer: Any, *offsets: Any) -> Any:
    """Build a byte pointer plus offsets in bytes."""
    for each in offsets:
        pointer = builder.gep(pointer, [each])
    return pointer


def load(builder: Any, kind: Any, pointer: Any, *offsets: Any) -> Any:
    """Build a load of type `kind` from a byte pointer plus offsets."""
    return builder.load(builder.bitcast(offset(builder, pointer, *offsets), kind.as_pointer()), align=4)


def store(builder: Any, value: Any, pointer: Any, *offsets: Any) -> None:
    """Build a store of a value to a byte pointer plus offsets."""
    builder.store(value, builder.bitcast(offset(builder, pointer, *offsets), value.type.as_pointer()), align=4)


def shuffle(builder: Any, vector: Any, lanes: Sequence[int], other: Any = None) -> Any:
    """Build a vector of the given lanes of one vector, or of two vectors side by side."""
    indices = ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, vector if other is None else other, indices)


def multiply_int(builder: Any, value: Any, factor: int) -> Any:
    """Build `value` times a 64-bit constant."""
    return builder.mul(value, int64(factor))


def declare(builder: Any, name: str, signature: Any) -> Any:
    """Return an LLVM intrinsic function, declared in the module if it is not yet."""
    return builder.module.globals.get(name) or ir.Function(builder.module, signature, name)


def loop(
    builder: Any, steps: Any, body: Callable[[Any, list[Any]], list[Any]], starts: Sequence[Any] = ()
) -> list[Any]:
    """Build a loop of at least one step; return the values that it carries after the last step.

    `body` receives the step number and the carried values, which begin as `starts`, and returns their next values.
    """
    before, inside, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(inside)
    builder.position_at_end(inside)
    step = builder.phi(I64)
    step.add_incoming(int64(0), before)
    carried = [builder.phi(start.type) for start in starts]
    for phi, start in zip(carried, starts):
        phi.add_incoming(start, before)
    results = body(step, carried)
    following = builder.add(step, int64(1))
    step.add_incoming(following, inside)
    for phi, value in zip(carried, results):
        phi.add_incoming(value, inside)
    builder.cbranch(builder.icmp_signed("<", following, steps), inside, after)
    builder.position_at_end(after)
    return results


def prefetch(builder: Any, pointer: Any) -> None:
    """Build a prefetch of the 64 bytes at a pointer into the second-level cache."""
    signature = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
    read, second, data = (ir.Constant(I32, value) for value in (0, 2, 1))
    builder.call(declare(builder, "llvm.prefetch.p0i8", signature), [pointer, read, second, data])


def broadcast_bytes(builder: Any, four: Any, kind: Any) -> Any:
    """Build a vector of type `kind` that repeats four bytes, given as an Int32, sixteen times."""
    first = builder.insert_element(ir.Constant(INTS, ir.Undefined), four, ir.Constant(I32, 0))
    return builder.bitcast(builder.shuffle_vector(first, first, ir.Constant(INTS, None)), kind)


def broadcast_float(builder: Any, value: Any) -> Any:
    """Build a vector that repeats one Float32."""
    first = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, first, ir.Constant(INTS, None))


def float_vector(value: float) -> Any:
    """Return a constant vector that repeats one Float32."""
    return ir.Constant(FLOATS, [float(np.float32(value))] * LANES)


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Build x y + z, rounded once if the processor has FMA; without FMA that would be a function call per number."""
    if not _HAS_FMA:
        return builder.fadd(builder.fmul(x, y), z)
    return builder.call(declare(builder, "llvm.fma.v16f32", ir.FunctionType(FLOATS, [FLOATS] * 3)), [x, y, z])


@compiled
def address(array: Any) -> Any:
    """Return the address of an array as a signed integer, so that sums with it stay integers."""
    return np.int64(array.ctypes.data)
