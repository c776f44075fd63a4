"""Llama's attention: causal, queries and keys turned by their positions, several heads of queries to one of keys and values."""

from spec.attention.grouped_query import grouped_query
from spec.llama import parts
from spec.llama.parts import (
    ATTENDING,
    SEEN,
    WIDTHS,
    a,
    c,
    d_model,
    d_v,
    e,
    g,
    i,
    j,
    l,
    mask,
    n,
    p,
    pos,
    r,
    t,
    theta,
    u,
)
from spec.positional.rotary import LONGEST, rotary
from spec.vocabulary import *

x = data("x", n, d_model, meaning="the sequence: one row for each token")
WEIGHTS = parts.attention()
W_q, W_k, W_v, W_o = WEIGHTS
q = tensor("q", g * r, n, 2 * p, meaning="in each head, what each token looks for")
k = tensor("k", g, n, 2 * p, meaning="in each group, what each token is found by")
v = tensor("v", g, n, d_v, meaning="in each group, what each token hands over")
Q = tensor("Q", g * r, n, 2 * p, meaning="the queries, turned by their positions")
K = tensor("K", g, n, 2 * p, meaning="the keys, turned by their positions: these are kept while a text grows")
head = tensor(
    "head", g * r, n, d_v, meaning="what each head has gathered for each token, from it and those before it"
)
z = tensor("z", n, d_model, meaning="the heads' findings joined, as wide as a token")
STILL = each(stopped(theta[u]), u)

TWO_HEADS = {
    "x": [[1, 0], [0, 1]],
    "pos": [0, 1],
    "theta": [0],
    "W_q": [[[1, 0], [0, 0]], [[0, 0], [2, 0]]],
    "W_k": [[["log(3)*sqrt(2)", 0], [0, 0]]],
    "W_v": [[[8], [4]]],
    "W_o": [[[1, 0]], [[0, 1]]],
}

attention = Formula(
    "llama.attention",
    "Llama's attention",
    why="What became of the attention of 2017? Its tokens were told their positions once, below the first layer, and each head "
    "had keys and values of its own. Here queries and keys are turned by their positions in every layer, so that scores depend "
    "on distances; the r heads of a group share keys and values, of which an r-th has to be kept while a text is written; and "
    "the biases are gone. What is computed with queries, keys and values stayed as it was.",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, pos, theta, *WEIGHTS, mask),
    lines=(
        define(q[t, i, c], Sum(x[i, l] * W_q[t, l, c], l)),
        define(k[a, j, c], Sum(x[j, l] * W_k[a, l, c], l)),
        define(v[a, j, e], Sum(x[j, l] * W_v[a, l, e], l)),
        define(Q[t], rotary(q[t], pos, STILL)),
        define(K[a], rotary(k[a], pos, STILL)),
        define(head, grouped_query(Q, K, v, each(le(j, i) & mask[j], i, j))),
        define(z[i, l], Sum(head[t, i, e] * W_o[t, e, l], t, e)),
    ),
    outputs=(z,),
    conventions=ATTENDING,
    stored=("q", "k", "v", "Q", "K", "head"),
    pitfalls=(
        pitfall(
            "pairs of neighbours, as Meta's own weights have them, where these are halves", convention="pairs"
        ),
        pitfall(
            "keys repeated as a whole, where each is to be repeated r times in a row", mutant="llama_tiled"
        ),
        pitfall("values turned as well", mutant="llama_values_turned"),
        pitfall("positions that begin anew with each piece read from a cache", theorem="shift"),
        pitfall("padding in front that takes part", mutant="llama_padding_seen"),
    ),
    sources=(
        paper("touvron2023", "section 2.2: rotary embeddings"),
        paper("touvron2023b", "section 2.2: grouped-query attention"),
        paper("su2021", "section 3.2.2"),
        paper("ainslie2023", "section 2.2"),
    ),
    worked=(
        Worked(
            "Two tokens, two heads that share keys and values, nothing turned: each token's values are 8 and 4; the second token "
            "sees both; its first head asks nothing and takes the mean, the second weighs the first token nine times as much: "
            "(9·8 + 4)/10",
            TWO_HEADS,
            [["8.0", "8.0"], ["6.0", "7.6"]],
            1,
        ),
    ),
    notes="Under r = 1 it is multi-head attention, under g = 1 multi-query attention. Meta's checkpoints pair neighbours; those "
    "of Hugging Face have the columns of W_q and W_k in another order, by which pairs are halves.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
first = (i, rows)
x_later = given("x_later", n, d_model)
(last,) = indices(last=n)
whole = attention(x, pos, theta, *WEIGHTS, mask)


def by_heads(found: Node) -> Node:
    """The sum over the heads of what each has found (its column e), times its matrix of W_o."""
    return Sum(found * W_o[t, e, l], t, e)


attention.theorem(
    "heads",
    "Each output is the sum over the heads of what each has found, times its matrix of W_o",
    claim(z[i, l], "=", by_heads(head[t, i, e]))
    .keeping(grouped_query, rotary)
    .by_definition("the definition"),
    conventions=SEEN,
)

attention.theorem(
    "no_future",
    "No output depends on a token behind it",
    claim(
        attention(each(case(le(j, last), x[j, l], x_later[j, l]), j, l), pos, theta, *WEIGHTS, mask)[i, l],
        "=",
        whole[i, l],
        where=le(i, last),
    ).by_definition("token i sees those up to its own place in every head, none of which was replaced"),
    given=x_later,
    conventions=SEEN,
)

attention.theorem(
    "prefix",
    "The outputs of the first tokens are those of the first tokens alone: keys and values may be kept while a text grows",
    claim(
        attention(x[:rows], pos[:rows], theta, *WEIGHTS, mask[:rows])[i, l], "=", whole[i, l], first, l
    ).by_definition("token i sees those up to its own place, and these are among the first"),
    sizes={n: rows + extra},
    conventions=SEEN,
)

new, key = (i, extra), (j, rows + extra)
earlier = attention(x[:rows], pos[:rows], theta, *WEIGHTS, mask[:rows])
behind = slice(rows, rows + extra)
later = attention(x[behind], pos[behind], theta, *WEIGHTS, mask[behind])
kept_K = each(case(lt(j, rows), earlier.output(K)[a, j, c], later.output(K)[a, j - rows, c]), a, key, c)
kept_v = each(case(lt(j, rows), earlier.output(v)[a, j, e], later.output(v)[a, j - rows, e]), a, key, e)
asked = grouped_query(later.output(Q), kept_K, kept_v, each(le(j, rows + i) & mask[j], new, key))

attention.theorem(
    "pieces",
    "Read in pieces, with turned keys and values kept and positions that go on, the new tokens gather what they gather when the "
    "whole text is read anew",
    claim(by_heads(asked[t, i, e]), "=", whole[rows + i, l], new, l).by_definition(
        "a key is turned by its own position, whatever is read with it"
    ),
    sizes={n: rows + extra},
    conventions=SEEN,
)

real = given("real", n, domain="boolean")
shown = each(mask[i] & real[i], i)

attention.theorem(
    "padding",
    "What stands where padding is has no influence on the words: it could as well be 0",
    claim(
        attention(x, pos, theta, *WEIGHTS, shown)[i, l],
        "=",
        attention(each(case(real[i], x[i, l], 0), i, l), pos, theta, *WEIGHTS, shown)[i, l],
        where=real[i],
    ).by_definition("the query is that of a word, and hidden tokens are in no sum"),
    given=real,
    conventions=SEEN,
)

attention.theorem(
    "left_padding",
    "Padding in front of a text changes nothing: its tokens gather what they gather without it, at the same positions",
    claim(
        attention(x, pos, theta, *WEIGHTS, each(mask[i] & le(extra, i), i))[extra + i, l],
        "=",
        attention(
            each(x[extra + i, l], first, l),
            each(pos[extra + i], first),
            theta,
            *WEIGHTS,
            each(mask[extra + i], first),
        )[i, l],
        first,
        l,
    ).by_definition("no token of the text sees the padding, and those it sees stand as far apart"),
    sizes={n: extra + rows},
    conventions=SEEN,
)

near, by = (
    given("near", n, domain="integer", below=LONGEST // 2),
    given("by", domain="integer", below=LONGEST // 2),
)

attention.theorem(
    "shift",
    "All positions moved by the same number change nothing: what counts is how far apart tokens stand",
    claim(
        attention(x, each(near[i] + by, i), theta, *WEIGHTS, mask)[i, l],
        "=",
        attention(x, near, theta, *WEIGHTS, mask)[i, l],
    ).by_definition(
        "the product of a turned query with a turned key depends on the difference of their positions"
    ),
    given=(near, by),
    conventions={**SEEN, "pairs": "halves"},
)

attention.theorem(
    "parameters",
    "It has d_model·(g·r + g)·2·p + d_model·(g·r + g)·d_v parameters, beside the p frequencies, which are not learned",
    claim(
        parameters(attention) - p, "=", d_model * (g * r + g) * 2 * p + d_model * (g * r + g) * d_v
    ).by_definition("the sizes of the four matrices"),
    runs=False,
)
