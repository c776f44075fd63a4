"""Distillation: a small model is trained to give the probabilities of a large one."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

T, V = sizes("T V")
(t,) = indices(t=T)
v, w = indices(v=V, w=V)

z = data("z", T, V, meaning="logits of the student, the model that is trained")
u = data("u", T, V, meaning="logits of the teacher, the model whose probabilities it should give")
tau = number("tau", "positive", meaning="temperature: the larger, the more alike the probabilities")
log_p = tensor("log_p", T, V, meaning="logarithms of the student's probabilities at this temperature")
log_q = tensor("log_q", T, V, meaning="logarithms of the teacher's probabilities at this temperature")
loss = tensor("loss", T, meaning="how far the student is from the teacher at each place")
L = tensor("L", meaning="the mean over the places, times the square of the temperature")

DIVERGENCE = Convention(
    "divergence",
    {
        "kl": "the Kullback-Leibler divergence, 0 where student and teacher agree",
        "cross_entropy": "the cross entropy, larger by the teacher's entropy, which the student cannot change",
    },
    default="kl",
)


def log_softmax(logits: Tensor) -> Node:
    """The logarithm of the softmax of the logits over the temperature."""
    return logits[t, v] / tau - log(Sum(exp(logits[t, w] / tau), w))


distillation = Formula(
    "objectives.distillation",
    "Distillation at a temperature",
    why="How can a small model learn what a large one knows, and not only what it answers? The large one gives every word a "
    "probability, and the small ones among them tell which wrong answers are nearly right. At temperature 1 they hardly "
    "count beside the largest; dividing the logits of both models by a temperature above 1 brings them out. Gradients shrink "
    "with its square meanwhile, so the loss is multiplied by that.",
    sizes={T: "places", V: "words of the vocabulary"},
    inputs=(z, u, tau),
    lines=(
        define(log_p[t, v], log_softmax(z)),
        define(log_q[t, v], log_softmax(u)),
        define(
            loss[t],
            by_convention(
                "divergence",
                kl=Sum(exp(log_q[t, v]) * (log_q[t, v] - log_p[t, v]), v),
                cross_entropy=-Sum(exp(log_q[t, v]) * log_p[t, v], v),
            ),
        ),
        define(L, tau**2 * (Sum(loss[t], t) / T)),
    ),
    outputs=(L,),
    conventions=(DIVERGENCE,),
    stored=("log_p", "log_q", "loss"),
    pitfalls=(
        pitfall(
            "without τ²: its share in a sum of losses shrinks as the temperature grows", mutant="not_scaled"
        ),
        pitfall(
            "teacher and student swapped, as the order of arguments of F.kl_div invites", mutant="swapped"
        ),
        pitfall("the temperature on one side only", mutant="student_not_cooled"),
        pitfall("a mean over the words as well: V times too small", mutant="mean_over_words"),
    ),
    sources=(
        deck(0, "DistilBERT"),
        paper("hinton2015", "section 2"),
        paper("sanh2019", "section 2"),
    ),
    worked=(
        Worked(
            "The teacher gives 4/5 and 1/5, the student a half each: 0.8·ln 1.6 + 0.2·ln 0.4",
            {"z": [[0, 0]], "u": [["log(4)", 0]], "tau": 1},
            "0.1927",
            4,
        ),
    ),
    notes="What is stated has a gradient with respect to the teacher's logits too; where the teacher is not to be trained, it "
    "is detached outside. As τ grows the gradient, τ·(softmax(z/τ) − softmax(u/τ)) at a place, tends to (z − u less its mean)/V: "
    "every probability tends to 1/V, says the theorem flattens, and the two terms between which the gradient lies, says "
    "nearly_matching, become that where all probabilities are 1/V.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

KL = {"divergence": "kl"}
g, c, e = given("g"), given("c", domain="positive"), given("e", T)
a, x = given("a", T, V, domain="positive"), given("x", T, V)
whole = distillation(z, u, tau)
p, q = (softmax(each(logits[t, v] / tau, t, v)) for logits in (z, u))
total = Sum(a[t, v], v)
cost = log(Sum(a[t, v] * exp(x[t, v]), v) / total) - Sum(a[t, v] * x[t, v], v) / total
any_two = distillation(
    each(tau * (log(a[t, v]) + x[t, v]), t, v), each(tau * log(a[t, v]), t, v), tau
).as_node()
alike = softmax(each(e[t], t, v))

Z = tensor("Z", T, meaning="sum of the exponentials of the student's logits over the temperature")
distillation.let(Z[t], Sum(exp(z[t, w] / tau), w))

distillation.theorem(
    "gradient",
    "The gradient is τ·(softmax(z/τ) − softmax(u/τ)) over the number of places",
    claim(whole.pullback(g, z)[t, v], "=", g * tau * (p[t, v] - q[t, v]) / T)
    .step(
        g * tau**2 / T * (exp(z[t, v] / tau) / Z[t] - exp(log_q[t, v])) / tau,
        "the teacher's probabilities sum to 1, and the derivative of ln Z is e^(z/τ)/Z over τ",
    )
    .because("τ²/τ = τ"),
    given=g,
)

distillation.theorem(
    "agreement",
    "Where student and teacher agree the divergence is 0, and so is the gradient",
    claim(distillation(u, u, tau), "=", 0).by_definition("every difference of logarithms is 0"),
    claim(distillation(u, u, tau).pullback(g, z)[t, v], "=", 0)
    .step(g * tau / T * (q[t, v] - q[t, v]), "the gradient, where the student's logits are the teacher's")
    .because("the two probabilities are the same"),
    given=g,
    conventions=KL,
)

distillation.theorem(
    "entropy",
    "The divergence is the cross entropy under the teacher's probabilities less the teacher's entropy",
    claim(
        L,
        "=",
        tau**2 * ((Sum(-Sum(q[t, v] * log(p[t, v]), v), t) - Sum(-Sum(q[t, v] * log(q[t, v]), v), t)) / T),
    )
    .step(
        tau**2 * (Sum(Sum(q[t, v] * (log(q[t, v]) - log(p[t, v])), v), t) / T),
        "a probability is the exponential of its logarithm",
    )
    .because("the sum split"),
    conventions=KL,
)

distillation.theorem(
    "not_negative",
    "The divergence is at least 0, whatever the logits τ·ln a of the teacher and τ·(ln a + x) of the student",
    claim(0, "<=", any_two)
    .step(
        any_two - tau**2 / T * Sum(cost, t),
        "the teacher gives a/Σa; a place costs ln(Σ a·e^x/Σa) less m, the mean of x under it",
    )
    .because("with m = Σ a·x / Σ a: Σ a·e^(x − m) ≥ Σ a·(1 + x − m) = Σ a", gap=tau**2 / T * Sum(cost, t)),
    given=(a, x),
    conventions=KL,
)

distillation.theorem(
    "shift_invariant",
    "Adding a number to all of the student's logits at a place changes nothing, and so with the teacher's",
    *(
        claim(distillation(each(z[t, v] + mine[t], t, v), each(u[t, v] + yours[t], t, v), tau), "=", L)
        .step(tau**2 * (Sum(loss[t], t) / T), "ln Σ e^((x + c)/τ) = c/τ + ln Σ e^(x/τ), and c/τ cancels")
        .because("the definition")
        for mine, yours in ((e, each(0, t)), (each(0, t), e))
    ),
    given=e,
)

distillation.theorem(
    "scales",
    "All logits and the temperature times c: the loss times c²",
    claim(
        distillation(each(c * z[t, v], t, v), each(c * u[t, v], t, v), c * tau), "=", c**2 * L
    ).by_definition("c cancels in every quotient by the temperature"),
    given=c,
)

distillation.theorem(
    "logit_matching",
    "At logits that are all alike, where a rising temperature leads, softmax answers a change x by (x − mean of x)/V",
    claim(
        Sum(alike.pullback(each(delta(v, w), t, v), "s")[t, v] * x[t, v], v),
        "=",
        (x[t, w] - Sum(x[t, v], v) / V) / V,
        t,
        w,
    )
    .step(Sum((delta(v, w) / V - 1 / lift(V) ** 2) * x[t, v], v), "the Jacobian diag(a) − aaᵀ at a = 1/V")
    .because("the delta picks v = w"),
    given=(e, x),
    runs=False,
)


def excess(x: Tensor | Comprehension, one: Index, other: Index) -> Node:
    """What e^(a/τ) exceeds its tangent 1 + a/τ by, where a is a logit less another."""
    change = (x[t, one] - x[t, other]) / tau
    return exp(change) - 1 - change


def below(x: Tensor, s: Applied | Comprehension) -> Node:
    """At most what the probabilities of logits exceed 1/V by, times τ."""
    return (x[t, w] - Sum(s[t, v] * x[t, v], v)) / V


def above(x: Tensor, s: Applied | Comprehension) -> Node:
    """At least what the probabilities of logits exceed 1/V by, times τ."""
    return s[t, w] * (x[t, w] - Sum(x[t, v], v) / V)


def sides(x: Tensor | Comprehension, s: Applied) -> tuple[Node, Node]:
    """What these two are away from it."""
    return tau / V * Sum(s[t, v] * excess(x, w, v), v), tau / V * s[t, w] * Sum(excess(x, v, w), v)


(z_low, z_high), (u_low, u_high) = sides(z, p), sides(u, q)
even = each(1 / lift(V), t, v)
matched = (z[t, w] - u[t, w] - Sum(z[t, v] - u[t, v], v) / V) / V

distillation.theorem(
    "nearly_matching",
    "At every temperature τ·(p − q) lies between (z − Σ p·z)/V − q·(u − mean of u) and p·(z − mean of z) − (u − Σ q·u)/V, which "
    "are the same, (z − u less its mean)/V, where all probabilities p and q are 1/V",
    claim(below(z, p) - above(u, q), "<=", tau * (p[t, w] - q[t, w]), t, w)
    .step(tau * (p[t, w] - q[t, w]) - (z_low + u_high), "p and q sum to 1, and p times e^((z − z′)/τ) is p′")
    .because("eˣ ≥ 1 + x", gap=z_low + u_high),
    claim(tau * (p[t, w] - q[t, w]), "<=", above(z, p) - below(u, q), t, w)
    .step(above(z, p) - below(u, q) - (z_high + u_low), "the same with student and teacher swapped")
    .because("eˣ ≥ 1 + x", gap=z_high + u_low),
    *(
        claim(bound, "=", matched, t, w).by_definition("1/V leaves the sums, which are then means")
        for bound in (below(z, even) - above(u, even), above(z, even) - below(u, even))
    ),
    runs=False,
)

D, y = given("D", domain="nonnegative"), given("y", T, V, domain="share")
within = each(D * y[t, v], t, v)
near = softmax(each(within[t, v] / tau, t, v))
over, under = sides(within, near)

distillation.theorem(
    "flattens",
    "Logits D·y with y from 0 to 1, thus no further apart than D, have probabilities of at least (1 − D/τ)/V and, where D < τ, "
    "of at most 1/V over 1 − D/τ",
    claim(1 - D / tau, "<=", V * near[t, w], t, w)
    .step(
        V * near[t, w] - (V * over + D * y[t, w] + D * Sum(near[t, v] * (1 - y[t, v]), v)) / tau,
        "the probabilities sum to 1, and one times e^((x − x′)/τ) is the other",
    )
    .because(
        "eˣ ≥ 1 + x, and y ≤ 1",
        gap=(V * over + D * y[t, w] + D * Sum(near[t, v] * (1 - y[t, v]), v)) / tau,
    ),
    claim(V * near[t, w] * (1 - D / tau), "<=", 1, t, w)
    .step(
        1 - (V * under + D * near[t, w] * Sum(1 - y[t, w] + y[t, v], v)) / tau,
        "the same sum, with the exponentials of the others over its own",
    )
    .because("eˣ ≥ 1 + x, and y ≤ 1", gap=(V * under + D * near[t, w] * Sum(1 - y[t, w] + y[t, v], v)) / tau),
    given=(D, y),
    runs=False,
)
