"""Variants of ``similarity.dot`` and ``similarity.cosine``."""

import torch
from torch import Tensor

from verify.mutants import right, wrong

DOT, COSINE = "similarity.dot", "similarity.cosine"


def length(x: Tensor) -> Tensor:
    """The length of each vector; its gradient at zero is 0."""
    square = (x * x).sum(-1)
    some = square > 0
    return torch.where(some, torch.where(some, square, 1.0).sqrt(), 0.0)


def plain_length(x: Tensor) -> Tensor:
    """The length of each vector; its gradient at zero is not defined."""
    return (x * x).sum(-1).sqrt()


def quotient(top: Tensor, under: Tensor) -> Tensor:
    """A quotient that is 0, with gradient 0, where the divisor is."""
    some = under > 0
    return torch.where(some, top / torch.where(some, under, 1.0), 0.0)


@wrong(DOT)
def summed_differences(x: Tensor, y: Tensor) -> Tensor:
    """Sums squared differences: a distance, not an inner product."""
    return ((x - y) ** 2).sum(-1)


@wrong(DOT)
def averaged(x: Tensor, y: Tensor) -> Tensor:
    """Takes the mean of the products instead of their sum."""
    return (x * y).mean(-1)


@wrong(DOT)
def over_the_batch(x: Tensor, y: Tensor) -> Tensor:
    """Sums over everything, the batch included."""
    whole = (x * y).sum()
    return whole.expand(torch.broadcast_shapes(x.shape, y.shape)[:-1])


@wrong(DOT)
def absolute_products(x: Tensor, y: Tensor) -> Tensor:
    """Loses the signs of the products."""
    return (x * y).abs().sum(-1)


@wrong(DOT)
def itself(x: Tensor, y: Tensor) -> Tensor:
    """Multiplies the first vector with itself."""
    return (x * x).sum(-1) + 0 * y.sum(-1)


@wrong(DOT)
def reversed_second(x: Tensor, y: Tensor) -> Tensor:
    """Convolves: the second vector runs backwards."""
    return (x * y.flip(-1)).sum(-1)


@wrong(DOT)
def normalised(x: Tensor, y: Tensor) -> Tensor:
    """Divides by the lengths: the cosine."""
    return quotient((x * y).sum(-1), length(x) * length(y))


@wrong(DOT)
def second_detached(x: Tensor, y: Tensor) -> Tensor:
    """No gradient reaches the second vector."""
    return (x * y.detach()).sum(-1)


@wrong(DOT)
def halved(x: Tensor, y: Tensor) -> Tensor:
    """Computes in bfloat16 and converts back."""
    return (x.bfloat16() * y.bfloat16()).sum(-1).to(x.dtype)


@wrong(DOT)
def without_the_last(x: Tensor, y: Tensor) -> Tensor:
    """An off-by-one in a loop: the last component is left out where there are several."""
    return (x[..., : max(1, x.shape[-1] - 1)] * y[..., : max(1, x.shape[-1] - 1)]).sum(-1)


@right(DOT)
def by_matmul(x: Tensor, y: Tensor) -> Tensor:
    """A row times a column."""
    return (x[..., None, :] @ y[..., :, None])[..., 0, 0]


@right(DOT)
def by_einsum(x: Tensor, y: Tensor) -> Tensor:
    """One einsum."""
    return torch.einsum("...j,...j->...", x, y)


@right(DOT)
def even_and_odd(x: Tensor, y: Tensor) -> Tensor:
    """The even components and the odd ones, summed apart."""
    return (x[..., ::2] * y[..., ::2]).sum(-1) + (x[..., 1::2] * y[..., 1::2]).sum(-1)


@wrong(COSINE)
def first_length_missing(x: Tensor, y: Tensor) -> Tensor:
    """Divides by the second length only."""
    return quotient((x * y).sum(-1), length(y))


@wrong(COSINE)
def squared_lengths(x: Tensor, y: Tensor) -> Tensor:
    """Forgets the roots: divides by the squared lengths."""
    return quotient((x * y).sum(-1), (x * x).sum(-1) * (y * y).sum(-1))


@wrong(COSINE)
def eps_added(x: Tensor, y: Tensor) -> Tensor:
    """Adds 1e-6 to the product of the lengths: short vectors look less alike than they are."""
    return (x * y).sum(-1) / (length(x) * length(y) + 1e-6)


@wrong(COSINE)
def eps_on_each_length(x: Tensor, y: Tensor) -> Tensor:
    """Adds 1e-8 to each length, before dividing."""
    return ((x / (length(x) + 1e-8)[..., None]) * (y / (length(y) + 1e-8)[..., None])).sum(-1)


@wrong(COSINE)
def distance(x: Tensor, y: Tensor) -> Tensor:
    """The cosine distance, 1 minus the cosine."""
    return 1 - quotient((x * y).sum(-1), length(x) * length(y))


@wrong(COSINE)
def absolute(x: Tensor, y: Tensor) -> Tensor:
    """Opposite vectors count as alike."""
    return quotient((x * y).sum(-1).abs(), length(x) * length(y))


@wrong(COSINE)
def sums_of_absolutes(x: Tensor, y: Tensor) -> Tensor:
    """Takes the 1-norm for the length."""
    return quotient((x * y).sum(-1), x.abs().sum(-1) * y.abs().sum(-1))


@wrong(COSINE)
def centred(x: Tensor, y: Tensor) -> Tensor:
    """Subtracts the means first: a correlation."""
    a, b = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    return quotient((a * b).sum(-1), length(a) * length(b))


@wrong(COSINE)
def lengths_detached(x: Tensor, y: Tensor) -> Tensor:
    """Treats the lengths as constants: the gradient points along y, not across x."""
    return quotient((x * y).sum(-1), (length(x) * length(y)).detach())


@wrong(COSINE)
def norm_over_the_batch(x: Tensor, y: Tensor) -> Tensor:
    """The length of the whole batch."""
    return quotient((x * y).sum(-1), (x.square().sum() * y.square().sum()).sqrt())


@wrong(COSINE)
def nan_for_zero(x: Tensor, y: Tensor) -> Tensor:
    """Divides by the lengths without a look: NaN for a zero vector, though 0 was promised."""
    return (x * y).sum(-1) / (plain_length(x) * plain_length(y))


@wrong(COSINE)
def in_single(x: Tensor, y: Tensor) -> Tensor:
    """Casts to float32 first, float64 included."""
    a, b = x.float(), y.float()
    return quotient((a * b).sum(-1), length(a) * length(b)).to(x.dtype)


@right(COSINE)
def unit_vectors(x: Tensor, y: Tensor) -> Tensor:
    """Brings both vectors to length 1, then multiplies."""
    return (quotient(x, length(x)[..., None]) * quotient(y, length(y)[..., None])).sum(-1)


@right(COSINE)
def one_root(x: Tensor, y: Tensor) -> Tensor:
    """The root of each squared length, multiplied, divided once."""
    return quotient((x * y).sum(-1), length(x) * length(y))


@right(COSINE)
def one_after_the_other(x: Tensor, y: Tensor) -> Tensor:
    """Divides by one length, then by the other."""
    return quotient(quotient((x * y).sum(-1), length(x)), length(y))


@right(COSINE, zero_vector="unspecified")
def plain(x: Tensor, y: Tensor) -> Tensor:
    """The quotient as the lecture writes it; what it gives for a zero vector is left open."""
    return (x * y).sum(-1) / (plain_length(x) * plain_length(y))


@right(COSINE, eps="max_1e8")
def lengths_at_least(x: Tensor, y: Tensor) -> Tensor:
    """Each length at least 10⁻⁸, where that is the convention."""
    lengths = [v.norm(dim=-1).clamp_min(1e-8) for v in (x, y)]
    found: Tensor = (x * y).sum(-1) / (lengths[0] * lengths[1])
    return found


@right(COSINE, eps="added_1e8")
def added_to_the_product(x: Tensor, y: Tensor) -> Tensor:
    """10⁻⁸ added to the product of the lengths, where that is the convention."""
    found: Tensor = (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1) + 1e-8)
    return found


@wrong(COSINE, eps="max_1e8")
def product_at_least(x: Tensor, y: Tensor) -> Tensor:
    """The product of the lengths at least 10⁻⁸, as PyTorch once did, where each length was to be."""
    found: Tensor = (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1)).clamp_min(1e-8)
    return found
