"""The gated feed-forward network of Llama, Gemma and T5: one layer says what could be added, another how much of it is."""

from spec.activation.gelu import gelu
from spec.activation.relu import relu
from spec.activation.silu import silu
from spec.feedforward.gelu import APPROXIMATION
from spec.vocabulary import *

d, f = sizes("d f")
c, e, u = indices(c=d, e=d, u=f)

x = data("x", d, meaning="one row: what a position holds")
W_g = parameter("W_g", d, f, meaning="gate: column u says what inner unit u opens for")
W_u = parameter("W_u", d, f, meaning="up: column u says what inner unit u has to say about a row")
W_d = parameter("W_d", f, d, meaning="down: row u is what inner unit u adds where it is active")
a = tensor("a", f, meaning="what reaches the gate of each inner unit")
b = tensor("b", f, meaning="what each inner unit has to say")
h = tensor("h", f, meaning="how active each inner unit is: what it says, as far as its gate lets it through")
y = tensor("y", d, meaning="what the network makes of the row")

ACTIVATION = Convention(
    "activation",
    {
        "silu": "SwiGLU: the gate is a·σ(a)",
        "gelu": "GEGLU: the gate is a·Φ(a), Φ the normal distribution",
        "relu": "ReGLU: the gate is max(0, a)",
        "sigmoid": "GLU: the gate is σ(a), between 0 and 1",
        "none": "bilinear: the gate is a itself",
    },
    default="silu",
)
gate = by_convention(
    "activation", silu=silu(a)[u], gelu=gelu(a)[u], relu=relu(a)[u], sigmoid=sigmoid(a[u]), none=a[u]
)

gated = Formula(
    "feedforward.gated",
    "Gated feed-forward network",
    why="An inner unit of the plain network asks one question of a row, and answers with its own level: whether something is "
    "there and how much of it are one number. Here a second layer says how much, and the first one, bent, only opens the way: "
    "products of two features become possible, which a sum bent once can only imitate. It has a third matrix; with inner units "
    "fewer by a third it costs what the plain network costs, and trains better. No reason is known (“we attribute their "
    "success, as all else, to divine benevolence”). Llama, Mistral, Qwen and Gemma have it, without biases.",
    sizes={
        d: "width of a row",
        f: "inner units: 8/3 of the width where the network is to cost what the plain one does",
    },
    inputs=(x, W_g, W_u, W_d),
    lines=(
        define(a[u], Sum(x[c] * W_g[c, u], c)),
        define(b[u], Sum(x[c] * W_u[c, u], c)),
        define(h[u], gate * b[u]),
        define(y[e], Sum(h[u] * W_d[u, e], u)),
    ),
    outputs=(y,),
    conventions=(ACTIVATION, APPROXIMATION),
    stored=("a", "b", "h"),
    pitfalls=(
        pitfall(
            "gate and up exchanged, as where one product holds both, in the other order",
            mutant="gated_exchanged",
        ),
        pitfall("both layers bent", mutant="gated_both_bent"),
        pitfall("σ(a) for a·σ(a): GLU where SwiGLU is meant", convention="activation"),
        pitfall(
            "GELU by the normal distribution, where Gemma's weights were trained with tanh",
            convention="approximation",
        ),
        pitfall(
            "one product of both layers, cut into every other column instead of halves",
            mutant="gated_interleaved",
        ),
    ),
    sources=(
        paper("dauphin2017", "section 2: gated linear units"),
        paper("shazeer2020", "eqs. 5 and 6"),
        paper("touvron2023", "section 2.2: SwiGLU"),
        paper("gemma2024", "section 2: GeGLU"),
    ),
    worked=(
        Worked(
            "One unit: its gate is reached by 1 and lets σ(1) = 0.7311 through, of 3",
            {"x": [1, 3], "W_g": [[1], [0]], "W_u": [[0], [1]], "W_d": [[1, -1]]},
            ["2.1932", "-2.1932"],
            4,
        ),
        Worked(
            "Bilinear: 1·3",
            {"x": [1, 3], "W_g": [[1], [0]], "W_u": [[0], [1]], "W_d": [[1, -1]]},
            ["3.0000", "-3.0000"],
            4,
            conventions={"activation": "none"},
        ),
        Worked(
            "GEGLU by tanh: 0.8412·3",
            {"x": [1, 3], "W_g": [[1], [0]], "W_u": [[0], [1]], "W_d": [[1, -1]]},
            ["2.5236", "-2.5236"],
            4,
            conventions={"activation": "gelu", "approximation": "tanh"},
        ),
    ),
    notes="A sequence is taken row by row: no position knows of another here. A unit whose gate opens is one of its features; "
    "by biases, which T5 and Llama have not, it would open without any.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k, t, g = given("k", domain="positive"), given("t"), given("g", d)
r = given("r", f)
other = given("other", d, f)
sigma = given("sigma", f, domain="permutation")
(single,) = indices(single=1)
whole = gated(x, W_g, W_u, W_d)

gated.theorem(
    "units",
    "It is a sum over its inner units, each a network with a single unit of its own",
    claim(
        y[e],
        "=",
        Sum(
            gated(x, each(W_g[c, u], c, single), each(W_u[c, u], c, single), each(W_d[u, e], single, e))[e], u
        ),
    )
    .step(Sum(gate * b[u] * W_d[u, e], u), "the definition")
    .because("with unit u alone there is one term"),
)

gated.theorem(
    "unit_permutation",
    "Permuting the inner units, with their columns of W_g and W_u and rows of W_d, changes nothing",
    claim(
        gated(
            x,
            each(W_g[c, sigma[u]], c, u),
            each(W_u[c, sigma[u]], c, u),
            each(W_d[sigma[u], e], u, e),
        )[e],
        "=",
        y[e],
    )
    .step(Sum(h[sigma[u]] * W_d[sigma[u], e], u), "number u is now unit σ(u), with its row")
    .because("σ reaches every unit once: the same terms in another order"),
    given=sigma,
)

gated.theorem(
    "linear_in_up",
    "It is linear in what the units have to say: in W_u",
    claim(
        gated(x, W_g, each(t * W_u[c, u] + other[c, u], c, u), W_d)[e],
        "=",
        t * y[e] + gated(x, W_g, other, W_d)[e],
    )
    .step(Sum(gate * (t * b[u] + Sum(x[c] * other[c, u], c)) * W_d[u, e], u), "a sum of products is linear")
    .because("the sum over the units split; t does not depend on u"),
    given=(t, other),
)

gated.theorem(
    "rescaled_units",
    "A factor may stand in W_u or in W_d: what a unit has to say, or what follows from it",
    claim(
        gated(x, W_g, each(r[u] * W_u[c, u], c, u), W_d)[e],
        "=",
        gated(x, W_g, W_u, each(r[u] * W_d[u, e], u, e))[e],
    )
    .step(Sum(gate * (r[u] * b[u]) * W_d[u, e], u), "unit u says rᵤ times as much")
    .because("the factor moved to the other matrix"),
    given=r,
)

gated.theorem(
    "closed",
    "Gates that nothing reaches let nothing through: with W_g of 0 the network gives 0",
    claim(gated(x, each(0, c, u), W_u, W_d)[e], "=", 0).by_definition(
        "every gate is the activation of 0, which is 0"
    ),
    conventions={"activation": "silu"},
)

gated.theorem(
    "zero_row",
    "A row of 0 gives 0, whatever the activation: there is no bias",
    claim(gated(each(0, c), W_g, W_u, W_d)[e], "=", 0).by_definition("no unit has anything to say"),
)

gated.theorem(
    "homogeneous",
    "Under ReGLU scaling a row by k > 0 scales what comes out by k²",
    claim(gated(each(k * x[c], c), W_g, W_u, W_d)[e], "=", k**2 * y[e])
    .step(
        Sum(case(lt(0, k * a[u]), k * a[u], 0) * (k * b[u]) * W_d[u, e], u),
        "every unit is reached by k times as much",
    )
    .step(
        Sum(k * case(lt(0, a[u]), a[u], 0) * (k * b[u]) * W_d[u, e], u),
        "k is positive: the same gates are open",
    )
    .because("the factors taken out of the sum"),
    given=k,
    conventions={"activation": "relu"},
)

gated.theorem(
    "bilinear",
    "Where nothing is bent it is linear in each of both layers, which may change places; a row counts twice",
    claim(gated(x, W_u, W_g, W_d)[e], "=", y[e]).by_definition("a·b = b·a"),
    claim(
        gated(x, each(t * W_g[c, u] + other[c, u], c, u), W_u, W_d)[e],
        "=",
        t * y[e] + gated(x, other, W_u, W_d)[e],
    ).by_definition("a sum of products is linear"),
    claim(gated(each(t * x[c], c), W_g, W_u, W_d)[e], "=", t**2 * y[e]).by_definition(
        "each of both layers is linear in the row"
    ),
    given=(t, other),
    conventions={"activation": "none"},
)

gated.theorem(
    "backward",
    "With g the gradient of what comes out, that of W_d is the activity of a unit times g; W_u gets its row, as far as the gate "
    "is open, and W_g as much as the unit had to say, times the slope of the gate",
    claim(whole.pullback(g, W_d)[u, e], "=", h[u] * g[e]).by_definition("what comes out is linear in W_d"),
    claim(whole.pullback(g, W_u)[c, u], "=", x[c] * silu(a)[u] * Sum(W_d[u, e] * g[e], e)).by_definition(
        "and linear in W_u"
    ),
    claim(
        whole.pullback(g, W_g)[c, u],
        "=",
        x[c] * b[u] * (sigmoid(a[u]) * (1 + a[u] * (1 - sigmoid(a[u])))) * Sum(W_d[u, e] * g[e], e),
    ).by_definition("the chain rule: the slope of a·σ(a) is σ·(1 + a·(1 − σ))"),
    given=g,
    conventions={"activation": "silu"},
)

gated.theorem(
    "parameters",
    "It has 3·d·f parameters: with f = 8/3·d as many as the plain network with 4·d units, but for its biases",
    claim(parameters(gated), "=", 3 * d * f).by_definition("the sizes of the three matrices"),
    runs=False,
)
