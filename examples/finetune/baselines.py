"""What can be had without BERT: the most frequent label, and a linear model of which words occur."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from examples.finetune.tasks import Example, Task

__all__ = ["bag_of_words", "fit", "majority"]

PENALTY = 1e-3
"""Of the squared weights of a linear model, times half."""


def majority(task: Task, training: Sequence[Example], measured: Sequence[Example]) -> float:
    """The share that is right if always the same is answered: the most frequent label of training; for an answer, the most
    frequent place.
    """
    units = _units(task, training)
    ((usual, _),) = Counter(units).most_common(1)
    asked = _units(task, measured)
    return sum(unit == usual for unit in asked) / len(asked)


def _units(task: Task, examples: Sequence[Example]) -> list[tuple[int, ...]]:
    """What is right or wrong as a whole: a label, a word's label, an answer."""
    if task.name == "token":
        return [(label,) for each in examples for label in each.labels]
    return [each.labels for each in examples]


def bag_of_words(task: Task, training: Sequence[Example], measured: Sequence[Example]) -> float:
    """The share that is right by a linear model of the words: those of either text, and the word itself where each has a label.
    Where an answer starts and where it ends are two such models.
    """
    words = sorted({word for each in training for text in _texts(each) for word in text})
    number = {word: i for i, word in enumerate(words)}
    x, asked = _bags(task, training, number), _bags(task, measured, number)
    right = torch.ones(len(asked), dtype=torch.bool)
    for labels, expected in zip(_targets(task, training), _targets(task, measured), strict=True):
        W, b = fit(x, labels, int(max(labels.max(), expected.max())) + 1)
        right &= (asked @ W + b).argmax(-1) == expected
    return right.double().mean().item()


def _targets(task: Task, examples: Sequence[Example]) -> list[Tensor]:
    return [torch.tensor(each) for each in zip(*_units(task, examples), strict=True)]


def _texts(example: Example) -> tuple[tuple[str, ...], ...]:
    return (example.text,) if example.second is None else (example.text, example.second)


def _bags(task: Task, examples: Sequence[Example], number: dict[str, int]) -> Tensor:
    """Counts of words, a row for each unit."""
    rows = []
    for each in examples:
        bag = [_counts(text, number) for text in _texts(each)]
        if task.name == "token":
            rows += [torch.cat([*bag, _counts([word], number)]) for word in each.text]
        else:
            rows.append(torch.cat(bag))
    return torch.stack(rows)


def _counts(words: Sequence[str], number: dict[str, int]) -> Tensor:
    known = [number[word] for word in words if word in number]
    return torch.bincount(torch.tensor(known, dtype=torch.int64), minlength=len(number)).float()


def fit(x: Tensor, labels: Tensor, classes: int, steps: int = 60) -> tuple[Tensor, Tensor]:
    """Weights and biases of softmax regression, by L-BFGS from 0."""
    W = torch.zeros(x.shape[1], classes, requires_grad=True)
    b = torch.zeros(classes, requires_grad=True)
    solver = torch.optim.LBFGS([W, b], max_iter=steps, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        found = F.cross_entropy(x @ W + b, labels) + PENALTY / 2 * W.square().sum()
        found.backward()
        return found

    solver.step(loss)  # type: ignore[no-untyped-call]
    return W.detach(), b.detach()
