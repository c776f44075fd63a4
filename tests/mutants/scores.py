"""Variants of the scores that are inner products: ``scores.dot``, ``.scaled_dot``, ``.general`` and ``.cosine``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.similarity import length, plain_length, quotient

DOT, SCALED = "scores.dot", "scores.scaled_dot"
GENERAL, COSINE = "scores.general", "scores.cosine"
wrong(
    DOT,
    "scaled",
    "Divides by √d_k although the plain dot product was asked for.",
    cause=r"is divided by √\(?d_k|1/√d_k times",
)(lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]))
wrong(
    DOT, "keys_reshaped", "Reshapes the keys to (d_k, m) instead of transposing them.", cause="k is reshaped"
)(lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]))
wrong(DOT, "keys_against_queries", "Multiplies keys by queries: the transposed scores.", cause="transposed")(
    lambda q, k: k @ q.mT
)
wrong(DOT, "half_precision", 'Computes in bfloat16 "for speed" and converts back.', cause="bfloat16 inside")(
    lambda q, k: (q.bfloat16() @ k.bfloat16().mT).to(q.dtype)
)
wrong(
    DOT,
    "single_precision",
    "Computes in float32 whatever comes in: float64 loses half its digits.",
    cause="float32 inside",
)(lambda q, k: (q.float() @ k.float().mT).to(q.dtype))
wrong(DOT, "keys_detached", "Takes the keys from a cache without gradient.", cause=r"reaches k\b")(
    lambda q, k: q @ k.detach().mT
)


def even(x):
    """The components that form pairs; one at least."""
    return x[..., : max(2, x.shape[-1] // 2 * 2)]


@wrong(DOT, cause="writes to its input")
def normalised_in_place(q, k):
    """Centres the queries in place for the next layer: the caller's tensor changes."""
    s = q @ k.mT
    with torch.no_grad():
        q.sub_(q.mean(-1, keepdim=True))
    return s


wrong(
    DOT,
    "cosine",
    "Normalises both sides first: a cosine, not a dot product.",
    cause="divided by (its|their) length|cosine",
)(lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT)


wrong(
    DOT,
    "even_part",
    "Works on pairs of components and forgets the last one of an odd d_k.",
    cause="d_k is odd|leaves out the last",
)(lambda q, k: even(q) @ even(k).mT)


wrong(DOT, "clamped", "Clamps scores to ±50 for stability.", cause=r"\b50\b|clamp")(
    lambda q, k: (q @ k.mT).clamp(-50, 50)
)


wrong(
    DOT,
    "gradient_of_a_mean",
    "Scales the gradient by 1/d_k, keeping the value: straight through.",
    cause="gradient of q|1/d_k",
)(lambda q, k: q @ k.mT / q.shape[-1] + (q @ k.mT - q @ k.mT / q.shape[-1]).detach())


right(DOT, "by_einsum", "One einsum.")(lambda q, k: torch.einsum("...ic,...jc->...ij", q, k))
right(DOT, "by_products", "Elementwise products, then a sum.")(
    lambda q, k: (q[..., :, None, :] * k[..., None, :, :]).sum(-1)
)


@right(DOT, dtypes=("float16",), intermediates="storage")
def left_to_right(q, k):
    """Adds one product after the other in float16, where 40000 + 40000 - 40000 is infinite."""
    s = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype, device=q.device)
    for c in range(q.shape[-1]):
        s = s + q[..., :, None, c] * k[..., None, :, c]
    return s


wrong(SCALED, "unscaled", "Forgets 1/√d_k.", cause="scale is missing|√d_k times")(lambda q, k: q @ k.mT)
wrong(SCALED, "scaled_by_d", "Divides by d_k, without the root.", cause="no root|doubled|1/√d_k")(
    lambda q, k: q @ k.mT / q.shape[-1]
)
wrong(
    SCALED,
    "scaled_by_keys",
    "Takes the root of the number of keys: the wrong axis.",
    cause=r"\bm\)? in the place|by √\(?m\b",
)(lambda q, k: q @ k.mT / math.sqrt(k.shape[-2]))


wrong(SCALED, "scaled_twice", "Scales queries and keys by 1/√d_k each.", cause="no root|doubled|1/√d_k")(
    lambda q, k: (q / math.sqrt(q.shape[-1])) @ (k / math.sqrt(k.shape[-1])).mT
)


wrong(SCALED, "scale_rounded", "Writes the scale with five digits.", cause="scale.*(round|digits)")(
    lambda q, k: q @ k.mT * round(1 / math.sqrt(q.shape[-1]), 5)
)
wrong(
    SCALED,
    "scale_in_single",
    "Takes the scale from a coarse float32 table, in a float64 model.",
    cause="float32 inside|scale.*float32",
)(lambda q, k: q @ k.mT / float(torch.tensor(q.shape[-1], dtype=torch.float32).sqrt() * (1 + 2**-22)))


@wrong(SCALED, cause="writes to its input")
def scaled_in_place(q, k):
    """Scales the caller's queries in place."""
    with torch.no_grad():
        q.mul_(1 / math.sqrt(q.shape[-1]))
    return q @ k.mT


wrong(SCALED, "queries_detached", "No gradient reaches the queries.", cause=r"reaches q\b")(
    lambda q, k: q.detach() @ k.mT / math.sqrt(q.shape[-1])
)
wrong(SCALED, "half_scores", "Rounds the scores to float16: they overflow at 65504.", cause=r"\bfloat16")(
    lambda q, k: (q @ k.mT / math.sqrt(q.shape[-1])).half().to(q.dtype)
)


@wrong(SCALED, cause="k of the first")
def first_of_the_batch(q, k):
    """Uses the first sequence's keys for the whole batch."""
    one = k.reshape(-1, *k.shape[-2:])[:1].reshape((1,) * (k.dim() - 2) + k.shape[-2:])
    return (q @ one.mT).expand(*q.shape[:-1], k.shape[-2]) / math.sqrt(q.shape[-1])


_TABLE = {}


@wrong(SCALED, cause="kept from call to call|is something kept")
def cached_by_shape(q, k):
    """Keeps the transposed keys by shape: a second call with other keys gets the first one's."""
    kept = _TABLE.setdefault((k.shape, k.dtype), k.detach().mT.clone())
    return q @ kept / math.sqrt(q.shape[-1]) + 0 * (q @ k.mT)


right(SCALED, "scaled_queries", "Scales the queries before the product.")(
    lambda q, k: q * (1 / math.sqrt(q.shape[-1])) @ k.mT
)


right(SCALED, "scale_on_both", "The fourth root on both sides.")(
    lambda q, k: (q / math.sqrt(math.sqrt(q.shape[-1]))) @ (k / math.sqrt(math.sqrt(k.shape[-1]))).mT
)


@right(SCALED)
def scaled_by_baddbmm(q, k):
    """One fused batched product with a factor."""
    lead, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
    flat_q, flat_k = q.reshape(-1, n, q.shape[-1]), k.reshape(-1, m, k.shape[-1])
    start = q.new_zeros(flat_q.shape[0], n, m)
    return torch.baddbmm(start, flat_q, flat_k.mT, beta=0, alpha=q.shape[-1] ** (-0.5)).reshape(*lead, n, m)


# General ------------------------------------------------------------------------------------------------------------------

wrong(
    GENERAL,
    "matrix_transposed",
    "Takes W as nn.Linear stores it, transposed, where its shape allows it.",
    cause=r"axes swapped.*\bW\b",
)(lambda q, k, W: q @ (W.mT if W.shape[0] == W.shape[1] else W) @ k.mT)
wrong(
    GENERAL,
    "without_matrix",
    "Leaves W out where query and key have one width.",
    cause=r"\bW is ignored|q where u",
)(lambda q, k, W: q @ k.mT if W.shape[0] == W.shape[1] else q @ W @ k.mT)
wrong(
    GENERAL,
    "general_scaled",
    "Divides by √d_k, though W could hold the scale.",
    cause=r"is divided by √\(?d_k|1/√d_k times",
)(lambda q, k, W: q @ W @ k.mT / math.sqrt(k.shape[-1]))
wrong(GENERAL, "symmetrised", "Uses the symmetric part of a square W.", cause="symmetric")(
    lambda q, k, W: q @ ((W + W.mT) / 2 if W.shape[0] == W.shape[1] else W) @ k.mT
)


wrong(
    GENERAL,
    "general_transposed",
    "Returns keys in the rows where there are as many as queries.",
    cause="but transposed",
)(lambda q, k, W: (q @ W @ k.mT).mT if q.shape[-2] == k.shape[-2] else q @ W @ k.mT)


wrong(GENERAL, "matrix_detached", "W does not learn.", cause=r"reaches W\b")(
    lambda q, k, W: q @ W.detach() @ k.mT
)


wrong(GENERAL, "diagonal_only", "Uses the diagonal of W, as a weight for each component.", cause="diagonal")(
    lambda q, k, W: q[..., : min(W.shape)] * W.diagonal() @ k[..., : min(W.shape)].mT
)


wrong(GENERAL, "projected_with_tanh", "Puts a hyperbolic tangent after the projection.", cause="tanh .*to u")(
    lambda q, k, W: (q @ W).tanh() @ k.mT
)
wrong(GENERAL, "general_in_half", "Projects in bfloat16.", cause="bfloat16 inside")(
    lambda q, k, W: (q.bfloat16() @ W.bfloat16()).to(q.dtype) @ k.mT
)
right(GENERAL, "keys_projected", "Projects the keys instead of the queries.")(
    lambda q, k, W: q @ (k @ W.mT).mT
)
right(GENERAL, "by_bilinear", "One einsum over both sums.")(
    lambda q, k, W: torch.einsum("...ic,cl,...jl->...ij", q, W, k)
)

# Cosine -------------------------------------------------------------------------------------------------------------------


def lengths(q, k):
    """The product of the lengths of each pair."""
    return length(q)[..., :, None] * length(k)[..., None, :]


def cosines(q, k):
    """The cosine of each pair, right."""
    return quotient(q @ k.mT, lengths(q, k))


def unit(x):
    """Rows of length 1, or 0."""
    return quotient(x, length(x)[..., None])


wrong(
    COSINE, "keys_not_normalised", "Brings the queries to length 1, and forgets the keys.", cause="by y_norm"
)(lambda q, k: unit(q) @ k.mT)
wrong(
    COSINE,
    "normalised_over_the_sequence",
    "Normalises along the sequence, not along the components.",
    cause="wrong axis|must not read",
)(lambda q, k: unit(q.mT).mT @ unit(k.mT))
wrong(
    COSINE,
    "cosine_scaled",
    "Divides by √d_k besides.",
    cause=r"is divided by √\(?d_k|length.* is multiplied by √\(?d_k|1/√d_k times",
)(lambda q, k: cosines(q, k) / math.sqrt(q.shape[-1]))


def square_sum(x):
    """The squared length of a whole matrix."""
    return x.square().sum((-2, -1))


wrong(COSINE, "squared_lengths", "Forgets the roots.", cause="no (sqrt|root)")(
    lambda q, k: quotient(q @ k.mT, (q * q).sum(-1)[..., :, None] * (k * k).sum(-1)[..., None, :])
)
wrong(COSINE, "eps_outside", "Adds 1e-6 to each length.", cause="1e-06|10⁻⁶")(
    lambda q, k: q / (length(q) + 1e-6)[..., None] @ (k / (length(k) + 1e-6)[..., None]).mT
)
wrong(COSINE, "one_length_for_all", "Divides by the length of the whole matrix.", cause="must not read")(
    lambda q, k: quotient(q @ k.mT, (square_sum(q) * square_sum(k)).sqrt()[..., None, None])
)
wrong(
    COSINE,
    "nan_for_zero_rows",
    "Leaves 0/0 for padding rows of zeros, though 0 was promised.",
    cause="zero_vector|0 <.*not applied",
)(lambda q, k: q / plain_length(q)[..., None] @ (k / plain_length(k)[..., None]).mT)
wrong(COSINE, "lengths_detached", "Treats the lengths as constants.", cause="_norm .*for constants")(
    lambda q, k: quotient(q @ k.mT, lengths(q, k).detach())
)
wrong(COSINE, "mapped_to_the_unit_interval", "Returns (1 + cosine)/2.", cause=r"1 \+ s|1 is added")(
    lambda q, k: (1 + cosines(q, k)) / 2
)
right(COSINE, "unit_rows", "Brings the rows to length 1, then multiplies.")(lambda q, k: unit(q) @ unit(k).mT)
right(COSINE, "divided_afterwards", "Divides the scores by both lengths.")(lambda q, k: cosines(q, k))
