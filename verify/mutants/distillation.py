"""Variants of distillation at a temperature: ``objectives.distillation``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

LOSS = "objectives.distillation"


def law(x: Tensor, tau: float) -> Tensor:
    """Log-probabilities at a temperature, right."""
    return torch.log_softmax(x / tau, -1)


def kl(log_q: Tensor, log_p: Tensor) -> Tensor:
    """The mean divergence of the second from the first, right."""
    return (log_q.exp() * (log_q - log_p)).sum(-1).mean(-1)


@wrong(LOSS)
def not_scaled(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Leaves τ² out."""
    return kl(law(u, tau), law(z, tau))


@wrong(LOSS)
def scaled_once(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Multiplies by τ only."""
    return tau * kl(law(u, tau), law(z, tau))


@wrong(LOSS)
def never_cold(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Takes no temperature below 0.01."""
    tau = max(tau, 0.01)
    return tau**2 * kl(law(u, tau), law(z, tau))


@wrong(LOSS)
def never_hot(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Takes no temperature above 20."""
    tau = min(tau, 20.0)
    return tau**2 * kl(law(u, tau), law(z, tau))


@wrong(LOSS)
def swapped(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Swaps teacher and student."""
    return tau**2 * kl(law(z, tau), law(u, tau))


@wrong(LOSS)
def student_not_cooled(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Divides the teacher's logits by τ, not the student's."""
    return tau**2 * kl(law(u, tau), law(z, 1))


@wrong(LOSS)
def teacher_not_cooled(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Divides the student's logits by τ, not the teacher's."""
    return tau**2 * kl(law(u, 1), law(z, tau))


@wrong(LOSS)
def multiplied_by_the_temperature(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Multiplies logits by τ."""
    return tau**2 * kl(law(u, 1 / tau), law(z, 1 / tau))


@wrong(LOSS)
def mean_over_words(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Takes the mean over the words, too."""
    return tau**2 * kl(law(u, tau), law(z, tau)) / z.shape[-1]


@wrong(LOSS)
def summed_over_places(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Sums over the places."""
    return tau**2 * kl(law(u, tau), law(z, tau)) * z.shape[-2]


@wrong(LOSS)
def entropy_left_in(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Gives the cross entropy where the divergence is stated."""
    return -(tau**2) * (law(u, tau).exp() * law(z, tau)).sum(-1).mean(-1)


@wrong(LOSS)
def hard_targets(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Takes the teacher's best word for all of its probability."""
    best = u.argmax(-1, keepdim=True)
    return -(tau**2) * law(z, tau).gather(-1, best)[..., 0].mean(-1)


@wrong(LOSS)
def squared_logits(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Matches logits instead: the limit of a large temperature, at every temperature."""
    return ((z - z.mean(-1, keepdim=True) - u + u.mean(-1, keepdim=True)) ** 2).mean((-1, -2)) / 2


@wrong(LOSS)
def symmetric(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Takes the mean of both divergences."""
    p, q = law(z, tau), law(u, tau)
    return tau**2 * (kl(q, p) + kl(p, q)) / 2


@wrong(LOSS)
def probabilities_kept_finite(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Adds 10⁻⁸ to the probabilities before the logarithm."""
    p, q = law(z, tau).exp(), law(u, tau).exp()
    return tau**2 * (q * ((q + 1e-8) / (p + 1e-8)).log()).sum(-1).mean(-1)


@wrong(LOSS)
def exponentials_unshifted(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Exponentiates the student's logits as they are: large ones overflow."""
    log_p = z / tau - (z / tau).exp().sum(-1, keepdim=True).log()
    return tau**2 * kl(law(u, tau), log_p)


@wrong(LOSS)
def student_detached(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """No gradient reaches the student's normaliser."""
    log_p = z / tau - (z / tau).logsumexp(-1, keepdim=True).detach()
    return tau**2 * kl(law(u, tau), log_p)


@wrong(LOSS)
def mean_over_the_batch(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Returns the mean over the batch for each of its members."""
    own = tau**2 * kl(law(u, tau), law(z, tau))
    return own.mean().expand(own.shape).clone()


@right(LOSS)
def by_kl_div(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """torch's function, the teacher's side in logarithms."""
    whole = F.kl_div(law(z, tau), law(u, tau), reduction="none", log_target=True)
    return tau**2 * whole.sum(-1).mean(-1)


@right(LOSS)
def place_by_place(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """A loop over the places, τ² inside."""
    pairs = zip(z.unbind(-2), u.unbind(-2), strict=True)
    costs = [tau**2 * (law(b, tau).exp() * (law(b, tau) - law(a, tau))).sum(-1) for a, b in pairs]
    return torch.stack(costs).mean(0)


@right(LOSS, divergence="cross_entropy")
def by_cross_entropy(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """The cross entropy under the teacher's probabilities."""
    return -(tau**2) * (law(u, tau).exp() * law(z, tau)).sum(-1).mean(-1)


@wrong(LOSS, divergence="cross_entropy")
def entropy_taken_off(z: Tensor, u: Tensor, tau: float) -> Tensor:
    """Gives the divergence where the cross entropy is stated."""
    return tau**2 * kl(law(u, tau), law(z, tau))
