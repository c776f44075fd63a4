"""A layer of Transformer-XL: attention with a memory and a feed-forward network, with a sum and a normalization around each.

Inputs: the tokens x; the memory, the rows that this layer read before them; R, a row for each distance; the attention's W_q, W_k,
W_v, W_r, W_o, u and w; gain and bias beside it; the network's W_1, b_1, W_2, b_2; gain and bias beside it; ε; which of the rows,
memory first, each token may attend to, of those up to its own place.
"""

from spec.attention.relative import relative
from spec.feedforward.relu import relu
from spec.normalization.add_norm import add_norm
from spec.transformer.parts import WIDTHS, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.transformer_xl.attention import ONE_HEAD, R, attention, joined, mask, memory, segment, x
from spec.transformer_xl.parts import CONVENTIONS, MEMORY, ZERO, M, weights
from spec.vocabulary import *

i, j, d, l = indices(i=n, j=M + n, d=M, l=d_model)

WEIGHTS = weights()
ATTENTION, FIRST, NETWORK, SECOND = WEIGHTS[:7], WEIGHTS[7:9], WEIGHTS[9:13], WEIGHTS[13:]
eps = epsilon()
z = tensor(
    "z",
    n,
    d_model,
    meaning="what each token has gathered, from the memory and from those up to its own place",
)
s = tensor("s", n, d_model, meaning="the tokens after the first sublayer")
f = tensor("f", n, d_model, meaning="what the feed-forward network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both sublayers")

ONE_TOKEN = ONE_HEAD | {
    "gamma_1": [1, 1],
    "beta_1": [0, 0],
    "W_1": [[2], [0]],
    "b_1": [0],
    "W_2": [[0, 1]],
    "b_2": [0, 0],
    "gamma_2": [1, 1],
    "beta_2": [0, 0],
    "eps": 3,
}

layer = Formula(
    "transformer_xl.layer",
    "Transformer-XL's layer",
    why="What becomes of a layer if it may remember? Little changes: it gathers, sums, normalises and works on each token by "
    "itself, as the Transformer's does; only what it gathers from is longer. Each layer remembers what it read itself, one layer "
    "lower than what it returns, so what reaches a token through the memory has passed fewer layers the longer ago it was, and "
    "each layer reaches one memory farther back than the layer below it.",
    sizes={n: "tokens of the segment", **MEMORY, **WIDTHS},
    inputs=(x, memory, R, *WEIGHTS, eps, mask),
    lines=(
        define(z, attention(x, memory, R, *ATTENTION, mask)),
        define(s[i], add_norm(x[i], z[i], *FIRST, eps)),
        define(f[i], relu(s[i], *NETWORK)),
        define(y[i], add_norm(s[i], f[i], *SECOND, eps)),
    ),
    outputs=(y,),
    conventions=CONVENTIONS,
    stored=("z", "s", "f"),
    pitfalls=(
        pitfall(
            "the sum taken over memory and segment, and cut afterwards at the wrong end",
            mutant="wrong_end_added",
        ),
        pitfall("a gradient that reaches the memory through the layer", theorem="no_memory_gradient"),
        pitfall("normalised before each sublayer, as its code can be told to", mutant="xl_normalised_before"),
    ),
    sources=(paper("dai2019", "section 3.3, the summary of a layer"),),
    worked=(
        Worked(
            "One token, (0, 1), gathers (3, 0), three quarters of what its memory hands over: (3, 1) is normalised with ε = 3",
            ONE_TOKEN,
            [["0.5000", "-0.5000"]],
            4,
            output="s",
        ),
        Worked(
            "The network adds twice the first entry to the second, and (0.5, 0.5) is normalised to nothing",
            ONE_TOKEN,
            [["0.0000", "0.0000"]],
            4,
        ),
    ),
    notes="Layers are normalised after each sum, as the paper has them; in its code they can be normalised before.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
first = (i, rows)
g, other = given("g", n, d_model), given("other", M, d_model)
whole = layer(x, memory, R, *WEIGHTS, eps, mask)
attended = attention(x, memory, R, *ATTENTION, mask)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(add_norm, relu)


layer.theorem(
    "no_memory_gradient",
    "No gradient reaches the memory, whatever is asked of the outputs: learning from a segment ends where it begins",
    claim(whole.pullback(g, memory)[d, l], "=", 0)
    .keeping(relative, add_norm, relu)
    .by_definition("attention reads it behind SG alone"),
    given=g,
    conventions=ZERO,
)

layer.theorem(
    "one_pass",
    "A segment with all that was read before it in its memory becomes what it becomes in one long pass",
    of_rows(
        claim(
            layer(
                x[segment],
                joined,
                R[: M + extra + rows],
                *WEIGHTS,
                eps,
                mask[segment, : M + extra + rows],
            )[i, l],
            "=",
            y[extra + i, l],
            first,
            l,
        )
    )
    .citing("one_pass", attended, rows=rows, extra=extra)
    .by_definition("it gathers the same, and all else is done row by row"),
    sizes={n: extra + rows},
    conventions=ZERO,
)

layer.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same, over the distances that are left",
    of_rows(
        claim(
            layer(x[:rows], memory, R[extra : extra + M + rows], *WEIGHTS, eps, mask[:rows, : M + rows])[
                i, l
            ],
            "=",
            y[i, l],
            first,
            l,
        )
    )
    .citing("prefix", attended, rows=rows, extra=extra)
    .by_definition("it gathers the same, and all else is done row by row"),
    sizes={n: rows + extra},
    conventions=ZERO,
)

hidden = each(mask[i, j] & le(M, j), i, j)

layer.theorem(
    "unseen_memory",
    "A memory that is hidden has no influence, as a first segment needs it, which has nothing before it",
    of_rows(
        claim(
            layer(x, other, R, *WEIGHTS, eps, hidden)[i, l],
            "=",
            layer(x, memory, R, *WEIGHTS, eps, hidden)[i, l],
        )
    )
    .citing("unseen_memory", attended, other=other)
    .by_definition("no token gathers anything from it, and all else is done row by row"),
    given=other,
    conventions=ZERO,
)

COUNT = h * d_model * (3 * d_k + 2 * d_v) + 2 * h * d_k + 2 * d_model * d_ff + d_ff + 5 * d_model

layer.theorem(
    "parameters",
    "The layer has h·d_model·(3·d_k + 2·d_v) + 2·h·d_k + 2·d_model·d_ff + d_ff + 5·d_model parameters, however long the memory",
    claim(parameters(layer), "=", COUNT).by_definition(
        "five matrices and two vectors of attention, the two matrices and biases of the network, two gains and two biases"
    ),
    runs=False,
)
