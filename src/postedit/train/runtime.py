"""The process and its hardware: memory allocation, precision on the CPU, random states, signals."""

import ctypes
import math
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from postedit.core.errors import RecipeError
from postedit.core.processes import usable_cores

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from glibc's malloc.h

_KERNELS_KEPT = 256  # a training step uses a few dozen

_SLOW_BF16 = 1.2  # times as long as fp32; noise in the times on a busy processor is smaller


def keep_freed_memory() -> None:
    """Make glibc's malloc keep large freed blocks for the next step.

    By default malloc maps each large tensor separately and unmaps it when freed, so every step pays for mapping and
    zeroing the same pages again. Here no block is mapped on its own (`M_MMAP_MAX` 0), and the heap never shrinks
    (`M_TRIM_THRESHOLD`, about 2 GiB). Peak memory stays the same. Without glibc this does nothing.
    """
    if _has_glibc():
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def bound_kernel_cache() -> None:
    """Make oneDNN, which computes PyTorch's matrix products on the CPU, cache fewer compiled kernels.

    It compiles one for each shape and keeps 1,024 by default, with their scratch memory. Batches have many shapes, so
    these would take more memory than the model and its activations. oneDNN reads the setting at its first product; a
    value that the user has set stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_KERNELS_KEPT))


def return_freed_memory() -> None:
    """Return to the system the unused memory that `keep_freed_memory` has kept.

    Blocks of different sizes leave gaps, which would add up to several times the memory in use. Call it every few dozen
    updates; the next update maps the pages that it needs again.
    """
    if _has_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def _has_glibc() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"


@contextmanager
def fast_fp32(enabled: bool) -> Iterator[None]:
    """Compute fp32 matrix products on the CPU with oneDNN's bf16 setting within the block, if `enabled`.

    On a processor without AMX they are still computed in fp32, but faster; see `rounds_fast_fp32`.

    Raises:
        RecipeError: if this version of PyTorch does not have the setting.
    """
    if not enabled:
        yield
        return
    settings: Any = getattr(torch.backends.mkldnn, "matmul", None)
    if not hasattr(settings, "fp32_precision"):
        raise RecipeError(f"train.fast_fp32 needs PyTorch 2.9 or later, not {torch.__version__}; set it to false")
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        yield
    finally:
        settings.fp32_precision = before


def rounds_fast_fp32() -> bool:
    """Return whether `fast_fp32` rounds factors to bfloat16 here, as it does on processors with AMX."""
    return "amx_bf16" in processor_features()


def processor_features() -> frozenset[str]:
    """Return the feature flags of the processor as Linux names them; empty where they are unknown."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return frozenset()
    lines = info.read_text("utf-8", errors="replace").splitlines()
    return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())


def slow_bf16(device: torch.device) -> str | None:
    """Return a warning if `device` is a CPU that is slower in bfloat16 than in fp32; else None.

    Speeds are measured: some processors have no instructions for bfloat16, and on others, virtual ones among them,
    these instructions are slower than those for fp32.
    """
    ratio = bf16_time_ratio() if device.type == "cpu" else 0.0
    if ratio < _SLOW_BF16:
        return None
    return (
        f'train.precision = "bf16": on this processor, matrix products take {ratio:.1f} times as long as with "fp32"; '
        'stop and start again with train.precision = "fp32" in each section that has one'
    )


def bf16_time_ratio(size: int = 512, repeats: int = 10) -> float:
    """Return how long a matrix product of `size` rows and columns takes in bfloat16, relative to fp32, on the CPU.

    Both are timed `repeats` times in turn, and the shortest times count: other work on the processor only adds time.
    """
    factors = [torch.ones(size, size, dtype=dtype) for dtype in (torch.bfloat16, torch.float32)]
    shortest = [math.inf, math.inf]
    for _ in range(repeats):
        for which, factor in enumerate(factors):
            start = time.perf_counter()
            torch.matmul(factor, factor)
            shortest[which] = min(shortest[which], time.perf_counter() - start)
    return shortest[0] / shortest[1]


def check_bf16(device: torch.device) -> None:
    """Check that `device` computes in bfloat16. Every CPU does, some slowly (`slow_bf16`).

    Raises:
        RecipeError: if `device` is a GPU that does not, or only emulates it, which is slower than fp32.
    """
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        name = torch.cuda.get_device_name(device)
        raise RecipeError(f'train.precision = "bf16": {name} does not compute in bfloat16; use "fp32"')


def spare_processes(processes: int) -> str | None:
    """Return a warning if a run has more processes on this machine than it has cores; else None."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", processes))  # set by torchrun and accelerate launch
    cores = usable_cores()
    if here <= cores:
        return None
    return f"{here} processes share {cores} processor cores and will wait for each other; start {cores} at most"


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the states, as bytes, of torch's random generators on the CPU and on `device`."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states["device"] = torch.get_device_module(device).get_rng_state()
    return states


def set_random_state(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore the states that `random_state` returned."""
    torch.set_rng_state(states["cpu"])
    if device.type != "cpu" and "device" in states:
        torch.get_device_module(device).set_rng_state(states["device"])


@contextmanager
def same_randomness_after(device: torch.device) -> Iterator[None]:
    """Restore the random generators after the block."""
    states = random_state(device)
    try:
        yield
    finally:
        set_random_state(states, device)


class Interruption:
    """Handles Ctrl-C (SIGINT), SIGTERM and SIGHUP: the first asks to stop after this step, a second stops at once.

    Use it as a context manager. It does nothing outside the main thread, which alone may handle signals.
    """

    def __init__(self) -> None:
        self.requested = False
        self._at_once = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:  # under `nohup`
                    continue
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal itself returned

    @contextmanager
    def at_once(self, enabled: bool) -> Iterator[None]:
        """Raise KeyboardInterrupt at the first signal within the block, which must be safe to abandon."""
        self._at_once = enabled
        try:
            if enabled and self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        again = self.requested
        self.requested = True
        if again or self._at_once:
            raise KeyboardInterrupt
