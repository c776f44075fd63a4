"""One head of XLNet's attention: a query heeds what a token says, how far away it stands, and whether it is of the query's text.

``r`` has a row for each distance, from the farthest behind to the farthest ahead, as in attention.relative: row n − 1 is that
of a token to itself.
"""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, mix
from spec.attention.relative import relative
from spec.attention.relative_scores import relative_scores
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.transformer.parts import n
from spec.vocabulary import *
from spec.xlnet.parts import order, seg

d_k, d_v = sizes("d_k d_v")
i, j, o, c, e, p, b = indices(i=n, j=n, o=n, c=d_k, e=d_v, p=2 * n - 1, b=2)

q = data("q", n, d_k, meaning="queries: what is looked for from each token's place")
k = data("k", n, d_k, meaning="keys: what each token is found by")
v = data("v", n, d_v, meaning="values: what each token hands over")
r = data(
    "r", 2 * n - 1, d_k, meaning="distances: a key for each, from the farthest behind to the farthest ahead"
)
u = parameter("u", d_k, meaning="bias of content: what every query looks for in a token")
w = parameter("w", d_k, meaning="bias of position: what every query looks for in a distance")
f = parameter("f", d_k, meaning="bias of text: what every query looks for in a text")
S = parameter("S", 2, d_k, meaning="the keys of a query's own text, and of every other text")
mask = optional_mask("mask", n, n, meaning="which tokens each query may attend to")
t = tensor("t", n, 2, meaning="how well its own text, and another, fits each query")
s = tensor("s", n, n, meaning="score: how well each token fits each query, with its distance and its text")
a = tensor("a", n, n, meaning="attention weight: the share of its attention that a query gives to each token")
z = tensor("z", n, d_v, meaning="what each query has gathered")

PARAMETERS = (u, w, f, S)


ASKED = {"q": [[0], [0]], "k": [[0], [0]], "v": [[2], [6]], "r": [[0]] * 3, "seg": [0, 1]}
ASKED |= {"u": [0], "w": [1], "f": [1], "S": [[0], [0]]}

attention = Formula(
    "xlnet.attention",
    "XLNet's attention: tokens, distances and texts",
    why="What does a token need to know of another before it heeds it? What it says, as everywhere; how far away it stands; and, "
    "where two texts are read together, whether both belong to the same one. None of this is added to the tokens: each is a term "
    "of the score, with keys of its own and with a learned vector that asks whatever the query asks. So only relations count: "
    "the distance, not the place; same or other, not which text is called the first. A model that was trained on pairs of texts "
    "can be given three.",
    sizes={n: "tokens", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, r, seg, *PARAMETERS, mask),
    lines=(
        define(t[i, b], Sum((q[i, c] + f[c]) * S[b, c], c)),
        define(
            s[i, j],
            relative_scores(q, k, r, u, w)[i, j] + case(eq(seg[i], seg[j]), t[i, 0], t[i, 1]) / sqrt(d_k),
        ),
        define(a, softmax(s, mask)),
        define(z[i, e], mix(a, v, mask, i, j, o, e)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall("the three biases given to each other's terms: all have one shape", mutant="biases_swapped"),
        pitfall("the keys of own and other text exchanged", mutant="texts_exchanged"),
        pitfall("the text left out of the scores: no trained weights then fit", mutant="texts_ignored"),
        pitfall(
            "distances in the other order: what stands before is taken for what comes after",
            mutant="distances_turned",
        ),
        pitfall("the term of the text added after the scale", mutant="text_after_the_scale"),
        pitfall("65,500 taken from hidden scores, which is what 16 bits can hold", mutant="half_fill"),
        pitfall("a key for each text, where only same or other is asked", theorem="names_of_texts"),
    ),
    sources=(
        paper("yang2019", "sections 2.4 and 2.5, and appendix A.2"),
        paper("dai2019", "section 3.3"),
    ),
    worked=(
        Worked(
            "Tokens of 2 and 6, and queries that ask of the distance alone: log 3 for one place ahead, 0 for all others, so that "
            "the first takes 1/4 and 3/4, the second halves",
            ASKED | {"r": [[0], [0], ["log(3)"]]},
            [["5"], ["4"]],
            0,
        ),
        Worked(
            "And of the text alone, log 3 for one's own, 0 for another: the first takes 3/4 and 1/4, the second the reverse",
            ASKED | {"S": [["log(3)"], [0]]},
            [["3"], ["5"]],
            0,
        ),
    ),
    notes="Row j − i + n − 1 of r belongs to query i and token j. XLNet's code calls u, w and f r_w_bias, r_r_bias and r_s_bias, "
    "and S seg_embed. In the model, r is W·R, with sines and cosines of the distances in R.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

(ask,) = indices(ask=n)
sigma = given("sigma", n, domain="permutation")
cut = given("cut", domain="integer", below=n)


def blank(rows: Tensor, kept: Node, width: Index) -> Comprehension:
    """The rows, with 0 instead of those that are not kept."""
    return each(case(kept, rows[j, width], 0), j, width)


def attend(asking: Node, kept: Node, seen: Tensor | Comprehension) -> Applied:
    """What is gathered where queries that are not ``asking`` are 0, and tokens that are not ``kept``."""
    return attention(blank(q, asking, c), blank(k, kept, c), blank(v, kept, e), r, seg, *PARAMETERS, seen)


attention.theorem(
    "hidden",
    "What a query gathers depends on no other query, and on no token that is hidden from it: they could as well be 0",
    claim(attend(eq(j, ask), mask[ask, j], mask)[ask, e], "=", z[ask, e]).by_definition(
        "they are in no sum of this query"
    ),
    conventions=OURS,
)

earlier = lt(order[j], order[ask])
before = each(lt(order[j], order[i]), i, j)
up_to = each(lt(order[j], order[i]) | eq(j, i), i, j)

attention.theorem(
    "before",
    "Where each query sees the tokens before its own in an order, what one gathers is told by those before it",
    claim(
        attend(eq(j, ask), earlier, before)[ask, e],
        "=",
        attention(q, k, v, r, seg, *PARAMETERS, before)[ask, e],
    ).by_definition("they are in no sum of this query"),
    given=order,
    conventions=OURS,
)

early = lt(order[j], cut)

attention.theorem(
    "earlier",
    "What those before a place of the order gather, and what those up to it gather that do not see themselves, is told by the "
    "tokens before it",
    claim(
        attend(early, early, up_to)[i, e],
        "=",
        attention(q, k, v, r, seg, *PARAMETERS, up_to)[i, e],
        where=lt(order[i], cut),
    ).by_definition("what comes before a token comes before all that follow it"),
    claim(
        attend(le(order[j], cut), early, before)[i, e],
        "=",
        attention(q, k, v, r, seg, *PARAMETERS, before)[i, e],
        where=le(order[i], cut),
    ).by_definition("and so it does"),
    given=(order, cut),
    conventions=OURS,
)

attention.theorem(
    "no_key",
    "A query from which all tokens are hidden gathers nothing",
    claim(z[i, e], "=", 0, where=~Some(mask[i, j], j)).by_definition("its sum is empty"),
    conventions=OURS,
)

attention.theorem(
    "names_of_texts",
    "Only same and other count: texts may be numbered otherwise",
    claim(attention(q, k, v, r, each(sigma[seg[i]], i), *PARAMETERS, mask)[i, e], "=", z[i, e]).by_definition(
        "two tokens have the same number after a renumbering where they had it before"
    ),
    given=sigma,
    conventions=OURS,
)

attention.theorem(
    "one_text",
    "Within one text, what is asked of the text changes nothing: it is attention by relative positions",
    claim(
        attention(q, k, v, r, each(0, i), *PARAMETERS, mask)[i, e],
        "=",
        relative(q, k, v, r, u, w, mask)[i, e],
    ).by_definition("one number is added to all scores of a query"),
    conventions=OURS,
)

attention.theorem(
    "plain",
    "Without the biases, and where distances and texts have keys of 0, it is scaled dot-product attention",
    claim(
        attention(q, k, v, each(0, p, c), seg, each(0, c), each(0, c), f, each(0, b, c), mask)[i, e],
        "=",
        scaled_dot_product(q, k, v, mask)[i, e],
    ).by_definition("the products of queries and keys are all that is left"),
    conventions=OURS,
)
