"""XLNet's objective: from the tokens of a text and an order to the logits of each token, and what they cost.

Inputs: tokens, texts and the order; how many places of the order are only read; the table of tokens; the row that all queries
begin with; the parameters of xlnet.two_stream, each with one axis more in front, its layer; the bias of the logits; ε.
"""

from collections import Counter
from itertools import permutations
from math import comb, factorial
from typing import Any

from spec.embedding.token import token
from spec.objectives.autoregressive import autoregressive
from spec.objectives.cross_entropy import NONE_ASKED
from spec.objectives.mlm import mlm
from spec.positional.layout import b
from spec.transformer.parts import WIDTHS, L, V, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.vocabulary import *
from spec.xlnet.parts import CONVENTIONS, ZERO, order, seg, weights
from spec.xlnet.two_stream import SMALL as ONE_LAYER
from spec.xlnet.two_stream import count as count_layer
from spec.xlnet.two_stream import two_stream

i, j, k, l, t, o, v, p = indices(i=n, j=n, k=n, l=d_model, t=L, o=L + 1, v=V, p=2 * n - 1)
(x,) = indices(x=floor(d_model / 2))

ids = data("ids", n, domain="integer", below=V, meaning="the text: which token stands at each place")
c = number("c", "integer", below=n, meaning="so many places of the order are read and not predicted")
E = parameter("E", V, d_model, meaning="table: a vector for each token, for reading and for predicting it")
g_0 = parameter("g_0", d_model, meaning="the row that every query begins with, whatever its place")
LAYERS = weights(L)
b_V = parameter("b_V", V, meaning="bias of the logits: how frequent each token is")
WEIGHTS = (E, g_0, *LAYERS, b_V)
eps = epsilon()
R = tensor(
    "R", 2 * n - 1, d_model, meaning="encodings of the distances: ⌈d_model/2⌉ sines, then ⌊d_model/2⌋ cosines"
)
H = tensor(
    "H", L + 1, n, d_model, meaning="content rows after so many layers; 0 is the vectors of the tokens"
)
G = tensor("G", L + 1, n, d_model, meaning="query rows after so many layers; 0 is the same row at all places")
logits = tensor(
    "logits", n, V, meaning="at each place how much speaks for each token, from those before it in the order"
)
loss = tensor("loss", meaning="mean cost of a token that is predicted")

PREDICTION = Convention(
    "prediction",
    {
        "partial": "what comes at place c of the order or later is predicted",
        "full": "every token is predicted, the first of the order from nothing",
    },
    default="partial",
)
predicted = by_convention("prediction", partial=le(c, order[i]), full=TRUE)
half = ceiling(d_model / 2)


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


layers = two_stream(H[t - 1], G[t - 1], R, seg, order, *own(t - 1), eps)

SMALL = {
    **{
        name: [value]
        for name, value in ONE_LAYER.items()
        if name not in ("x", "g", "R", "seg", "order", "eps")
    },
    "ids": [0, 1],
    "seg": [0, 0],
    "order": [0, 1],
    "c": 0,
    "E": [[1, 0], [0, 1]],
    "g_0": [0, 0],
    "b_V": [0, 0],
    "eps": "3/4",
}

objective = Formula(
    "xlnet.objective",
    "XLNet's objective: a text predicted in a drawn order",
    why="What does a masked language model lose? It reads [MASK], which no text in use has, and predicts hidden words "
    "independently of each other, so that of New York and Los Angeles, both hidden, it has to allow for New Angeles; "
    "a language model has neither fault, but looks one way only. The chain rule asks for no particular order, so one "
    "is drawn for each text, and each token is predicted from those before it in the order. Over all orders every "
    "token is predicted from every set of the others, with one set of weights, so that it comes to be told from both "
    "sides, and of two words that go together one is told from the other. What comes early in an order is predicted "
    "from next to nothing, costs much and teaches little: only the last tokens of the order are asked for.",
    sizes={
        n: "tokens",
        V: "vocabulary: 32,000",
        L: "layers: 12 in the base model, 24 in the large one",
        **WIDTHS,
    },
    inputs=(ids, seg, order, c, *WEIGHTS, eps),
    lines=(
        define(R[p, x], sin((n - 1 - p) / b ** (2 * x / d_model)), p, (x, half)),
        define(R[p, half + x], cos((n - 1 - p) / b ** (2 * x / d_model))),
        define(H[0, i, l], token(ids, E)[i, l]),
        define(G[0, i, l], g_0[l]),
        define(H[t], layers, (t, 1, L)),
        define(G[t], layers.output("g'"), (t, 1, L)),
        define(logits[i, v], Sum(G[L, i, l] * E[v, l], l) + b_V[v]),
        define(loss, mlm(logits, each(case(predicted, ids[i], -100), i))),
    ),
    outputs=(logits, loss),
    conventions=(PREDICTION, NONE_ASKED, *CONVENTIONS),
    constants={b: 10000},
    stored=("H", "G"),
    pitfalls=(
        pitfall(
            "the text put into the order, where only the masks may know it: positions are those of the text",
            mutant="text_permuted",
        ),
        pitfall(
            "the logits of content rows, which have seen what they are to tell", mutant="content_predicts"
        ),
        pitfall("the tokens before the cut predicted, not those behind it", mutant="cut_from_behind"),
        pitfall("the mean taken over all tokens, predicted or not", mutant="mean_over_the_text"),
        pitfall("logits held against the next token, as a language model's are", mutant="one_late"),
        pitfall(
            "the first token of the order, where nothing is to be read: a fill of −10³⁰ lets its query see all, itself among "
            "them",
            convention="fully_masked",
        ),
        pitfall(
            "what is to be predicted replaced by [MASK] in the text, as for BERT: those later in the order then learn nothing "
            "of it",
            mutant="predicted_masked",
        ),
    ),
    sources=(
        paper("yang2019", "sections 2.2 and 2.3, equations 3 to 5"),
        deck(0, "BERT generates predictions independently"),
        deck(2, "XLNet"),
    ),
    worked=(
        Worked(
            "Two tokens in a layer of one head, as in two_stream: the first is predicted from nothing, the second from (1, 0), "
            "so that its row ends as ±0.6576",
            SMALL,
            [["0", "0"], ["0.6576", "-0.6576"]],
            4,
        ),
        Worked(
            "The first costs ln 2; the second, which is token 1, ln(1 + e^1.3152) = 1.5530: the mean of both",
            SMALL,
            "1.1231",
            4,
            output="loss",
        ),
        Worked("Only the last of the order is asked for", SMALL | {"c": 1}, "1.5530", 4, output="loss"),
    ),
    notes="Layers have one drawn order in common. What a token is predicted from is told by the tokens before it and, from the "
    "second layer on, by their order, since a content row sees none that comes after its own. Tokens at one place of the order "
    "do not see each other: with all that are predicted at one place, the last, they are predicted independently, as by BERT. "
    "The paper's base and large model have L = 12 and 24, d_model = 768 and 1,024, h = 12 and 16, d_k = d_v = 64, d_ff = 3,072 "
    "and 4,096, and predict about one token in six or seven. The collator of transformers for this objective takes texts of even "
    "length alone, draws orders that do not cross the middle of the text, and puts [MASK] for what is to be predicted.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

ONE = {**ZERO, "prediction": "partial", "none_asked": "zero"}
"""The conventions of what does not depend on them."""
ids_other = given("ids_other", n, domain="integer", below=V)
cut = given("cut", domain="integer", below=n)


def model(ids: Tensor | Comprehension = ids, order: Tensor | Comprehension = order, c: Any = c) -> Applied:
    """The model, of this text in this order."""
    return objective(ids, seg, order, c, *WEIGHTS, eps)


whole = model()
changed = model(each(case(lt(order[j], cut), ids[j], ids_other[j]), j))


def above(below: Applied) -> Applied:
    """The layer that follows the first o."""
    return two_stream(below.output(H)[o], below.output(G)[o], R, seg, order, *own(o), eps)


in_a_layer = (
    derive()
    .citing("earlier", above(changed), cut=cut)
    .citing("earlier", above(whole), cut=cut)
    .because("in a layer they depend on the tokens before the place alone, which are the same below it")
)

objective.theorem(
    "own_token",
    "In any order, the logits at a place depend on the tokens that come before it in the order and on no other: not on its own, "
    "through however many layers",
    claim(changed[i, v], "=", logits[i, v], where=le(order[i], cut))
    .by_induction(
        o,
        claim(changed.output(H)[o, i, l], "=", H[o, i, l], i, l, where=lt(order[i], cut)),
        claim(changed.output(G)[o, i, l], "=", G[o, i, l], i, l, where=le(order[i], cut)),
        last=L,
        base=(
            derive().because("tokens before the place were not changed"),
            derive().because("all queries begin alike"),
        ),
        step=(in_a_layer, in_a_layer),
    )
    .because("the top layer is one of the layers"),
    given=(ids_other, cut),
    conventions=ONE,
)

in_turn = each(i, i)

objective.theorem(
    "in_turn",
    "Where the order is that of the text it is a language model: the logits at a place depend on the tokens in front of it "
    "alone, and −n times the loss is the logarithm of the text's probability, word by word",
    claim(
        model(each(case(lt(j, cut), ids[j], ids_other[j]), j), in_turn)[i, v],
        "=",
        model(order=in_turn)[i, v],
        where=le(i, cut),
    )
    .citing("own_token", model(order=in_turn), ids_other=ids_other, cut=cut)
    .by_definition("the place of a token in the order is its place in the text"),
    claim(-n * model(order=in_turn, c=0).output(loss), "=", autoregressive(model(order=in_turn, c=0), ids))
    .keeping(two_stream, token)
    .by_definition("every token is predicted, and the sum of the costs is n times their mean"),
    given=(ids_other, cut),
    conventions=ONE,
)

objective.theorem(
    "every_order",
    "So it is in every order: where all tokens are predicted, −n times the loss is the logarithm of a probability of the text, "
    "by the chain rule in that order",
    claim(-n * model(c=0).output(loss), "=", autoregressive(model(c=0), ids))
    .keeping(two_stream, token)
    .by_definition("the sum of the costs is n times their mean"),
    conventions=ZERO,
)


def mean_over_orders(f: Tensor, tokens: int) -> Node:
    """The mean over all orders of the mean cost of a token, where ``f[i, S]`` is what token i costs after the set S of others,
    by bits: how many orders come to each is counted.
    """
    orders = Counter(
        (z[place], sum(2**other for other in z[:place]))
        for z in permutations(range(tokens))
        for place in range(tokens)
    )
    met = sum((times * f[which] for which, times in sorted(orders.items())), lift(0))
    return met / (factorial(tokens) * tokens)


def mean_over_sets(f: Tensor, tokens: int) -> Node:
    """The mean over the tokens, over how many others are read, and over which these are."""
    sets = ((i, S) for i in range(tokens) for S in range(2**tokens) if not S >> i & 1)
    return sum((f[i, S] / comb(tokens - 1, S.bit_count()) for i, S in sets), lift(0)) / tokens**2


COSTS = {tokens: given(f"f_{tokens}", tokens, 2**tokens) for tokens in range(1, 6)}

objective.theorem(
    "all_orders",
    "Over all orders of up to five tokens, enumerated: what is lowered is the mean over the tokens, over how many others are "
    "read before one, from none to all, and over which these are. A first token is predicted from nothing as often as a last "
    "from all",
    *(
        claim(mean_over_orders(f, tokens), "=", mean_over_sets(f, tokens)).by_definition(
            f"of the {factorial(tokens)} orders, k!·({tokens} − 1 − k)! read a given set of k others before a given token"
        )
        for tokens, f in COSTS.items()
    ),
    given=tuple(COSTS.values()),
    conventions=ONE,
    runs=False,
)

(m,) = sizes("m")
(a,) = indices(a=m)
word = lift(1) / m
"""The probability of a city's first word, and so of its second: m cities of two words, alike likely, no word in two of them."""

objective.theorem(
    "new_york",
    "New York or Los Angeles: of m pairs of words, alike likely, of which no two share a word, the first word costs ln m nats "
    "and the second, once the first is read, none. Predicted independently of each other, as words hidden together are by BERT, "
    "both cost ln m at best: with two cities 1.3863 nats for 0.6931, and half of what is then drawn is New Angeles or Los York",
    claim(-Sum(word * log(word * 1), a), "=", log(m)).by_definition("p(second | first) = 1"),
    claim(-Sum(word * log(word * word), a), "=", 2 * log(m)).by_definition("each of both margins is 1/m"),
    claim(1 - Sum(word * word, a), "=", 1 - word).by_definition("m of the m² pairs of words are cities"),
    conventions=ONE,
    runs=False,
)


def count(L: Any, V: Any, h: Any, d_model: Any, d_k: Any, d_v: Any, d_ff: Any) -> Any:
    """The parameters of a model of these sizes."""
    return (V + 1) * d_model + L * count_layer(h, d_model, d_k, d_v, d_ff) + V


objective.theorem(
    "parameters",
    "The model has (V + 1)·d_model + V parameters beside its layers, and L times those of a layer; distances need none",
    claim(parameters(objective), "=", count(L, V, h, d_model, d_k, d_v, d_ff)).by_definition(
        "a table, the row of the queries and the bias of the logits"
    ),
    runs=False,
)

PUBLISHED = {(12, 768, 12): 116_718_336, (24, 1_024, 16): 360_268_800}
"""The parameters of XLNet's two models without the bias of the logits, by layers, width and heads."""

objective.theorem(
    "published",
    "With 32,000 tokens the base model has 116,718,336 parameters and the large one 360,268,800; the bias of the logits makes "
    "them 116,750,336 and 360,300,800",
    *(
        claim(
            count(depth, 32_000, heads, width, width // heads, width // heads, 4 * width), "=", found + 32_000
        ).by_definition("the sizes put in")
        for (depth, width, heads), found in PUBLISHED.items()
    ),
    runs=False,
)
