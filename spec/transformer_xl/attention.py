"""Attention with a memory: tokens attend to those before them, in their segment and in what is remembered of those before it.

Inputs: the tokens x; the memory, the rows that were read before them; R, a row for each distance; W_q, W_k, W_v, W_r, W_o, u and
w; which of the rows, memory first, each token may attend to, of those up to its own place.
"""

from typing import Any

from spec.attention.masks import FULLY_MASKED
from spec.attention.relative import relative
from spec.transformer.parts import WIDTHS, d_ff, d_k, d_model, d_v, h, n
from spec.transformer_xl.parts import GRADIENT, MEMORY, STOPPED, M, weights
from spec.vocabulary import *

m = M + n
i, l, t, c, e = indices(i=n, l=d_model, t=h, c=d_k, e=d_v)
j, d, p, b = indices(j=m, d=M, p=n + m - 1, b=h * d_v)

x = data("x", n, d_model, meaning="the segment: one row for each token")
memory = data(
    "memory",
    M,
    d_model,
    meaning="what was read before it: one row for each token remembered, the oldest first",
)
R = data(
    "R",
    m,
    d_model,
    meaning="distances: one row for each, from the oldest row of the memory to the last token, down to a token's own place",
)
WEIGHTS = weights()[:7]
W_q, W_k, W_v, W_r, W_o, u, w = WEIGHTS
mask = optional_mask(
    "mask",
    n,
    m,
    meaning="which rows, of memory and segment, each token may attend to, of those up to its own place",
)
x_all = tensor("x_all", m, d_model, meaning="memory and segment, one behind the other")
q = tensor("q", h, n, d_k, meaning="in each head, what each token looks for")
k = tensor("k", h, m, d_k, meaning="in each head, what each row is found by")
v = tensor("v", h, m, d_v, meaning="in each head, what each row hands over")
r = tensor(
    "r",
    h,
    n + m - 1,
    d_k,
    meaning="in each head, what each distance is found by; 0 for those ahead, which none reads",
)
head = tensor("head", h, n, d_v, meaning="what each head has gathered for each token")
concat = tensor("concat", n, h * d_v, meaning="what all heads have gathered, side by side, head by head")
z = tensor("z", n, d_model, meaning="the heads' findings joined, as wide as a token")
remembered = by_convention("gradient", stopped=stopped(memory[j, l]), passed=memory[j, l])
SEEN = each(mask[i, j] & le(j, i + M), i, j)
"""Which rows each token may attend to: those up to its own place."""

ONE_HEAD = {
    "x": [[0, 1]],
    "memory": [[1, 0]],
    "R": [["log(3)", 0], [0, 0]],
    "W_q": [[[0], [0]]],
    "W_k": [[[0], [0]]],
    "W_v": [[[4], [0]]],
    "W_r": [[[1], [0]]],
    "W_o": [[1, 0]],
    "u": [[0]],
    "w": [[1]],
}

attention = Formula(
    "transformer_xl.attention",
    "Attention with a memory",
    why="How can a Transformer read a text that is longer than what it can attend to at once? Cut into segments, each word knows "
    "nothing of the segment before, and the first words of each know nothing at all. Transformer-XL keeps what a layer read in "
    "the segments before, and lets the tokens of this one attend to it, as if it stood in front of them. No gradient goes back "
    "into it, so that a segment costs no more to learn from than it did. Positions are told by distance alone: a row that is "
    "remembered does not know where it stood in its segment, only how far away it is.",
    sizes={
        n: "tokens of the segment",
        **MEMORY,
        **{size: said for size, said in WIDTHS.items() if size != d_ff},
    },
    inputs=(x, memory, R, *WEIGHTS, mask),
    lines=(
        define(x_all[j, l], case(lt(j, M), remembered, x[j - M, l])),
        define(q[t, i, c], Sum(x[i, l] * W_q[t, l, c], l)),
        define(k[t, j, c], Sum(x_all[j, l] * W_k[t, l, c], l)),
        define(v[t, j, e], Sum(x_all[j, l] * W_v[t, l, e], l)),
        define(r[t, p, c], Sum(R[p, l] * W_r[t, l, c], l, where=lt(p, m))),
        define(head[t], relative(q[t], k[t], v[t], r[t], u[t], w[t], SEEN)),
        define(concat[i, t * d_v + e], head[t, i, e]),
        define(z[i, l], Sum(concat[i, b] * W_o[b, l], b)),
    ),
    outputs=(z,),
    conventions=(GRADIENT, FULLY_MASKED),
    stored=("q", "k", "v", "r", "head"),
    pitfalls=(
        pitfall(
            "the gradient let into the memory: each step costs as much as the whole text so far",
            convention="gradient",
        ),
        pitfall(
            "memory and segment in the other order: the distances are those of another text",
            mutant="memory_behind",
        ),
        pitfall(
            "the first row of the memory never seen, by a mask that is off by one", mutant="oldest_row_unseen"
        ),
        pitfall(
            "a memory of zeros in front of the first segment: a 0 has a key and a distance, and takes its share",
            theorem="zeros_are_seen",
        ),
        pitfall(
            "the encodings of distances compared as they are, without W_r", mutant="distances_not_projected"
        ),
        pitfall("u and w exchanged", mutant="memory_biases_exchanged"),
    ),
    sources=(paper("dai2019", "sections 3.2 and 3.3, the summary of a layer"),),
    worked=(
        Worked(
            "One token, (0, 1), and one row of memory, (1, 0), heeded three times as much as itself, by its distance alone",
            ONE_HEAD,
            [["3.0", "0.0"]],
            1,
        ),
        Worked(
            "The same where the memory is hidden: it has nothing but itself",
            ONE_HEAD | {"mask": [[False, True]]},
            [["0.0", "0.0"]],
            1,
        ),
    ),
    notes="The paper writes SG for what no gradient passes. In its code u and w may be the same in all layers.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
first = (i, rows)
g, other = given("g", n, d_model), given("other", M, d_model)
whole = attention(x, memory, R, *WEIGHTS, mask)


def by_heads(found: Node) -> Node:
    """The sum over the heads of what each has found (its column e), times its block of W_o."""
    return Sum(found * W_o[t * d_v + e, l], t, e)


attention.theorem(
    "heads",
    "Each output is the sum over the heads of each one's attention by relative positions times its block of W_o",
    claim(z[i, l], "=", by_heads(relative(q[t], k[t], v[t], r[t], u[t], w[t], SEEN)[i, e]))
    .step(by_heads(concat[i, t * d_v + e]), "the columns counted head by head, b = t·d_v + e")
    .step(by_heads(head[t, i, e]), "column t·d_v + e is column e of head t")
    .keeping(relative)
    .because("a head is attention by relative positions"),
    conventions=STOPPED,
)

attention.theorem(
    "no_memory_gradient",
    "No gradient reaches the memory, whatever is asked of the outputs",
    claim(whole.pullback(g, memory)[d, l], "=", 0)
    .keeping(relative)
    .by_definition("the memory is read behind SG alone"),
    given=g,
    conventions=STOPPED,
)


def one_head(of: Applied, t: Any, seen: Any) -> Applied:
    """What head t of an application finds, where ``seen`` says which rows each token may attend to."""
    return relative(*(of.output(part)[t] for part in (q, k, v, r)), u[t], w[t], seen)


def in_heads(claimed: Claim, found: Claim, name: str, seen: Any, **given: Any) -> Claim:
    """A claim that follows from what every head t has ``found``, which a theorem about attention by relative positions says."""
    so = "the theorem about attention by relative positions"
    return (
        claimed.keeping(relative)
        .by_induction(
            t,
            found,
            last=h - 1,
            base=derive().citing(name, one_head(whole, 0, seen), **given).because(so),
            step=derive().citing(name, one_head(whole, t + 1, seen), **given).because(so),
        )
        .because("every head finds the same for it")
    )


joined = each(case(lt(j, M), memory[j, l], x[j - M, l]), (j, M + extra), l)
segment = slice(extra, extra + rows)
later = attention(x[segment], joined, R[: M + extra + rows], *WEIGHTS, mask[segment, : M + extra + rows])

attention.theorem(
    "one_pass",
    "A segment with all that was read before it in its memory gathers what it gathers in one long pass: what is remembered need "
    "not be read again",
    in_heads(
        claim(later[i, l], "=", z[extra + i, l], first, l),
        claim(
            one_head(later, t, SEEN[segment, : M + extra + rows])[i, e],
            "=",
            one_head(whole, t, SEEN)[extra + i, e],
            first,
            e,
        ),
        "last_queries",
        SEEN,
        rows=rows,
        extra=extra,
    ),
    sizes={n: extra + rows},
    conventions=STOPPED,
)

alone = attention(x[:rows], memory, R[extra : extra + M + rows], *WEIGHTS, mask[:rows, : M + rows])

attention.theorem(
    "prefix",
    "What a token gathers does not depend on those after it: without them it gathers the same, over the distances that are left",
    in_heads(
        claim(alone[i, l], "=", z[i, l], first, l),
        claim(
            one_head(alone, t, SEEN[:rows, : M + rows])[i, e], "=", one_head(whole, t, SEEN)[i, e], first, e
        ),
        "prefix",
        mask,
        rows=rows,
        cols=M + rows,
        extra=extra,
    ),
    sizes={n: rows + extra},
    conventions=STOPPED,
)

hidden = each(mask[i, j] & le(M, j), i, j)
unread, changed = (attention(x, kept, R, *WEIGHTS, hidden) for kept in (memory, other))

attention.theorem(
    "unseen_memory",
    "A memory that is hidden has no influence, as a first segment needs it, which has nothing before it",
    claim(changed[i, l], "=", unread[i, l])
    .step(by_heads(unread.output(head)[t, i, e]), "no head finds anything in the memory")
    .because("the sum over the heads"),
    given=other,
    conventions=STOPPED,
)

zeros = attention(x, each(0, d, l), R, *WEIGHTS)

attention.theorem(
    "zeros_are_seen",
    "A memory of zeros is not hidden by being 0: it has a key and a distance, and takes its share of the attention",
    claim(zeros[i, l], "=", attention(x, memory, R, *WEIGHTS, each(le(M, j), i, j))[i, l]).by_witness(
        **ONE_HEAD | {"R": [[1, 0], [0, 0]], "W_v": [[[0], [4]]]}
    ),
    exists=True,
    runs=False,
    conventions=STOPPED,
)

attention.theorem(
    "parameters",
    "It has h·d_model·(3·d_k + 2·d_v) + 2·h·d_k parameters, however long the memory",
    claim(parameters(attention), "=", h * d_model * (3 * d_k + 2 * d_v) + 2 * h * d_k).by_definition(
        "five matrices and two vectors"
    ),
    runs=False,
)
