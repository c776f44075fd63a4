"""The spread of careful arithmetic, of any computation in PyTorch: it is run in float64, each result rounded at random.

A statement tells which operations round (:mod:`spec.language.evaluation.expected`). Where there is none, the operations that a
reference consists of tell it, as a dispatch mode sees them: each result is rounded up or down to the grid of the working type, up
the likelier the nearer it is. What that type holds exactly stays as it is, so copies and selections need no list. A sum is off by
its partial sums besides, by the same formula as a statement's. Fused operations are taken apart first; inside them a 16-bit type
is accumulated in float32.

Without a generator nothing is rounded: that run is the expectation. In either a conversion to a type narrower than float64 is
left out, and counts as a rounding, so that a reference that holds a type of its own has an expectation too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from spec.language.evaluation.expected import SPREAD
from spec.language.evaluation.precision import ACCUMULATION, ERF_ROUNDINGS, FORMATS
from verify.inputs.dtypes import NAMES

BITS = 52
"""Digits of a float64 number behind its first."""
TF32 = 2.0**-11
"""The unit roundoff of the factors of a product, where torch is told that TF32 is enough."""
POOL = 524_287
"""Of twice so many random numbers a part is used again and again, each time from elsewhere: a prime, so that rows of a large
tensor meet others.
"""
_SEVERAL = (
    "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_trilinear3d "
    "_batch_norm_with_update _euclidean_dist _fused_rms_norm _fused_rms_norm_backward _log_softmax "
    "_log_softmax_backward_data _native_batch_norm_legit _native_batch_norm_legit_no_training "
    "_safe_softmax _softmax _softmax_backward_data _weight_norm_interface addbmm addcdiv addcmul addmm "
    "addmv addr baddbmm batch_norm_backward binary_cross_entropy binary_cross_entropy_backward "
    "binary_cross_entropy_with_logits celu dist elu elu_backward embedding_dense_backward gelu "
    "gelu_backward glu glu_backward hardsigmoid hardswish hardswish_backward huber_loss "
    "huber_loss_backward lerp linalg_vector_norm log_sigmoid_backward log_sigmoid_forward logaddexp "
    "logsumexp mish mish_backward mse_loss mse_loss_backward native_batch_norm native_batch_norm_backward "
    "native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward "
    "nll_loss_forward norm rsub selu sigmoid_backward silu silu_backward smooth_l1_loss "
    "smooth_l1_loss_backward softplus softplus_backward std std_mean tanh_backward var var_mean "
)
FUSED = frozenset(_SEVERAL.split())
"""Operations that are several, and are taken apart."""
PRODUCTS = frozenset(("mm", "bmm", "dot", "mv", "vdot"))
MEANS = frozenset(("mean", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"))
SUMS = MEANS | {"sum", "cumsum", "nansum"}
CONVOLUTIONS = frozenset(("convolution", "convolution_backward"))
SCATTERED = frozenset(("index_add", "index_put", "scatter_add", "_unsafe_masked_index_put_accumulate"))
SUMMING = PRODUCTS | SUMS | CONVOLUTIONS | SCATTERED
"""Operations that sum, of which the spread of partial sums is known."""
MODELLED = SUMMING | {"prod", "cumprod"}
_JUMPING = "round floor ceil trunc sign argmax argmin topk sort bucketize searchsorted frac"
SELECTING = frozenset(_JUMPING.split())
"""Operations whose result jumps: where they are, an entry may be another by one rounding."""
_KINKED = (
    "relu leaky_relu _prelu_kernel hardtanh hardswish hardsigmoid abs max min amax amin maximum minimum fmax fmin clamp "
    "clamp_min clamp_max max_pool2d_with_indices max_pool3d_with_indices median cummax cummin gt lt ge le"
)
BENT = SELECTING | frozenset(_KINKED.split())
"""Operations of which a slope jumps: where they are, so may an entry of a gradient."""


class Rounding(TorchDispatchMode):
    """Run a computation of float64 tensors as one in ``dtype`` by random roundings; in float64 as it is without a generator.

    Args:
        dtype: the type that is modelled.
        seed: where the roundings come from; None: nothing is rounded.
        device: where the tensors are.
        tf32: whether factors of products are rounded to TF32.

    Attributes:
        jumps, bends: whether an operation was met whose result jumps, or whose slope does.
        unmodelled: operations of which it is not known how they round; each counts as one rounding of its result.
    """

    def __init__(self, dtype: str, seed: int | None, device: torch.device, tf32: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.storage, self.inner = FORMATS[dtype].unit, FORMATS[ACCUMULATION[dtype]].unit
        self.seed, self.device, self.tf32 = seed, device, tf32
        self.jumps = self.bends = False
        self.unmodelled = set[str]()
        self._inside = False
        self._random = random.Random(seed)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Carry out one operation."""
        name = func._schema.name.partition("::")[2].rstrip("_")
        writes = any(
            each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments
        )
        narrow = (kwargs or {}).get("dtype")
        args, kwargs = (
            tree_map(self._widen, (tuple(args), dict(kwargs or {}))) if not writes else (args, kwargs or {})
        )
        reals = any(_is_real(each) for each in tree_leaves(args))
        self.bends = self.bends or (name in BENT and reals and not self._inside)
        if not writes and (parted := self._take_apart(func, name, args, kwargs)) is not NotImplemented:
            return parted
        self.jumps = self.jumps or name in SELECTING
        if self.tf32 and self.seed is not None and name in PRODUCTS | CONVOLUTIONS:
            args = [self._round(each.clone(), TF32) if _is_real(each) else each for each in args]
        out = func(*args, **kwargs)
        returned = func._schema.returns
        if self.seed is None or (returned and returned[0].alias_info is not None and not writes):
            return out  # a view
        if name in SUMMING and any(map(_is_real, _tensors(out))):
            self._shake_sum(func, name, args, kwargs, out)
        unit = self.inner if self._inside else self.storage
        if name == "_to_copy" and narrow in NAMES:
            unit = max(self.storage, FORMATS[NAMES[narrow]].unit)
        elif (
            torch.Tag.pointwise not in func.tags
            and name not in MODELLED
            and any(map(_is_real, tree_leaves(args)))
        ):
            self._note(func, out, unit)
        for each in tree_leaves(out):
            if _is_real(each):
                if name == "erf":
                    self._shift(each, each.new_tensor(ERF_ROUNDINGS * unit / 2))
                elif name in ("prod", "cumprod"):
                    factors = args[0].numel() / each.numel() if name == "prod" else each.shape[args[1]]
                    self._shift(each, each.abs() * (math.sqrt(factors) * unit))
                self._round(each, unit)
        return out

    def _widen(self, value: Any) -> Any:
        """An argument as float64 has it; numbers that stand for the least of a type stay within float32's."""
        if isinstance(value, torch.Tensor):
            narrow = value.dtype in NAMES and value.dtype != torch.float64
            return value.double() if narrow else value
        if isinstance(value, torch.dtype):
            return torch.float64 if value in NAMES else value
        if isinstance(value, float) and math.isfinite(value) and abs(value) > FORMATS["float32"].largest:
            return math.copysign(FORMATS["float32"].largest, value)
        return value

    def _take_apart(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """The result of an operation that is several."""
        before, parts = self._inside, decomposition_table.get(func)
        if kwargs.get("approximate", "none") == "none":
            parts = OWN.get(name, parts)
        if name not in FUSED or parts is None:
            with self:
                return func.decompose(*args, **kwargs)
        self._inside = True
        try:
            with self:
                out = parts(*args, **kwargs)
        finally:
            self._inside = before
        if not before and self.seed is not None and self.storage != self.inner:
            for each in tree_leaves(out):
                if _is_real(each):
                    self._round(each, self.storage)
        return out

    def _note(self, func: Any, out: Any, unit: float) -> None:
        """Note an operation that made numbers of its own, though nothing is known of how."""
        mask = (1 << _dropped(unit)) - 1
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and x.is_complex():
                self.unmodelled.add("complex numbers")
            elif _is_real(x) and bool((x.view(torch.int64) & mask).any()):
                self.unmodelled.add(func._schema.name)

    def _round(self, x: torch.Tensor, unit: float) -> torch.Tensor:
        """Round each entry up or down at random, in place; the nearer is the likelier."""
        digits = _dropped(unit)
        if digits > 0 and not x.is_contiguous():
            x.copy_(self._round(x.contiguous(), unit))
        elif digits > 0:
            for part, drawn in self._draw(digits, x.view(-1).view(torch.int64)):
                part.add_(drawn).bitwise_and_(-(1 << digits))
        return x

    def _shift(self, x: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        """Shift each entry at random by a uniform number of at most ``spread``, in place."""
        if not x.is_contiguous():
            return x.copy_(self._shift(x.contiguous(), spread))
        for part, most, drawn in self._draw(0, x.view(-1), spread.expand_as(x).reshape(-1)):
            part.add_(drawn * most)
        return x

    def _draw(self, digits: int, *tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
        """Equal parts of tensors, small where these are large, each with as many random numbers: whole ones of so many digits,
        or real ones between -1 and 1.
        """
        for parts in zip(*(x.split(POOL) for x in tensors), strict=True):
            begin = self._random.randrange(POOL)
            yield *parts, _pool(digits, self.device)[begin : begin + len(parts[0])]

    def _shake_sum(self, func: Any, name: str, args: Sequence[Any], kwargs: Any, out: Any) -> None:
        """Shift sums, in place, by what the roundings of their partial sums come to.

        With S the sum of n terms and Q that of their squares, the variance is u²/3·(S²·(n+1)/3 + Q·((n+1)/6 − 1/n)), Q more
        where the terms are products. A sum of few digits is no exception: that it is exact is the luck of a reference which does
        not scale its terms first.
        """
        products = name in PRODUCTS | CONVOLUTIONS
        squares, size = _squares(func, name, args, kwargs)
        for total, square, terms in zip(
            _tensors(out), _tensors(squares), _count_terms(func, name, args, out), strict=True
        ):
            if terms is None:
                continue
            share = (terms + 1) / 6 - 1 / terms + products
            # A copy, since of a type that is the sum's own to() makes none.
            variance = total.to(square.dtype, copy=True).div_(size).square_().mul_((terms + 1) / 3)
            self._shift(
                total, variance.add_(square.mul_(share)).clamp_min_(0).sqrt_().mul_(self.inner * size)
            )


@contextmanager
def in_parts() -> Iterator[None]:
    """Let torch compute attention and recurrences step by step, so that a mode sees the steps."""
    with sdpa_kernel(SDPBackend.MATH), torch.backends.cudnn.flags(enabled=False):
        yield


@lru_cache(maxsize=32)
def _pool(digits: int, device: torch.device) -> torch.Tensor:
    """Random numbers, as :meth:`Rounding._draw` gives them."""
    generator = torch.Generator(device).manual_seed(digits)
    if digits:
        return torch.randint(0, 1 << digits, (2 * POOL,), generator=generator, device=device)
    return torch.empty(2 * POOL, dtype=torch.float64, device=device).uniform_(-1, 1, generator=generator)


def _dropped(unit: float) -> int:
    """How many of float64's digits a type of this roundoff does not have."""
    return BITS + 1 + int(math.log2(unit))


def _is_real(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype == torch.float64 and x.layout == torch.strided


def _tensors(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]


def _squares(func: Any, name: str, args: Sequence[Any], kwargs: Any) -> tuple[Any, float]:
    """The sums of the squares of all terms, the same operation on squares, and the size by which they were divided before: then
    float32 is enough.
    """
    if name in CONVOLUTIONS:
        return func(*(x.square() if _is_real(x) else x for x in args), **kwargs), 1.0
    sizes = [_size(x) if _is_real(x) else 0.0 for x in args]
    if name not in PRODUCTS:
        sizes = [max(sizes)] * len(sizes)
    made = func(
        *(
            x.to(torch.float32, copy=True).div_(size).square_() if _is_real(x) else x
            for x, size in zip(args, sizes, strict=True)
        ),
        **kwargs,
    )
    if name in MEANS:
        made /= _count_terms(func, name, args, made)[0]
    return made, math.prod(sizes) if name in PRODUCTS else sizes[0]


def _size(x: torch.Tensor) -> float:
    """The largest entry, by which all may be divided; 1 where some entry is not finite."""
    low, high = map(float, torch.aminmax(x)) if x.numel() else (0.0, 0.0)
    most = max(-low, high)
    return max(most, FORMATS["float32"].tiny) if math.isfinite(most) else 1.0


def _count_terms(func: Any, name: str, args: Sequence[Any], out: Any) -> Sequence[Any]:
    """How many terms each result is the sum of; None where there is no result."""
    if name in SCATTERED or name == "cumsum":
        return [func(*(torch.ones_like(x) if _is_real(x) else x for x in args)).clamp_min_(1)]
    if name in PRODUCTS:
        return [max(1, args[0].shape[-1])]
    if name in ("avg_pool2d", "avg_pool3d"):
        return [math.prod(args[1]) ** (1 if len(args[1]) > 1 else int(name[-2]))]
    if name in SUMS:
        return [max(1, args[0].numel() // max(1, out.numel()))]
    if name == "convolution":
        return [max(1, args[1][0].numel())]
    gradient, _, weight = args[:3]
    counts = (weight.numel() // weight.shape[1], *[gradient.numel() // gradient.shape[1]] * 2)
    return [None if each is None else max(1, count) for each, count in zip(out, counts, strict=True)]


def _variance_and_mean(
    x: torch.Tensor, dim: Any = None, correction: Any = 1, keepdim: bool = False, **_: Any
) -> Any:
    axes = list(range(x.ndim)) if dim is None or dim == [] else list(dim)
    mean = x.mean(axes, keepdim=True)
    free = x.numel() // max(1, mean.numel()) - (1 if correction is None else correction)
    variance = (x - mean).square_().sum(axes, keepdim=keepdim) / max(0, free)
    return variance, mean if keepdim else mean.squeeze(axes)


def _variance(*args: Any, **options: Any) -> Any:
    return _variance_and_mean(*args, **options)[0]


def _softmax(x: torch.Tensor, dim: int, half_to_float: bool = False) -> torch.Tensor:
    shares = (x - x.amax(dim, keepdim=True)).exp_() if x.numel() else x.clone()
    return shares.div_(shares.sum(dim, keepdim=True))


def _softmax_backward(gradient: torch.Tensor, shares: torch.Tensor, dim: int, _: Any) -> torch.Tensor:
    found = gradient * shares
    return found.sub_(shares * found.sum(dim, keepdim=True))


def _gelu(x: torch.Tensor, **_: Any) -> torch.Tensor:
    return (x * math.sqrt(0.5)).erf_().add_(1).mul_(x).mul_(0.5)


def _gelu_backward(gradient: torch.Tensor, x: torch.Tensor, **_: Any) -> torch.Tensor:
    slope = (x * x).mul_(-0.5).exp_().mul_(1 / math.sqrt(2 * math.pi)).mul_(x)
    return slope.add_((x * math.sqrt(0.5)).erf_().add_(1).mul_(0.5)).mul_(gradient)


OWN: Mapping[str, Callable[..., Any]] = {
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "gelu": _gelu,
    "gelu_backward": _gelu_backward,
    "var": _variance,
    "var_mean": _variance_and_mean,
}
"""Operations taken apart our own way: in place, which takes no more memory than a fused one."""


class Spread:
    """How far runs with random roundings are from the expectation, in root mean square, entry by entry; no run is kept.

    Args:
        run: makes the run under a mode, and returns its results by name.
        expected: the results of the run in which nothing is rounded.
        dtype: the type that is modelled.
        seed: determines the roundings.
        tf32: whether factors of products are rounded to TF32.
    """

    def __init__(
        self,
        run: Callable[[Rounding], Mapping[str, torch.Tensor]],
        expected: Mapping[str, torch.Tensor],
        dtype: str,
        seed: int,
        tf32: bool = False,
    ) -> None:
        self.run, self.expected, self.dtype, self.seed, self.tf32 = run, expected, dtype, seed, tf32
        self.samples = 0
        self.off: dict[str, torch.Tensor] = {}
        """The roots of the sums of squares, in float32."""
        self.moved: dict[str, torch.Tensor] = {}
        """Where integers and booleans were others in some run: a rounding decides them."""

    def draw(self, samples: int) -> None:
        """Have so many samples in all."""
        device = next(iter(self.expected.values())).device
        for place in range(self.samples, samples):
            self._add(self.run(Rounding(self.dtype, self.seed * 1009 + place, device, self.tf32)))
        self.samples = max(self.samples, samples)

    def _add(self, found: Mapping[str, torch.Tensor]) -> None:
        """Take in one sample, of which nobody holds anything then."""
        for name, value in self.expected.items():
            if value.is_floating_point():
                off = (found[name].double() - value).abs_().float()
                self.off[name] = torch.hypot(self.off[name], off) if name in self.off else off
            else:
                other = found[name] != value
                self.moved[name] = self.moved[name] | other if name in self.moved else other

    def sigma(self, name: str) -> torch.Tensor:
        """The standard deviation for each entry of a result: blended with its row's, since few samples tell it, and at least
        that of one rounding to the type.
        """
        value, total = self.expected[name], self.off[name].double().square_()
        storage = FORMATS[self.dtype]
        finite = torch.where(torch.isfinite(total), total, 0.0)
        row = finite.mean(-1, keepdim=True) if value.ndim else finite
        blended = total.add_(row, alpha=ROW / self.samples).div_(self.samples + ROW).sqrt_()
        return torch.maximum(blended, value.abs() * (storage.unit * SPREAD)).clamp_min_(storage.tiny)


ROW = 2
"""As how many samples the typical spread of an entry's row counts."""


__all__ = ["Rounding", "Spread", "in_parts"]
