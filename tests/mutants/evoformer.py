"""Variants of the parts of an Evoformer block: gated attention, along rows and columns, transitions, what pairs learn."""

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong

GATED, ROW, COLUMN = (f"evoformer.{name}_attention" for name in ("gated", "row", "column"))
TRANSITION, OUTER = "evoformer.transition", "evoformer.outer_product_mean"
TRIANGLE, AROUND = "evoformer.triangle_multiplication", "evoformer.triangle_attention"


def zero(x):
    """0, with the tensor in its graph."""
    return 0 * x


def norm(x, gamma, beta, eps):
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


# Gated attention ----------------------------------------------------------------------------------------------------------


def shares(s, mask):
    """The softmax of scores over what is permitted, right: 0 where nothing is."""
    if mask is None:
        return s.softmax(-1)
    some = mask.any(-1, keepdim=True)
    return s.masked_fill(~mask, -torch.inf).where(some, 0.0).softmax(-1) * (mask & some)


def scores(q, k):
    """Products of queries and keys over the root of their width, right."""
    return q @ k.mT / q.shape[-1] ** 0.5


def blanked(q, k, v, mask):
    """Queries, keys and values with 0 where they are in no attention."""
    if mask is None:
        return q, k, v
    asks, asked = mask.any(-1).unsqueeze(-1), mask.any(-2).unsqueeze(-1)
    return q.where(asks, 0.0), k.where(asked, 0.0), v.where(asked, 0.0)


def gated(q, k, v, b, g, mask=None):
    """Gated attention with a bias, right."""
    q, k, v = blanked(q, k, v, mask)
    return g * (shares(scores(q, k) + b, mask) @ v)


def bias_of_scores(change):
    """Gated attention whose scores are made by a change from the products and the bias."""
    return lambda q, k, v, b, g, mask=None: (
        g * (shares(change(scores(q, k), b, q.shape[-1] ** 0.5), mask) @ v)
    )


def gate_on_the_values(q, k, v, b, g, mask=None):
    """The gates multiply the values, before they are mixed."""
    if v.shape[-2] != g.shape[-2]:
        return g.mean(-2, keepdim=True) * gated(q, k, v, b, torch.ones_like(g), mask) + 0 * g
    return gated(q, k, g * v, b, torch.ones_like(g), mask)


def softmax_over_queries(q, k, v, b, g, mask=None):
    """The softmax is over the queries, not over the keys."""
    return g * (shares((scores(q, k) + b).mT, None if mask is None else mask.mT).mT @ v)


wrong(GATED, "bias_scaled", "The bias is divided by √d_k with the products.", cause=r"scale|√d_k")(
    bias_of_scores(lambda s, b, root: s + b / root)
)
wrong(
    GATED, "bias_multiplied", "The bias multiplies the scores.", cause=r"\bb\b.*(added|multiplied)|multiplied"
)(bias_of_scores(lambda s, b, root: s * b))
wrong(GATED, "bias_forgotten", "Forgets the bias.", cause=r"\bb (is|are) (not added|ignored|not read)")(
    altering(gated, {3: zero})
)
wrong(GATED, "bias_subtracted", "Subtracts the bias.", cause="subtract|sign")(altering(gated, {3: torch.neg}))
wrong(GATED, "scale_missing", "Forgets the scale of the scores.", cause="scale")(
    bias_of_scores(lambda s, b, root: s * root + b)
)
wrong(GATED, "gate_forgotten", "Everything passes.", cause=r"\bg (is|are) ignored|not multiplied by g")(
    altering(gated, {4: lambda g: 0 * g + 1})
)
wrong(GATED, "gate_squeezed", "The gate passes a σ once more.", cause="sigmoid|σ")(
    altering(gated, {4: torch.sigmoid})
)
wrong(GATED, "gate_added", "The gate is added to what is found.", cause=r"\bg\b.*added|not multiplied by g")(
    lambda q, k, v, b, g, mask=None: g + gated(q, k, v, b, torch.ones_like(g), mask)
)
wrong(GATED, cause="gate|values|hidden or at other|read")(gate_on_the_values)
wrong(GATED, cause="weights do not sum|wrong axis|sums over|axes swapped")(softmax_over_queries)
wrong(
    GATED, "bias_after_the_softmax", "The bias is added to the weights.", cause=r"\bb\b|weights do not sum"
)(lambda q, k, v, b, g, mask=None: g * ((shares(scores(q, k), mask) + (b if mask is None else b * mask)) @ v))
wrong(GATED, "gated_mask_inverted", "True taken for “may not attend”.", cause="true_drops|mask|inverted")(
    altering(gated, {5: lambda mask: None if mask is None else ~mask})
)
wrong(GATED, "bias_detached", "No gradient reaches the bias.", cause="gradient")(
    altering(gated, {3: lambda b: b.detach()})
)


@right(GATED)
def by_the_kernel(q, k, v, b, g, mask=None):
    """torch's kernel, with the bias and −∞ for what is hidden as its mask."""
    if mask is None:
        return g * F.scaled_dot_product_attention(q, k, v, attn_mask=b)
    q, k, v = blanked(q, k, v, mask)
    some = mask.any(-1, keepdim=True)
    return g * torch.where(
        some, F.scaled_dot_product_attention(q, k, v, b.masked_fill(~mask & some, -torch.inf)), 0.0
    )


@right(GATED)
def key_by_key(q, k, v, b, g, mask=None):
    """One key after another, the sums so far brought to the largest score so far."""
    q, k, v = blanked(q, k, v, mask)
    top = torch.full_like(q[..., :1], -torch.inf)
    total, found = torch.zeros_like(top), torch.zeros_like(g)
    for j in range(k.shape[-2]):
        s = (q * k[..., j : j + 1, :]).sum(-1, keepdim=True) / q.shape[-1] ** 0.5 + b[..., j : j + 1]
        s = s if mask is None else s.masked_fill(~mask[..., j : j + 1], -torch.inf)
        new = torch.maximum(top, s).detach()
        base = new.masked_fill(new == -torch.inf, 0.0)
        keep, more = (top - base).exp(), (s - base).exp()
        total, found, top = total * keep + more, found * keep + more * v[..., j : j + 1, :], new
    return g * torch.where(total > 0, found / total.where(total > 0, 1.0), 0.0)


# Along rows and columns ---------------------------------------------------------------------------------------------------


def heads_of(x, W):
    """x W[t] for every head t, right: (…, h, n, width)."""
    return torch.einsum("...nd,hdc->...hnc", x, W)


def attended(x, bias, heads, mask, one=gated, gate=None):
    """Gated attention in heads within each row of x, right, or by another ``one``; ``bias`` (…, h, n, n) is of all rows."""
    W_q, W_k, W_v, W_g, b_g, W_o, b_o = heads
    q, k, v = (heads_of(x, W) for W in (W_q, W_k, W_v))
    g = (heads_of(x if gate is None else gate, W_g) + b_g.unsqueeze(-2)).sigmoid()
    b = q.new_zeros(q.shape[-2], q.shape[-2]) if bias is None else bias.unsqueeze(-4)
    mask = None if mask is None else mask[..., None, None, :].expand(*mask.shape[:-1], 1, *b.shape[-2:])
    z = one(q, k, v, b.expand(*q.shape[:-1], b.shape[-1]), g, mask)
    return z.transpose(-3, -2).flatten(-2) @ W_o + b_o


def row(m, z, *inputs, one=gated, pairs=norm, turn=lambda b: b, gate=None, ready=lambda heads: heads):
    """Row attention, right, but for what is changed: a head's attention, the pairs' norm, the biases, the gate, the heads."""
    gamma_m, beta_m, gamma_z, beta_z, W_b, *heads, eps = inputs[:13]
    mask = inputs[13] if len(inputs) > 13 else None
    bias = turn((pairs(z, gamma_z, beta_z, eps) @ W_b).movedim(-1, -3))
    x = norm(m, gamma_m, beta_m, eps)
    return attended(x, bias, ready(heads), mask, one, m if gate == "raw" else None)


def with_row(**how):
    """Row attention with these changes."""
    return lambda m, z, *inputs: row(m, z, *inputs, **how)


def scaled_by_all_heads(q, k, v, b, g, mask=None):
    """Scores divided by the root of the width of all heads together."""
    return gated(q / q.shape[-3] ** 0.5, k, v, b, g, mask)


def unmasked(q, k, v, b, g, mask=None):
    """Everything is attended to."""
    return gated(q, k, v, b, g)


def ungated(q, k, v, b, g, mask=None):
    """Everything passes."""
    return gated(q, k, v, b, 0 * g + 1, mask)


def interleaved(heads):
    """W_o for heads that stand entry by entry, not one beside the other."""
    W_q, *between, W_o, b_o = heads
    h, c = W_q.shape[0], W_q.shape[-1]
    return [W_q, *between, W_o.unflatten(0, (c, h)).transpose(0, 1).flatten(0, 1), b_o]


wrong(ROW, "row_bias_transposed", "The bias of the pair (j, i).", cause="axes swapped|transpos")(
    with_row(turn=lambda b: b.mT)
)
wrong(ROW, "row_bias_of_the_next_head", "Each head has the bias of the next.", cause=r"W_b|\bb\b")(
    with_row(turn=lambda b: b.roll(1, -3))
)
wrong(ROW, "row_without_bias", "Forgets the pairs.", cause=r"\bz\b|\bb\b|W_b")(with_row(turn=zero))
wrong(ROW, "row_gate_on_the_values", "Gates multiply the values.", cause=r"\bg\b|values")(
    with_row(one=gate_on_the_values)
)
wrong(
    ROW,
    "row_pairs_as_they_are",
    "The pairs are not normalised.",
    cause=r"layer_norm|\bw\b|reads z|gamma_z|γ_z|normali",
)(with_row(pairs=lambda z, gamma, beta, eps: gamma * z + beta))
wrong(ROW, "row_scaled_by_all_heads", "Divided by √(h·c).", cause="scale|√")(
    with_row(one=scaled_by_all_heads)
)
wrong(
    ROW,
    "row_gate_of_the_raw",
    "The gate reads the alignment before its norm.",
    cause=r"reads m where x|\bg\b",
)(with_row(gate="raw"))
wrong(ROW, "row_mask_ignored", "Padding is attended to.", cause="mask|condition|hidden")(
    with_row(one=unmasked)
)
wrong(ROW, "row_ungated", "Forgets the gates.", cause=r"\bg\b|W_g|b_g")(with_row(one=ungated))
wrong(ROW, "row_heads_interleaved", "Heads joined entry by entry.", cause="W_o|axes swapped|concat|head")(
    with_row(ready=interleaved)
)
wrong(ROW, "row_gate_bias_forgotten", "Forgets the bias of the gates.", cause="b_g")(
    altering(row, {11: zero})
)


@wrong(ROW, cause="sum|mean|size|scale")
def row_bias_summed_over_sequences(m, z, *inputs):
    """The bias is added once for each sequence."""
    return row(m, z, *inputs, turn=lambda b: b * m.shape[-3])


right(ROW, "row_by_the_kernel", "torch's kernel in each head.")(with_row(one=by_the_kernel))


@right(ROW)
def sequence_by_sequence(m, z, *inputs):
    """The sequences one after another."""
    *most, mask = inputs if len(inputs) > 13 else (*inputs, None)
    found = []
    for s in range(m.shape[-3]):
        seen = None if mask is None else mask[..., s : s + 1, :]
        found.append(row(m[..., s : s + 1, :, :], z, *most, seen))
    return torch.cat(found, -3)


def column(m, gamma, beta, *inputs, one=gated, rows=False, gate=None):
    """Column attention, right, but for what is changed: a head's attention, the direction, the gate."""
    *heads, eps = inputs[:8]
    mask = inputs[8] if len(inputs) > 8 else None
    x = norm(m, gamma, beta, eps)
    if rows:
        return attended(x, None, heads, mask, one)
    turned = x.transpose(-3, -2)
    gate = None if gate is None else gate(m).transpose(-3, -2)
    return attended(turned, None, heads, None if mask is None else mask.mT, one, gate).transpose(-3, -2)


def with_column(**how):
    """Column attention with these changes."""
    return lambda m, gamma, beta, *inputs: column(m, gamma, beta, *inputs, **how)


def gate_of_the_found(q, k, v, b, g, mask=None):
    """The gate is that of what is found: mixed with the same weights."""
    if mask is not None:
        mask = mask.expand(*g.shape[:-1], mask.shape[-1])
    return gated(q, k, v, b, torch.ones_like(g), mask) * gated(q, k, g, b, torch.ones_like(g), mask)


wrong(COLUMN, "column_along_rows", "Attention along the rows.", cause="wrong axis|axes swapped|sums over")(
    with_column(rows=True)
)
wrong(COLUMN, "column_gate_of_the_found", "The gate of what is found.", cause=r"\bg\b")(
    with_column(one=gate_of_the_found)
)
wrong(
    COLUMN,
    "column_softmax_over_queries",
    "The softmax is over the queries.",
    cause="weights do not sum|wrong axis|sums over",
)(with_column(one=softmax_over_queries))
wrong(COLUMN, "column_mask_ignored", "Padding is attended to.", cause="mask|condition|hidden")(
    with_column(one=unmasked)
)
wrong(COLUMN, "column_ungated", "Forgets the gates.", cause=r"\bg\b|W_g|b_g")(with_column(one=ungated))
wrong(COLUMN, "column_gate_on_the_values", "Gates multiply the values.", cause=r"\bg\b|values")(
    with_column(one=gate_on_the_values)
)
wrong(COLUMN, "column_scaled_by_all_heads", "Divided by √(h·c).", cause="scale|√")(
    with_column(one=scaled_by_all_heads)
)
wrong(COLUMN, "column_added", "Adds the alignment, as the block does.", cause=r"\bm is added|term|residual")(
    lambda m, *inputs: m + column(m, *inputs)
)
wrong(
    COLUMN,
    "column_gate_of_the_raw",
    "The gate reads the alignment before its norm.",
    cause=r"reads m where x|\bg\b",
)(with_column(gate=lambda m: m))
wrong(COLUMN, "column_without_output_bias", "Forgets b_o.", cause="b_o")(altering(column, {9: zero}))
right(COLUMN, "column_by_the_kernel", "torch's kernel in each head.")(with_column(one=by_the_kernel))


# Transitions --------------------------------------------------------------------------------------------------------------


def transition(x, gamma, beta, W_1, b_1, W_2, b_2, eps):
    """A transition, right."""
    return torch.relu(norm(x, gamma, beta, eps) @ W_1 + b_1) @ W_2 + b_2


wrong(
    TRANSITION, "transition_added", "Adds the row, as the block does.", cause=r"\bx is added|term|residual"
)(lambda x, *inputs: x + transition(x, *inputs))


@wrong(TRANSITION, cause="norm")
def transition_normalised_after(x, gamma, beta, W_1, b_1, W_2, b_2, eps):
    """Normalises what the network gives, not what it reads."""
    return norm(torch.relu(x @ W_1 + b_1) @ W_2 + b_2, gamma, beta, eps)


@wrong(TRANSITION, cause="gelu")
def transition_by_gelu(x, gamma, beta, W_1, b_1, W_2, b_2, eps):
    """GELU instead of max(0, ·)."""
    return F.gelu(norm(x, gamma, beta, eps) @ W_1 + b_1) @ W_2 + b_2


wrong(TRANSITION, "transition_as_it_is", "Nothing is normalised.", cause="norm|reads x where w|γ|gamma")(
    lambda x, gamma, beta, W_1, b_1, W_2, b_2, eps: torch.relu((gamma * x + beta) @ W_1 + b_1) @ W_2 + b_2
)
wrong(
    TRANSITION, "transition_bent_twice", "max(0, ·) once more at the end.", cause="max|relu|case|condition"
)(lambda *inputs: transition(*inputs).relu())
wrong(TRANSITION, "transition_without_inner_bias", "Forgets b_1.", cause="b_1")(
    altering(transition, {4: zero})
)
wrong(TRANSITION, "transition_without_outer_bias", "Forgets b_2.", cause="b_2")(
    altering(transition, {6: zero})
)
wrong(TRANSITION, "transition_without_gain", "Forgets γ.", cause="gamma|γ")(
    altering(transition, {1: lambda gamma: 0 * gamma + 1})
)
wrong(TRANSITION, "transition_large_eps", "ε is 10⁻³, a default of other libraries.", cause="eps|ε")(
    lambda *inputs: transition(*inputs[:7], 1e-3)
)
right(TRANSITION, "transition_by_choice", "torch.where for max(0, ·).")(
    lambda x, gamma, beta, W_1, b_1, W_2, b_2, eps: (
        torch.where((a := norm(x, gamma, beta, eps) @ W_1 + b_1) > 0, a, 0.0) @ W_2 + b_2
    )
)


# The outer product mean ---------------------------------------------------------------------------------------------------


def of_factors(pairs):
    """The outer product mean of what ``pairs`` makes of the two factors (… s i c): (… i j c c)."""

    def mean(m, gamma, beta, W_a, b_a, W_b, b_b, W_o, b_o, eps):
        x = norm(m, gamma, beta, eps)
        return torch.einsum("...ijef,efq->...ijq", pairs(x @ W_a + b_a, x @ W_b + b_b), W_o) + b_o

    return mean


def product_mean(a, b):
    """The mean over the sequences of outer products, right."""
    return torch.einsum("...sie,...sjf->...ijef", a, b) / a.shape[-3]


outer = of_factors(product_mean)

wrong(OUTER, "sum_for_mean", "The sum over the sequences.", cause="n_seq|sum|mean|scale")(
    of_factors(lambda a, b: product_mean(a, b) * a.shape[-3])
)
wrong(OUTER, "outer_sum", "The outer sum, not the outer product.", cause=r"\+|added|sum|product|multiplied")(
    of_factors(lambda a, b: (a[..., :, None, :, None] + b[..., None, :, None, :]).mean(-5))
)
wrong(OUTER, "product_of_means", "The product of the means.", cause="mean|sum|product|sequences|n_seq")(
    of_factors(lambda a, b: torch.einsum("...ie,...jf->...ijef", a.mean(-3), b.mean(-3)))
)
wrong(
    OUTER,
    "factors_exchanged",
    "The second factor first: pairs transposed.",
    cause="exchanged|swapped|transpos|where",
)(of_factors(lambda a, b: product_mean(b, a)))
wrong(OUTER, "one_factor", "The first factor in both places.", cause=r"\bb is|where b|W_b|b_b|a where")(
    of_factors(lambda a, b: product_mean(a, a) + 0 * b.sum())
)
wrong(OUTER, "products_transposed", "The two axes of W_o exchanged.", cause="swapped|transpos|W_o")(
    of_factors(lambda a, b: product_mean(a, b).mT)
)
wrong(OUTER, "pairs_transposed", "The pair (j, i) for (i, j).", cause="swapped|transpos|exchanged|where")(
    of_factors(lambda a, b: product_mean(a, b).transpose(-4, -3))
)
wrong(OUTER, "covariance", "Subtracts the means, as a covariance does.", cause="mean|subtract")(
    of_factors(lambda a, b: product_mean(a - a.mean(-3, keepdim=True), b - b.mean(-3, keepdim=True)))
)
wrong(
    OUTER,
    "entry_by_entry",
    "Products of equal entries only, without the outer product.",
    cause="einsum|diagonal|sum|product",
)(of_factors(lambda a, b: torch.diag_embed(product_mean(a, b).diagonal(dim1=-2, dim2=-1))))
wrong(OUTER, "outer_as_it_is", "The alignment is not normalised.", cause="norm|reads m where x|γ|gamma")(
    lambda m, gamma, beta, *inputs: _factors_of(gamma * m + beta, *inputs)
)
wrong(OUTER, "outer_without_output_bias", "Forgets b_o.", cause="b_o")(altering(outer, {8: zero}))


def _factors_of(x, W_a, b_a, W_b, b_b, W_o, b_o, eps):
    return torch.einsum("...ijef,efq->...ijq", product_mean(x @ W_a + b_a, x @ W_b + b_b), W_o) + b_o


@right(OUTER)
def output_first(m, gamma, beta, W_a, b_a, W_b, b_b, W_o, b_o, eps):
    """The first factor goes through W_o before it meets the second."""
    x = norm(m, gamma, beta, eps)
    first = torch.einsum("...sie,efq->...sifq", x @ W_a + b_a, W_o)
    return torch.einsum("...sifq,...sjf->...ijq", first, (x @ W_b + b_b) / m.shape[-3]) + b_o


@right(OUTER, via=of_factors)
def residue_by_residue(a, b):
    """The rows of pairs one after another, as memory allows."""
    rows = [torch.einsum("...se,...sjf->...jef", a[..., i, :], b) for i in range(a.shape[-2])]
    return torch.stack(rows, -4) / a.shape[-3]


# Triangles ----------------------------------------------------------------------------------------------------------------


def edge_sum(a, b, incoming):
    """The sum over the third residue of the products of two edges, right."""
    return torch.einsum("...kic,...kjc->...ijc" if incoming else "...ikc,...jkc->...ijc", a, b)


def edge(x, W, b, W_g, b_g):
    """A gated edge, right."""
    return (x @ W_g + b_g).sigmoid() * (x @ W + b)


def multiplication(edges=edge_sum, one=edge, finish=None, inner=norm, gate=None, masked=True):
    """Triangle multiplication, right, but for what is changed: the sum, an edge, the end, the norm of the sums, the gate."""

    def update(z, gamma_z, beta_z, *inputs):
        first, second, (gamma_o, beta_o, W_o, b_o, W_g, b_g) = inputs[:4], inputs[4:8], inputs[8:14]
        eps, incoming, *mask = inputs[14:]
        x = norm(z, gamma_z, beta_z, eps)
        a, b = one(x, *first), one(x, *second)
        if masked and mask and mask[0] is not None:
            a, b = a * mask[0].unsqueeze(-1), b * mask[0].unsqueeze(-1)
        w = inner(edges(a, b, incoming), gamma_o, beta_o, eps)
        g = ((z if gate == "raw" else x) @ W_g + b_g).sigmoid()
        return g * (w @ W_o + b_o) if finish is None else finish(g, w, W_o, b_o)

    return lambda z, *inputs: update(z, *inputs)


wrong(
    TRIANGLE, "edges_transposed", "Outgoing for incoming.", cause="incoming|inverted|axes swapped|transpos"
)(multiplication(lambda a, b, incoming: edge_sum(a, b, not incoming)))
wrong(
    TRIANGLE,
    "projections_not_exchanged",
    "Incoming as outgoing of the transposed pairs, the projections as they are.",
    cause="exchanged|swapped|transpos|incoming",
)(multiplication(lambda a, b, incoming: edge_sum(b, a, True) if incoming else edge_sum(a, b, False)))
wrong(TRIANGLE, "matrix_product", "Σ a_ik·b_kj: one edge is turned.", cause="swapped|transpos")(
    multiplication(lambda a, b, incoming: torch.einsum("...ikc,...kjc->...ijc", a, b))
)
wrong(
    TRIANGLE,
    "sum_of_edges",
    "The sum of two edges, not their product.",
    cause=r"\+|added|multiplied|product|sum",
)(
    multiplication(
        lambda a, b, incoming: (
            (a.sum(-3)[..., :, None, :] + b.sum(-3)[..., None, :, :])
            if incoming
            else (a.sum(-2)[..., :, None, :] + b.sum(-2)[..., None, :, :])
        )
    )
)
wrong(TRIANGLE, "mean_over_residues", "The mean over the third residue.", cause="mean|n_res|scale|divided")(
    multiplication(lambda a, b, incoming: edge_sum(a, b, incoming) / a.shape[-2])
)
wrong(
    TRIANGLE,
    "gate_before_the_output",
    "The gate on the sums, where the widths allow it.",
    cause=r"\bg\b|multiplied",
)(
    multiplication(
        finish=lambda g, w, W_o, b_o: (
            (g * w if g.shape[-1] == w.shape[-1] else w * g.mean(-1, keepdim=True)) @ W_o + b_o
        )
    )
)
wrong(
    TRIANGLE,
    "gate_of_the_raw_pairs",
    "The gate reads the pairs before their norm.",
    cause=r"reads z where x|\bg\b",
)(multiplication(gate="raw"))
wrong(
    TRIANGLE, "edges_ungated", "Forgets the gates of the edges.", cause="sigmoid|W_ag|W_bg|b_ag|b_bg|gate|σ"
)(multiplication(one=lambda x, W, b, W_g, b_g: x @ W + b + 0 * (x @ W_g + b_g)))
wrong(
    TRIANGLE, "edges_squeezed", "σ of the projection, times the gate as it is.", cause="sigmoid|σ|exchanged"
)(multiplication(one=lambda x, W, b, W_g, b_g: edge(x, W_g, b_g, W, b)))
wrong(
    TRIANGLE, "sums_as_they_are", "The sums are not normalised.", cause=r"norm|reads o where w|gamma_o|γ_o"
)(multiplication(inner=lambda o, gamma, beta, eps: gamma * o + beta))
wrong(TRIANGLE, "triangle_mask_ignored", "Padding takes part.", cause="mask|condition|hidden")(
    multiplication(masked=False)
)
wrong(TRIANGLE, "output_bias_past_the_gate", "b_o does not pass the gate.", cause="b_o|multiplied")(
    multiplication(finish=lambda g, w, W_o, b_o: g * (w @ W_o) + b_o)
)
right(TRIANGLE, "by_einsum", "The formula as it stands.")(multiplication())
right(TRIANGLE, "by_matrix_products", "A product of matrices for each channel.")(
    multiplication(
        lambda a, b, incoming: torch.matmul(
            a.movedim(-1, -3).mT if incoming else a.movedim(-1, -3),
            b.movedim(-1, -3) if incoming else b.movedim(-1, -3).mT,
        ).movedim(-3, -1)
    )
)
right(TRIANGLE, "channel_by_channel", "One channel after another, as memory allows.")(
    multiplication(
        lambda a, b, incoming: torch.cat(
            [edge_sum(a[..., c : c + 1], b[..., c : c + 1], incoming) for c in range(a.shape[-1])], -1
        )
    )
)


def around(
    one=gated,
    turn=lambda z: z.transpose(-3, -2),
    back=None,
    mask_turn=lambda mask: mask.mT,
    third=lambda b: b,
):
    """Triangle attention, right, but for what is changed: a head's attention, turning, turning back, the mask, the bias."""

    def attention(z, gamma, beta, W_b, *inputs):
        *heads, eps, ending = inputs[:9]
        mask = inputs[9] if len(inputs) > 9 else None
        x = norm(z, gamma, beta, eps)
        if ending:
            x, mask = turn(x), None if mask is None else mask_turn(mask)
        u = attended(x, third((x @ W_b).movedim(-1, -3)), heads, mask, one)
        return (back or turn)(u) if ending else u

    return lambda z, *inputs: attention(z, *inputs)


pairs_around = around()

wrong(AROUND, "other_node", "Starting for ending.", cause="ending|inverted|swapped|transpos|condition")(
    lambda z, *inputs: pairs_around(z, *inputs[:11], not inputs[11], *inputs[12:])
)
wrong(
    AROUND,
    "bias_of_the_third_side_turned",
    "The bias of (k, j) for that of (j, k).",
    cause="swapped|transpos",
)(around(third=lambda b: b.mT))
wrong(
    AROUND,
    "not_turned_back",
    "Around the ending residue the result is not turned back.",
    cause="swapped|transpos|ending",
)(around(back=lambda u: u))
wrong(AROUND, "mask_not_turned", "The mask is not turned with the pairs.", cause="mask|swapped|transpos")(
    around(mask_turn=lambda mask: mask)
)
wrong(AROUND, "never_turned", "Always around the starting residue.", cause="ending")(
    around(turn=lambda z: z, mask_turn=lambda mask: mask)
)
wrong(AROUND, "triangle_gate_on_the_values", "Gates multiply the values.", cause=r"\bg\b|values")(
    around(one=gate_on_the_values)
)
wrong(AROUND, "bias_of_the_next_head", "Each head has the bias of the next.", cause=r"W_b|\bb\b")(
    around(third=lambda b: b.roll(1, -3))
)
wrong(AROUND, "third_side_forgotten", "Forgets the third side.", cause=r"W_b|\bb\b")(around(third=zero))
wrong(AROUND, "triangle_scaled_by_all_heads", "Divided by √(h·c).", cause="scale|√")(
    around(one=scaled_by_all_heads)
)
wrong(AROUND, "triangle_ungated", "Forgets the gates.", cause=r"\bg\b|W_g|b_g")(around(one=ungated))
wrong(AROUND, "around_mask_ignored", "Padding is attended to.", cause="mask|condition|hidden")(
    around(one=unmasked)
)
wrong(AROUND, "around_added", "Adds the pairs, as the block does.", cause=r"\bz is added|term|residual")(
    lambda z, *inputs: z + pairs_around(z, *inputs)
)
right(AROUND, "around_by_the_kernel", "torch's kernel in each head.")(around(one=by_the_kernel))


@right(AROUND)
def by_letters(z, gamma, beta, W_b, W_q, W_k, W_v, W_g, b_g, W_o, b_o, eps, ending, mask=None):
    """The letters of the supplement, by einsum: the ending residue is not turned but read."""
    x = norm(z, gamma, beta, eps)
    q, k, v = (torch.einsum("...ijd,hdc->...hijc", x, W) for W in (W_q, W_k, W_v))
    g = (torch.einsum("...ijd,hdc->...hijc", x, W_g) + b_g[:, None, None]).sigmoid()
    b = torch.einsum("...ijd,dh->...hij", x, W_b)
    if ending:
        s = torch.einsum("...hijc,...hkjc->...hijk", q, k) / q.shape[-1] ** 0.5 + b.mT.unsqueeze(-2)
        seen = None if mask is None else mask.mT[..., None, None, :, :]
        found = torch.einsum(
            "...hijk,...hkjc->...hijc", shares(s, None if seen is None else seen.expand(s.shape)), v
        )
    else:
        s = torch.einsum("...hijc,...hikc->...hijk", q, k) / q.shape[-1] ** 0.5 + b.unsqueeze(-3)
        seen = None if mask is None else mask[..., None, :, None, :]
        found = torch.einsum(
            "...hijk,...hikc->...hijc", shares(s, None if seen is None else seen.expand(s.shape)), v
        )
    joined = torch.einsum("...hijc->...ijhc", g * found).flatten(-2)
    return joined @ W_o + b_o


# A block ------------------------------------------------------------------------------------------------------------------

SIZES = {
    "row": 12,
    "column": 9,
    "aligned": 6,
    "outer": 8,
    "outgoing": 16,
    "incoming": 16,
    "starting": 10,
    "ending": 10,
}
BLOCK = "evoformer.block"
multiply = multiplication()


def parts_of(inputs):
    """The updates of a block as functions, by name; those of the sequences and of the pairs are given what is padding."""
    W, left = {}, iter(inputs[:93])
    for name, count in (*SIZES.items(), ("paired", 6)):
        W[name] = [next(left) for _ in range(count)]
    eps, mask = inputs[93], inputs[94] if len(inputs) > 94 else None
    pairs = None if mask is None else mask[..., :, None] & mask[..., None, :]

    def along_rows(m, z):
        seen = None if mask is None else mask[..., None, :].expand(m.shape[:-1])
        return row(m, z, *W["row"], eps, seen)

    return {
        "row": along_rows,
        "column": lambda m: column(m, *W["column"], eps),
        "aligned": lambda m: transition(m, *W["aligned"], eps),
        "outer": lambda m: outer(m, *W["outer"], eps),
        "outgoing": lambda z, pairs=pairs: multiply(z, *W["outgoing"], eps, False, pairs),
        "incoming": lambda z, pairs=pairs, of="incoming": multiply(z, *W[of], eps, True, pairs),
        "starting": lambda z, pairs=pairs: pairs_around(z, *W["starting"], eps, False, pairs),
        "ending": lambda z, pairs=pairs: pairs_around(z, *W["ending"], eps, True, pairs),
        "paired": lambda z: transition(z, *W["paired"], eps),
    }


ORDER = ("outgoing", "incoming", "starting", "ending", "paired")


def block(order=ORDER, skip="", columns_first=False, old=False, **changes):
    """A block, right, but for the order of the pairs' updates, a sum that is skipped, or parts that are ``changes`` of them."""

    def call(m, z, *inputs):
        parts = parts_of(inputs)
        parts |= {name: change(parts[name]) for name, change in changes.items()}

        def add(x, name, *more):
            return parts[name](x, *more) + (0 if name == skip else x)

        before = m
        for name, more in (("column", ()), ("row", (z,)))[:: 1 if columns_first else -1]:
            m = add(m, name, *more)
        m = add(m, "aligned")
        z = z + parts["outer"](before if old else m)
        for name in order:
            z = add(z, name)
        return m, z

    return lambda m, z, *inputs: call(m, z, *inputs)


def swapped(one, two):
    """The order with two updates exchanged."""
    return tuple({one: two, two: one}.get(name, name) for name in ORDER)


wrong(
    BLOCK,
    "outer_of_the_old",
    "The pairs are updated from the alignment before the block.",
    cause="reads m|M belongs|m where",
)(block(old=True))
wrong(
    BLOCK,
    "block_without_one_sum",
    "Forgets the pairs beside the outgoing edges' update.",
    cause="z_1|added|residual",
)(block(skip="outgoing"))
wrong(
    BLOCK,
    "one_multiplication_for_both",
    "The outgoing edges' weights for incoming ones, too.",
    cause="W_|gamma|exchanged|where",
)(block(incoming=lambda part: lambda z: part(z, of="outgoing")))
wrong(
    BLOCK,
    "incoming_first",
    "Incoming edges before outgoing ones.",
    cause="order|exchanged|reads z_|z_[123] where",
)(block(swapped("outgoing", "incoming")))
wrong(
    BLOCK, "ending_first", "Around the ending residue first.", cause="order|exchanged|reads z_|z_[345] where"
)(block(swapped("starting", "ending")))
wrong(BLOCK, "columns_first", "Along columns before rows.", cause="order|exchanged|reads m|m_1|m_2")(
    block(columns_first=True)
)
wrong(
    BLOCK,
    "padding_in_triangles",
    "Padding takes part in triangle multiplications.",
    cause="mask|condition|hidden",
)(block(outgoing=lambda part: lambda z: part(z, None), incoming=lambda part: lambda z: part(z, None)))
wrong(
    BLOCK,
    "attention_before_products",
    "Triangle attention before the multiplications.",
    cause="order|exchanged|reads z_|where",
)(block(("starting", "ending", "outgoing", "incoming", "paired")))
wrong(
    BLOCK,
    "pairs_without_transition",
    "Forgets the transition of the pairs.",
    cause="transition|added|W_1p|W_2p|b_2p",
)(block(ORDER[:-1]))
right(BLOCK, "composed", "The parts by einsum, one after another.")(block())
