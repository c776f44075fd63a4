"""Variants of the formulas of ``llama``: a right implementation of each, with a switch for each of its steps."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong

ATTENTION, LAYER, MODEL = "llama.attention", "llama.layer", "llama.model"

# Attention ----------------------------------------------------------------------------------------------------------------


def halves(x, angles):
    """Entries i and p + i turned as a pair."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


def neighbours(x, angles):
    """Entries 2i and 2i + 1 turned as a pair."""
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack(
        (a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1
    ).flatten(-2)


def repeated(k, h):
    """Each head h/g times in a row."""
    return k.repeat_interleave(h // k.shape[-3], -3)


def tiled(k, h):
    """All heads, h/g times one after the other."""
    return torch.cat([k] * (h // k.shape[-3]), -3)


def first_group(k, h):
    """The first head, h times."""
    return k[..., :1, :, :].expand(*k.shape[:-3], h, *k.shape[-2:])


def of_words(x, mask):
    """Which tokens each token sees: words up to its own place."""
    seen = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()
    return seen if mask is None else seen & mask.unsqueeze(-2)


def read(x, seen):
    """The rows, 0 where a token neither sees any other nor is seen: nothing that stands there is to spread."""
    return torch.where((seen.any(-1) | seen.any(-2))[..., None], x, 0.0)


def weighed(q, k, v, seen):
    """The attention, by a softmax that is 0 where nothing is seen."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    a = torch.softmax(s.masked_fill(~seen, float("-inf")), -1)
    return torch.where(seen.any(-1, keepdim=True), a, 0.0) @ v


def attend(
    turn=halves,
    turn_keys=None,
    turn_values=None,
    share=repeated,
    see=of_words,
    mix=weighed,
    still=torch.detach,
    place=None,
):
    """Queries and keys turned by angles, keys and values shared by the heads, what is seen mixed, and joined by W_o."""

    def run(x, pos, theta, W_q, W_k, W_v, W_o, mask=None):
        x = read(x, of_words(x, mask))
        q, k, v = (torch.einsum("...nd,hdc->...hnc", x, W) for W in (W_q, W_k, W_v))
        where = (place(pos) if place else pos)[..., None, :, None].to(torch.float64)
        angles = (where * still(theta).to(torch.float64)).to(x.dtype)
        q, k = turn(q, angles), (turn_keys or turn)(k, angles)
        v = turn_values(v, angles) if turn_values else v
        h = W_q.shape[0]
        z = mix(q, share(k, h), share(v, h), see(x, mask).unsqueeze(-3))
        return torch.einsum("...hnv,hvd->...nd", z, W_o)

    return run


def not_turned(x, angles):
    """The rows as they are."""
    return x


def turned_where_even(x, angles):
    """Values turned, where they are as wide as keys; else half of them doubled."""
    return (
        halves(x, angles) if x.shape[-1] == 2 * angles.shape[-1] else x * angles.sum(-1, keepdim=True).cos()
    )


def sees_the_next(x, mask):
    """Words up to the one behind."""
    seen = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril(1)
    return seen if mask is None else seen & mask.unsqueeze(-2)


def sees_padding(x, mask):
    """All tokens up to its own place, words or not."""
    return torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril().expand(*x.shape[:-2], -1, -1)


def unscaled(q, k, v, seen):
    """Without the scale."""
    return weighed(q * math.sqrt(q.shape[-1]), k, v, seen)


def masked_late(q, k, v, seen):
    """Hidden weights set to 0 behind the softmax."""
    return torch.where(seen, torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1), 0.0) @ v


wrong(
    ATTENTION,
    "llama_neighbours",
    "Pairs of neighbours, as Meta's own weights have them.",
    cause="pairs=interleaved",
)(attend(neighbours))
wrong(ATTENTION, "llama_turned_back", "Turned the other way.", cause="sin|sign|pos|theta")(
    attend(lambda x, angles: halves(x, -angles), turn_keys=halves)
)
wrong(
    ATTENTION, "llama_keys_not_turned", "Queries turned, and keys not.", cause=r"\bK\b|\bk\b|turn|rotary|pos"
)(attend(turn_keys=not_turned))
wrong(ATTENTION, "llama_values_turned", "Values turned as well.", cause=r"\bv\b|value|turn|rotary")(
    attend(turn_values=turned_where_even)
)
wrong(ATTENTION, "llama_tiled", "Keys and values repeated as a whole.", cause="head|group|repeat|order")(
    attend(share=tiled)
)
wrong(ATTENTION, "llama_first_group", "All heads read the first group.", cause="head|group|first")(
    attend(share=first_group)
)
wrong(ATTENTION, "llama_sees_the_next", "The mask is off by one.", cause="look-ahead|later|too many|future")(
    attend(see=sees_the_next)
)
wrong(ATTENTION, "llama_padding_seen", "Padding takes part.", cause="mask|padding|hidden")(
    attend(see=sees_padding)
)
wrong(
    ATTENTION, "llama_unscaled", "Scores are not divided by the root of the width.", cause="scale|√|divided"
)(attend(mix=unscaled))
wrong(
    ATTENTION,
    "llama_masked_late",
    "Hidden weights are zeroed behind the softmax.",
    cause="sum to 1|sum over hidden|softmax",
)(attend(mix=masked_late))
wrong(ATTENTION, "llama_positions_anew", "Positions counted from 0, whatever is given.", cause=r"\bpos\b")(
    attend(place=lambda pos: torch.arange(pos.shape[-1]).expand(pos.shape))
)
wrong(
    ATTENTION,
    "llama_frequencies_learn",
    "A gradient reaches the frequencies.",
    cause="gradient.*theta|theta|θ",
)(attend(still=lambda theta: theta))
wrong(
    ATTENTION,
    "llama_keys_cut_off",
    "No gradient reaches the keys of earlier tokens, as if kept.",
    cause="gradient|constant",
)(
    attend(
        mix=lambda q, k, v, seen: weighed(
            q, torch.cat((k[..., :-1, :].detach(), k[..., -1:, :]), -2), v, seen
        )
    )
)
right(ATTENTION, "llama_plainly", "Heads repeated, a softmax, a product.")(attend())
right(ATTENTION, "llama_neighbours_by_name", "Pairs of neighbours, by that convention.", pairs="interleaved")(
    attend(neighbours)
)
right(ATTENTION, "llama_by_the_kernel", "torch's fused kernel.")(
    attend(
        mix=lambda q, k, v, seen: torch.where(
            seen.any(-1, keepdim=True), F.scaled_dot_product_attention(q, k, v, seen), 0.0
        )
    )
)

# A layer ------------------------------------------------------------------------------------------------------------------


def rms(x, gamma, eps):
    """The root mean square normalization."""
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


def swiglu(w, W_g, W_u, W_d):
    """The gated network."""
    return (F.silu(w @ W_g) * (w @ W_u)) @ W_d


def block(attention=None, norm=rms, network=swiglu, join=None):
    """A layer: two steps, each of which reads normalised rows; ``join(x, attend, feed)`` puts them together."""
    gathers = attention or attend()

    def run(x, pos, theta, W_q, W_k, W_v, W_o, gamma_1, W_g, W_u, W_d, gamma_2, eps, mask=None):
        def gather(rows):
            return gathers(rows, pos, theta, W_q, W_k, W_v, W_o, mask)

        def feed(rows):
            return network(rows, W_g, W_u, W_d)

        first, second = (lambda rows: norm(rows, gamma_1, eps)), (lambda rows: norm(rows, gamma_2, eps))
        return (join or in_turn)(x, gather, feed, first, second)

    return run


def in_turn(x, gather, feed, first, second):
    """One step after the other."""
    s = x + gather(first(x))
    return s + feed(second(s))


def sum_with_the_normalised(x, gather, feed, first, second):
    """Each sum with the row as it was read."""
    u = first(x)
    w = second(u + gather(u))
    return w + feed(w)


def behind_each_sum(x, gather, feed, first, second):
    """Normalised behind each sum."""
    s = first(x + gather(x))
    return second(s + feed(s))


def side_by_side(x, gather, feed, first, second):
    """Both steps read the same rows, as in GPT-J and PaLM."""
    return x + gather(first(x)) + feed(second(x))


wrong(
    LAYER,
    "llama_gains_exchanged",
    "The gain of one normalization for the other.",
    cause="gamma_1|gamma_2|exchang",
)(block(join=lambda x, gather, feed, first, second: in_turn(x, gather, feed, second, first)))
wrong(LAYER, "llama_one_gain", "The first gain for both.", cause="gamma_2|gamma_1")(
    lambda *given: (
        block(join=lambda x, gather, feed, first, second: in_turn(x, gather, feed, first, first))(*given)
        + 0 * given[11].sum()
    )
)
wrong(
    LAYER, "llama_sum_of_the_normalised", "The sum taken with the rows that were read.", cause="x|s|normal"
)(block(join=sum_with_the_normalised))
wrong(LAYER, "llama_post_norm", "Normalised behind each sum.", cause="norm|y|s")(block(join=behind_each_sum))
wrong(LAYER, "llama_side_by_side", "Both steps read the same rows.", cause=r"\bs\b|\bz\b|x")(
    block(join=side_by_side)
)
wrong(LAYER, "llama_row_forgotten", "The row is not added behind attention.", cause=r"\bx\b|not added")(
    block(join=lambda x, gather, feed, first, second: gather(first(x)) + feed(second(gather(first(x)))))
)
wrong(LAYER, "llama_layer_norm", "Layer normalization without a bias.", cause="mean")(
    block(norm=lambda x, gamma, eps: F.layer_norm(x, x.shape[-1:], gamma, None, eps))
)
wrong(LAYER, "llama_gain_plus_one", "Gemma's gain, 1 + γ.", cause="gain=one_plus|1 is added")(
    block(norm=lambda x, gamma, eps: rms(x, 1 + gamma, eps))
)
wrong(LAYER, "llama_eps_outside", "ε outside the root.", cause="eps=outside|outside")(
    block(norm=lambda x, gamma, eps: gamma * x / (x.square().mean(-1, keepdim=True).sqrt() + eps))
)
wrong(LAYER, "llama_gate_exchanged", "Gate and up exchanged.", cause="W_u|W_g|exchang")(
    block(network=lambda w, W_g, W_u, W_d: swiglu(w, W_u, W_g, W_d))
)
wrong(LAYER, "llama_geglu", "Gemma's network, where Llama's is meant.", cause="GELU|activation=gelu")(
    block(network=lambda w, W_g, W_u, W_d: (F.gelu(w @ W_g) * (w @ W_u)) @ W_d)
)
wrong(
    LAYER, "llama_layer_sees_the_next", "Attention is off by one.", cause="look-ahead|later|future|too many"
)(block(attend(see=sees_the_next)))
right(LAYER, "llama_layer_plainly", "Two steps, as written.")(block())
right(
    LAYER,
    "gemma_by_name",
    "Gemma's layer, by its conventions.",
    activation="gelu",
    approximation="tanh",
    gain="one_plus",
)(
    block(
        norm=lambda x, gamma, eps: rms(x, 1 + gamma, eps),
        network=lambda w, W_g, W_u, W_d: (F.gelu(w @ W_g, approximate="tanh") * (w @ W_u)) @ W_d,
    )
)

# The model ----------------------------------------------------------------------------------------------------------------


def stacked(
    layer=None, order=lambda layers: layers, last=rms, table=lambda x, E: x, head=lambda y, E, U: y @ U.mT
):
    """The tokens looked up, layer upon layer, a last normalization, and the logits."""
    step = layer or block()

    def run(
        ids, pos, theta, E, W_q, W_k, W_v, W_o, gamma_1, W_g, W_u, W_d, gamma_2, gamma_f, U, eps, mask=None
    ):
        x = table(E[ids], E)
        layers = zip(W_q, W_k, W_v, W_o, gamma_1, W_g, W_u, W_d, gamma_2, strict=True)
        for own in order(list(layers)):
            x = step(x, pos, theta, *own, eps, mask)
        return head(last(x, gamma_f, eps), E, U)

    return run


wrong(
    MODEL, "llama_positions_not_continued", "Positions counted from 0, whatever is given.", cause=r"\bpos\b"
)(altering(stacked(), {1: lambda pos: torch.arange(pos.shape[-1]).expand(pos.shape)}))
wrong(
    MODEL,
    "llama_last_norm_forgotten",
    "The last layer's rows are compared as they are.",
    cause="y|gamma_f|norm",
)(stacked(last=lambda x, gamma, eps: gamma * x))
wrong(MODEL, "llama_head_is_the_table", "The table of tokens makes the logits, too.", cause=r"\bU\b")(
    stacked(head=lambda y, E, U: y @ E.mT + 0 * U.sum())
)
wrong(
    MODEL,
    "llama_table_scaled",
    "Tokens are scaled by the root of the width, as Gemma's are.",
    cause="√|scale|multipl|d_model|H",
)(stacked(table=lambda x, E: x * math.sqrt(E.shape[-1])))
wrong(MODEL, "llama_layers_reversed", "The layers in the other order.", cause="order|layer|revers|H")(
    stacked(order=lambda layers: layers[::-1])
)
wrong(MODEL, "llama_top_layer_left_out", "The top layer is left out.", cause="layer|L|H")(
    stacked(order=lambda layers: layers[:-1])
)
wrong(MODEL, "llama_first_layer_throughout", "The first layer's weights in every layer.", cause="layer|L|H")(
    stacked(order=lambda layers: layers[:1] * len(layers))
)
wrong(MODEL, "llama_shares_for_logits", "The softmax of the logits.", cause="softmax|logits")(
    stacked(head=lambda y, E, U: torch.softmax(y @ U.mT, -1))
)
wrong(
    MODEL, "llama_model_gain_plus_one", "Gemma's gain behind the last layer.", cause="gain|1 is added|gamma_f"
)(stacked(last=lambda x, gamma, eps: rms(x, 1 + gamma, eps)))
wrong(
    MODEL, "llama_model_sees_the_next", "Attention is off by one.", cause="look-ahead|later|future|too many"
)(stacked(block(attend(see=sees_the_next))))
wrong(MODEL, "llama_padding_seen_by_all", "Padding takes part.", cause="mask|padding|hidden")(
    stacked(block(attend(see=sees_padding)))
)
right(MODEL, "llama_model_plainly", "Layer upon layer, as written.")(stacked())
