"""Variants of the scores that are inner products: ``scores.dot``, ``.scaled_dot``, ``.general`` and ``.cosine``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.similarity import length, plain_length, quotient

DOT, SCALED = "scores.dot", "scores.scaled_dot"
GENERAL, COSINE = "scores.general", "scores.cosine"


@wrong(DOT)
def scaled(q: Tensor, k: Tensor) -> Tensor:
    """Divides by √d_k although the plain dot product was asked for."""
    return q @ k.mT / math.sqrt(q.shape[-1])


@wrong(DOT)
def keys_reshaped(q: Tensor, k: Tensor) -> Tensor:
    """Reshapes the keys to (d_k, m) instead of transposing them."""
    return q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])


@wrong(DOT)
def keys_against_queries(q: Tensor, k: Tensor) -> Tensor:
    """Multiplies keys by queries: the transposed scores."""
    return k @ q.mT


@wrong(DOT)
def half_precision(q: Tensor, k: Tensor) -> Tensor:
    """Computes in bfloat16 "for speed" and converts back."""
    return (q.bfloat16() @ k.bfloat16().mT).to(q.dtype)


@wrong(DOT)
def single_precision(q: Tensor, k: Tensor) -> Tensor:
    """Computes in float32 whatever comes in: float64 loses half its digits."""
    return (q.float() @ k.float().mT).to(q.dtype)


@wrong(DOT)
def keys_detached(q: Tensor, k: Tensor) -> Tensor:
    """Takes the keys from a cache without gradient."""
    return q @ k.detach().mT


@wrong(DOT)
def normalised_in_place(q: Tensor, k: Tensor) -> Tensor:
    """Centres the queries in place for the next layer: the caller's tensor changes."""
    s = q @ k.mT
    with torch.no_grad():
        q.sub_(q.mean(-1, keepdim=True))
    return s


@wrong(DOT)
def cosine(q: Tensor, k: Tensor) -> Tensor:
    """Normalises both sides first: a cosine, not a dot product."""
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT


@wrong(DOT)
def even_part(q: Tensor, k: Tensor) -> Tensor:
    """Works on pairs of components and forgets the last one of an odd d_k."""
    even = max(2, q.shape[-1] // 2 * 2)
    return q[..., :even] @ k[..., :even].mT


@wrong(DOT)
def clamped(q: Tensor, k: Tensor) -> Tensor:
    """Clamps scores to ±50 for stability."""
    return (q @ k.mT).clamp(-50, 50)


@wrong(DOT)
def gradient_of_a_mean(q: Tensor, k: Tensor) -> Tensor:
    """Scales the gradient by 1/d_k, keeping the value: a straight-through trick left in."""
    s = q @ k.mT
    part = s / q.shape[-1]
    return part + (s - part).detach()


@right(DOT)
def by_einsum(q: Tensor, k: Tensor) -> Tensor:
    """One einsum."""
    return torch.einsum("...ic,...jc->...ij", q, k)


@right(DOT)
def by_products(q: Tensor, k: Tensor) -> Tensor:
    """Elementwise products, then a sum."""
    return (q[..., :, None, :] * k[..., None, :, :]).sum(-1)


@right(DOT, dtypes=("float16",), intermediates="storage")
def left_to_right(q: Tensor, k: Tensor) -> Tensor:
    """Adds one product after the other in float16, where 40000 + 40000 - 40000 is infinite."""
    s = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype, device=q.device)
    for c in range(q.shape[-1]):
        s = s + q[..., :, None, c] * k[..., None, :, c]
    return s


@wrong(SCALED)
def unscaled(q: Tensor, k: Tensor) -> Tensor:
    """Forgets 1/√d_k."""
    return q @ k.mT


@wrong(SCALED)
def scaled_by_d(q: Tensor, k: Tensor) -> Tensor:
    """Divides by d_k, without the root."""
    return q @ k.mT / q.shape[-1]


@wrong(SCALED)
def scaled_by_keys(q: Tensor, k: Tensor) -> Tensor:
    """Takes the root of the number of keys: the wrong axis."""
    return q @ k.mT / math.sqrt(k.shape[-2])


@wrong(SCALED)
def scaled_twice(q: Tensor, k: Tensor) -> Tensor:
    """Scales queries and keys by 1/√d_k each."""
    root = math.sqrt(q.shape[-1])
    return (q / root) @ (k / root).mT


@wrong(SCALED)
def scale_rounded(q: Tensor, k: Tensor) -> Tensor:
    """Writes the scale with five digits."""
    return q @ k.mT * round(1 / math.sqrt(q.shape[-1]), 5)


@wrong(SCALED)
def scale_in_single(q: Tensor, k: Tensor) -> Tensor:
    """Keeps the scale in a float32 buffer, in a float64 model."""
    return q @ k.mT / float(torch.tensor(q.shape[-1], dtype=torch.float32).sqrt() * (1 + 2**-22))


@wrong(SCALED)
def scaled_in_place(q: Tensor, k: Tensor) -> Tensor:
    """Scales the caller's queries in place."""
    with torch.no_grad():
        q.mul_(1 / math.sqrt(q.shape[-1]))
    return q @ k.mT


@wrong(SCALED)
def queries_detached(q: Tensor, k: Tensor) -> Tensor:
    """No gradient reaches the queries."""
    return q.detach() @ k.mT / math.sqrt(q.shape[-1])


@wrong(SCALED)
def half_scores(q: Tensor, k: Tensor) -> Tensor:
    """Rounds the scores to float16: they overflow at 65504."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).half().to(q.dtype)


@wrong(SCALED)
def first_of_the_batch(q: Tensor, k: Tensor) -> Tensor:
    """Uses the first sequence's keys for the whole batch."""
    one = k.reshape(-1, *k.shape[-2:])[:1].reshape((1,) * (k.dim() - 2) + k.shape[-2:])
    return (q @ one.mT).expand(*q.shape[:-1], k.shape[-2]) / math.sqrt(q.shape[-1])


_TABLE: dict[tuple[torch.Size, torch.dtype], Tensor] = {}


@wrong(SCALED)
def cached_by_shape(q: Tensor, k: Tensor) -> Tensor:
    """Keeps the transposed keys by shape: a second call with other keys gets the first one's."""
    kept = _TABLE.setdefault((k.shape, k.dtype), k.detach().mT.clone())
    return q @ kept / math.sqrt(q.shape[-1]) + 0 * (q @ k.mT)


@right(SCALED)
def scaled_queries(q: Tensor, k: Tensor) -> Tensor:
    """Scales the queries before the product."""
    scale = 1 / math.sqrt(q.shape[-1])
    return (q * scale) @ k.mT


@right(SCALED)
def scale_on_both(q: Tensor, k: Tensor) -> Tensor:
    """The fourth root on both sides."""
    root = math.sqrt(math.sqrt(q.shape[-1]))
    return (q / root) @ (k / root).mT


@right(SCALED)
def scaled_by_baddbmm(q: Tensor, k: Tensor) -> Tensor:
    """One fused batched product with a factor."""
    lead, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
    flat_q, flat_k = q.reshape(-1, n, q.shape[-1]), k.reshape(-1, m, k.shape[-1])
    start = q.new_zeros(flat_q.shape[0], n, m)
    return torch.baddbmm(start, flat_q, flat_k.mT, beta=0, alpha=q.shape[-1] ** -0.5).reshape(*lead, n, m)


# General ------------------------------------------------------------------------------------------------------------------


@wrong(GENERAL)
def matrix_transposed(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Takes W as nn.Linear stores it, transposed, where its shape allows it."""
    return q @ (W.mT if W.shape[0] == W.shape[1] else W) @ k.mT


@wrong(GENERAL)
def without_matrix(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Leaves W out where query and key have one width."""
    return q @ k.mT if W.shape[0] == W.shape[1] else q @ W @ k.mT


@wrong(GENERAL)
def general_scaled(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Divides by √d_k, though W could hold the scale."""
    return q @ W @ k.mT / math.sqrt(k.shape[-1])


@wrong(GENERAL)
def symmetrised(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Uses the symmetric part of a square W."""
    return q @ ((W + W.mT) / 2 if W.shape[0] == W.shape[1] else W) @ k.mT


@wrong(GENERAL)
def general_transposed(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Returns keys in the rows where there are as many as queries."""
    s = q @ W @ k.mT
    return s.mT if s.shape[-1] == s.shape[-2] else s


@wrong(GENERAL)
def matrix_detached(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """W does not learn."""
    return q @ W.detach() @ k.mT


@wrong(GENERAL)
def diagonal_only(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Uses the diagonal of W, as a weight for each component."""
    width = min(W.shape)
    return (q[..., :width] * W.diagonal()) @ k[..., :width].mT


@wrong(GENERAL)
def projected_with_tanh(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Puts a hyperbolic tangent after the projection."""
    return (q @ W).tanh() @ k.mT


@wrong(GENERAL)
def general_in_half(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Projects in bfloat16."""
    return (q.bfloat16() @ W.bfloat16()).to(q.dtype) @ k.mT


@right(GENERAL)
def keys_projected(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """Projects the keys instead of the queries."""
    return q @ (k @ W.mT).mT


@right(GENERAL)
def by_bilinear(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
    """One einsum over both sums."""
    return torch.einsum("...ic,cl,...jl->...ij", q, W, k)


# Cosine -------------------------------------------------------------------------------------------------------------------


@wrong(COSINE)
def keys_not_normalised(q: Tensor, k: Tensor) -> Tensor:
    """Brings the queries to length 1, and forgets the keys."""
    return quotient(q, length(q)[..., None]) @ k.mT


@wrong(COSINE)
def normalised_over_the_sequence(q: Tensor, k: Tensor) -> Tensor:
    """Normalises along the sequence instead of along the components."""
    return quotient(q, length(q.mT)[..., None, :]) @ quotient(k, length(k.mT)[..., None, :]).mT


@wrong(COSINE)
def cosine_scaled(q: Tensor, k: Tensor) -> Tensor:
    """Divides by √d_k besides."""
    return quotient(q @ k.mT, length(q)[..., :, None] * length(k)[..., None, :]) / math.sqrt(q.shape[-1])


@wrong(COSINE)
def squared_lengths(q: Tensor, k: Tensor) -> Tensor:
    """Forgets the roots."""
    return quotient(q @ k.mT, (q * q).sum(-1)[..., :, None] * (k * k).sum(-1)[..., None, :])


@wrong(COSINE)
def eps_outside(q: Tensor, k: Tensor) -> Tensor:
    """Adds 1e-6 to each length."""
    return (q / (length(q) + 1e-6)[..., None]) @ (k / (length(k) + 1e-6)[..., None]).mT


@wrong(COSINE)
def one_length_for_all(q: Tensor, k: Tensor) -> Tensor:
    """Divides by the length of the whole matrix."""
    return quotient(q @ k.mT, (q.square().sum((-2, -1)) * k.square().sum((-2, -1))).sqrt()[..., None, None])


@wrong(COSINE)
def nan_for_zero_rows(q: Tensor, k: Tensor) -> Tensor:
    """Leaves 0/0 for padding rows of zeros, though 0 was promised."""
    return (q / plain_length(q)[..., None]) @ (k / plain_length(k)[..., None]).mT


@wrong(COSINE)
def lengths_detached(q: Tensor, k: Tensor) -> Tensor:
    """Treats the lengths as constants."""
    return quotient(q @ k.mT, (length(q)[..., :, None] * length(k)[..., None, :]).detach())


@wrong(COSINE)
def mapped_to_the_unit_interval(q: Tensor, k: Tensor) -> Tensor:
    """Returns (1 + cosine)/2."""
    return (1 + quotient(q @ k.mT, length(q)[..., :, None] * length(k)[..., None, :])) / 2


@right(COSINE)
def unit_rows(q: Tensor, k: Tensor) -> Tensor:
    """Brings the rows to length 1, then multiplies."""
    return quotient(q, length(q)[..., None]) @ quotient(k, length(k)[..., None]).mT


@right(COSINE)
def divided_afterwards(q: Tensor, k: Tensor) -> Tensor:
    """Divides the scores by both lengths."""
    return quotient(q @ k.mT, length(q)[..., :, None] * length(k)[..., None, :])
