"""Timing: contestants take turns, round after round, so that whatever slows the machine down slows all of them.

In a round each contestant runs for a few milliseconds, which gives a mean; the result is the median over the rounds, and what
counts is the ratio of two medians. Memory is the peak above what was held before, each contestant in a process of its own.
A subject is a module with a function ``entries(quick)`` that yields what is defined here: ``Comparison`` (ours beside
peers doing the same work on the same inputs), ``Memory`` (the same, but what it takes at its peak) or ``Rate`` (something of
ours that is counted rather than compared); ``SUBJECTS`` in ``__main__.py`` lists them.
"""

import ctypes
import gc
import math
import os
import platform
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

Work = Callable[[], object]

BUDGET = 5.0  # seconds that a comparison should not exceed by much


@dataclass(frozen=True)
class Comparison:
    """One row of the table: the same work, done by us and by others."""

    work: str
    size: str
    ours: Work
    peers: Mapping[str, Work]
    target: float | Mapping[str, float] | None = None  # the ratio peer/ours wanted, of every peer or of each

    def wanted(self, peer: str) -> float | None:
        """The ratio wanted of a peer."""
        return self.target.get(peer) if isinstance(self.target, Mapping) else self.target


@dataclass(frozen=True)
class Memory:
    """One row of the table: what the same work takes at its peak. A contestant is a function that can be pickled (of a
    module, or a ``partial`` of one); called, it prepares the work, whose inputs are not counted.
    """

    work: str
    size: str
    ours: Callable[[], Work]
    peers: Mapping[str, Callable[[], Work]]
    target: float | None = None  # the ratio peer/ours wanted of every peer


@dataclass(frozen=True)
class Rate:
    """One row without a peer: ``run`` does some work and returns how many units of it were done."""

    work: str
    size: str
    run: Callable[[], int]
    unit: str


@dataclass(frozen=True)
class Timing:
    """Seconds a call takes: the median over the rounds, and the quartiles around it."""

    median: float
    low: float
    high: float
    rounds: int
    calls: int  # in each round

    @classmethod
    def of(cls, seconds: list[float], calls: int) -> "Timing":
        """Of one contestant's rounds."""
        low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
        return cls(median, low, high, len(seconds), calls)


def interleaved(contestants: Mapping[str, Work], rounds: int, seconds: float) -> dict[str, Timing]:
    """Time each contestant in turn, ``rounds`` times, each turn as many calls as fill ``seconds`` (at least one).

    Where the calls are long there are fewer rounds, but at least 9.
    """
    once = {name: _once(work) for name, work in contestants.items()}
    calls = {name: max(1, math.ceil(seconds / each)) for name, each in once.items()}
    rounds = max(9, min(rounds, int(BUDGET / sum((calls[name] + 1) * each for name, each in once.items()))))
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for name in list(contestants)[
                :: -1 if turn % 2 else 1
            ]:  # back and forth: nobody always follows the same
                work = contestants[name]
                if once[name] < 0.5:
                    work()  # what the one before left in caches and allocator is not this one's fault
                finished()
                start = time.perf_counter()
                for _ in range(calls[name]):
                    work()
                finished()
                taken[name].append((time.perf_counter() - start) / calls[name])
    finally:
        gc.enable()
    return {name: Timing.of(times, calls[name]) for name, times in taken.items()}


def finished() -> None:
    """Wait for what was asked of a device: it works on while the program goes on."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def seeded(seed: int) -> torch.Generator:
    """A generator on the device that entries are made on."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)


@contextmanager
def made_on(device: str, dtype: str) -> Iterator[None]:
    """What is made meanwhile, unless a device or a type is named, is made there and of that type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def _once(work: Work) -> float:
    """About the time of one call: the best of a few, the first of which warm up."""
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        work()
        finished()
        best = min(best, time.perf_counter() - start)
        if best > 0.2:
            break
    return best


MMAP_THRESHOLD, KEPT = -3, 1 << 16
"""By ``mallopt``: of what is freed glibc keeps pieces of so many bytes at most, and gives back what is larger, always."""


def peak(prepare: Callable[[], Work], device: str = "cpu", dtype: str = "float32") -> int:
    """The bytes that a work takes at its peak beyond what was there before, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_peak, prepare, torch.get_num_threads(), device, dtype).result()


def _peak(prepare: Callable[[], Work], threads: int, device: str, dtype: str) -> int:
    torch.set_num_threads(threads)
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, KEPT)
    with made_on(device, dtype):
        work, status = prepare(), Path("/proc/self/status")
    if device != "cpu":
        return _allocated(work)
    if not status.exists():  # not Linux: the peak since the process began
        before = _largest()
        work()
        return _largest() - before
    work()  # loads the libraries it needs
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # gives back what is free
    Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM back to VmRSS
    before = _kilobytes(status, "VmRSS")
    work()
    return (_kilobytes(status, "VmHWM") - before) * 1024


def _allocated(work: Work) -> int:
    """Of a device's memory, in tensors."""
    work()
    gc.collect()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    return torch.cuda.max_memory_allocated() - before


def _largest() -> int:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _kilobytes(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(name))


def counted(rate: Rate) -> float:
    """Units per second of a ``Rate``: the median of three runs."""
    per_second = []
    for _ in range(3):
        start = time.perf_counter()
        units = rate.run()
        per_second.append(units / (time.perf_counter() - start))
    return statistics.median(per_second)


def machine(device: str = "cpu", dtype: str = "float32") -> dict[str, Any]:
    """What the figures were measured on, and in which type."""
    host = {} if device == "cpu" else {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
    return host | {
        "dtype": dtype,
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else -1.0,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }


def default_path(cpu: str, of: str = "") -> Path:
    """Where figures of a processor are written unless told otherwise; ``of``: what they are about, if not the usual."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{cpu} {of}".lower()).strip("-")
    return Path(__file__).parent / "results" / f"{datetime.now(UTC):%Y-%m-%d}-{name}.json"


def _cpu() -> str:
    """The processor's name with what its instruction set is to torch: virtual machines often hide the model."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = named[0].partition(":")[2].strip() if named else name
    return f"{name} ({torch.backends.cpu.get_cpu_capability()})"
