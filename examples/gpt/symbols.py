"""A family of small tasks: a map gives each of ten letters one of ten digits, none twice, and examples of it stand in the prompt.

    c 4 a 7 h 0 c 4 …      b → ?

A model reads examples of a new map in every row that it is trained on. **Held out** are a thousand maps, which training never
draws; on these it is asked, from its prompt alone, with its weights as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from impl.gpt import GPT

KEYS = 10
HELD_OUT = 1000


@dataclass(frozen=True)
class Accuracy:
    """The shares of held-out maps that are answered rightly after some examples: of all, and of those whose letter was among the
    examples; then with the digits shuffled over the letters before the examples are written; and what can be had at most.
    """

    examples: int
    right: float
    shown: float | None
    shuffled: float
    best: float


@dataclass(frozen=True)
class Symbols:
    """The task. Letters are the tokens 0 … 9, digits 10 … 19; a row has ``pairs`` of them."""

    pairs: int = 2 * KEYS
    seed: int = 0
    held_out: Tensor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        held = maps(HELD_OUT, Generator().manual_seed(1000 + self.seed))
        object.__setattr__(self, "held_out", held[_numbers(held).argsort()])

    @property
    def vocabulary(self) -> int:
        """Letters and digits."""
        return 2 * KEYS

    def draw(self, batch: int, generator: Generator) -> Tensor:
        """Rows of examples (batch 2·pairs), each of a map of its own that is not held out. A row has letters of its own, two at
        least, and draws them evenly: with few of them the answer is soon seen twice, and what to look for is learned sooner.
        """
        chosen = maps(batch, generator)
        known = _numbers(self.held_out)
        while (again := torch.isin(_numbers(chosen), known)).any():
            chosen[again] = maps(int(again.sum()), generator)
        own = torch.rand(batch, KEYS, generator=generator).argsort(1)
        many = torch.randint(2, KEYS + 1, (batch, 1), generator=generator)
        places = (torch.rand(batch, self.pairs, generator=generator) * many).long()
        return written(chosen, own.gather(1, places))

    def measure(self, model: GPT) -> float:
        """How many held-out maps are answered rightly after five examples."""
        return self.accuracy(model, 5).right

    def accuracy(self, model: GPT, examples: int) -> Accuracy:
        """After so many examples, each of another letter; which letters, and which is asked, is drawn."""
        generator = Generator().manual_seed(examples)
        shown = torch.rand(HELD_OUT, KEYS, generator=generator).argsort(1)[:, :examples]
        asked = torch.randint(KEYS, (HELD_OUT, 1), generator=generator)
        shuffled = self.held_out.gather(1, torch.rand(HELD_OUT, KEYS, generator=generator).argsort(1))
        target = self.held_out.gather(1, asked).squeeze(1) + KEYS
        right, control = (
            self._answers(model, chosen, shown, asked) == target for chosen in (self.held_out, shuffled)
        )
        among = (shown == asked).any(1)
        return Accuracy(
            examples,
            right=right.double().mean().item(),
            shown=right[among].double().mean().item() if examples else None,
            shuffled=control.double().mean().item(),
            best=min(1.0, (examples + 1) / KEYS),
        )

    @torch.no_grad()
    def _answers(self, model: GPT, chosen: Tensor, shown: Tensor, asked: Tensor) -> Tensor:
        return model(torch.cat((written(chosen, shown), asked), 1))[:, -1].argmax(-1)


def maps(many: int, generator: Generator) -> Tensor:
    """Maps (many KEYS): the digit of each letter."""
    return torch.rand(many, KEYS, generator=generator).argsort(1)


def written(chosen: Tensor, letters: Tensor) -> Tensor:
    """Letters (b k), each with the digit that the row's map gives it behind it (b 2k)."""
    return torch.stack((letters, chosen.gather(1, letters) + KEYS), 2).flatten(1)


def _numbers(chosen: Tensor) -> Tensor:
    """A number for each map."""
    return (chosen * torch.tensor([KEYS**place for place in range(KEYS)])).sum(1)
