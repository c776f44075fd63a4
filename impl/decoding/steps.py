"""What a decoder asks of a model: a start from prompts, a step by one token, a state whose rows can be picked anew.

A model with a cache keeps it in its state; one without is wrapped in ``Recomputed``, which reads everything again at each
step. A decoder cannot tell one from the other, and by ``decoding.beam`` its results may not differ either.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int64, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["State", "StepModel", "Recomputed", "Read"]

Own = TypeVar("Own", bound="State")


@runtime_checkable
class State(Protocol):
    """What a model remembers of r rows: keys and values, recurrent states, or the tokens themselves."""

    def reorder(self: Own, index: Int64[Tensor, " s"]) -> Own:
        """The state of s rows, row i of which is row ``index[i]`` of this one. This one is not used afterwards."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class StepModel(Protocol[S]):
    """A model of the next token. Logits are those of the token after all that a row has read so far."""

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], S]:
        """Read each prompt, of which the first ``lengths`` tokens count; what stands behind them has no influence."""
        ...

    def step(self, state: S, tokens: Integer[Tensor, " r"]) -> tuple[Float[Tensor, "r V"], S]:
        """Read one more token in every row. The state given is not used afterwards."""
        ...


class Read:
    """The state of a model without a cache: the tokens read, and how many they are."""

    def __init__(self, tokens: Integer[Tensor, "r n"], lengths: Integer[Tensor, " r"]) -> None:
        self.tokens, self.lengths = tokens, lengths

    def reorder(self, index: Int64[Tensor, " s"]) -> "Read":
        """The rows that ``index`` picks."""
        return Read(self.tokens[index], self.lengths[index])

    def append(self, tokens: Integer[Tensor, " r"]) -> "Read":
        """One more token behind the last of each row."""
        n = self.tokens.shape[1]
        wide = torch.cat((self.tokens, torch.zeros_like(self.tokens[:, :1])), 1)
        behind = torch.arange(n + 1, device=wide.device) == self.lengths.unsqueeze(-1)
        return Read(torch.where(behind, tokens.unsqueeze(-1).to(wide.dtype), wide), self.lengths + 1)


class Recomputed:
    """A step model of a causal function from tokens (r n) to logits (r n V): every step reads all tokens again.

    Rows are padded behind their end, where a causal function cannot see it. The plain twin of any cache.
    """

    def __init__(self, logits: Callable[[Integer[Tensor, "r n"]], Float[Tensor, "r n V"]]) -> None:
        self.logits = logits

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], Read]:
        """Logits after each prompt."""
        mask = torch.arange(prompts.shape[1], device=prompts.device) < lengths.unsqueeze(-1)
        state = Read(prompts.masked_fill(~mask, 0), lengths)
        return self._last(state), state

    def step(self, state: Read, tokens: Integer[Tensor, " r"]) -> tuple[Float[Tensor, "r V"], Read]:
        """Logits after one more token."""
        state = state.append(tokens)
        return self._last(state), state

    def _last(self, state: Read) -> Float[Tensor, "r V"]:
        logits = self.logits(state.tokens)
        if logits.shape[:-1] != state.tokens.shape:
            tokens = state.tokens
            raise _refuse.shapes("Recomputed", "logits (r n V) of tokens (r n)", tokens=tokens, logits=logits)
        at = (state.lengths - 1)[:, None, None].expand(-1, 1, logits.shape[-1])
        return logits.gather(1, at.long()).squeeze(1)


def check_model(name: str, model: object, end: int | None, **sizes: int | None) -> None:
    """Refuse what is no step model, and an ``end`` or sizes that no search can have.

    ``top`` and ``top_k`` may be None, as ``end``. TypeError for no model, ValueError for sizes below 1.
    """
    if not isinstance(model, StepModel):
        what = "a model with the methods start and step, such as impl.transformer.Conditioned, or Recomputed of a function,"
        raise _refuse.kind(name, "model", what, model)
    if any(size is not None and size < 1 for size in sizes.values()):
        raise ValueError(f"{name}: expected sizes >= 1; got {sizes}")
    if end is not None and end < 0:
        raise ValueError(f"{name}: expected the id of a token as end; got {end}")


def check_prompts(
    name: str, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"] | None
) -> Int64[Tensor, " b"]:
    """Refuse prompts or lengths that do not fit; return how many tokens of each prompt count (all, without ``lengths``).

    ValueError for prompts that are not (b n) with n >= 1, or lengths outside 1..n; TypeError for what is no tensor of integers.
    """
    for which, given in {"prompts": prompts, "lengths": lengths}.items():
        if given is not None:
            _refuse.check_integers(name, f"integer {which}", **{which: given})
    if prompts.dim() != 2 or not prompts.shape[1]:
        raise _refuse.shapes(name, "prompts (b n), n >= 1", prompts=prompts)
    if lengths is None:
        return torch.full(prompts.shape[:1], prompts.shape[1], dtype=torch.int64, device=prompts.device)
    if lengths.shape != prompts.shape[:1]:
        raise _refuse.shapes(name, "prompts (b n), lengths (b)", prompts=prompts, lengths=lengths)
    if ((lengths < 1) | (lengths > prompts.shape[1])).any():
        raise ValueError(f"{name}: expected lengths in 1..{prompts.shape[1]}; got {lengths.tolist()}")
    return lengths.long()


def check_answer(
    name: str, answer: tuple[Float[Tensor, "r V"], S], r: int, end: int | None, reorders: bool = False
) -> tuple[Float[Tensor, "r V"], S]:
    """A model's answer, logits and a state; refuse another, logits without a row for each of r, not floating, or of a vocabulary
    without ``end``, and a state that cannot be reordered where a search ``reorders``.
    """
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Tensor):
        raise _refuse.kind(name, "a model's answer", "logits and a state, a pair,", answer)
    logits, state = answer
    if logits.dim() != 2 or len(logits) != r:
        raise _refuse.shapes(name, f"logits (r V) of a model for r = {r} rows", logits=logits)
    if not logits.is_floating_point():
        raise _refuse.dtypes(name, "floating logits of a model", logits=logits)
    if end is not None and end >= logits.shape[-1]:
        raise ValueError(
            f"{name}: expected end in 0..{logits.shape[-1] - 1}, a word of the vocabulary; got {end}"
        )
    if reorders and not isinstance(state, State):
        raise _refuse.kind(name, "a model's state", "an object with the method reorder", state)
    return logits, state


def check_gains(name: str, gain: Float[Tensor, "*shape"]) -> None:
    """Refuse log-probabilities that are NaN: logits with NaN or +Inf among them, or all of them −Inf."""
    if gain.isnan().any():
        place = gain.isnan().nonzero()[0].tolist()
        raise ValueError(
            f"{name}: expected logits with a softmax; got NaN, +Inf or nothing but -Inf in row {place[0]}"
        )


def lengths_to_end(tokens: Int64[Tensor, "... T"], end: int | None) -> Int64[Tensor, "..."]:
    """How many tokens stand up to the first ``end``, itself counted; all where there is none."""
    T = tokens.shape[-1]
    if end is None:
        return torch.full(tokens.shape[:-1], T, dtype=torch.int64, device=tokens.device)
    return ((tokens == end).cumsum(-1) == 0).sum(-1).add(1).clamp(max=T)
