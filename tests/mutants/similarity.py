"""Variants of ``similarity.dot`` and ``similarity.cosine``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

DOT, COSINE = "similarity.dot", "similarity.cosine"


def dot(x, y):
    """The inner product."""
    return (x * y).sum(-1)


def length(x):
    """The length of each vector; its gradient at zero is 0."""
    square = dot(x, x)
    some = square > 0
    return torch.where(some, torch.where(some, square, 1.0).sqrt(), 0.0)


def plain_length(x):
    """The length of each vector; its gradient at zero is not defined."""
    return dot(x, x).sqrt()


def quotient(top, under):
    """A quotient that is 0, with gradient 0, where the divisor is."""
    some = under > 0
    return torch.where(some, top / torch.where(some, under, 1.0), 0.0)


def cosine(x, y):
    """The cosine, right."""
    return quotient(dot(x, y), length(x) * length(y))


def less_the_mean(x):
    """A vector less the mean of its entries."""
    return x - x.mean(-1, keepdim=True)


wrong(
    DOT,
    "summed_differences",
    "Sums squared differences: a distance, not an inner product.",
    cause="difference|distance",
)(lambda x, y: ((x - y) ** 2).sum(-1))
wrong(
    DOT,
    "averaged",
    "Takes the mean of the products instead of their sum.",
    cause=r"mean over j|is divided by d\b|1/d times",
)(lambda x, y: (x * y).mean(-1))
wrong(DOT, "over_the_batch", "Sums over everything, the batch included.", cause="in batches")(
    lambda x, y: (x * y).sum().expand(torch.broadcast_shapes(x.shape, y.shape)[:-1])
)
wrong(DOT, "absolute_products", "Loses the signs of the products.", cause="absolute|signs")(
    lambda x, y: (x * y).abs().sum(-1)
)
wrong(DOT, "itself", "Multiplies the first vector with itself.", cause="x (is read )?where y|y is ignored")(
    lambda x, y: dot(x, x) + 0 * y.sum(-1)
)
wrong(DOT, "reversed_second", "Convolves: the second vector runs backwards.", cause="[xy] is read from")(
    lambda x, y: dot(x, y.flip(-1))
)
wrong(DOT, "normalised", "Divides by the lengths: the cosine.", cause="divided by (its|their) length|cosine")(
    lambda x, y: cosine(x, y)
)
wrong(DOT, "second_detached", "No gradient reaches the second vector.", cause=r"reaches y\b")(
    lambda x, y: dot(x, y.detach())
)
wrong(DOT, "halved", "Computes in bfloat16 and converts back.", cause="bfloat16 inside")(
    lambda x, y: dot(x.bfloat16(), y.bfloat16()).to(x.dtype)
)
wrong(
    DOT,
    "without_the_last",
    "Off by one in a loop: the last of several components is left out.",
    cause="leaves out the last|d ?[−-] ?1",
)(lambda x, y: dot(x[..., : max(1, x.shape[-1] - 1)], y[..., : max(1, x.shape[-1] - 1)]))
right(DOT, "by_matmul", "A row times a column.")(lambda x, y: (x[..., None, :] @ y[..., :, None])[..., 0, 0])
right(DOT, "by_einsum", "One einsum.")(lambda x, y: torch.einsum("...j,...j->...", x, y))
right(DOT, "even_and_odd", "The even components and the odd ones, summed apart.")(
    lambda x, y: dot(x[..., ::2], y[..., ::2]) + dot(x[..., 1::2], y[..., 1::2])
)

wrong(COSINE, "first_length_missing", "Divides by the second length only.", cause="not divided by x_norm")(
    lambda x, y: quotient(dot(x, y), length(y))
)
wrong(COSINE, "squared_lengths", "Forgets the roots: divides by the squared lengths.", cause="no sqrt")(
    lambda x, y: quotient(dot(x, y), dot(x, x) * dot(y, y))
)
wrong(
    COSINE,
    "eps_added",
    "Adds 1e-6 to the product of the lengths: short vectors look less alike.",
    cause="1e-06|10⁻⁶",
)(lambda x, y: dot(x, y) / (length(x) * length(y) + 1e-6))
wrong(COSINE, "eps_on_each_length", "Adds 1e-8 to each length, before dividing.", cause="1e-08|10⁻⁸")(
    lambda x, y: dot(x / (length(x) + 1e-8)[..., None], y / (length(y) + 1e-8)[..., None])
)
wrong(COSINE, "distance", "The cosine distance, 1 minus the cosine.", cause=r"1 − s\b")(
    lambda x, y: 1 - cosine(x, y)
)
wrong(COSINE, "absolute", "Opposite vectors count as alike.", cause="absolute")(
    lambda x, y: quotient(dot(x, y).abs(), length(x) * length(y))
)
wrong(COSINE, "sums_of_absolutes", "Takes the 1-norm for the length.", cause="absolute")(
    lambda x, y: quotient(dot(x, y), x.abs().sum(-1) * y.abs().sum(-1))
)
wrong(COSINE, "centred", "Subtracts the means first: a correlation.", cause="mean of [xy] is subtracted")(
    lambda x, y: cosine(less_the_mean(x), less_the_mean(y))
)
wrong(
    COSINE,
    "lengths_detached",
    "Treats the lengths as constants: the gradient points along y.",
    cause="_norm .*for constants",
)(lambda x, y: quotient(dot(x, y), (length(x) * length(y)).detach()))
wrong(COSINE, "norm_over_the_batch", "The length of the whole batch.", cause="in batches")(
    lambda x, y: quotient(dot(x, y), (x.square().sum() * y.square().sum()).sqrt())
)
wrong(
    COSINE,
    "nan_for_zero",
    "Divides by the lengths without a look: NaN for a zero vector, not 0.",
    cause="zero_vector|0 <.*not applied",
)(lambda x, y: dot(x, y) / (plain_length(x) * plain_length(y)))
wrong(COSINE, "in_single", "Casts to float32 first, float64 included.", cause="float32 inside")(
    lambda x, y: cosine(x.float(), y.float()).to(x.dtype)
)
right(COSINE, "unit_vectors", "Brings both vectors to length 1, then multiplies.")(
    lambda x, y: dot(quotient(x, length(x)[..., None]), quotient(y, length(y)[..., None]))
)
right(COSINE, "one_root", "The root of each squared length, multiplied, divided once.")(
    lambda x, y: cosine(x, y)
)
right(COSINE, "one_after_the_other", "Divides by one length, then by the other.")(
    lambda x, y: quotient(quotient(dot(x, y), length(x)), length(y))
)
right(COSINE, "plain", "The quotient as the lecture writes it.", zero_vector="unspecified")(
    lambda x, y: dot(x, y) / (plain_length(x) * plain_length(y))
)
right(COSINE, "lengths_at_least", "Each length at least 10⁻⁸, by that convention.", eps="max_1e8")(
    lambda x, y: dot(x, y) / (x.norm(dim=-1).clamp_min(1e-8) * y.norm(dim=-1).clamp_min(1e-8))
)
right(COSINE, "added_to_the_product", "10⁻⁸ added to the product of the lengths.", eps="added_1e8")(
    lambda x, y: dot(x, y) / (x.norm(dim=-1) * y.norm(dim=-1) + 1e-8)
)
right(COSINE, "normalised_first", "Both vectors normalised by torch first.", eps="max_1e12")(
    lambda x, y: dot(F.normalize(x, dim=-1), F.normalize(y, dim=-1))
)
wrong(
    COSINE,
    "product_hardly_zero",
    "The product at least 10⁻¹², where each length was to be.",
    eps="max_1e12",
    cause="1e-12|10⁻¹²|at least",
)(lambda x, y: dot(x, y) / (x.norm(dim=-1) * y.norm(dim=-1)).clamp_min(1e-12))
wrong(
    COSINE,
    "product_at_least",
    "The product at least 10⁻⁸, where each length was to be.",
    eps="max_1e8",
    cause="1e-08|10⁻⁸|at least",
)(lambda x, y: dot(x, y) / (x.norm(dim=-1) * y.norm(dim=-1)).clamp_min(1e-8))
