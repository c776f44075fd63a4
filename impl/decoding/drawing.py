"""Drawing the next token: temperature, then the k likeliest, then the nucleus (Holtzman et al. 2020, section 3.1)."""

import math
from typing import TypeVar

import torch
from jaxtyping import Float, Int64, Integer
from torch import Generator, Tensor

from impl import _refuse
from impl._transforms import readable
from impl.decoding.search import Decoded, word_by_word
from impl.decoding.steps import State, StepModel, check_gains, check_model, check_prompts

__all__ = ["sample", "sampled"]

S = TypeVar("S", bound=State)


def sample(
    x: Float[Tensor, "... n V"], T: float, k: int, p: float, generator: Generator
) -> Int64[Tensor, "... n"]:
    """For each position draw a token from logits x at temperature T, among the k likeliest, within the nucleus p.
    Statement: ``decoding.sample``.

    Logits are divided by T first. Of the k largest (of equal ones the first in the vocabulary) the probabilities are
    softmax(x/T), renormalised; the nucleus is the fewest of them, likeliest first, whose probabilities sum to p or more. k ≥ V
    and p = 1 leave all tokens in. Probabilities are computed in float64; one uniform number for each position is looked up
    in their running sum. ValueError unless T > 0, k ≥ 1 and 0 < p ≤ 1, TypeError for what is no floating tensor or generator.
    """
    _refuse.check_floating("decoding.sample", x=x)
    if x.dim() < 1 or not x.shape[-1]:
        raise _refuse.shapes("decoding.sample", "x (... n V), V >= 1", x=x)
    if not (0 < T < math.inf and k >= 1 and 0 < p <= 1):
        raise ValueError(f"decoding.sample: expected T > 0, k >= 1, 0 < p <= 1; got T {T}, k {k}, p {p}")
    with torch.no_grad():
        z = x.detach().double()
        top = z.amax(-1, keepdim=True)
        z = (z - top.where(top.isfinite(), top.new_zeros(()))) / T  # below 0, however small T is
        z, token = z.sort(dim=-1, descending=True, stable=True)
        share = torch.softmax(z[..., :k], -1)
        if readable(x):
            check_gains("decoding.sample", share.reshape(-1, share.shape[-1]))
        total = share.cumsum(-1)
        if p < 1:
            # What stands before a token decides whether it is needed: the one that reaches p is the last that is.
            total = torch.where(total - share < p, total, total.new_zeros(()))
        whole = total.amax(-1, keepdim=True)
        u = torch.rand((*x.shape[:-1], 1), generator=generator, dtype=torch.float64, device=x.device)
        place = (total > u * whole).max(-1, keepdim=True).indices  # the first
        return token.gather(-1, place).squeeze(-1)


@torch.no_grad()
def sampled(
    model: StepModel[S],
    prompts: Integer[Tensor, "b n"],
    lengths: Integer[Tensor, " b"] | None = None,
    *,
    max_length: int,
    generator: Generator,
    end: int | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Decoded:
    """Continuations drawn token by token with ``sample``, until every row has said ``end`` or has ``max_length`` tokens.

    ``log_probability`` is the model's own, before temperature, top-k and nucleus. Errors are those of ``greedy`` and ``sample``.
    """
    name = "decoding.sample"
    check_model(name, model, end, max_length=max_length, top_k=top_k)
    lengths = check_prompts(name, prompts, lengths)

    def draw(logits: Tensor) -> Tensor:
        k = logits.shape[-1] if top_k is None else top_k
        return sample(logits, temperature, k, top_p, generator)

    return word_by_word(name, model, prompts, lengths, draw, max_length, end)
