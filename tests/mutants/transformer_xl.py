"""Variants of ``transformer_xl.attention``, ``transformer_xl.layer`` and ``transformer_xl.model``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.attention import blank, blank_queries, masked
from tests.mutants.heads import merged, projected
from tests.mutants.relative import placed

ATTENTION, LAYER, MODEL = (f"transformer_xl.{name}" for name in ("attention", "layer", "model"))
ALIKE = r"distance|\bR\b|\br\b|W_r"

# Attention ----------------------------------------------------------------------------------------------------------------


def remembered(memory, x):
    """Memory and segment, right: no gradient goes into the memory."""
    return in_line(memory.detach(), x)


def in_line(memory, x):
    """Memory and segment, with what gradient there is."""
    lead = torch.broadcast_shapes(memory.shape[:-2], x.shape[:-2])
    return torch.cat((memory.expand(*lead, *memory.shape[-2:]), x.expand(*lead, *x.shape[-2:])), -2)


def up_to_own(n, m, like):
    """Which rows each token may attend to, right."""
    return torch.ones(n, m, dtype=torch.bool, device=like.device).tril(m - n)


def seen_of(n, m, like, mask, rows=up_to_own):
    """The same, of those that a mask permits, right but for the ``rows`` that are up to a token's own place."""
    shown = rows(n, m, like)
    return shown if mask is None else shown & mask


def unasked_as_zero(R, seen):
    """R with 0 in the distances over which nothing is seen, right."""
    n, m = seen.shape[-2:]
    rows = [F.pad(seen[..., i, :], (n - 1 - i, 0))[..., :m] for i in range(n)]
    return torch.where(torch.stack(rows).any(0)[..., None], R, 0.0)


def in_place(x, m):
    """Scores of distances behind, as scores of rows: those ahead get 0, right."""
    return placed(F.pad(x, (0, x.shape[-2] - 1)), m)


def distances(R, W_r):
    """What each distance is found by, right."""
    return projected(R, W_r)


def heads_found(q, k, v, r, u, w, seen, place=in_place, scale=True):
    """What the heads gather, right, but for the ``place`` of distances, or without a ``scale``."""
    s = (q + u.unsqueeze(-2)) @ k.mT + place((q + w.unsqueeze(-2)) @ r.mT, k.shape[-2])
    return masked(s / math.sqrt(q.shape[-1]) if scale else s, seen) @ v


def attend(
    x,
    memory,
    R,
    W_q,
    W_k,
    W_v,
    W_r,
    W_o,
    u,
    w,
    mask=None,
    *,
    join=remembered,
    rows=up_to_own,
    found=heads_found,
    of=distances,
):
    """Attention with a memory, right, but for what is changed."""
    n, m = x.shape[-2], R.shape[-2]
    seen = seen_of(n, m, x, mask, rows)
    x_all = join(memory, x)
    if mask is not None:
        x, x_all, R = blank_queries(x, seen), blank(x_all, seen), unasked_as_zero(R, seen)
    seen = seen if seen.dim() == 2 else seen.unsqueeze(-3)
    q, k, v = projected(x, W_q), projected(x_all, W_k), projected(x_all, W_v)
    return merged(found(q, k, v, of(R, W_r), u, w, seen)) @ W_o


def changed(**changes):
    """Attention with a memory, right but for this."""
    return lambda *inputs: attend(*inputs, **changes)


def one_row_less(n, m, like):
    """All rows up to a token's own place, but for the oldest of the memory."""
    shown = up_to_own(n, m, like)
    return shown & (torch.arange(m, device=like.device) > 0)


def window(n, m, like):
    """The last M rows up to a token's own place, as many for every token, as with ``same_length``."""
    return up_to_own(n, m, like) & torch.ones(n, m, dtype=torch.bool, device=like.device).triu(1)


def not_projected(R, W_r):
    """Distances as wide as a query, without W_r, which adds nothing."""
    width = W_r.shape[-1]
    cut = F.pad(R, (0, max(width - R.shape[-1], 0)))[..., :width]
    return cut.unsqueeze(-3) + 0 * projected(R, W_r)


wrong(
    ATTENTION,
    "memory_learns",
    "The gradient goes into the memory.",
    cause="gradient",
)(changed(join=in_line))
wrong(
    ATTENTION,
    "memory_behind",
    "The memory stands behind the segment.",
    cause=r"memory|order|x_all|\bj\b|revers|swapped|exchanged|place",
)(changed(join=lambda memory, x: torch.cat((x, memory.detach()), -2)))
wrong(
    ATTENTION,
    "oldest_row_unseen",
    "The first row of the memory is never seen.",
    cause="too few|memory|off by one|< in|mask",
)(changed(rows=one_row_less))
wrong(
    ATTENTION,
    "memory_as_long_for_all",
    "Each token sees as many rows as the memory has, itself among them.",
    cause="too few|memory|off by one|mask|seen",
)(changed(rows=window))
wrong(
    ATTENTION,
    "segment_sees_ahead",
    "No causal mask within the segment.",
    cause="look-ahead|later|future|too many",
)(changed(rows=lambda n, m, like: torch.ones(n, m, dtype=torch.bool, device=like.device)))
wrong(
    ATTENTION,
    "causal_at_the_oldest",
    "The causal mask is aligned at the oldest row: most of the segment is hidden from itself.",
    cause="upper_left|alignment|too few|j ≤ i|memory|M\b",
)(changed(rows=lambda n, m, like: torch.ones(n, m, dtype=torch.bool, device=like.device).tril()))
wrong(
    ATTENTION,
    "memory_biases_exchanged",
    "u and w exchanged.",
    cause=r"\bu\b.*\bw\b|\bw\b.*\bu\b|exchanged|swapped",
)(
    lambda x, memory, R, W_q, W_k, W_v, W_r, W_o, u, w, mask=None: attend(
        x, memory, R, W_q, W_k, W_v, W_r, W_o, w, u, mask
    )
)
wrong(
    ATTENTION,
    "memory_distances_reversed",
    "Distances count from the oldest row.",
    cause=f"revers|from the end|{ALIKE}",
)(altering(attend, {2: lambda R: R.flip(-2)}))
wrong(ATTENTION, "distances_not_projected", "Encodings of distances as they are, without W_r.", cause=ALIKE)(
    changed(of=not_projected)
)
wrong(
    ATTENTION,
    "distances_not_shifted",
    "The shift is left out: every token has the distances of the last.",
    cause=f"{ALIKE}|position|index",
)(changed(found=lambda *parts: heads_found(*parts, place=lambda x, m: x.clone())))
wrong(ATTENTION, "memory_scale_missing", "Scores are not divided by √d_k.", cause=r"scale|√|sqrt")(
    changed(found=lambda *parts: heads_found(*parts, scale=False))
)
wrong(
    ATTENTION,
    "values_not_remembered",
    "The memory has keys and no values: what is found there is 0.",
    cause=r"memory|\bv\b|values",
)(
    changed(
        found=lambda q, k, v, *rest: heads_found(
            q, k, v * (torch.arange(v.shape[-2]) >= v.shape[-2] - q.shape[-2])[:, None], *rest
        )
    )
)


@right(ATTENTION)
def head_by_head(x, memory, R, W_q, W_k, W_v, W_r, W_o, u, w, mask=None):
    """One head after another, each token by itself over the rows that are up to its own place."""
    n, m = x.shape[-2], R.shape[-2]
    seen = seen_of(n, m, x, mask)
    x_all = remembered(memory, x)
    if mask is not None:
        x, x_all, R = blank_queries(x, seen), blank(x_all, seen), unasked_as_zero(R, seen)
    found = []
    for t in range(len(W_q)):
        q, k, v, r = x @ W_q[t], x_all @ W_k[t], x_all @ W_v[t], R @ W_r[t]
        s = (q + u[t]) @ k.mT + in_place((q + w[t]) @ r.mT, m)
        found.append(masked(s / math.sqrt(q.shape[-1]), seen) @ v)
    return torch.cat(found, -1) @ W_o


right(ATTENTION, "memory_learns_by_convention", "A gradient goes into the memory.", gradient="passed")(
    changed(join=in_line)
)

# A layer ------------------------------------------------------------------------------------------------------------------


def norm(x, gamma, beta, eps):
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def network(x, W_1, b_1, W_2, b_2):
    """The network, right."""
    return F.relu(x @ W_1 + b_1) @ W_2 + b_2


def after(x, A, a, N, n):
    """A layer normalised after each sum, right, of these functions."""
    s = a(x + A(x))
    return n(s + N(s))


def layer_of(attention=attend, make=after, network=network):
    """A layer of Transformer-XL, right, but for these."""

    def call(x, memory, R, *inputs):
        weights, eps, mask = inputs[:15], inputs[15], inputs[16] if len(inputs) > 16 else None
        *first, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights
        return make(
            x,
            lambda x: attention(x, memory, R, *first, mask),
            lambda x: norm(x, gamma_1, beta_1, eps),
            lambda x: network(x, W_1, b_1, W_2, b_2),
            lambda x: norm(x, gamma_2, beta_2, eps),
        )

    return call


layer = layer_of()

wrong(LAYER, "layer_memory_learns", "The gradient goes into the memory.", cause="gradient")(
    layer_of(changed(join=in_line))
)
wrong(LAYER, "layer_without_memory", "The memory is not read.", cause="memory")(
    lambda x, memory, R, *inputs: (
        layer(
            x,
            memory[..., :0, :],
            R[..., memory.shape[-2] :, :],
            *inputs[:16],
            *(m[..., memory.shape[-2] :] for m in inputs[16:] if m is not None),
        )
        + 0 * memory.sum()
    )
)
wrong(
    LAYER,
    "layer_oldest_unseen",
    "The first row of the memory is never seen.",
    cause="too few|memory|off by one|mask",
)(layer_of(changed(rows=one_row_less)))
wrong(
    LAYER,
    "layer_distances_reversed",
    "Distances count from the oldest row.",
    cause=f"revers|from the end|{ALIKE}",
)(altering(layer, {2: lambda R: R.flip(-2)}))
wrong(
    LAYER,
    "wrong_end_added",
    "What is gathered is added to the first rows of memory and segment.",
    cause=r"memory|\bx\b|sum|residual",
)(
    lambda x, memory, R, *inputs: layer_of(
        make=lambda x, A, a, N, n: after(
            remembered(memory, x)[..., : x.shape[-2], :], lambda _: A(x), a, N, n
        )
    )(x, memory, R, *inputs)
)
wrong(
    LAYER,
    "xl_normalised_before",
    "Normalised before each sublayer, and not after.",
    cause="norm|normali|γ|gamma",
)(layer_of(make=lambda x, A, a, N, n: (lambda s: s + N(n(s)))(x + A(a(x)))))
wrong(
    LAYER,
    "no_sum_around_the_network",
    "One of the two sums is forgotten.",
    cause=r"sum|residual|\bs\b|added|f\b",
)(layer_of(make=lambda x, A, a, N, n: n(N(a(x + A(x))))))
wrong(
    LAYER, "xl_one_norm_for_both", "The first normalization in both places.", cause="γ|β|gamma|beta|ignored"
)(layer_of(make=lambda x, A, a, N, n: after(x, A, a, N, a) + 0 * n(x)))
wrong(LAYER, "xl_by_gelu", "The network bends by GELU.", cause="gelu|relu|max|activation")(
    layer_of(network=lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + b_1) @ W_2 + b_2)
)
wrong(
    LAYER,
    "layer_biases_exchanged",
    "u and w exchanged.",
    cause=r"\bu\b.*\bw\b|\bw\b.*\bu\b|exchanged|swapped",
)(
    layer_of(
        lambda x, memory, R, *inputs: attend(x, memory, R, *inputs[:5], inputs[6], inputs[5], *inputs[7:])
    )
)
right(LAYER, "layer_head_by_head", "Attention head by head, then sums and norms.")(layer_of(head_by_head))

# The model ----------------------------------------------------------------------------------------------------------------


def waves(m, d, like):
    """Sines and cosines, one behind the other, of each distance from m − 1 down to 0, right."""
    angle = torch.arange(m - 1, -1, -1, dtype=torch.float64)[:, None] * 10000 ** (
        -torch.arange(0, d, 2, dtype=torch.float64) / d
    )
    return torch.cat((angle.sin(), angle[:, : d // 2].cos()), -1).to(like)


def embedded(E, ids):
    """Vectors of tokens times √d_model, right."""
    return math.sqrt(E.shape[-1]) * E[ids]


def last(read, M):
    """What is kept of all that a layer read: the last M rows, without a gradient, right."""
    return read[..., read.shape[-2] - M :, :].detach()


def model_of(layer=layer, waves=waves, embedded=embedded, keep=last, remember=lambda reads, y: reads):
    """Transformer-XL, right, but for these. What is remembered comes of what the layers ``reads`` and of the result y."""

    def call(ids, memory, E, *inputs):
        weights, eps, mask = inputs[:15], inputs[15], inputs[16] if len(inputs) > 16 else None
        M, x, reads = memory.shape[-2], embedded(E, ids), []
        R = waves(M + ids.shape[-1], E.shape[-1], E)
        for t, before in enumerate(memory.unbind(-3)):
            reads.append(x)
            x = layer(x, before, R, *(part[t] for part in weights), eps, mask)
        kept = [
            keep(in_line(before, read), M)
            for before, read in zip(memory.unbind(-3), remember(reads, x), strict=True)
        ]
        return x, torch.stack(kept, -3)

    return call


wrong(MODEL, "kept_learns", "The memory is not detached when it is kept.", cause="gradient")(
    model_of(keep=lambda read, M: read[..., read.shape[-2] - M :, :])
)
wrong(
    MODEL, "oldest_kept", "The oldest rows are kept, the newest dropped.", cause=r"kept|memory|oldest|M\b|n\b"
)(model_of(keep=lambda read, M: read[..., :M, :].detach()))
wrong(
    MODEL,
    "distances_counted_up",
    "Distances count from the oldest row.",
    cause=f"revers|from the end|{ALIKE}|m - 1|p\b",
)(model_of(waves=lambda m, d, like: waves(m, d, like).flip(0)))
wrong(MODEL, "distances_from_one", "A token's own distance is 1.", cause=f"off by one|{ALIKE}|\\+ 1|M\b")(
    model_of(waves=lambda m, d, like: waves(m + 1, d, like)[:-1])
)
wrong(
    MODEL, "not_scaled_by_width", "Embeddings are not multiplied by √d_model.", cause=r"√|scale|sqrt|d_model"
)(model_of(embedded=lambda E, ids: E[ids]))
wrong(
    MODEL,
    "layers_shifted",
    "What a layer returned is remembered, not what it read.",
    cause=r"kept|H\b|t\b|layer",
)(model_of(remember=lambda reads, y: [*reads[1:], y]))
wrong(MODEL, "model_memory_learns", "The gradient goes into the memory.", cause="gradient")(
    model_of(layer_of(changed(join=in_line)))
)
wrong(
    MODEL,
    "waves_interleaved",
    "Sines and cosines interleaved, as in the Transformer.",
    cause="layout|interleaved",
)(
    model_of(
        waves=lambda m, d, like: torch.stack(
            (
                F.pad(waves(m, d, like), (0, d % 2))[:, : (d + 1) // 2],
                F.pad(waves(m, d, like), (0, d % 2))[:, (d + 1) // 2 :],
            ),
            -1,
        ).flatten(-2)[:, :d]
    )
)
wrong(
    MODEL,
    "first_memory_for_all",
    "Every layer reads the memory of the first.",
    cause=r"memory|first|layer|t\b",
)(
    lambda ids, memory, *inputs: (
        model_of()(ids, memory[..., :1, :, :].expand_as(memory), *inputs)[0],
        model_of()(ids, memory, *inputs)[1],
    )
)
wrong(
    MODEL,
    "memory_replaced",
    "The memory is dropped: what is kept are the segment's rows, and 0 in front.",
    cause=r"kept|memory",
)(
    lambda ids, memory, *inputs: (
        model_of()(ids, memory, *inputs)[0],
        model_of()(ids, 0 * memory, *inputs)[1],
    )
)
right(MODEL, "model_head_by_head", "Layers whose attention is computed head by head.")(
    model_of(layer_of(head_by_head))
)


@right(MODEL)
def rows_one_by_one(ids, memory, E, *inputs):
    """The memory kept as a queue: one row after another is dropped in front and added behind."""
    weights, eps, mask = inputs[:15], inputs[15], inputs[16] if len(inputs) > 16 else None
    x, kept = embedded(E, ids), []
    R = waves(memory.shape[-2] + ids.shape[-1], E.shape[-1], E)
    for t, before in enumerate(memory.unbind(-3)):
        queue = list(in_line(before, x).detach().unbind(-2)[: before.shape[-2]])
        for row in x.detach().expand(*queue[0].shape[:-1], *x.shape[-2:]).unbind(-2):
            queue = [*queue[1:], row]
        kept.append(torch.stack(queue, -2))
        x = layer(x, before, R, *(part[t] for part in weights), eps, mask)
    return x, torch.stack(kept, -3)
