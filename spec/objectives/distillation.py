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
    "is detached outside. By logit_matching the gradient, τ·(softmax(z/τ) − softmax(u/τ)) at a place, tends to (z − u less its "
    "mean)/V as τ grows: the derivative of softmax(βx) at β = 0 is the limit of its difference quotients, at β = 1/τ. That "
    "step is no part of the proof; the tests see the distance shrink with τ.",
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
        "the teacher gives a/Σa; a place costs ln(Σ a·e^x/Σa) less the mean of x",
    )
    .because("with m the mean of x: Σ a·e^(x − m) ≥ Σ a·(1 + x − m) = Σ a", gap=tau**2 / T * Sum(cost, t)),
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
