"""A layer of XLNet, in two streams.

Inputs: the content rows x and the query rows g; the encodings R of the distances, from the farthest behind to the farthest ahead;
which text each token belongs to; at which place of the order it comes; the weights of the heads, with the biases u, w, f and the
keys S of texts; gain and bias beside the attention; the network's W_1, b_1, W_2, b_2; gain and bias beside it; ε.
"""

from typing import Any

from spec.bert.layer import ONE_HEAD
from spec.feedforward.gelu import gelu
from spec.normalization.add_norm import add_norm
from spec.transformer.parts import WIDTHS, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.vocabulary import *
from spec.xlnet.attention import attention
from spec.xlnet.parts import CONVENTIONS, ZERO, order, seg, weights

i, j, l, t, c, e, p = indices(i=n, j=n, l=d_model, t=h, c=d_k, e=d_v, p=2 * n - 1)

x = data("x", n, d_model, meaning="content rows: each token in the light of those before it in the order")
g = data("g", n, d_model, meaning="query rows: what is predicted at each token's place, without the token")
R = data(
    "R",
    2 * n - 1,
    d_model,
    meaning="encodings of the distances, from the farthest behind to the farthest ahead; row n − 1 is that of a token to itself",
)
WEIGHTS = weights()
W_q, W_k, W_v, W_r, u, w, f, S, W_o = WEIGHTS[:9]
FIRST, NETWORK, SECOND = WEIGHTS[9:11], WEIGHTS[11:15], WEIGHTS[15:]
eps = epsilon()
q_x = tensor("q_x", h, n, d_k, meaning="in each head, what each content row looks for")
q_g = tensor("q_g", h, n, d_k, meaning="in each head, what each query row looks for")
k = tensor("k", h, n, d_k, meaning="in each head, what each token is found by, for both streams")
v = tensor("v", h, n, d_v, meaning="in each head, what each token hands over, to both streams")
r = tensor("r", h, 2 * n - 1, d_k, meaning="in each head, the keys of the distances")
head_x = tensor("head_x", h, n, d_v, meaning="what each head has gathered for each content row")
head_g = tensor("head_g", h, n, d_v, meaning="what each head has gathered for each query row")
z_x = tensor("z_x", n, d_model, meaning="the heads' findings for the content rows, joined")
z_g = tensor("z_g", n, d_model, meaning="the heads' findings for the query rows, joined")
s_x = tensor("s_x", n, d_model, meaning="the content rows after attention")
s_g = tensor("s_g", n, d_model, meaning="the query rows after attention")
x_new = tensor("x'", n, d_model, meaning="the content rows after the layer")
g_new = tensor("g'", n, d_model, meaning="the query rows after the layer")

before = each(lt(order[j], order[i]), i, j)
up_to = each(lt(order[j], order[i]) | eq(j, i), i, j)


def gather(queries: Tensor, seen: Comprehension, t: Any = t) -> Applied:
    """What head t gathers for these queries of the tokens that they see."""
    return attention(queries[t], k[t], v[t], r[t], seg, u[t], w[t], f[t], S[t], seen)


def join(head: Tensor) -> Node:
    """Entry l of what the heads have gathered for row i, each through its own block of W_o."""
    return Sum(head[t, i, e] * W_o[t * d_v + e, l], t, e)


SMALL = {
    **{name: value for name, value in ONE_HEAD.items() if name not in ("b_q", "b_k", "b_v", "b_o")},
    "g": [[0, 0], [0, 0]],
    "R": [[0, 0]] * 3,
    "seg": [0, 0],
    "order": [0, 1],
    "W_r": [[[0], [0]]],
    "u": [[0]],
    "w": [[0]],
    "f": [[0]],
    "S": [[[0], [0]]],
    "b_1": [0],
}

two_stream = Formula(
    "xlnet.two_stream",
    "XLNet's layer: attention in two streams",
    why="How can a token be predicted from those on both sides of it, without a mark in its place that no real text has? "
    "Let the tokens be predicted in any order, each from those that come before it in the order, wherever they stand; "
    "then a token's row has two tasks that exclude each other: to predict the token it must not know it, and to "
    "help predict others it must. So each place has two rows: a content row sees its own token and those before it "
    "in the order, a query row only those before it, and from it the token is predicted. Both read the same keys and "
    "values, made of content rows, with the same weights: nothing is learned for one stream alone but the row that "
    "all queries begin with. The text itself stays where it is: distances are those of the text, and only masks know "
    "the order.",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, g, R, seg, order, *WEIGHTS, eps),
    lines=(
        define(q_x[t, i, c], Sum(x[i, l] * W_q[t, l, c], l)),
        define(q_g[t, i, c], Sum(g[i, l] * W_q[t, l, c], l)),
        define(k[t, j, c], Sum(x[j, l] * W_k[t, l, c], l)),
        define(v[t, j, e], Sum(x[j, l] * W_v[t, l, e], l)),
        define(r[t, p, c], Sum(R[p, l] * W_r[t, l, c], l)),
        define(head_x[t], gather(q_x, up_to)),
        define(head_g[t], gather(q_g, before)),
        define(z_x[i, l], join(head_x)),
        define(z_g[i, l], join(head_g)),
        define(s_x[i], add_norm(x[i], z_x[i], *FIRST, eps)),
        define(s_g[i], add_norm(g[i], z_g[i], *FIRST, eps)),
        define(x_new[i], add_norm(s_x[i], gelu(s_x[i], *NETWORK), *SECOND, eps)),
        define(g_new[i], add_norm(s_g[i], gelu(s_g[i], *NETWORK), *SECOND, eps)),
    ),
    outputs=(x_new, g_new),
    conventions=CONVENTIONS,
    stored=("q_x", "q_g", "k", "v", "r", "head_x", "head_g", "z_x", "z_g", "s_x", "s_g"),
    pitfalls=(
        pitfall(
            "the first token of the order has none before it: where hidden scores are filled with one number, its query row "
            "weighs all tokens alike, the one that it has to predict among them",
            convention="fully_masked",
        ),
        pitfall(
            "the diagonal open in both streams: every token is predicted from itself", mutant="own_token_seen"
        ),
        pitfall("the diagonal shut in both: no content row knows its own token", mutant="own_token_unseen"),
        pitfall(
            "padding and order joined by “hidden by both” where “by either” is meant", mutant="hidden_by_both"
        ),
        pitfall("query rows that read keys and values of query rows", mutant="queries_read"),
        pitfall(
            "the order taken for the list of tokens by place: its inverse, and the same only for some orders",
            mutant="order_inverted",
        ),
    ),
    sources=(
        paper("yang2019", "sections 2.3 and 2.4, and appendix A.2"),
        deck(2, "XLNet"),
    ),
    worked=(
        Worked(
            "Two tokens, (1, 0) and then (0, 1), in the order of the text; one head hands over twice the first entry: the first "
            "content row gathers 2 from itself, the second 1, the mean of 2 and 0",
            SMALL,
            [["2", "0"], ["1", "0"]],
            0,
            output="z_x",
        ),
        Worked(
            "Query rows do not see their own token: the first gathers nothing, the second 2 from the first",
            SMALL,
            [["0", "0"], ["2", "0"]],
            0,
            output="z_g",
        ),
        Worked(
            "In the other order it is the first that sees the second",
            SMALL | {"order": [1, 0]},
            [["0", "0"], ["0", "0"]],
            0,
            output="z_g",
        ),
        Worked(
            "The rows after the layer, whose network adds nothing: (3, 0) is normalised with ε = 3/4 to ±0.8660, then to ±0.7071",
            SMALL,
            [["0.7071", "-0.7071"], ["0.0000", "0.0000"]],
            4,
        ),
    ),
    notes="Tokens at one place of the order do not see each other. perm_mask[i, j] of libraries is 1 where j may not be read for "
    "i: where order[j] ≥ order[i]; the content stream opens its diagonal by itself. A batch's padding is what comes last in the "
    "order. In XLNet's own code tokens that are only read see each other whatever their order.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

(ask,) = indices(ask=n)
x_other, g_other, o = given("x_other", n, d_model), given("g_other", n, d_model), given("o", n, d_model)


def layer(
    x: Tensor | Comprehension = x,
    g: Tensor | Comprehension = g,
    order: Tensor | Comprehension = order,
) -> Applied:
    """The layer, of these rows and in this order."""
    return two_stream(x, g, R, seg, order, *WEIGHTS, eps)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(attention, add_norm, gelu).because(
        "the heads gather the same, and all else is done row by row"
    )


def by_heads(name: str, queries: Tensor, seen: Comprehension, **given: Any) -> dict[str, Any]:
    """The parts of an induction over the heads, each of which has this property of attention."""
    base, step = (
        derive()
        .citing(name, gather(queries, seen, head), order=order, **given)
        .because("so it is in each head")
        for head in (0, t + 1)
    )
    return {"last": h - 1, "base": base, "step": step}


def blank(rows: Tensor, kept: Node) -> Comprehension:
    """The rows, with 0 instead of those that are not kept."""
    return each(case(kept, rows[j, l], 0), j, l)


earlier = lt(order[j], order[ask])
from_others = layer(blank(x, earlier), blank(g, eq(j, ask)))

two_stream.theorem(
    "own_token",
    "What is predicted at a place depends neither on its own token nor on those after it in the order, nor on other query rows: "
    "all these could as well be 0",
    of_rows(
        claim(g_new[ask, l], "=", from_others.output(g_new)[ask, l]).by_induction(
            t,
            claim(from_others.output(head_g)[t, ask, e], "=", head_g[t, ask, e], ask, e),
            **by_heads("before", q_g, before),
        )
    ),
    conventions=ZERO,
)

cut = given("cut", domain="integer", below=n)
of_earlier = layer(blank(x, lt(order[j], cut)), blank(g, le(order[j], cut)))

two_stream.theorem(
    "earlier",
    "What tokens before a place of the order become, and what is predicted at places up to it, depends on the tokens before it "
    "alone",
    *(
        of_rows(
            claim(whole[i, l], "=", of_earlier.output(whole)[i, l], where=met).by_induction(
                t,
                claim(of_earlier.output(head)[t, i, e], "=", head[t, i, e], i, e, where=met),
                **by_heads("earlier", queries, seen, cut=cut),
            )
        )
        for whole, head, queries, seen, met in (
            (x_new, head_x, q_x, up_to, lt(order[i], cut)),
            (g_new, head_g, q_g, before, le(order[i], cut)),
        )
    ),
    given=cut,
    conventions=ZERO,
)

two_stream.theorem(
    "own_content",
    "A content row does depend on its own token",
    claim(layer(x_other)[i, l], "=", x_new[i, l]).by_witness(
        n=1,
        **(
            SMALL
            | {
                "x": [[1, 0]],
                "x_other": [[0, 1]],
                "g": [[0, 0]],
                "R": [[0, 0]],
                "seg": [0],
                "order": [0],
                "eps": 1,
            }
        ),
    ),
    given=x_other,
    exists=True,
    runs=False,
    conventions=ZERO,
)

to_query = each(case(eq(i, ask), o[i, l], 0), i, l)

two_stream.theorem(
    "own_gradient",
    "No gradient of a query row reaches its own token, or one after it in the order",
    claim(layer().output(g_new).pullback(to_query, x)[j, l], "=", 0, where=~earlier)
    .by_enclosure()
    .because("it is in no sum of that row"),
    given=o,
    conventions=ZERO,
)

two_stream.theorem(
    "content_alone",
    "Content rows do not depend on query rows: where nothing is to be predicted, the query stream is left out",
    of_rows(claim(layer(g=g_other)[i, l], "=", x_new[i, l])).by_definition("no line of theirs reads them"),
    given=g_other,
    conventions=ZERO,
)

two_stream.theorem(
    "first",
    "The first token of the order is predicted from nothing: its query row gathers 0",
    claim(z_g[i, l], "=", 0, where=~Some(lt(order[j], order[i]), j)).by_definition("its sums are empty"),
    conventions=ZERO,
)

in_turn = layer(order=each(i, i))
two_stream.theorem(
    "in_turn",
    "Where the order is that of the text, a query row sees what stands before its place, and a content row its own token, too",
    claim(in_turn.output(head_g)[t, i, e], "=", gather(q_g, each(lt(j, i), i, j))[i, e])
    .keeping(attention)
    .by_definition("the place of a token in the order is its place in the text"),
    claim(in_turn.output(head_x)[t, i, e], "=", gather(q_x, each(lt(j, i) | eq(j, i), i, j))[i, e])
    .keeping(attention)
    .by_definition("and so here"),
    conventions=ZERO,
)


def count(h: Any, d_model: Any, d_k: Any, d_v: Any, d_ff: Any) -> Any:
    """The parameters of a layer of these sizes."""
    heads = h * (d_model * (3 * d_k + 2 * d_v) + 5 * d_k)
    return heads + 2 * d_model * d_ff + d_ff + 5 * d_model


two_stream.theorem(
    "parameters",
    "A layer has h·(d_model·(3·d_k + 2·d_v) + 5·d_k) + 2·d_model·d_ff + d_ff + 5·d_model parameters, and both streams use all of "
    "them: 7,678,464 in XLNet's base model",
    claim(parameters(two_stream), "=", count(h, d_model, d_k, d_v, d_ff)).by_definition(
        "five matrices, three biases and two keys in each head; the network; two gains and two biases"
    ),
    runs=False,
)
