"""A step of AdamW: each weight moves by its mean gradient over its usual size, and decays by itself."""

from spec.vocabulary import *

d, t = sizes("d t")
(i,) = indices(i=d)

theta = data("theta", d, meaning="the weights before the step")
g = data("g", d, meaning="their gradient")
m = data("m", d, meaning="first moment: the running mean of the gradients so far; 0 at first")
v = data("v", d, domain="nonnegative", meaning="second moment: that of their squares; 0 at first")
eta = number("eta", "positive", meaning="learning rate")
beta_1 = number("beta_1", "share", meaning="how much of the first moment is kept: 0.9")
beta_2 = number("beta_2", "share", meaning="how much of the second moment is kept: 0.999")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0: 10⁻⁸")
w = number("w", "nonnegative", meaning="weight decay, the λ of the paper: 0.01 to 0.1")
G = tensor("G", d, meaning="the gradient that the moments see")
m_new = tensor("m_new", d, meaning="the first moment after the step")
v_new = tensor("v_new", d, domain="nonnegative", meaning="the second moment after the step")
u = tensor("u", d, meaning="the step for a learning rate of 1")
theta_new = tensor("theta_new", d, meaning="the weights after the step")

DECAY = Convention(
    "decay",
    {
        "decoupled": "a weight loses η·w of itself: AdamW, with the learning rate in the decay as PyTorch has it",
        "by_itself": "a weight loses w of itself, whatever the rate: AdamW as published, with its schedule multiplied into w",
        "l2": "w·θ is added to the gradient: Adam with L2 regularization",
    },
    default="decoupled",
)
CORRECTION = Convention(
    "correction",
    {
        "both": "the moments are divided by 1 − βᵗ, by which they are too small after t steps from 0; not where β is 1",
        "none": "the moments are taken as they are, as by BERT's own optimizer",
    },
    default="both",
)
EPS = Convention(
    "eps",
    {
        "behind": "ε is added to the root of the corrected moment",
        "before": "ε is added to the root of the moment before it is corrected: it counts for more in the first steps",
        "inside": "ε is added under the root",
    },
    default="behind",
)


def lack(beta: Tensor) -> Node:
    """How much a moment that began at 0 has of what it would have: 1 − βᵗ, which is 1 of one that keeps nothing; one that keeps
    all that it has is taken as it is.
    """
    return case(lt(0, beta) & lt(beta, 1), 1 - beta**t, 1)


def corrected(moment: Node, beta: Tensor) -> Node:
    """A moment as it would be if it had not begun at 0."""
    return by_convention("correction", both=moment / lack(beta), none=moment)


mean, square = corrected(m_new[i], beta_1), corrected(v_new[i], beta_2)
root = by_convention("correction", both=sqrt(lack(beta_2)), none=1)
divisor = by_convention(
    "eps", behind=sqrt(square) + eps, before=(sqrt(v_new[i]) + eps) / root, inside=sqrt(square + eps)
)
kept = by_convention("decay", decoupled=1 - eta * w, by_itself=1 - w, l2=1)

adamw = Formula(
    "optimization.adamw",
    "A step of AdamW",
    why="How far should each weight move? Along the gradient all move at one rate, though the gradients of some are a thousand "
    "times those of others, and one batch says little. Adam keeps two running means for each weight, of its gradient and of "
    "the square of it, and moves by the one over the root of the other: by about the learning rate where all batches agree, by "
    "little where they do not. Weight decay, which pulls weights to 0, was once added to the gradient; divided by the same "
    "root it then pulls least on weights of large gradients. AdamW takes it out, and lets each weight decay by itself.",
    sizes={d: "weights", t: "number of the step, counted from 1"},
    inputs=(theta, g, m, v, t, eta, beta_1, beta_2, eps, w),
    lines=(
        define(G[i], by_convention("decay", decoupled=g[i], by_itself=g[i], l2=g[i] + w * theta[i])),
        define(m_new[i], beta_1 * m[i] + (1 - beta_1) * G[i]),
        define(v_new[i], beta_2 * v[i] + (1 - beta_2) * G[i] ** 2),
        define(u[i], mean / divisor),
        define(theta_new[i], kept * theta[i] - eta * u[i]),
    ),
    outputs=(theta_new, m_new, v_new),
    conventions=(DECAY, CORRECTION, EPS),
    stored=("m_new", "v_new"),
    pitfalls=(
        pitfall("decay added to the gradient, under the name of AdamW", convention="decay"),
        pitfall("decay by w where η·w is meant: a hundred to a thousand times as much", convention="decay"),
        pitfall(
            "no correction: the first steps are up to three times too large, or far too small",
            convention="correction",
        ),
        pitfall(
            "ε before the correction, or under the root: it counts where gradients are tiny", convention="eps"
        ),
        pitfall("steps counted from 0: the correction divides by 0", mutant="step_from_zero"),
        pitfall("the weight decays after the step, so that the step decays as well", mutant="decay_behind"),
        pitfall("the second moment of the mean, not the mean of the squares", mutant="square_of_the_mean"),
    ),
    sources=(
        paper("kingma2015", "algorithm 1, and section 3"),
        paper("loshchilov2019", "algorithm 2"),
    ),
    worked=(
        Worked(
            "The first step from rest, at a rate of 1/10: −3 has the size 3, so that the weight moves by a tenth against it, and "
            "loses 1/10·1/2 of itself: 0.95·2 + 0.1",
            {
                "theta": [2],
                "g": [-3],
                "m": [0],
                "v": [0],
                "t": 1,
                "eta": Rational(1, 10),
                "beta_1": Rational(9, 10),
                "beta_2": Rational(999, 1000),
                "eps": Rational(1, 10**8),
                "w": Rational(1, 2),
            },
            ["2.0000"],
            4,
        ),
        Worked(
            "The same with the decay in the gradient, which is −3 + 1/2·2 = −2: the weight moves by a tenth against it",
            {
                "theta": [2],
                "g": [-3],
                "m": [0],
                "v": [0],
                "t": 1,
                "eta": Rational(1, 10),
                "beta_1": Rational(9, 10),
                "beta_2": Rational(999, 1000),
                "eps": Rational(1, 10**8),
                "w": Rational(1, 2),
            },
            ["2.1000"],
            4,
            conventions={"decay": "l2"},
        ),
    ),
    notes="Transformers' Trainer and PyTorch's AdamW multiply the decay by the learning rate, so that it follows the schedule; "
    "the paper's own schedule multiplies rate and decay alike.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

c = given("c", domain="positive")
RATES = (eta, beta_1, beta_2, eps, w)
whole = adamw(theta, g, m, v, t, *RATES)
below_one = (lt(beta_1, 1), lt(beta_2, 1))
SURE = {"decay": "decoupled", "correction": "both", "eps": "behind"}

adamw.theorem(
    "adam",
    "Without decay it is Adam, wherever the decay would be",
    claim(theta_new[i], "=", theta[i] - eta * u[i]).by_definition("w = 0"),
    claim(G[i], "=", g[i]).by_definition("w = 0"),
    at={w: 0},
    runs=False,
)

adamw.theorem(
    "decoupled",
    "Decay is a matter of the weight alone: decaying first, then a step without decay, is the same, and the moments do not know "
    "of it",
    claim(
        theta_new[i],
        "=",
        adamw(each(kept * theta[i], i), g, m, v, t, eta, beta_1, beta_2, eps, 0)[i],
    ).by_definition("the step does not read the weight"),
    claim(whole.output(m_new)[i], "=", beta_1 * m[i] + (1 - beta_1) * g[i]).by_definition(
        "of the gradient alone"
    ),
    conventions={"decay": "decoupled"},
)

adamw.theorem(
    "in_the_gradient",
    "As L2 regularization it is Adam of another gradient, g + w·θ",
    claim(
        theta_new[i],
        "=",
        adamw(theta, each(g[i] + w * theta[i], i), m, v, t, eta, beta_1, beta_2, eps, 0)[i],
    ).by_definition("the moments see the sum"),
    conventions={"decay": "l2"},
)

adamw.theorem(
    "at_rest",
    "Without a gradient, now and before, a weight only decays",
    claim(
        adamw(theta, each(0, i), each(0, i), each(0, i), t, *RATES)[i], "=", (1 - eta * w) * theta[i]
    ).by_definition("the first moment is 0, and ε keeps the divisor positive"),
    conventions=SURE,
)

first = adamw(theta, g, each(0, i), each(0, i), 1, *RATES)

adamw.theorem(
    "first_step",
    "The first step goes against the sign of the gradient by at most the learning rate, however large or small the gradient is",
    claim((1 - eta * w) * theta[i] - first[i], "=", eta * g[i] / (sqrt(g[i] ** 2) + eps)).by_definition(
        "what the correction divides by is what was multiplied in"
    ),
    claim(absolute((1 - eta * w) * theta[i] - first[i]), "<=", eta)
    .step(eta * absolute(g[i]) / (absolute(g[i]) + eps), "√g² = |g|")
    .because("ε is positive", gap=eta * eps / (absolute(g[i]) + eps)),
    assuming=below_one,
    conventions=SURE,
)

adamw.theorem(
    "scale",
    "Scaling all gradients, those before included, and ε by c > 0 changes no step",
    claim(
        adamw(
            theta,
            each(c * g[i], i),
            each(c * m[i], i),
            each(c**2 * v[i], i),
            t,
            eta,
            beta_1,
            beta_2,
            c * eps,
            w,
        )[i],
        "=",
        theta_new[i],
    )
    .step(
        kept * theta[i] - eta * (c * mean / (sqrt(c**2 * square) + c * eps)),
        "the first moment scales by c, the second by c²",
    )
    .because("√(c²·…) = c·√…, and c cancels"),
    given=c,
    conventions=SURE,
)

adamw.theorem(
    "moments",
    "Both moments are linear in what they keep and what they see: means with the weights β and 1 − β",
    claim(whole.output(m_new)[i], "=", g[i] + beta_1 * (m[i] - g[i])).by_definition("β·m + (1 − β)·g"),
    claim(whole.output(v_new)[i], "=", g[i] ** 2 + beta_2 * (v[i] - g[i] ** 2)).by_definition(
        "β·v + (1 − β)·g²"
    ),
    conventions={"decay": "decoupled"},
)
