"""Global state that a callable has to leave alone."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from verify.subject.streams import STREAMS


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch and NumPy's BLAS work in one thread: examples are tiny, and waking threads for them costs more than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


class _Freezing:
    """Who has frozen what exists: a check that is going on, or others, who decide when that ends. That others have is found out
    once: what is frozen is counted object by object.
    """

    ours = others = False


@contextmanager
def freeze_existing_objects() -> Iterator[None]:
    """Exempt all objects that exist already from garbage collection: modules and statements live on anyway."""
    state = _Freezing
    state.others = state.others or (not state.ours and bool(gc.get_freeze_count()))
    if state.ours or state.others:
        yield
        return
    gc.freeze()
    state.ours = True
    try:
        yield
    finally:
        gc.unfreeze()
        state.ours = False


@contextmanager
def use_cpu_by_default() -> Iterator[torch.device | None]:
    """Make new tensors on the CPU within the block; yields the device on which they were made before, if another."""
    before = _default_device()
    if before.type == "cpu":
        yield None
        return
    _device(None)
    try:
        yield before
    finally:
        _device(before)


def making_tensors_on(device: torch.device | None) -> AbstractContextManager[Any]:
    """Let new tensors be made there; None changes nothing."""
    return nullcontext() if device is None else device


class _Item:
    """One piece of state: how to read it, compare it and set it back."""

    def __init__(
        self,
        name: str,
        read: Callable[[], Any],
        write: Callable[[Any], Any],
        same: Callable[[Any, Any], bool] = lambda a, b: a == b,
    ) -> None:
        self.name, self.read, self.write, self.same = name, read, write, same


def _numpy_same(a: Any, b: Any) -> bool:
    return a is b or (a[0] is b[0] and _same_parts(a[1], b[1]))


def _same_parts(a: Any, b: Any) -> bool:
    """Whether two states of a generator are equal: numbers and arrays in tuples, of some generators in dictionaries."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same_parts(a[name], b[name]) for name in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same_parts, a, b))
    return bool(np.array_equal(a, b))


def _set_numpy(saved: Any) -> None:
    generator, state = saved
    if np.random.get_bit_generator() is not generator:  # type: ignore[attr-defined]
        np.random.set_bit_generator(generator)  # type: ignore[attr-defined]
    np.random.set_state(state)  # noqa: NPY002


class _NumPy:
    """NumPy's global random state, read anew only where its generator has moved since: reading it takes long.

    A normal variate that it keeps may be used up without the generator's moving: where there is one, all is read anew.
    """

    def __init__(self) -> None:
        self.generator: Any = None
        self.address = 0
        self.seen = b""
        self.state: Any = None

    def __call__(self) -> Any:
        """The generator, and what ``numpy.random.get_state`` says."""
        generator = np.random.get_bit_generator()  # type: ignore[attr-defined]
        if generator is not self.generator:
            if not isinstance(generator, np.random.MT19937):
                return generator, np.random.get_state(legacy=False)  # noqa: NPY002
            self.generator, self.address, self.seen = generator, generator.ctypes.state_address, b""
        seen = ctypes.string_at(self.address, _MT19937)
        if self.seen != seen or self.state[1][3]:
            self.seen, self.state = seen, (generator, np.random.get_state())  # noqa: NPY002
        return self.state


class _Python:
    """Python's global random state, read anew only where its generator has moved since: it takes 625 numbers to say.

    CPython keeps the twister behind the object's head. Where it is not found there, all is read each time.
    """

    def __init__(self) -> None:
        self.seen: tuple[bytes, Any] | None = None
        self.state: Any = None
        self.inside = _twister() == _pack_state(random.getstate())

    def __call__(self) -> Any:
        """What ``random.getstate`` says."""
        if not self.inside:
            return random.getstate()
        seen = _twister(), getattr(_PYTHONS, "gauss_next", None)
        if self.seen != seen:
            self.seen, self.state = seen, random.getstate()
        return self.state


_PYTHONS: Any = random.getrandbits.__self__  # type: ignore[attr-defined]
"""The generator behind the functions of ``random``."""
_MT19937 = 4 * 624 + 4
"""The bytes of a Mersenne twister: its words, and its place among them."""


def _twister() -> bytes:
    return ctypes.string_at(id(_PYTHONS) + object.__basicsize__, _MT19937)


def _pack_state(state: Any) -> bytes:
    """What memory holds in such a state: the place, then the words."""
    *words, place = state[1]
    return struct.pack(f"@i{len(words)}I", place, *words)


def _python_same(a: Any, b: Any) -> bool:
    return a is b or bool(a == b)


def _torch_state() -> bytes:
    """The state of torch's generator on the processor, as bytes: they are compared at once."""
    state = torch.default_generator.get_state()
    return ctypes.string_at(state.data_ptr(), state.nbytes)


def _set_torch_state(saved: bytes) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray(saved), dtype=torch.uint8))


def _default_device() -> torch.device:
    """Where new tensors are: asked of one, which is quicker; if none can be made there, of torch."""
    try:
        return torch.empty(0).device
    except Exception:
        return torch.get_default_device()


def _cwd(path: str) -> None:
    os.chdir(path)


_COMPILERS = ("TORCH", "_TORCH", "PYTORCH", "TRITON", "KMP_", "OMP_")
"""Prefixes of variables that torch's own compiler sets when it first runs."""


def _environment(saved: dict[Any, Any]) -> None:
    for name in [name for name in environment_variables() if name not in saved and not _a_compilers(name)]:
        del os.environ[os.fsdecode(name)]
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in saved.items()})


def _device(saved: torch.device | None) -> None:
    torch.set_default_device(None if saved is None or saved.type == "cpu" else saved)


WHOLE = ("mkldnn", "cudnn", "")
"""What is told to several kinds: those of a library, and all. To tell the first is to tell the last, too."""
PRECISIONS = ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn")
"""What of ``torch.backends`` may round the factors of products in float32, each as its ``fp32_precision`` says."""
_NAMES = [f"torch.backends.{name}".rstrip(".") for name in (*WHOLE, *PRECISIONS)]
_BACKENDS: Sequence[Any] = [attrgetter(name.partition(".")[2])(torch) for name in _NAMES]


def _find_getter(name: str) -> Callable[[], str]:
    """What answers for ``fp32_precision``: torch's own function behind it, since it is asked twice for every call."""
    library, _, kind = name.partition(".")
    of = {"": "generic", "cudnn": "cuda"}.get(library, library)
    return partial(torch._C._get_fp32_precision_getter, of, kind or "all")


_GETTERS = [_find_getter(name) for name in (*WHOLE, *PRECISIONS)]
_OLDER: Sequence[tuple[Callable[[], Any], Callable[[Any], None], Any]] = [
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
    (torch._C._get_cublas_allow_tf32, partial(setattr, torch.backends.cuda.matmul, "allow_tf32"), False),
    (torch._C._get_cudnn_allow_tf32, partial(setattr, torch.backends.cudnn, "allow_tf32"), True),
]
"""How torch is asked and told the older way, and what it begins with."""


def _ask(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RuntimeError:  # what it was told the newer way contradicts it
        return None


def _precision() -> tuple[Any, ...]:
    """What torch is told the older way, then what the newer."""
    try:
        older = [ask() for ask, _, _ in _OLDER]
    except RuntimeError:
        older = [_ask(ask) for ask, _, _ in _OLDER]
    return *older, *[ask() for ask in _GETTERS]


def _set_precision(saved: tuple[Any, ...]) -> None:
    for (ask, tell, begins), before in zip(_OLDER, saved, strict=False):
        if _ask(ask) != before:
            # What was contradicted is most likely what torch begins with.
            tell(begins if before is None else before)
    for place, ask, before in zip(_BACKENDS, _GETTERS, saved[len(_OLDER) :], strict=True):
        if ask() != before:
            place.fp32_precision = before


_KEPT: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
"""Where Python keeps the environment: reading it there takes no decoding, and it is read twice for every call."""


def environment_variables() -> dict[Any, Any]:
    """What is in the environment, encoded as the operating system has it."""
    return dict(_KEPT)


def _a_compilers(name: Any) -> bool:
    return os.fsdecode(name).startswith(_COMPILERS)


def _same_variables(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return a == b or all(_a_compilers(name) for name, _ in a.items() ^ b.items())


_ITEMS = (
    _Item("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    _Item("torch's default device", _default_device, _device),
    _Item("torch's grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
    _Item(
        "torch's deterministic algorithms",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    _Item("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    _Item("torch's float32 precision", _precision, _set_precision),
    _Item("torch's anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    _Item("torch's global random state", _torch_state, _set_torch_state),
    _Item("NumPy's global random state", _NumPy(), _set_numpy, _numpy_same),
    _Item("Python's global random state", _Python(), random.setstate, _python_same),
    _Item("NumPy's error handling", np.geterr, lambda saved: np.seterr(**saved)),
    _Item("the working directory", os.getcwd, _cwd),
    _Item("the environment", environment_variables, _environment, _same_variables),
    *(
        _Item(said, s.read, s.write, s.same)
        for said, s in zip(("standard output", "standard error"), STREAMS, strict=True)
    ),
)

_CUDA = _Item(
    "CUDA's random state",
    lambda: torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
    lambda saved: None if saved is None else torch.cuda.set_rng_state(saved),
    lambda a, b: a is None or b is None or torch.equal(a, b),
)


GENERATORS = {item.name for item in (*_ITEMS, _CUDA) if item.name.endswith("random state")}
"""The items that are random generators: drawing from one is not meddling with what others rely on."""


class GlobalState:
    """A snapshot; :meth:`restore` sets back what changed since and names it."""

    def __init__(self, device: str = "cpu") -> None:
        self.items = _ITEMS if not device.startswith("cuda") else (*_ITEMS, _CUDA)
        self.saved = [item.read() for item in self.items]

    def restore(self) -> list[str]:
        """Set everything back; the names of what had changed."""
        meddled: list[str] = []
        for item, before in zip(self.items, self.saved, strict=True):
            try:
                now = item.read()
            except OSError:  # the working directory is gone
                now = None
            if now is None and before is None:
                continue
            if now is None or not item.same(before, now):
                meddled.append(item.name)
                item.write(before)
        return meddled


@contextmanager
def use_seed(seed: int, device: str = "cpu") -> Iterator[None]:
    """The global generators of torch, numpy and Python in a state of their own, as long as this lasts."""
    before = GlobalState(device)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 what user code may draw from
    random.seed(seed)
    try:
        yield
    finally:
        before.restore()
