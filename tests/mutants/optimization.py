"""Variants of ``optimization.adamw``."""

import torch

from tests.mutants import right, wrong

ADAMW = "optimization.adamw"


def lacking(beta, t):
    """What a moment is divided by after t steps from 0."""
    return 1 - beta**t if beta < 1 else 1.0


def root(square, eps):
    """The divisor of a step."""
    return square.sqrt() + eps


def step(seen=None, first=None, second=None, lacks=lacking, divisor=root, keep=None, move=None):
    """A right step, but for what is given: the gradient that the moments see, a moment, the correction, the divisor, what is
    kept of a weight, and the step itself.
    """

    def run(theta, g, m, v, t, eta, beta_1, beta_2, eps, w):
        own = seen(theta, g, w) if seen else g
        m_new = first(m, own, beta_1) if first else beta_1 * m + (1 - beta_1) * own
        v_new = second(v, own, beta_2) if second else beta_2 * v + (1 - beta_2) * own**2
        u = m_new / lacks(beta_1, t) / divisor(v_new / lacks(beta_2, t), eps)
        kept = keep(eta, w) if keep else 1 - eta * w
        theta_new = move(theta, u, eta, w) if move else kept * theta - eta * u
        return theta_new, m_new, v_new

    return run


wrong(
    ADAMW, "decay_in_the_gradient", "Adam's decay, w·θ in the gradient, under AdamW's name.", cause="decay=l2"
)(step(seen=lambda theta, g, w: g + w * theta, keep=lambda eta, w: 1.0))
wrong(ADAMW, "decay_by_itself", "A weight loses w of itself, whatever the rate.", cause="decay=by_itself")(
    step(keep=lambda eta, w: 1 - w)
)
wrong(ADAMW, "no_decay", "Weights do not decay.", cause=r"^w\b|\bw is|w\S* is (ignored|not)")(
    step(keep=lambda eta, w: 1.0)
)
wrong(ADAMW, "decay_behind", "The weight decays after the step, which decays as well.", cause="decay|w|u")(
    step(move=lambda theta, u, eta, w: (1 - eta * w) * (theta - eta * u))
)
wrong(ADAMW, "decay_grows", "The sign of the decay is the other one.", cause="sign|added|subtract")(
    step(keep=lambda eta, w: 1 + eta * w)
)
wrong(ADAMW, "uncorrected", "Moments are not corrected.", cause="correction=none")(
    step(lacks=lambda beta, t: 1.0)
)
wrong(
    ADAMW,
    "step_from_zero",
    "Steps are counted from 0: the correction is that of the step before.",
    cause=r"\bt\b",
)(step(lacks=lambda beta, t: lacking(beta, max(t - 1, 1))))
wrong(ADAMW, "eps_inside", "ε under the root.", cause="eps=inside")(
    step(divisor=lambda square, eps: (square + eps).sqrt())
)
wrong(ADAMW, "eps_left_out", "No ε: a weight without a gradient is 0/0.", cause="(eps|ε)|nan")(
    step(divisor=lambda square, eps: square.sqrt())
)
wrong(ADAMW, "not_rooted", "The second moment itself, not its root.", cause="root|sqrt|√")(
    step(divisor=lambda square, eps: square + eps)
)
wrong(
    ADAMW,
    "square_of_the_mean",
    "The second moment is that of the first one's square.",
    cause="v_new|square|G|m",
)(
    lambda theta, g, m, v, t, eta, beta_1, beta_2, eps, w: step(
        second=lambda v, own, beta: beta * v + (1 - beta) * (beta_1 * m + (1 - beta_1) * g) ** 2
    )(theta, g, m, v, t, eta, beta_1, beta_2, eps, w)
)
wrong(
    ADAMW,
    "gradient_added_whole",
    "The first moment is β·m + g, as momentum has it.",
    cause="m_new|beta_1|1 −|multiplied",
)(step(first=lambda m, own, beta: beta * m + own))
wrong(ADAMW, "betas_exchanged", "β of the one moment for the other.", cause="beta_1|beta_2|exchang|β")(
    lambda theta, g, m, v, t, eta, beta_1, beta_2, eps, w: step()(
        theta, g, m, v, t, eta, beta_2, beta_1, eps, w
    )
)
wrong(
    ADAMW,
    "old_moment",
    "The step is made with the first moment before it is renewed.",
    cause=r"\bm\b|m_new|g",
)(
    lambda theta, g, m, v, t, eta, beta_1, beta_2, eps, w: (
        (1 - eta * w) * theta
        - eta * (m / lacking(beta_1, t)) / root((beta_2 * v + (1 - beta_2) * g**2) / lacking(beta_2, t), eps),
        *step()(theta, g, m, v, t, eta, beta_1, beta_2, eps, w)[1:],
    )
)
wrong(ADAMW, "moments_not_returned", "The moments that were given are returned.", cause="m_new|v_new")(
    lambda theta, g, m, v, t, eta, beta_1, beta_2, eps, w: (
        step()(theta, g, m, v, t, eta, beta_1, beta_2, eps, w)[0],
        m + 0 * g,
        v + 0 * g,
    )
)


@wrong(ADAMW, cause="writes to its input")
def weights_in_place(theta, g, m, v, t, eta, beta_1, beta_2, eps, w):
    """The step is written over the caller's weights, as optimizers do."""
    found = step()(theta, g, m, v, t, eta, beta_1, beta_2, eps, w)
    with torch.no_grad():
        theta.copy_(found[0])
    return found


right(ADAMW, "step_as_written", "The lines one after another.")(step())
right(ADAMW, "l2_by_name", "Decay in the gradient, by that convention.", decay="l2")(
    step(seen=lambda theta, g, w: g + w * theta, keep=lambda eta, w: 1.0)
)
right(ADAMW, "uncorrected_by_name", "Moments as they are, by that convention.", correction="none")(
    step(lacks=lambda beta, t: 1.0)
)


@right(ADAMW)
def step_by_factors(theta, g, m, v, t, eta, beta_1, beta_2, eps, w):
    """As torch's own loop: addcmul, and the corrections as factors of rate and root."""
    m_new = torch.add(m * beta_1, g, alpha=1 - beta_1)
    v_new = torch.addcmul(v * beta_2, g, g, value=1 - beta_2)
    size = lacking(beta_2, t) ** 0.5
    return (
        torch.addcdiv(
            theta * (1 - eta * w), m_new, v_new.sqrt() / size + eps, value=-eta / lacking(beta_1, t)
        ),
        m_new,
        v_new,
    )
