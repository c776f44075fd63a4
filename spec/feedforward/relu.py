"""The feed-forward network of the Transformer: two layers, and max(0, ·) between them."""

from spec.feedforward.parts import (
    JOINED,
    REACHED,
    SIZES,
    W_1,
    W_2,
    a,
    b_1,
    b_2,
    c,
    d,
    e,
    f,
    h,
    prove_sums,
    u,
    x,
    y,
)
from spec.vocabulary import *

relu = Formula(
    "feedforward.relu",
    "Feed-forward network with max(0, ·)",
    why="What does a Transformer do with what attention has gathered? Attention only mixes: each output is a mean of values, and "
    "what a position hands over stays linear in its row, however much depends on whom it attends to. So each layer goes "
    "on with a small network, the same at every position. Its first layer asks f questions of the row; max(0, ·) lets through "
    "those that are answered yes; its second layer adds, for each of them, what follows from it. Without the bend between them "
    "the two layers would be one matrix.",
    sizes=SIZES,
    inputs=(x, W_1, b_1, W_2, b_2),
    lines=(REACHED, define(h[u], case(lt(0, a[u]), a[u], 0)), JOINED),
    outputs=(y,),
    stored=("a", "h"),
    pitfalls=(
        pitfall("a second max(0, ·) after the outer layer: nothing negative comes out", mutant="bent_twice"),
        pitfall("no function between the layers: the network is one matrix", mutant="linear"),
        pitfall(
            "a gradient for inactive units: they are 0 around here, and learn nothing", theorem="backward"
        ),
        pitfall("one bias forgotten: invisible while it is 0", mutant="no_inner_bias"),
    ),
    sources=(
        deck(0, "encoder: feed-forward network after self-attention"),
        deck(2, "position-wise feed-forward networks"),
        deck(4, "Transformer block: feed-forward layer"),
        paper("vaswani2017", "section 3.3, eq. 2"),
    ),
    worked=(
        Worked(
            "Two inner units, reached by 3 and −2: the second is silent, the first adds (6, −3) to the bias (1, 1)",
            {"x": [1, 2], "W_1": [[1, 0], [1, -1]], "b_1": [0, 0], "W_2": [[2, -1], [5, 5]], "b_2": [1, 1]},
            ["7", "-2"],
            0,
        ),
    ),
    notes="A sequence is taken row by row: no position knows of another here.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k, r, g = given("k", domain="positive"), given("r", f, domain="positive"), given("g", d)
whole, nothing = relu(x, W_1, b_1, W_2, b_2), (each(0, u), each(0, e))
scaled = each(k * x[c], c)

prove_sums(relu, case(lt(0, a[u]), a[u], 0))

relu.theorem(
    "homogeneous",
    "Scaling a row and both biases by k > 0 scales what comes out; without biases the network is positively homogeneous",
    claim(relu(scaled, W_1, each(k * b_1[u], u), W_2, each(k * b_2[e], e))[e], "=", k * y[e])
    .step(
        Sum(case(lt(0, k * a[u]), k * a[u], 0) * W_2[u, e], u) + k * b_2[e],
        "every unit is reached by k times as much",
    )
    .step(
        Sum(case(lt(0, a[u]), k * a[u], 0) * W_2[u, e], u) + k * b_2[e],
        "k is positive, so the same units are active",
    )
    .because("the factor k taken out of the sum"),
    claim(
        relu(scaled, W_1, nothing[0], W_2, nothing[1])[e],
        "=",
        k * relu(x, W_1, nothing[0], W_2, nothing[1])[e],
    ).by_definition("the same, and k·0 = 0"),
    given=k,
)

relu.theorem(
    "rescaled_units",
    "Scaling what reaches an inner unit by r > 0 and what it adds by 1/r changes nothing",
    claim(
        relu(x, each(r[u] * W_1[c, u], c, u), each(r[u] * b_1[u], u), each(W_2[u, e] / r[u], u, e), b_2)[e],
        "=",
        y[e],
    )
    .step(
        Sum(case(lt(0, r[u] * a[u]), r[u] * a[u], 0) * (W_2[u, e] / r[u]), u) + b_2[e],
        "unit u is reached by rᵤ times as much",
    )
    .because("rᵤ is positive: the same units are active, and it cancels"),
    given=r,
)

relu.theorem(
    "backward",
    "The gradient of W_2 is that of what comes out times how active each unit is, that of b_2 is itself",
    claim(whole.pullback(g, W_2)[u, e], "=", h[u] * g[e]).by_definition("what comes out is linear in W_2"),
    claim(whole.pullback(g, b_2)[e], "=", g[e]).by_definition(
        "what comes out is b₂ plus something free of it"
    ),
    given=g,
)

relu.theorem(
    "parameters",
    "It has 2·d·f + f + d parameters",
    claim(parameters(relu), "=", 2 * d * f + f + d).by_definition(
        "the sizes of the two matrices and the two biases"
    ),
    runs=False,
)
