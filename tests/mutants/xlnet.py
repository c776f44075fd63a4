"""Variants of XLNet: a head of its attention, a layer in two streams, and its objective."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong

HEAD, LAYER, OBJECTIVE = "xlnet.attention", "xlnet.two_stream", "xlnet.objective"

# A head -------------------------------------------------------------------------------------------------------------------


def by_distance(x):
    """Entry j − i + n − 1 of row i as its entry j, right."""
    n = x.shape[-2]
    at = torch.arange(n, device=x.device)
    place = at - at.unsqueeze(-1) + n - 1
    return x.gather(-1, place.expand(*x.shape[:-2], n, n))


def distance_turned(x):
    """The same, from the farthest ahead to the farthest behind."""
    return by_distance(x.flip(-1))


def of_texts(asked, S, seg):
    """How well the text of each token fits, right."""
    own, other = (asked @ S.mT).split(1, -1)
    return torch.where(seg.unsqueeze(-1) == seg.unsqueeze(-2), own, other)


def shares(s, mask):
    """The softmax of scores over what is permitted, right: 0 where nothing is."""
    if mask is None:
        return s.softmax(-1)
    some = mask.any(-1, keepdim=True)
    return s.masked_fill(~mask, -torch.inf).where(some, 0.0).softmax(-1) * (mask & some)


def blanked(q, k, v, mask):
    """Queries, keys and values with 0 where they are in no attention."""
    if mask is None:
        return q, k, v
    asks, asked = mask.any(-1).unsqueeze(-1), mask.any(-2).unsqueeze(-1)
    return q.where(asks, 0.0), k.where(asked, 0.0), v.where(asked, 0.0)


def head(place=by_distance, texts=of_texts, share=shares, join=lambda s, T, root: (s + T) / root):
    """A head, right but for what is given: where distances go, how texts fit, what shares scores make, how terms are joined."""

    def attention(q, k, v, r, seg, u, w, f, S, mask=None):
        q, k, v = blanked(q, k, v, mask)
        u, w, f = u.unsqueeze(-2), w.unsqueeze(-2), f.unsqueeze(-2)
        D = (q + w) @ r.mT
        if mask is not None:  # a distance that no query asks for is not read
            D = D.nan_to_num(0.0, 0.0, 0.0)
        s = (q + u) @ k.mT + place(D)
        return share(join(s, texts(q + f, S, seg), math.sqrt(q.shape[-1])), mask) @ v

    return attention


right_head = head()


def same_text_alone(asked, S, seg):
    """0 for another text."""
    own, _ = (asked @ S.mT).split(1, -1)
    return torch.where(seg.unsqueeze(-1) == seg.unsqueeze(-2), own, 0.0) + 0 * asked @ S.mT[..., 1:]


def numbered_texts(asked, S, seg):
    """A key for each of two texts, of the token that is read."""
    first, second = (asked @ S.mT).split(1, -1)
    return torch.where((seg == 0).unsqueeze(-2), first, second)


wrong(
    HEAD,
    "biases_swapped",
    "The biases of content and of position exchanged.",
    cause=r"u and w|w and u|taken in the order",
)(lambda q, k, v, r, seg, u, w, f, S, mask=None: right_head(q, k, v, r, seg, w, u, f, S, mask))
wrong(HEAD, "text_by_the_bias_of_content", "The text is asked by the bias of content.", cause=r"\bu\b|\bf\b")(
    lambda q, k, v, r, seg, u, w, f, S, mask=None: right_head(q, k, v, r, seg, u, w, u + 0 * f, S, mask)
)
wrong(HEAD, "texts_exchanged", "Own and other text exchanged.", cause=r"\bS\b|text|seg")(
    altering(right_head, {8: lambda S: S.flip(-2)})
)
wrong(HEAD, "texts_ignored", "Leaves the text out.", cause=r"\bS\b|seg|ignored")(
    altering(right_head, {8: lambda S: 0 * S})
)
wrong(HEAD, "other_text_ignored", "Other texts have no key.", cause=r"\bS\b|seg")(head(texts=same_text_alone))
wrong(
    HEAD,
    "texts_by_number",
    "A key for each text, not for same and other.",
    cause=r"seg|\bS\b|branch|condition",
)(head(texts=numbered_texts))
wrong(HEAD, "distances_turned", "Distances from ahead to behind.", cause=r"\br\b|reversed|distance")(
    head(place=distance_turned)
)
wrong(
    HEAD,
    "text_after_the_scale",
    "The term of the text is not divided by √d_k.",
    cause=r"√\(?d_k|scale|divided",
)(head(join=lambda s, T, root: s / root + T))
wrong(HEAD, "head_unscaled", "Forgets the scale.", cause="scale")(head(join=lambda s, T, root: s + T))
wrong(HEAD, "head_mask_inverted", "True taken for “hidden”.", cause="true_drops|mask|inverted")(
    altering(right_head, {9: lambda mask: None if mask is None else ~mask})
)
wrong(
    HEAD,
    "half_fill",
    "Takes 65,500 from hidden scores, which is what 16 bits can hold.",
    cause="fully_masked|finite|fill|hidden",
)(head(share=lambda s, mask: (s if mask is None else s - 65_500.0 * ~mask).softmax(-1)))
wrong(HEAD, "text_detached", "No gradient reaches the keys of texts.", cause="gradient")(
    altering(right_head, {8: lambda S: S.detach()})
)


@right(HEAD)
def key_by_key(q, k, v, r, seg, u, w, f, S, mask=None):
    """One key after another, each with its own row of distances."""
    q, k, v = blanked(q, k, v, mask)
    n, columns = q.shape[-2], []
    for j in range(n):
        at = torch.arange(j + n - 1, j - 1, -1, device=q.device)
        key = (
            S[..., 0, :]
            .unsqueeze(-2)
            .where((seg == seg[..., j : j + 1]).unsqueeze(-1), S[..., 1, :].unsqueeze(-2))
        )
        D = ((q + w.unsqueeze(-2)) * r[..., at, :]).sum(-1).nan_to_num(0.0, 0.0, 0.0)
        columns.append(
            ((q + u.unsqueeze(-2)) * k[..., j : j + 1, :]).sum(-1) + D + ((q + f.unsqueeze(-2)) * key).sum(-1)
        )
    return shares(torch.stack(columns, -1) / math.sqrt(q.shape[-1]), mask) @ v


right(HEAD, "head_term_by_term", "Each term divided by the root, then the softmax.")(
    head(join=lambda s, T, root: s / root + T / root)
)

# A layer ------------------------------------------------------------------------------------------------------------------


def projected(x, W):
    """x W[t] for every head t, right."""
    return torch.einsum("...nd,hdc->...hnc", x, W)


def earlier(order):
    """Who sees whom: those before a token, right."""
    return order.unsqueeze(-2) < order.unsqueeze(-1)


def own(order):
    """The diagonal."""
    return torch.eye(order.shape[-1], dtype=torch.bool, device=order.device)


def masks_of_both(order):
    """Who sees whom, in the content and in the query stream, right."""
    return earlier(order) | own(order), earlier(order)


def layer(
    masks=masks_of_both,
    one=right_head,
    read=lambda x, g: x,
    asking=lambda x, g: g,
    network=F.gelu,
    returned=lambda x, g: (x, g),
):
    """A layer, right but for the masks, a head, what query rows read and ask with, the network, or what is returned."""

    def two_stream(x, g, R, seg, order, *weights_and_eps):
        *weights, eps = weights_and_eps
        W_q, W_k, W_v, W_r, u, w, f, S, W_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights

        def norm(x, gamma, beta):
            return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

        def stream(asks, rows, mask):
            k, v = projected(rows, W_k), projected(rows, W_v)
            z = one(
                projected(asks, W_q),
                k,
                v,
                projected(R, W_r),
                seg.unsqueeze(-2),
                u,
                w,
                f,
                S,
                mask.unsqueeze(-3),
            )
            s = norm(asks + z.transpose(-3, -2).flatten(-2) @ W_o, gamma_1, beta_1)
            return norm(s + network(s @ W_1 + b_1) @ W_2 + b_2, gamma_2, beta_2)

        content, query = masks(order)
        return returned(stream(x, x, content), stream(asking(x, g), read(x, g), query))

    return two_stream


def inverse(order):
    """The list of tokens by place; where two have one place, the first of them comes first."""
    return order.argsort(stable=True, dim=-1)


right_layer = layer()

wrong(LAYER, "own_token_seen", "The diagonal is open in both streams.", cause="own_token|diagonal|read")(
    layer(lambda order: (earlier(order) | own(order),) * 2)
)
wrong(
    LAYER, "own_token_unseen", "The diagonal is shut in both streams.", cause="seen|order|hidden|condition"
)(layer(lambda order: (earlier(order),) * 2))
wrong(
    LAYER,
    "streams_exchanged",
    "Returns query rows for content rows.",
    cause="taken in the order|order|swapped|exchanged",
)(layer(returned=lambda x, g: (g, x)))
wrong(
    LAYER,
    "masks_exchanged",
    "The masks of the streams exchanged.",
    cause="seen|order|hidden|condition|exchanged",
)(layer(lambda order: masks_of_both(order)[::-1]))
wrong(
    LAYER,
    "hidden_by_both",
    "Hides what comes later in the order and in the text: & for |.",
    cause="seen|order|hidden|condition",
)(
    layer(
        lambda order: (
            earlier(order) | ~torch.ones_like(earlier(order)).triu(1),
            earlier(order) | torch.ones_like(earlier(order)).tril(-1),
        )
    )
)
wrong(LAYER, "order_inverted", "Takes the order for the list of tokens by place.", cause="order")(
    layer(lambda order: masks_of_both(inverse(order)))
)
wrong(LAYER, "order_of_the_text", "Left to right, whatever the order.", cause="order")(
    layer(lambda order: masks_of_both(torch.arange(order.shape[-1], device=order.device) + 0 * order))
)
wrong(
    LAYER,
    "later_seen",
    "Sees what comes later in the order, not what comes before.",
    cause="order|<|reversed",
)(layer(lambda order: (earlier(-order) | own(order), earlier(-order))))
wrong(LAYER, "queries_read", "Query rows read the keys and values of query rows.", cause=r"\bg\b|\bx\b")(
    layer(read=lambda x, g: g + 0 * x)
)
wrong(LAYER, "content_asks", "Query rows ask with their tokens.", cause=r"\bg\b|\bx\b")(
    layer(asking=lambda x, g: x + 0 * g)
)
wrong(LAYER, "texts_left_out", "Leaves the texts out of the scores.", cause=r"\bS\b|seg|ignored")(
    layer(one=altering(right_head, {8: lambda S: 0 * S}))
)
wrong(
    LAYER,
    "layer_biases_swapped",
    "The biases of content and of position exchanged.",
    cause="u and w|w and u|taken in the order",
)(layer(one=lambda q, k, v, r, seg, u, w, *rest: right_head(q, k, v, r, seg, w, u, *rest)))
wrong(
    LAYER,
    "first_sees_all",
    "Fills hidden scores with −10³⁰: the first token of the order sees all, itself too.",
    cause="fully_masked",
)(layer(one=head(share=lambda s, mask: s.masked_fill(~mask, -1e30).softmax(-1))))
wrong(LAYER, "gelu_by_tanh", "GELU by tanh.", cause="tanh")(
    layer(network=lambda x: F.gelu(x, approximate="tanh"))
)
wrong(LAYER, "content_detached", "No gradient of query rows reaches the content.", cause="gradient")(
    layer(read=lambda x, g: x.detach() + 0 * x)
)
right(LAYER, "stream_by_stream", "One stream after the other, from heads in plain products.")(right_layer)


right(LAYER, "masks_by_signs", "Who sees whom by the signs of differences of places.")(
    layer(
        lambda order: (
            (order.unsqueeze(-1) - order.unsqueeze(-2)).sign() + own(order).long() > 0,
            (order.unsqueeze(-1) - order.unsqueeze(-2)).sign() > 0,
        )
    )
)

# The objective ------------------------------------------------------------------------------------------------------------


def encodings(n, E):
    """The encodings of the distances, right."""
    d = E.shape[-1]
    place = torch.arange(n - 1, -n, -1, dtype=torch.float64, device=E.device).unsqueeze(-1)
    angle = place / 10_000 ** (torch.arange(0, d, 2, dtype=torch.float64, device=E.device) / d)
    return torch.cat((angle.sin(), angle.cos()[:, : d // 2]), -1).to(E.dtype)


def asked(ids, order, c):
    """Which tokens are predicted, right."""
    return order >= c


def mean_cost(logits, ids, told):
    """The mean cost of those that are predicted, right; 0 where none is."""
    costs = (
        F.cross_entropy(logits.movedim(-1, 1), ids, reduction="none")
        if logits.dim() > 2
        else F.cross_entropy(logits, ids, reduction="none")
    )
    count = told.sum(-1)
    return (costs * told).sum(-1) / count.clamp(min=1)


def objective(
    told=asked,
    cost=mean_cost,
    distances=encodings,
    step=right_layer,
    predicts=lambda x, g: g,
    begins=lambda x, g_0: g_0.expand_as(x),
    enters=lambda ids, order, c: ids,
    bias=lambda b: b,
):
    """The objective, right but for what is given."""

    def model(ids, seg, order, c, E, g_0, *rest):
        *stacked, b_V, eps = rest
        x = E[enters(ids, order, c)]
        g, R = begins(x, g_0), distances(ids.shape[-1], E)
        for weights in zip(*stacked, strict=True):
            x, g = step(x, g, R, seg, order, *weights, eps)
        logits = predicts(x, g) @ E.T + bias(b_V)
        return logits, cost(logits, ids, told(ids, order, c))

    return model


def interleaved(n, E):
    """Sines and cosines by turns."""
    R = encodings(n, E)
    half = (R.shape[-1] + 1) // 2
    made = torch.empty_like(R)
    made[:, ::2], made[:, 1::2] = R[:, :half], R[:, half:]
    return made


def reordered(ids, order, c):
    """The text, put into the order."""
    return ids.gather(-1, order)


wrong(OBJECTIVE, "cut_from_behind", "Predicts those before the cut.", cause=r"\bc\b|prediction|order")(
    objective(told=lambda ids, order, c: order < c)
)
wrong(OBJECTIVE, "cut_in_the_text", "Cuts the text, not the order.", cause=r"\bc\b|prediction|order")(
    objective(told=lambda ids, order, c: torch.arange(ids.shape[-1], device=ids.device).expand_as(ids) >= c)
)
wrong(OBJECTIVE, "all_predicted", "Predicts all tokens, whatever the cut.", cause="prediction|full")(
    objective(told=lambda ids, order, c: order >= 0)
)
wrong(OBJECTIVE, "cut_one_early", "Predicts one place of the order more.", cause=r"\bc\b|prediction|order")(
    objective(told=lambda ids, order, c: order >= c - 1)
)
wrong(OBJECTIVE, "mean_over_the_text", "Divides by all tokens.", cause="mean|count|loss")(
    objective(cost=lambda logits, ids, told: mean_cost(logits, ids, told) * told.sum(-1) / told.shape[-1])
)
wrong(OBJECTIVE, "sum_of_costs", "The sum, not the mean.", cause="mean|count|loss")(
    objective(cost=lambda logits, ids, told: mean_cost(logits, ids, told) * told.sum(-1))
)
wrong(OBJECTIVE, "one_late", "Holds the logits against the next token.", cause="ids|loss|label")(
    objective(cost=lambda logits, ids, told: mean_cost(logits, ids.roll(-1, -1), told))
)
wrong(OBJECTIVE, "content_predicts", "Takes the logits of content rows.", cause=r"\b[HG]\b|logits")(
    objective(predicts=lambda x, g: x + 0 * g)
)
wrong(OBJECTIVE, "text_permuted", "Puts the text into the order, positions and all.", cause="order|ids")(
    objective(enters=reordered)
)
wrong(
    OBJECTIVE, "predicted_masked", "Reads token 0, as a mask, for all that are predicted.", cause="ids|order"
)(objective(enters=lambda ids, order, c: torch.where(order >= c, 0, ids)))
wrong(OBJECTIVE, "distances_interleaved", "Sines and cosines by turns.", cause=r"\bR\b|layout|interleaved")(
    objective(distances=interleaved)
)
wrong(OBJECTIVE, "distances_from_ahead", "Distances from ahead to behind.", cause=r"\bR\b|reversed|distance")(
    objective(distances=lambda n, E: encodings(n, E).flip(0))
)
wrong(OBJECTIVE, "queries_begin_with_tokens", "Query rows begin with their tokens.", cause=r"\bG\b|g_0")(
    objective(begins=lambda x, g_0: x + g_0)
)
wrong(OBJECTIVE, "no_bias_of_logits", "Leaves the bias of the logits out.", cause="b_V")(
    objective(bias=lambda b: 0 * b)
)
wrong(OBJECTIVE, "diagonal_open", "Every token is predicted from itself.", cause="order|seen|hidden")(
    objective(step=layer(lambda order: (earlier(order) | own(order),) * 2))
)
wrong(OBJECTIVE, "table_detached", "The logits give the table no gradient.", cause="gradient")(
    objective(predicts=lambda x, g: g.detach() + 0 * g)
)
right(OBJECTIVE, "layer_by_layer", "One layer after another, from heads in plain products.")(objective())
right(OBJECTIVE, "by_logarithms", "The cost by logarithms of the softmax.")(
    objective(
        cost=lambda logits, ids, told: (
            -(logits.log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1) * told).sum(-1)
            / told.sum(-1).clamp(min=1)
        )
    )
)
