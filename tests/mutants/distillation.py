"""Variants of distillation at a temperature: ``objectives.distillation``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LOSS = "objectives.distillation"


def law(x, tau):
    """Log-probabilities at a temperature, right."""
    return torch.log_softmax(x / tau, -1)


def kl(log_q, log_p):
    """The mean divergence of the second from the first, right."""
    return (log_q.exp() * (log_q - log_p)).sum(-1).mean(-1)


wrong(LOSS, "not_scaled", "Leaves τ² out.")(lambda z, u, tau: kl(law(u, tau), law(z, tau)))
wrong(LOSS, "scaled_once", "Multiplies by τ only.")(lambda z, u, tau: tau * kl(law(u, tau), law(z, tau)))


@wrong(LOSS)
def never_cold(z, u, tau):
    """Takes no temperature below 0.01."""
    tau = max(tau, 0.01)
    return tau**2 * kl(law(u, tau), law(z, tau))


@wrong(LOSS)
def never_hot(z, u, tau):
    """Takes no temperature above 20."""
    tau = min(tau, 20.0)
    return tau**2 * kl(law(u, tau), law(z, tau))


wrong(LOSS, "swapped", "Swaps teacher and student.")(lambda z, u, tau: tau**2 * kl(law(z, tau), law(u, tau)))
wrong(LOSS, "student_not_cooled", "Divides the teacher's logits by τ, not the student's.")(
    lambda z, u, tau: tau**2 * kl(law(u, tau), law(z, 1))
)
wrong(LOSS, "teacher_not_cooled", "Divides the student's logits by τ, not the teacher's.")(
    lambda z, u, tau: tau**2 * kl(law(u, 1), law(z, tau))
)
wrong(LOSS, "multiplied_by_the_temperature", "Multiplies logits by τ.")(
    lambda z, u, tau: tau**2 * kl(law(u, 1 / tau), law(z, 1 / tau))
)
wrong(LOSS, "mean_over_words", "Takes the mean over the words, too.")(
    lambda z, u, tau: tau**2 * kl(law(u, tau), law(z, tau)) / z.shape[-1]
)
wrong(LOSS, "summed_over_places", "Sums over the places.")(
    lambda z, u, tau: tau**2 * kl(law(u, tau), law(z, tau)) * z.shape[-2]
)
wrong(LOSS, "entropy_left_in", "Gives the cross entropy where the divergence is stated.")(
    lambda z, u, tau: -(tau**2) * (law(u, tau).exp() * law(z, tau)).sum(-1).mean(-1)
)
wrong(LOSS, "hard_targets", "Takes the teacher's best word for all of its probability.")(
    lambda z, u, tau: -(tau**2) * law(z, tau).gather(-1, u.argmax(-1, keepdim=True))[..., 0].mean(-1)
)
wrong(
    LOSS, "squared_logits", "Matches logits instead: the limit of a large temperature, at every temperature."
)(lambda z, u, tau: ((z - z.mean(-1, keepdim=True) - u + u.mean(-1, keepdim=True)) ** 2).mean((-1, -2)) / 2)


@wrong(LOSS)
def symmetric(z, u, tau):
    """Takes the mean of both divergences."""
    p, q = law(z, tau), law(u, tau)
    return tau**2 * (kl(q, p) + kl(p, q)) / 2


@wrong(LOSS)
def probabilities_kept_finite(z, u, tau):
    """Adds 10⁻⁸ to the probabilities before the logarithm."""
    p, q = law(z, tau).exp(), law(u, tau).exp()
    return tau**2 * (q * ((q + 1e-8) / (p + 1e-8)).log()).sum(-1).mean(-1)


wrong(LOSS, "exponentials_unshifted", "Exponentiates the student's logits as they are: large ones overflow.")(
    lambda z, u, tau: tau**2 * kl(law(u, tau), z / tau - (z / tau).exp().sum(-1, keepdim=True).log())
)
wrong(LOSS, "student_detached", "No gradient reaches the student's normaliser.")(
    lambda z, u, tau: tau**2 * kl(law(u, tau), z / tau - (z / tau).logsumexp(-1, keepdim=True).detach())
)


@wrong(LOSS)
def mean_over_the_batch(z, u, tau):
    """Returns the mean over the batch for each of its members."""
    own = tau**2 * kl(law(u, tau), law(z, tau))
    return own.mean().expand(own.shape).clone()


right(LOSS, "by_kl_div", "torch's function, the teacher's side in logarithms.")(
    lambda z, u, tau: (
        tau**2 * F.kl_div(law(z, tau), law(u, tau), reduction="none", log_target=True).sum(-1).mean(-1)
    )
)


@right(LOSS)
def place_by_place(z, u, tau):
    """A loop over the places, τ² inside."""
    pairs = zip(z.unbind(-2), u.unbind(-2), strict=True)
    costs = [tau**2 * (law(b, tau).exp() * (law(b, tau) - law(a, tau))).sum(-1) for a, b in pairs]
    return torch.stack(costs).mean(0)


@right(LOSS, divergence="cross_entropy")
def by_cross_entropy(z, u, tau):
    """The cross entropy under the teacher's probabilities."""
    return -(tau**2) * (law(u, tau).exp() * law(z, tau)).sum(-1).mean(-1)


@wrong(LOSS, divergence="cross_entropy")
def entropy_taken_off(z, u, tau):
    """Gives the divergence where the cross entropy is stated."""
    return tau**2 * kl(law(u, tau), law(z, tau))
