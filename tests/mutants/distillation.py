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


def distilled(scale=lambda tau: tau**2, teacher=law, student=law, cost=kl, temperature=lambda tau: tau):
    """The loss, right but for the factor, both laws, what is made of them, or the temperature."""

    def loss(z, u, tau):
        tau = temperature(tau)
        return scale(tau) * cost(teacher(u, tau), student(z, tau))

    return loss


def cross_entropy(log_q, log_p):
    """The mean cross entropy."""
    return -(log_q.exp() * log_p).sum(-1).mean(-1)


wrong(LOSS, "not_scaled", "Leaves τ² out.", cause="not multiplied by τ|tau is not read in L")(
    distilled(lambda tau: 1)
)
wrong(LOSS, "scaled_once", "Multiplies by τ only.", cause="no square")(distilled(lambda tau: tau))
wrong(LOSS, "never_cold", "Takes no temperature below 0.01.", cause=r"0\.01|(τ|tau) .*least")(
    distilled(temperature=lambda tau: max(tau, 0.01))
)
wrong(LOSS, "never_hot", "Takes no temperature above 20.", cause=r"\b20\b|(τ|tau) .*most")(
    distilled(temperature=lambda tau: min(tau, 20.0))
)
wrong(LOSS, "swapped", "Swaps teacher and student.", cause="z and u|log_p and log_q")(
    lambda z, u, tau: distilled()(u, z, tau)
)
wrong(
    LOSS,
    "student_not_cooled",
    "Divides the teacher's logits by τ, not the student's.",
    cause="log_p is not divided by τ|not read in log_p",
)(distilled(student=lambda z, tau: law(z, 1)))
wrong(
    LOSS,
    "teacher_not_cooled",
    "Divides the student's logits by τ, not the teacher's.",
    cause="log_q is not divided by τ|not read in log_q",
)(distilled(teacher=lambda u, tau: law(u, 1)))
wrong(
    LOSS, "multiplied_by_the_temperature", "Multiplies logits by τ.", cause="(?<!not )multiplied|inverse of"
)(lambda z, u, tau: tau**2 * kl(law(u, 1 / tau), law(z, 1 / tau)))
wrong(
    LOSS,
    "mean_over_words",
    "Takes the mean over the words, too.",
    cause=r"mean over v|1/V times|V in the place",
)(lambda z, u, tau: distilled()(z, u, tau) / z.shape[-1])
wrong(LOSS, "summed_over_places", "Sums over the places.", cause=r"not divided by T\b|is T times")(
    lambda z, u, tau: distilled()(z, u, tau) * z.shape[-2]
)
wrong(LOSS, "entropy_left_in", "Gives the cross entropy where the divergence is stated.", cause="entropy")(
    distilled(cost=cross_entropy)
)
wrong(
    LOSS, "hard_targets", "Takes the teacher's best word for all of its probability.", cause="one-hot|argmax"
)(lambda z, u, tau: -(tau**2) * law(z, tau).gather(-1, u.argmax(-1, keepdim=True))[..., 0].mean(-1))


@wrong(LOSS, cause="logits|squared difference")
def squared_logits(z, u, tau):
    """Matches logits instead: the limit of a large temperature, at every temperature."""
    return ((z - z.mean(-1, keepdim=True) - u + u.mean(-1, keepdim=True)) ** 2).mean((-1, -2)) / 2


wrong(LOSS, "symmetric", "Takes the mean of both divergences.", cause="symmetric|both")(
    distilled(cost=lambda log_q, log_p: (kl(log_q, log_p) + kl(log_p, log_q)) / 2)
)


@wrong(LOSS, via=lambda step: distilled(cost=step), cause="1e-08|10⁻⁸")
def probabilities_kept_finite(log_q, log_p):
    """Adds 10⁻⁸ to the probabilities before the logarithm."""
    q, p = log_q.exp(), log_p.exp()
    return (q * ((q + 1e-8) / (p + 1e-8)).log()).sum(-1).mean(-1)


wrong(
    LOSS,
    "exponentials_unshifted",
    "Exponentiates the student's logits as they are: they overflow.",
    cause="overflow",
)(distilled(student=lambda z, tau: z / tau - (z / tau).exp().sum(-1, keepdim=True).log()))
wrong(LOSS, "student_detached", "No gradient reaches the student's normaliser.", cause="for a constant")(
    distilled(student=lambda z, tau: z / tau - (z / tau).logsumexp(-1, keepdim=True).detach())
)


wrong(
    LOSS, "mean_over_the_batch", "Returns the mean over the batch for each of its members.", cause="batches"
)(lambda z, u, tau: distilled()(z, u, tau).mean().expand(z.shape[:-2]).clone())


@right(LOSS)
def by_kl_div(z, u, tau):
    """torch's function, the teacher's side in logarithms."""
    whole = F.kl_div(law(z, tau), law(u, tau), reduction="none", log_target=True)
    return tau**2 * whole.sum(-1).mean(-1)


@right(LOSS)
def place_by_place(z, u, tau):
    """A loop over the places, τ² inside."""
    pairs = zip(z.unbind(-2), u.unbind(-2), strict=True)
    costs = [tau**2 * (law(b, tau).exp() * (law(b, tau) - law(a, tau))).sum(-1) for a, b in pairs]
    return torch.stack(costs).mean(0)


right(LOSS, "by_cross_entropy", "Under the teacher's probabilities.", divergence="cross_entropy")(
    distilled(cost=cross_entropy)
)


wrong(
    LOSS,
    "entropy_taken_off",
    "The divergence for the cross entropy.",
    divergence="cross_entropy",
    cause="entropy",
)(distilled())
