"""A recurrent network over a sequence: one state, carried from element to element."""

from spec.attention.softmax import softmax
from spec.recurrent.over_sequences import prefix, resumes, within_one
from spec.recurrent.step import step
from spec.vocabulary import *

T, p, d, r = sizes("T p d r")
t, n, i, j = indices(t=T, n=T, i=T, j=T)
a, c, e, u, k = indices(a=p, c=d, e=d, u=d, k=r)

x = data("x", T, p, meaning="the sequence, element by element")
h = data("h", d, meaning="the state before the first element")
W_xh = parameter("W_xh", d, p, meaning="what each unit of the state takes from the element")
W_hh = parameter("W_hh", d, d, meaning="what each unit of the state takes from the state before")
W_hy = parameter("W_hy", r, d, meaning="what each word's score takes from the state")
H = tensor("H", T + 1, d, meaning="the state after t elements")
states = tensor("states", T, d, meaning="the state at each element, once it is read")
o = tensor("o", T, r, meaning="score of each word at each element")
P = tensor("P", T, r, meaning="probability of each word at each element")

READ = {"x": [[1], [0]], "h": [0], "W_xh": [[1]], "W_hh": [[1]], "W_hy": [[1], [0]]}

rnn = Formula(
    "recurrent.rnn",
    "Recurrent neural network",
    why="How does a model of fixed size read a sequence of any length? One small network is applied to element after element, "
    "with the same weights, and carries a state from each to the next; so the state may depend on everything read so far, and "
    "a word is seen in the light of those before it. A window of fixed width sees no further than its edge. The price: the "
    "steps cannot be taken at once, and the gradient passes through as many factors as there are steps.",
    sizes={T: "elements of the sequence", p: "width of an element", d: "width of the state", r: "words"},
    inputs=(x, h, W_xh, W_hh, W_hy),
    lines=(
        define(H[0], h),
        define(H[t], step(x[t - 1], H[t - 1], W_xh, W_hh), (t, 1, T)),
        define(states[t], H[t + 1]),
        define(o[t, k], Sum(W_hy[k, c] * states[t, c], c)),
        define(P, softmax(o)),
    ),
    outputs=(states, P),
    stored=("o",),
    pitfalls=(
        pitfall("gradients are cut between the parts of a long text", mutant="truncated_after_twenty"),
        pitfall("a batch is read as one long sequence", mutant="one_long_sequence"),
        pitfall("the state that a caller passes is ignored: a text cannot be cut", theorem="resumes"),
        pitfall("gradients shrink or grow geometrically with the length", theorem="vanishes"),
    ),
    sources=(
        deck(1, "recurrent neural networks"),
        paper("elman1990", "simple recurrent network"),
        paper("pascanu2013", "section 2.1, vanishing and exploding"),
    ),
    worked=(
        Worked(
            "One unit with both weights 1: 1 is read, then 0, and the state tanh(1) fades to tanh(tanh(1))",
            READ,
            [["0.7616"], ["0.6420"]],
            4,
        ),
        Worked(
            "The same network's words: two words with scores (h, 0) share the probability as σ(h) to 1 − σ(h)",
            READ,
            [["0.6817", "0.3183"], ["0.6552", "0.3448"]],
            4,
            output="P",
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

run = rnn(x, h, W_xh, W_hh, W_hy)

rnn.theorem(
    "bounded", "Every entry of every state lies between −1 and 1", *within_one(states[t, c], "it is a tanh")
)

rnn.theorem(
    "distribution",
    "At every step the outputs are probabilities: positive, and 1 in sum",
    claim(Sum(P[t, k], k), "=", 1)
    .step(Sum(exp(o[t, k]), k) / Sum(exp(o[t, k]), k), "the denominator does not depend on k")
    .because("it is positive, so it cancels"),
    claim(0, "<", P[t, k]).by_definition("exponentials are positive"),
)

rnn.theorem(
    "parameters",
    "The network has d·(p + d + r) parameters, however long the sequence",
    claim(parameters(rnn), "=", d * (p + d + r)).by_definition("T is no size of a weight"),
    runs=False,
)

# What a state has seen

prefix(
    rnn,
    (H,),
    "The states and probabilities up to an element do not depend on the elements after it",
    P="a probability depends on its own state alone",
)
resumes(
    rnn,
    (H,),
    "A sequence may be cut: the second part, begun with the last state of the first, gives the states of the whole",
)

g = given("g", T, d)
gradient = run.pullback(each(case(le(t, i), g[t, c]), t, c), x)

rnn.theorem(
    "no_future_gradient",
    "No gradient flows from a state to an element after it",
    claim(gradient[j, a], "=", 0, where=lt(i, j))
    .by_induction(
        n,
        claim(run.pullback(each(delta(t, n) * delta(c, e), t, c), x)[j, a], "=", 0, e, where=lt(n, j)),
        last=T - 1,
    )
    .because("the derivative of a state is made of those of the states before it, and of its own element"),
    given=g,
)

# What the gradient of a state is worth

J = tensor("J", T, d, d, meaning="∂states/∂h: how each entry of a state follows each of the first one")
R = tensor("R", T, d, meaning="the sum of a row of J, in absolute values")
rnn.let(J[t, c, e], run.pullback(each(delta(i, t) * delta(u, c), i, u), h)[e])
rnn.let(R[t, c], Sum(absolute(J[t, c, e]), e))

passed = 1 - states[t + 1, c] ** 2
first = tanh(Sum(W_hh[c, u] * h[u], u) + Sum(W_xh[c, a] * x[0, a], a))
following = tanh(Sum(W_hh[c, u] * states[t, u], u) + Sum(W_xh[c, a] * x[t + 1, a], a))

rnn.theorem(
    "slopes",
    "∂h_t/∂h is the product of diag(1 − h_k²) W_hh over the steps k up to t: each step multiplies by its own factor",
    claim(J[0, c, e], "=", (1 - states[0, c] ** 2) * W_hh[c, e])
    .step((1 - first**2) * Sum(W_hh[c, u] * delta(u, e), u), "the derivative of tanh is 1 − tanh²")
    .because("the tanh is the first state; the delta picks u = e"),
    claim(J[t + 1, c, e], "=", passed * Sum(W_hh[c, u] * J[t, u, e], u), (t, T - 1), c, e)
    .step(
        (1 - following**2) * Sum(W_hh[c, u] * J[t, u, e], u),
        "the derivative of tanh is 1 − tanh², and the element does not depend on the initial state",
    )
    .because("the tanh is the next state"),
)

omega = given("omega", domain="positive")
weight = Sum(absolute(W_hh[c, u]), u)
followed = Sum(W_hh[c, u] * J[t, u, e], u)
apart = Sum(absolute(W_hh[c, u]) * absolute(J[t, u, e]), u)
beyond = apart - absolute(followed)
weighted = Sum(absolute(W_hh[c, u]) * R[t, u], u)

rnn.theorem(
    "vanishes",
    "If no row of W_hh sums to more than ω in absolute values, none of ∂h_t/∂h sums to more than ωᵗ⁺¹: below 1 it vanishes",
    claim(R[t, c], "<=", omega ** (t + 1)).by_induction(
        t,
        base=derive()
        .step((1 - states[0, c] ** 2) * weight, "the first factor; 1 − h² is not negative")
        .at_most(weight, "1 − h² is at most 1", gap=states[0, c] ** 2 * weight)
        .because("the assumption: no row sums to more than ω", gap=omega - weight),
        step=derive()
        .step(passed * Sum(absolute(followed), e), "one factor more; 1 − h² is not negative")
        .at_most(passed * Sum(apart, e), "the triangle inequality", gap=passed * Sum(beyond, e))
        .step(passed * weighted, "the sums exchanged: over e first")
        .at_most(weighted, "1 − h² is at most 1", gap=states[t + 1, c] ** 2 * weighted)
        .at_most(
            weight * omega ** (t + 1),
            "the hypothesis for t",
            gap=Sum(absolute(W_hh[c, u]) * (omega ** (t + 1) - R[t, u]), u),
        )
        .because("the assumption once more", gap=omega ** (t + 1) * (omega - weight)),
    ),
    given=omega,
    assuming=(Every(le(weight, omega), c),),
)

resting = rnn(each(0, t, a), each(0, c), W_xh, each(omega * delta(c, e), c, e), W_hy)
K = tensor("K", T, d, d, meaning="J of the network that reads 0, begins with 0 and has W_hh = ω·I")
rnn.let(K[t, c, e], resting.pullback(each(delta(i, t) * delta(u, c), i, u), h)[e])

rnn.theorem(
    "explodes",
    "At rest and with W_hh = ω·I, ∂h_t/∂h is ωᵗ⁺¹·I: the bound is attained, and above 1 the gradient explodes",
    claim(K[t, c, e], "=", omega ** (t + 1) * delta(c, e))
    .by_induction(
        n,
        claim(resting[n, c], "=", 0, c),
        claim(K[n, c, e], "=", omega ** (n + 1) * delta(c, e), c, e),
        last=T - 1,
        base=(
            derive().step(tanh(Sum(omega * delta(c, u) * 0, u)), "the definition").because("tanh(0) = 0"),
            derive()
            .step((1 - resting[0, c] ** 2) * Sum(omega * delta(c, u) * delta(u, e), u), "the first factor")
            .because("the state is 0, where the slope of tanh is 1; the delta picks u = c"),
        ),
        step=(
            derive()
            .step(tanh(Sum(omega * delta(c, u) * resting[n, u], u)), "only 0 is read")
            .because("tanh(0) = 0"),
            derive()
            .step((1 - resting[n + 1, c] ** 2) * Sum(omega * delta(c, u) * K[n, u, e], u), "one factor more")
            .step((1 - resting[n + 1, c] ** 2) * (omega * K[n, c, e]), "the delta picks u = c")
            .step(omega * K[n, c, e], "the state is 0, where the slope of tanh is 1")
            .because("the hypothesis for n"),
        ),
    )
    .because("so it is for every step up to the last"),
    given=omega,
)
