"""Variants of ``attention.biased_multi_head``. Weights in its order, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o; then the mask."""

import torch

from tests.mutants import altering, right, wrong
from tests.mutants.attention import filled
from tests.mutants.gpt import joined, parts
from tests.mutants.heads import every, merged, projected
from tests.mutants.projections import attend

BIASED = "attention.biased_multi_head"


def taken(inputs):
    """The weights and biases of the projections, those of the output, and the mask of every head."""
    mask = inputs[8] if len(inputs) > 8 else None
    return inputs[:6], inputs[6], inputs[7], every(mask)


def hidden_blanked(x, mask, dim):
    """A sequence with 0 where it is in no attention."""
    return x if mask is None else torch.where(mask.squeeze(-3).any(dim).unsqueeze(-1), x, 0.0)


def unblanked(x, y, projections):
    """Queries, keys and values of every head, of tokens that are hidden, too."""
    return parts(x, *projections[:2]) + parts(y, *projections[2:])


def three(x, y, projections, mask):
    """Queries, keys and values of every head, right: (…, h, n, width)."""
    return unblanked(hidden_blanked(x, mask, -1), hidden_blanked(y, mask, -2), projections)


def biased(x, y, *inputs):
    """Multi-head attention with biases, right."""
    projections, W_o, b_o, mask = taken(inputs)
    return joined(attend(*three(x, y, projections, mask), mask), W_o, b_o)


def zero(b):
    """A bias of 0."""
    return 0 * b


wrong(
    BIASED, "no_query_bias", "The bias of the queries is forgotten.", cause=r"b_q\S* is (not added|ignored)"
)(altering(biased, {3: zero}))
wrong(
    BIASED, "no_value_bias", "The bias of the values is forgotten.", cause=r"b_v\S* is (not added|ignored)"
)(altering(biased, {7: zero}))
wrong(
    BIASED, "no_output_bias", "The bias of the output is forgotten.", cause=r"b_o\S* is (not added|ignored)"
)(altering(biased, {9: zero}))


@wrong(BIASED, cause="b_q.*(√|scale|not added to q)")
def query_bias_after_the_scale(x, y, *inputs):
    """Queries are scaled before their bias is added."""
    projections, W_o, b_o, mask = taken(inputs)
    W_q, b_q, *rest = projections
    q, k, v = three(x, y, (W_q, 0 * b_q, *rest), mask)
    return joined(attend(q / q.shape[-1] ** 0.5 + b_q.unsqueeze(-2), k, v, mask, 1.0), W_o, b_o)


wrong(
    BIASED,
    "biases_exchanged",
    "Queries have the keys' bias, keys the queries'.",
    cause="b_q and b_k are exch|b_k (is read )?where b_q",
)(lambda x, y, *inputs: biased(x, y, inputs[0], inputs[3], inputs[2], inputs[1], *inputs[4:]))
wrong(BIASED, "one_bias_for_all", "The first head's bias of the queries in every head.", cause="b_q.*first")(
    altering(biased, {3: lambda b_q: b_q[:1].expand_as(b_q) + 0 * b_q})
)
wrong(
    BIASED,
    "output_bias_in_every_head",
    "Each head goes through W_o and its bias: that is added h times.",
    cause=r"b_o\S* is (multiplied|doubled)|off by a term",
)(lambda x, y, *inputs: biased(x, y, *inputs[:7], len(inputs[0]) * inputs[7], *inputs[8:]))


@wrong(BIASED, cause=r"b_o\S* is multiplied|b_o.*W_o")
def output_bias_before_the_join(x, y, *inputs):
    """The output's bias is added before W_o, where the widths allow it."""
    projections, W_o, b_o, mask = taken(inputs)
    found = merged(attend(*three(x, y, projections, mask), mask))
    return (found + b_o) @ W_o if len(W_o) == len(b_o) else found @ W_o + b_o


@wrong(BIASED, cause=r"mask is ignored|mask\S* is not applied|must not read")
def values_masked_instead(x, y, *inputs):
    """Sets hidden tokens to 0 and lets them take part: their biases make keys and values of them."""
    projections, W_o, b_o, mask = taken(inputs)
    return joined(attend(*three(x, y, projections, mask), None), W_o, b_o)


@wrong(BIASED, cause=r"b_v\S* is not added to v, but|sees nothing")
def value_bias_where_all_is_hidden(x, y, *inputs):
    """Adds the values' bias after the mix, to queries that see nothing, too."""
    (*projections, b_v), W_o, b_o, mask = taken(inputs)
    found = attend(*three(x, y, (*projections, 0 * b_v), mask), mask)
    return joined(found + b_v.unsqueeze(-2), W_o, b_o)


wrong(
    BIASED,
    "bias_of_the_wrong_layout",
    "Reads the queries' packed bias entry by entry, not head by head.",
    cause="axes swapped.*b_q",
)(altering(biased, {3: lambda b_q: b_q.flatten().reshape(b_q.shape[::-1]).mT}))
wrong(
    BIASED, "value_bias_frozen", "No gradient reaches the bias of the values.", cause="gradient reaches b_v"
)(altering(biased, {7: lambda b_v: b_v.detach()}))
right(BIASED, "no_key_bias", "The bias of the keys is left out: softmax does not see it.")(
    altering(biased, {5: zero})
)


@right(BIASED)
def value_bias_behind_the_join(x, y, *inputs):
    """The values' bias goes through W_o by itself, to every query that sees something."""
    (*projections, b_v), W_o, b_o, mask = taken(inputs)
    found = joined(attend(*three(x, y, (*projections, 0 * b_v), mask), mask), W_o, b_o)
    more = b_v.flatten() @ W_o
    return found + (more if mask is None else mask.squeeze(-3).any(-1).unsqueeze(-1) * more)


@right(BIASED)
def one_more_column(x, y, *inputs):
    """The biases are one row more of the matrices, and the sequences have a column of ones."""
    (W_q, b_q, W_k, b_k, W_v, b_v), W_o, b_o, mask = taken(inputs)
    x, y = (torch.cat((of, torch.ones_like(of[..., :1])), -1) for of in (x, y))
    wide = [torch.cat((W, b.unsqueeze(-2)), -2) for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v))]
    x, y = hidden_blanked(x, mask, -1), hidden_blanked(y, mask, -2)
    found = attend(projected(x, wide[0]), projected(y, wide[1]), projected(y, wide[2]), mask)
    return joined(found, W_o, b_o)


@right(BIASED, fully_masked="filled_1e9")
def biased_and_filled(x, y, *inputs):
    """−10⁹ for masked scores, where that is the convention."""
    projections, W_o, b_o, mask = taken(inputs)
    q, k, v = unblanked(x, y, projections)
    return joined(filled(q @ k.mT * q.shape[-1] ** -0.5, mask, -1e9) @ v, W_o, b_o)
