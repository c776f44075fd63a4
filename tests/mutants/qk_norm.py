"""Variants of ``attention.qk_norm``."""

import torch

from impl.attention import grouped_query
from tests.mutants import right, wrong
from tests.mutants.grouped import grouped, repeat, tile, weigh

NORM = "attention.qk_norm"


def size(x, eps):
    """The size of each row, right."""
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def normalised(attend=grouped_query, sizes=(size, size), gains=lambda a, b: (a, b), values=lambda v, eps: v):
    """Normalised queries and keys under grouped-query attention, right but for what is given."""

    def attention(q, k, v, gamma_q, gamma_k, eps, mask=None):
        if mask is not None:
            q = torch.where(mask.any(-1, keepdim=True).unsqueeze(-3), q, 0.0)
            k, v = (torch.where(mask.any(-2).unsqueeze(-1).unsqueeze(-3), x, 0.0) for x in (k, v))
        a, b = gains(gamma_q, gamma_k)
        return attend(q / sizes[0](q, eps) * a, k / sizes[1](k, eps) * b, values(v, eps), mask)

    return attention


def over_heads(x, eps):
    """The size of the rows of all heads together."""
    return (x.square().mean((-3, -1), keepdim=True) + eps).sqrt()


wrong(NORM, "over_all_heads", "Normalises over all heads together.", cause="heads|mean")(
    normalised(sizes=(over_heads, over_heads))
)
wrong(NORM, "gains_exchanged", "Gives the queries the keys' gain.", cause="gamma_q|no expression|order")(
    normalised(gains=lambda a, b: (b, b))
)
wrong(NORM, "undivided", "Does not divide the scores by √d_k.", cause=r"√\(?d_k")(
    normalised(attend=grouped(attend=weigh(lambda q, k: 1.0)))
)
wrong(NORM, "values_normalised", "Normalises the values as well.", cause="v|values")(
    normalised(values=lambda v, eps: v / size(v, eps))
)
wrong(NORM, "keys_as_they_are", "Normalises the queries alone.", cause="k|norm")(
    normalised(sizes=(size, lambda x, eps: 1.0))
)
wrong(
    NORM, "by_the_length", "Divides by the length of a row, not by the root of its mean square.", cause="d_k"
)(normalised(sizes=(lambda x, eps: (x.square().sum(-1, keepdim=True) + eps).sqrt(),) * 2))
wrong(NORM, "eps_outside", "Adds ε to the root, not under it.", cause="eps=outside")(
    normalised(sizes=(lambda x, eps: x.square().mean(-1, keepdim=True).sqrt() + eps,) * 2)
)
wrong(NORM, "centred", "Takes the mean off first, as layer normalization does.", cause="mean|subtract")(
    lambda q, k, *rest: normalised()(q - q.mean(-1, keepdim=True), k - k.mean(-1, keepdim=True), *rest)
)
wrong(NORM, "gain_of_one_plus", "Multiplies by 1 + γ.", cause="gain=one_plus")(
    normalised(gains=lambda a, b: (1 + a, 1 + b))
)
wrong(NORM, "sizes_detached", "Passes no gradient through the sizes.", cause="gradient")(
    normalised(sizes=(lambda x, eps: size(x, eps).detach(),) * 2)
)
wrong(NORM, "norm_groups_tiled", "Repeats the groups as a whole.", cause="heads.*(order|group)")(
    normalised(attend=grouped(tile))
)

right(NORM, "norm_as_written", "As it is written.")(normalised())
right(NORM, "norm_by_repeating", "Repeats keys and values.")(normalised(attend=grouped(repeat)))
