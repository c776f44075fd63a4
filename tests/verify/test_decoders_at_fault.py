"""Decoders that are wrong in long texts and wide beams, that do something beside decoding, or return what is no continuation."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest
import torch

from impl.decoding import beam, greedy
from spec.language.registry import procedures
from tests.verify.scripts import users
from verify import check, replay

GREEDY, BEAM = procedures()["decoding.greedy"], procedures()["decoding.beam"]


class Careless:
    """A model whose caches keep their places from the third step on."""

    def __init__(self, model) -> None:
        self.model = model

    def start(self, prompts, lengths):
        """As the model does."""
        logits, state = self.model.start(prompts, lengths)
        return logits, Places(state, len(prompts), 0)

    def step(self, state, tokens):
        """As the model does."""
        logits, after = self.model.step(state.state, tokens)
        return logits, Places(after, len(tokens), state.steps + 1)


class Places:
    """A state of so many rows after so many steps."""

    def __init__(self, state, rows: int, steps: int) -> None:
        self.state, self.rows, self.steps = state, rows, steps

    def reorder(self, index):
        """The rows that are picked; the same as before where that is forgotten."""
        forgets = self.steps >= 3 and len(index) == self.rows
        return Places(self.state if forgets else self.state.reorder(index), len(index), self.steps)


def places_forgotten_late(model, prompts, **others):
    """Beams go on with the caches of others, but not at once."""
    return beam(Careless(model), prompts, **others)


def likeliest_alone(model, prompts, **others):
    """Searched with a penalty, of which the last choice knows nothing."""
    tokens, log_p, score = beam(model, prompts, **others)[:3]
    best = torch.arange(len(prompts)), log_p.argmax(1)
    return tokens[best], log_p[best], score[best]


def pruned_before_the_penalty(model, prompts, *, top, width, **others):
    """Where t is given, k candidates are left by their log-probabilities, and ranked by their scores then."""
    if top is None:
        return beam(model, prompts, width=width, **others)
    alpha = others.pop("alpha")
    tokens, log_p, _ = beam(model, prompts, width=width, top=top, **others, alpha=0.0)[:3]
    ended = tokens == (-1 if others["end"] is None else others["end"])
    length = torch.where(ended.any(-1), ended.int().argmax(-1) + 1, tokens.shape[-1])
    score, place = (log_p / ((5 + length) / 6) ** alpha).sort(1, descending=True, stable=True)
    return tokens.gather(1, place[..., None].expand_as(tokens)), log_p.gather(1, place), score


@pytest.mark.parametrize(
    ("wrong", "seed"), [(places_forgotten_late, 0), (likeliest_alone, 1), (pruned_before_the_penalty, 2)]
)
def test_what_is_wrong_in_long_texts_and_wide_beams_is_found(wrong, seed) -> None:
    """Where caches change places for many steps, and where length is rewarded to the end."""
    assert check(wrong, BEAM, seed=seed).verdict == "falsified"


def exits(model, prompts, *, max_length):
    """The process ends."""
    raise SystemExit(0)


HURTS = """
import torch


def hurts(model, prompts, *, max_length):
    torch.set_default_dtype(torch.float64)
    for _ in range(max_length):
        prompts = torch.cat((prompts, model(prompts)[:, -1:].argmax(-1)), 1)
    return prompts[:, -max_length:]
"""


def test_who_ends_the_process_is_falsified() -> None:
    """Its status is not the checker's."""
    assert check(exits, GREEDY).headline == "falsified: it raised SystemExit: 0"


def test_who_does_not_return_is_falsified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once is enough: later calls are waited for less."""
    monkeypatch.setattr("verify.subject.containment.LIMIT", 0.3)
    monkeypatch.setattr("verify.subject.containment.HUNG_LIMIT", 0.1)
    monkeypatch.setattr("verify.decoding.checking.SECONDS", 0.5)

    def hangs(model, prompts, *, max_length):
        while True:
            time.sleep(0.01)

    headline = check(hangs, GREEDY, max_examples=4).headline
    assert headline.startswith("falsified: it did not return within")


def test_who_changes_global_state_is_falsified(tmp_path: Path) -> None:
    """It is put right, and a replay shows it."""
    with users(tmp_path, setting=HURTS):
        hurts = importlib.import_module("setting").hurts
        report = check(hurts, GREEDY, max_examples=20)
        again = replay(report)
    assert report.headline == "falsified: it changes global state: torch's default dtype"
    assert [check.name for check in report.falsified] == ["robustness: leaves global state alone"]
    assert torch.get_default_dtype() == torch.float32
    assert (again.verdict, again.now.message) == (
        "falsified",
        "it changes global state: torch's default dtype",
    )


def test_who_changes_global_state_and_supports_nothing_is_inconclusive() -> None:
    """There is no case to show."""

    def declines(model, prompts, *, max_length):
        torch.set_default_dtype(torch.float64)
        raise NotImplementedError("not yet")

    assert check(declines, GREEDY, max_examples=5).verdict == "inconclusive"
    assert torch.get_default_dtype() == torch.float32


def test_who_draws_from_a_global_generator_has_a_property() -> None:
    """As with formulas: nothing that it returns is wrong."""

    def seeds(model, prompts, *, max_length):
        torch.manual_seed(0)
        return greedy(model, prompts, max_length=max_length)

    report = check(seeds, GREEDY, max_examples=20)
    assert report.verdict == "conforms"
    assert [found.name for found in report.properties] == ["generator"]


ODD = {
    "returned an empty tuple": lambda tokens, log_p, score, end: (),
    "returned no continuation of prompt [": lambda tokens, log_p, score, end: tokens[:, :0, :0],
    "returned nan for [": lambda tokens, log_p, score, end: (tokens, log_p * torch.nan, score),
    "-100 is no token: they are 0 … ": lambda tokens, log_p, score, end: (
        tokens.masked_fill(tokens == end, -100),
        log_p,
        score,
    ),
    "returned numbers of torch.complex128 beside tokens; expected real ones": lambda tokens, log_p, score, end: (
        tokens,
        log_p.to(torch.complex128),
    ),
}


@pytest.mark.parametrize("said", ODD)
def test_what_is_no_continuation_is_said(said: str) -> None:
    """In a line, and nothing that comes of it ends the check in an error."""

    def odd(model, prompts, **asked):
        return ODD[said](*beam(model, prompts, **asked)[:3], -1 if asked["end"] is None else asked["end"])

    assert check(odd, BEAM).headline.removeprefix("falsified: it ").partition(said)[1]


def rounded_to(dtype: torch.dtype):
    """Beam search that says its log-probabilities in a type."""

    def function(model, prompts, **asked):
        tokens, log_p, score = beam(model, prompts, **asked)[:3]
        return tokens, log_p.to(dtype), score.to(dtype)

    return function


def test_log_probabilities_of_single_precision_are_a_property_of_half_precision_wrong() -> None:
    """Nobody decodes in float64: what is right to float32 conforms, and is told what it was held to."""
    single = check(rounded_to(torch.float32), BEAM, max_examples=40)
    assert single.verdict == "conforms", str(single)
    assert [found.name for found in single.properties] == ["precision"]
    assert check(rounded_to(torch.float16), BEAM, max_examples=40).verdict == "falsified"
