"""GPT: from the tokens of a text to the logits of the token that comes next, at every place.

Inputs: tokens and positions; their tables; the parameters of gpt.layer, each with one axis more in front, its layer; gain and
bias of the last normalization; ε; which tokens are words. The table of tokens is also what the logits are made by.
"""

from typing import Any

from spec.bert.layer import ONE_HEAD
from spec.bert.weights import weights
from spec.embedding.token import token
from spec.gpt.layer import layer
from spec.gpt.parts import CONVENTIONS, ZERO
from spec.normalization.layer_norm import layer_norm
from spec.positional.learned import learned
from spec.transformer.parts import WIDTHS, L, V, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.vocabulary import *

(N,) = sizes("N")
i, j, k, l, t, u, v = indices(i=n, j=n, k=n, l=d_model, t=L, u=L + 1, v=V)

ids = data("ids", n, domain="integer", below=V, meaning="which token stands at each place")
pos = data("pos", n, domain="integer", below=N, meaning="where each token stands: 0, 1, 2, … in a text")
E = parameter(
    "E", V, d_model, meaning="table: one learned vector for each token, for reading and for writing it"
)
P = parameter("P", N, d_model, meaning="table: one learned vector for each position")
LAYERS = weights(L)
LAST = (
    parameter("gamma_f", d_model, meaning="gain of the last normalization; under norm=post there is none"),
    parameter("beta_f", d_model, meaning="its bias"),
)
WEIGHTS = (E, P, *LAYERS, *LAST)
eps = epsilon()
mask = optional_mask("mask", n, meaning="which tokens are words, and not padding")
H = tensor(
    "H", L + 1, n, d_model, meaning="the tokens after so many layers; 0 is their vectors and positions"
)
y = tensor("y", n, d_model, meaning="last hidden states: what is compared with every token of the vocabulary")
logits = tensor("logits", n, V, meaning="after each token how much speaks for each next one, in logarithms")


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


SMALL = {
    "ids": [0, 1],
    "pos": [0, 1],
    "E": [[1, 0], [0, 0]],
    "P": [[0, 0], [0, 1]],
    **{name: [value] for name, value in ONE_HEAD.items() if name not in ("x", "eps")},
    "gamma_f": [1, 1],
    "beta_f": [0, 0],
    "eps": 1,
}

model = Formula(
    "gpt.model",
    "GPT",
    why="What can be learned from text alone, without a label or a translation? To predict: at every place of a text the next "
    "token is known, so that a text of a thousand tokens asks a thousand questions. GPT is a stack of decoder layers that does "
    "nothing else. What it learns on the way serves other tasks, the more the larger it is: GPT-1 was trained on for each, GPT-2 "
    "was asked in words, and GPT-3 answered from a few examples in its prompt. A text is written by asking for the next token, "
    "adding it, and asking again; nothing that was computed for the tokens before changes.",
    sizes={
        n: "tokens",
        V: "vocabulary: 40,478 in GPT-1, 50,257 in GPT-2 and 3",
        N: "longest text: 512 in GPT-1, 1,024 in GPT-2, 2,048 in GPT-3",
        L: "layers: 12 in GPT-1, 12 to 48 in GPT-2, 96 in GPT-3",
        **WIDTHS,
    },
    inputs=(ids, pos, *WEIGHTS, eps, mask),
    lines=(
        define(H[0, i, l], token(ids, E)[i, l] + learned(pos, P)[i, l]),
        define(H[t], layer(H[t - 1], *own(t - 1), eps, mask), (t, 1, L)),
        lines_by_convention(
            "norm",
            pre=(define(y[i], layer_norm(H[L, i], *LAST, eps)),),
            post=(define(y[i, l], H[L, i, l]),),
        ),
        define(logits[i, v], Sum(y[i, l] * E[v, l], l)),
    ),
    outputs=(logits,),
    conventions=CONVENTIONS,
    stored=("H", "y"),
    pitfalls=(
        pitfall(
            "padding in front, and positions counted from it all the same: every word stands elsewhere than it was trained to",
            mutant="positions_of_the_row",
        ),
        pitfall(
            "positions that begin anew with each piece read from a cache", mutant="positions_not_continued"
        ),
        pitfall("the last normalization forgotten, or taken from GPT-2 to GPT-1", convention="norm"),
        pitfall("a table of its own for the logits, or the same one copied once", mutant="table_of_its_own"),
        pitfall("the logits compared with the token at their own place, not with the next", theorem="prefix"),
        pitfall(
            "weights that stand transposed, as GPT-2's do in its checkpoints", mutant="weights_transposed"
        ),
    ),
    sources=(
        deck(0, "GPT"),
        deck(1, "GPT"),
        deck(2, "GPT"),
        deck(3, "GPT"),
        paper("radford2018", "section 3.1, equation 2"),
        paper("radford2019", "section 2.3 and table 2"),
        paper("brown2020", "section 2.1 and table 2.1"),
    ),
    worked=(
        Worked(
            "Two tokens in a layer of one head, token 0 at position 0 and token 1 at position 1, are (1, 0) and (0, 1), as in "
            "the layer itself",
            SMALL,
            [[["1.0000", "0.0000"], ["0.0000", "1.0000"]], [["2.7356", "0.0000"], ["0.8412", "1.0000"]]],
            4,
            output="H",
        ),
        Worked(
            "Normalised once more they are ±0.8073 and ∓0.0792; token 0 of the vocabulary is (1, 0), token 1 is 0",
            SMALL,
            [["0.8073", "0.0000"], ["-0.0792", "0.0000"]],
            4,
        ),
    ),
    notes="Losses compare the logits of place i with the token at place i + 1. The papers call GPT-2's four sizes 117 M, 345 M, "
    "762 M and 1,542 M; they are 124,439,808, 354,823,168, 774,030,080 and 1,557,611,200. GPT-3's alternate layers attend within "
    "a band of tokens only.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra, fewer = sizes("rows extra fewer")
first = (i, rows)
top = "the top layer is one of the layers, and all behind it is done row by row"
ids_later = given("ids_later", n, domain="integer", below=V)
whole = model(ids, pos, *WEIGHTS, eps, mask)
alone = model(ids[:rows], pos[:rows], *WEIGHTS, eps, mask[:rows])

model.theorem(
    "prefix",
    "What is predicted after a token does not depend on those behind it: a prefix alone gives the same, so that a cache changes "
    "nothing",
    claim(whole[i, v], "=", alone[i, v], first, v)
    .by_induction(
        u,
        claim(alone.output(H)[u, i, l], "=", whole.output(H)[u, i, l], first, l),
        last=L,
        base=derive().because("a token's vector and its position's are looked up by themselves"),
        step=derive()
        .citing("prefix", layer(whole.output(H)[u], *own(u), eps, mask), rows=rows, extra=extra)
        .because("a layer makes the same of the first tokens, which are the same below it"),
    )
    .keeping(layer_norm)
    .because(top),
    sizes={n: rows + extra},
    conventions=ZERO,
)

others = each(case(lt(k, rows), ids[k], ids_later[k]), k)
changed = model(others, pos, *WEIGHTS, eps, mask)

model.theorem(
    "no_future",
    "Other tokens behind a place change no logit up to it",
    claim(changed[i, v], "=", whole[i, v], first, v)
    .citing("prefix", changed, rows=rows, extra=extra)
    .citing("prefix", whole, rows=rows, extra=extra)
    .by_definition("either way the first tokens get what they get alone"),
    given=ids_later,
    sizes={n: rows + extra},
    conventions=ZERO,
)

padded = model(ids, pos, *WEIGHTS, eps, each(mask[k] & le(extra, k), k))
behind = model(
    each(ids[extra + k], (k, rows)),
    each(pos[extra + k], (k, rows)),
    *WEIGHTS,
    eps,
    each(mask[extra + k], (k, rows)),
)

model.theorem(
    "left_padding",
    "Padding in front of a text changes nothing where its words keep their positions",
    claim(padded[extra + i, v], "=", behind[i, v], first, v)
    .by_induction(
        u,
        claim(padded.output(H)[u, extra + i, l], "=", behind.output(H)[u, i, l], first, l),
        last=L,
        base=derive().because("a token's vector and its position's are looked up by themselves"),
        step=derive()
        .citing("left_padding", layer(padded.output(H)[u], *own(u), eps, mask), rows=rows, extra=extra)
        .because("in a layer it changes nothing, and what the words are is the same below it"),
    )
    .keeping(layer_norm)
    .because(top),
    sizes={n: extra + rows},
    conventions=ZERO,
)

lower = model(ids, pos, E, P, *(part[:fewer] for part in LAYERS), *LAST, eps, mask)

model.theorem(
    "another_layer",
    "One layer more is a layer that reads what those below it made",
    claim(layer(lower.output(H)[fewer], *own(fewer), eps, mask)[i, l], "=", whole.output(H)[L, i, l])
    .by_induction(u, claim(lower.output(H)[u, i, l], "=", whole.output(H)[u, i, l], i, l), last=fewer)
    .keeping(layer)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=ZERO,
)

(place,) = indices(place=N)
unplaced = each(0, k), E, each(0, place, l), *LAYERS, *LAST, eps

model.theorem(
    "order_without_positions",
    "It can tell order without positions: with a table P of 0, reversing a text does more than reverse the logits",
    claim(
        model(each(ids[n - 1 - k], k), *unplaced)[i, v], "=", model(ids, *unplaced)[n - 1 - i, v]
    ).by_witness(n=2, **SMALL),
    exists=True,
    runs=False,
    conventions=ZERO,
)


def count(L: Any, V: Any, N: Any, h: Any, d_model: Any, d_k: Any, d_v: Any, d_ff: Any) -> Any:
    """The parameters of a model of these sizes."""
    attention = h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model
    return (V + N + 2) * d_model + L * (attention + 2 * d_model * d_ff + d_ff + 5 * d_model)


d = h * d_k
WIDE = {d_model: d, d_v: d_k, d_ff: 4 * d}

model.theorem(
    "parameters",
    "The model has (V + N + 2)·d_model parameters beside its layers, and L times those of a layer; the logits need none",
    claim(parameters(model), "=", count(L, V, N, h, d_model, d_k, d_v, d_ff)).by_definition(
        "two tables, a gain and a bias; the table of tokens is counted once"
    ),
    runs=False,
)

model.theorem(
    "parameters_of_width",
    "With heads that share the width d, and 4·d inner units, these are 12·L·d² + 13·L·d + (V + N)·d + 2·d, of which GPT-1 lacks "
    "the last 2·d",
    claim(parameters(model), "=", 12 * L * d**2 + 13 * L * d + (V + N) * d + 2 * d).by_definition(
        "d_model = h·d_k = h·d_v and d_ff = 4·d_model"
    ),
    sizes=WIDE,
    runs=False,
)

PUBLISHED = {
    (12, 768, 12, 40_478, 512): 116_534_784,
    (12, 768, 12, 50_257, 1_024): 124_439_808,
    (24, 1_024, 16, 50_257, 1_024): 354_823_168,
    (36, 1_280, 20, 50_257, 1_024): 774_030_080,
    (48, 1_600, 25, 50_257, 1_024): 1_557_611_200,
    (96, 12_288, 96, 50_257, 2_048): 174_604_259_328,
}
"""The parameters of GPT-1, the four GPT-2s and GPT-3, by layers, width, heads, vocabulary and longest text."""


def count_published(depth: int, width: int, heads: int, words: int, places: int) -> Any:
    """What the theorem says of a model of these sizes, less the last normalization's where it has the vocabulary of GPT-1."""
    each_ = width // heads
    found = count(depth, words, places, heads, width, each_, each_, 4 * width)
    return found - (2 * width if words == 40_478 else 0)


model.theorem(
    "published",
    "GPT-1, without a last normalization, has 116,534,784 parameters, the four GPT-2s have 124,439,808, 354,823,168, 774,030,080 "
    "and 1,557,611,200, and GPT-3 has 174,604,259,328",
    *(
        claim(count_published(*of), "=", found).by_definition("the sizes put in")
        for of, found in PUBLISHED.items()
    ),
    runs=False,
)
