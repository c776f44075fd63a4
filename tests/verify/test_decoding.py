"""Checks of procedures: what is asked of a callable, what it may leave out, and failures that can be played again."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest
import torch
from torch import Tensor

import impl.bert
import verify
from impl.decoding import Recomputed, beam, greedy
from spec.language.registry import procedures
from tests.verify.scripts import users
from verify import check
from verify.counterexamples import replay
from verify.decoding.cases import Case
from verify.decoding.contract import Decoder
from verify.decoding.judges import REPEATS
from verify.decoding.models import KINDS, Attention, Uncached
from verify.decoding.tokens import Texts, texts
from verify.faults import Fault, Unusable
from verify.report import CheckResult, Report

GREEDY, BEAM = procedures()["decoding.greedy"], procedures()["decoding.beam"]


def plain(model: object, prompts: Tensor, *, max_length: int) -> Tensor:
    """Greedy decoding with nothing but what has to be: tokens alone are returned."""
    for _ in range(max_length):
        prompts = torch.cat((prompts, model(prompts)[:, -1:].argmax(-1)), 1)  # type: ignore[operator]
    return prompts[:, -max_length:]


def test_ours_conform() -> None:
    """From Python, by ID, as any formula."""
    for function, name in ((greedy, "decoding.greedy"), (beam, "decoding.beam")):
        report = verify.check(function, name, max_examples=30)
        assert report.verdict == "conforms", str(report)
        assert report.notes == []


def by_order(descending: bool):
    """Greedy decoding by sorting: of equally likely tokens the first, or the last."""

    def function(model, prompts, *, max_length):
        rows = []
        for prompt in prompts.tolist():
            for _ in range(max_length):
                logits = model(torch.tensor([prompt]))[0, -1].tolist()
                order = sorted(
                    enumerate(logits), key=lambda pair: (pair[1], pair[0] if descending else -pair[0])
                )
                prompt = [*prompt, order[-1][0]]
            rows.append(prompt[prompts.shape[1] :])
        return torch.tensor(rows)

    return function


def test_which_of_equally_likely_tokens_is_taken_is_a_property() -> None:
    """The statement takes the first in the vocabulary; who takes another conforms, and is told so, with the place."""
    first, last = (
        check(by_order(way), procedures()["decoding.greedy"], max_examples=10) for way in (False, True)
    )
    assert (first.verdict, last.verdict) == ("conforms", "conforms")
    assert [each.name for each in first.properties] == []
    assert [each.name for each in last.properties] == ["ties"]
    assert " instead of " in last.properties[0].says


def test_what_a_callable_does_not_take_it_is_not_asked_for() -> None:
    """Without lengths, without an end, tokens alone: it conforms, and the report says what was left out."""
    report = check(plain, GREEDY, max_examples=20)
    assert report.verdict == "conforms", str(report)
    assert [note.split(":")[0] for note in report.notes] == ["it takes no lengths", "it takes no end"]


def test_a_callable_that_lacks_what_is_needed_is_refused() -> None:
    """One line says which."""
    with pytest.raises(Unusable, match=r"decoding\.beam: the callable takes no width"):
        Decoder.of(plain, "decoding.beam")
    with pytest.raises(Unusable, match="not callable"):
        Decoder.of(3, "decoding.beam")


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("text", "returned str"),
        (torch.zeros(2, 3), "of torch.float32"),
        (
            torch.zeros(5, 3, dtype=torch.int64),
            r"tokens \(5, 3\) of torch.int64; expected integers \(1, tokens\)",
        ),
        ((torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, 3)), "returned numbers"),
    ],
)
def test_a_result_of_another_form_is_a_fault_that_says_which(returned: object, said: str) -> None:
    """Types and shapes are looked at before anything is compared."""
    decoder = Decoder.of(lambda model, prompts, max_length: returned, "decoding.greedy")
    case = Case("table", 3, 0, ((1,),), 3)
    from verify.decoding.judging import CaseJudge

    problem = CaseJudge(GREEDY, {}, decoder).problem(case)
    with pytest.raises(Fault, match=said):
        decoder.solve(case, problem)


def test_a_callable_that_raises_is_falsified_and_one_that_declines_is_not() -> None:
    """NotImplementedError says that a problem is not supported; where all are, nothing was said."""

    def declines(model: object, prompts: Tensor, *, max_length: int) -> Tensor:
        raise NotImplementedError("not today")

    def breaks(model: object, prompts: Tensor, *, max_length: int) -> Tensor:
        raise RuntimeError("broken")

    assert check(declines, GREEDY, max_examples=5).verdict == "inconclusive"
    report = check(breaks, GREEDY, max_examples=5)
    assert report.verdict == "falsified"
    assert "raised RuntimeError: broken" in report.falsified[0].message


WRONG = """
import torch


class Beams:
    reordered = False

    def __call__(self, model, prompts, *, lengths, max_length, width):
        \"\"\"A beam search whose cache keeps the order of the beams before they were ranked.\"\"\"
        found = [self.one(model, prompts[at : at + 1], lengths[at : at + 1], max_length, width) for at in range(len(prompts))]
        return tuple(map(torch.stack, zip(*found)))

    def one(self, model, prompt, length, max_length, width):
        x, state = model.start(prompt, length)
        total, tokens = torch.zeros(1, dtype=torch.float64), torch.zeros(1, 0, dtype=torch.int64)
        for _ in range(max_length):
            every = (total[:, None] + x.log_softmax(-1)).flatten()
            total, best = every.topk(min(width, len(every)))
            origin, token = best // x.shape[-1], best % x.shape[-1]
            tokens = torch.cat((tokens[origin], token[:, None]), 1)
            rows = origin if self.reordered else torch.arange(len(best)).clamp(max=len(x) - 1)
            x, state = model.step(state.reorder(rows), token)
        rest = width - len(total)
        return torch.nn.functional.pad(tokens, (0, 0, 0, rest)), torch.nn.functional.pad(total, (0, rest), value=-torch.inf)


beams = Beams()
calls = []


def forgetful(model, prompts, *, max_length):
    calls.append(1)
    for _ in range(max_length):
        logits = model(prompts)[:, -1:]
        prompts = torch.cat((prompts, logits.argmax(-1) if len(calls) % 2 else logits.argmin(-1)), 1)
    return prompts[:, -max_length:]


def early(model, prompts, *, max_length):
    return (model(prompts)[:, -1:].argmin(-1).expand(-1, max_length),)


def broken(model, prompts, *, max_length):
    raise RuntimeError("broken")


class Own:
    cached = True

    def __init__(self, vocabulary, seed):
        self.table = torch.randn(vocabulary, vocabulary, generator=torch.Generator().manual_seed(seed)).double()

    def __call__(self, tokens):
        return self.table[tokens]


def brought(model, prompts, *, max_length):
    return early(model, prompts, max_length=max_length)


brought.model = Own


def unknown_all(words, vocabulary, unknown):
    return [[unknown] for _ in words]


def unpacked(a, b, *, cls, sep, longest):
    ids = [cls, *a[: longest - 2], sep]
    return ids, [0] * len(ids)
"""


@pytest.fixture
def wrong(tmp_path: Path) -> Iterator[ModuleType]:
    """Callables of a user's, in a module of their own."""
    with users(tmp_path, own_texts=WRONG):
        yield importlib.import_module("own_texts")


@pytest.mark.parametrize(
    ("name", "procedure_id"),
    [
        ("beams", "decoding.beam"),
        ("forgetful", "decoding.greedy"),
        ("early", "decoding.greedy"),
        ("broken", "decoding.greedy"),
        ("brought", "decoding.greedy"),
        ("unknown_all", "bert.wordpiece"),
        ("unpacked", "bert.pack"),
    ],
)
def test_every_failure_is_replayed(wrong: ModuleType, name: str, procedure_id: str) -> None:
    """The reference, each requirement, the same call again: a replay of each says what was said."""
    report = check(getattr(wrong, name), procedures()[procedure_id], max_examples=20)
    assert report.falsified
    # What every other call gives hangs on how many there were: that it is not the same is all that is looked at.
    failed = [found for found in report.falsified if name != "forgetful" or REPEATS in found.name]
    for found in failed:
        again = replay(alone(report, found), target=f"own_texts:{name}")
        assert again.verdict == "falsified"
        assert name == "forgetful" or again.now.message == found.message


def alone(report: Report, found: CheckResult) -> Any:
    """The report with one of its checks, as a file has it."""
    return json.loads(json.dumps({**report.to_dict(), "checks": [found.to_dict()]}))


def test_a_cache_that_is_not_reordered_is_found_made_small_and_replayed(
    wrong: ModuleType, tmp_path: Path
) -> None:
    """The report shows one short prompt, and a replay fails on the callable, and not on the one that is mended."""
    report = check(wrong.beams, BEAM, max_examples=60)
    (found,) = (c for c in report.falsified if c.name == "requirement sum_of_log_p")
    assert found.counterexample is not None
    case = found.counterexample.calls["case"]
    assert case["kind"] == "attention"
    assert len(case["prompts"]) == 1
    assert replay(alone(report, found), target="own_texts:beams").verdict == "falsified"
    mended = WRONG.replace("reordered = False", "reordered = True")
    with users(tmp_path, mended_texts=mended):
        assert replay(alone(report, found), target="mended_texts:beams").verdict == "conforms"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_says_the_same_by_steps_and_as_a_whole(kind: str) -> None:
    """Prompts of different lengths, rows picked twice, with a cache and without."""
    model = KINDS[kind](5, 2)  # type: ignore[operator]
    prompts, lengths = torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1])
    for each in (model, Uncached(model)):
        logits, state = each.start(prompts, lengths)
        assert torch.allclose(logits[1], model(torch.tensor([[4]]))[0, -1])
        logits, state = each.step(state.reorder(torch.tensor([1, 0, 1])), torch.tensor([2, 2, 3]))
        for row, text in enumerate(([4, 2], [1, 2, 3, 2], [4, 3])):
            assert torch.allclose(logits[row], model(torch.tensor([text]))[0, -1])


def test_the_attention_model_depends_on_all_that_it_read() -> None:
    """Otherwise no cache could be wrong: another first token changes the logits after the third."""
    model = Attention(5, 0)
    one, other = model(torch.tensor([[1, 2, 3], [4, 2, 3]]))[:, -1]
    assert (one - other).abs().max() > 0.01


def test_a_time_limit_ends_a_check() -> None:
    """What did not finish says so."""
    report = check(greedy, GREEDY, time_limit=0.0)
    assert report.verdict == "inconclusive"
    assert {c.message for c in report.checks} == {"no example was judged in the time given"}
    assert "time ran out: 0 cases were judged" in report.headline


def test_lengths_of_texts_are_hardly_drawn_twice() -> None:
    """What is cut hangs on them: Hypothesis, which likes to draw again what it has drawn, is given no parts to do it with."""
    seen: list[tuple[int, int | None, int]] = []

    def one(case: Texts) -> None:
        seen.append((len(case.a), None if case.b is None else len(case.b), case.longest))

    drawn = hypothesis.given(texts("longest_first"))(one)
    hypothesis.settings(max_examples=100, database=None, deadline=None)(hypothesis.seed(0)(drawn))()
    assert len(set(seen)) > 70  # of 700
    assert any(b is not None and a > b and (room := n - 3) < 2 * b and room % 2 for a, b, n in seen)


def test_lists_of_pieces_are_counted() -> None:
    """One list for all words is no answer, and no fault of the checker's."""
    report = verify.check(lambda words, vocabulary: [list(words)], "bert.wordpiece", max_examples=20)
    assert report.verdict == "falsified"
    assert any("expected: a list for each word; 1 for " in check.message for check in report.falsified)


def test_a_headline_says_which_requirement_is_violated() -> None:
    """The first one that is."""

    def unknown_all(words: list[str], vocabulary: list[str], unknown: str) -> list[list[str]]:
        return [[unknown] for _ in words]

    report = verify.check(unknown_all, "bert.wordpiece", max_examples=40)
    assert report.headline.startswith("falsified: violated: ")
    assert report.hint.removeprefix("violated: ") in [
        r.sentence for r in procedures()["bert.wordpiece"].requirements
    ]


class Asked(torch.nn.Module):
    """Greedy decoding as a module: what it takes its forward pass says."""

    def forward(self, model, prompts, *, max_length, **others):
        """Keeps what it was asked beside."""
        self.others = set(others)
        return greedy(model, prompts, max_length=max_length, **others)


def test_a_module_is_asked_for_what_its_forward_pass_takes() -> None:
    """And one that takes anything is asked for what the procedure has: a greedy decoder is not told of beams."""
    module = Asked()
    report = check(module, GREEDY, max_examples=20)
    assert report.verdict == "conforms", str(report)
    assert report.notes == []
    assert module.others == {"lengths", "end"}


def test_who_writes_into_what_is_given_is_falsified() -> None:
    """With what became of it."""

    def writes(model, prompts, *, max_length, lengths, end):
        found = greedy(model, prompts, lengths=lengths, max_length=max_length, end=end)
        lengths.fill_(1)
        return found

    report = check(writes, GREEDY, max_examples=30)
    assert report.headline == "falsified: it wrote into the lengths that it was given: [2] became [1]"

    def consumes(a, b, *, cls, sep, longest):
        found = impl.bert.pack(a, b, cls=cls, sep=sep, longest=longest)
        a.clear()
        return found

    report = check(consumes, procedures()["bert.pack"], max_examples=30)
    assert report.headline == "falsified: it changed a list that it was given: [1000] became []"


FORGETFUL = torch.Generator().manual_seed(0)


def now_and_then(model, prompts, *, max_length, lengths, end):
    """Another log-probability in one call of five."""
    tokens, log_p, *_ = greedy(model, prompts, lengths=lengths, max_length=max_length, end=end)
    return tokens, log_p + (torch.rand((), generator=FORGETFUL) < 0.2)


def first_only(model, prompts, *, max_length, lengths, end):
    """The first prompt alone is answered where there are several."""
    found = greedy(model, prompts, lengths=lengths, max_length=max_length, end=end)
    return tuple(x[:1] for x in found)


def narrow(model, prompts, *, width, top, **others):
    """The beam is expanded by all tokens whatever is asked."""
    return beam(model, prompts, width=width, top=None, **others)


def raises(model, prompts, *, max_length):
    """There is no such method."""
    return model.generate(prompts, max_length=max_length)


@pytest.mark.parametrize(
    ("wrong", "procedure_id", "said"),
    [
        (raises, "decoding.greedy", "it raised AttributeError: 'Table' object has no attribute 'generate'"),
        (
            first_only,
            "decoding.greedy",
            "it returned tokens (1, 1) of torch.int64; expected integers (2, tokens)",
        ),
        (
            now_and_then,
            "decoding.greedy",
            "not the same from call to call: the same call gives another result",
        ),
        (narrow, "decoding.beam", "prompt [0] gets 2 continuations; expected 1"),
    ],
)
def test_a_headline_says_what_is_wrong(wrong, procedure_id: str, said: str) -> None:
    """That it raises, returns what cannot be read, is not the same twice, or else how it differs."""
    report = verify.check(wrong, procedure_id)
    assert report.headline.startswith(f"falsified: {said}"), report.headline


LIMITS = {
    "more than three prompts": lambda found, asked: len(asked["prompts"]) > 3,
    "prompts of more than five tokens": lambda found, asked: asked["prompts"].shape[1] > 5,
    "more than eight tokens to come": lambda found, asked: asked["max_length"] > 8,
    "more than eight beams": lambda found, asked: asked["width"] > 8,
    "more words than a byte has values": lambda found, asked: asked["model"].vocabulary > 255,
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_beam_search_that_is_wrong_beyond_a_limit_is_found(limit: str) -> None:
    """Right with fewer, its beams in the wrong order with more."""

    def limited(model, prompts, **others):
        found = beam(model, prompts, **others)
        beyond = LIMITS[limit](found, {"model": model, "prompts": prompts, **others})
        return tuple(x.roll(1, 1) for x in found) if beyond else found

    assert check(limited, BEAM).verdict == "falsified"


def test_what_half_precision_cannot_tell_apart_a_greedy_decoder_must() -> None:
    """Tokens that are nearly equally likely: in bfloat16 the first of them is taken."""

    def half(model, prompts, *, max_length):
        for _ in range(max_length):
            prompts = torch.cat((prompts, model(prompts)[:, -1:].bfloat16().argmax(-1)), 1)
        return prompts[:, -max_length:]

    assert check(half, GREEDY).verdict == "falsified"


def test_which_of_equal_beams_is_kept_is_a_property() -> None:
    """Ours keeps that of the first token; who keeps the last conforms, and is told so."""

    def last(model, prompts, **others):
        flipped = Recomputed(Backwards(model))
        tokens, *numbers = beam(flipped, model.vocabulary - 1 - prompts, **_turned(model, others))
        return (model.vocabulary - 1 - tokens, *numbers)

    ours, other = (check(f, BEAM, max_examples=10) for f in (beam, last))
    assert (ours.verdict, other.verdict) == ("conforms", "conforms"), str(other)
    assert [each.name for each in ours.properties] == []
    assert [each.name for each in other.properties] == ["ties"]
    assert "[4] instead of [0]" in other.properties[0].says


class Backwards:
    """A model of the same texts whose tokens are numbered from the end."""

    def __init__(self, model) -> None:
        self.model, self.vocabulary = model, model.vocabulary

    def __call__(self, tokens):
        """Logits, the last token's first."""
        return self.model(self.vocabulary - 1 - tokens).flip(-1)


def _turned(model, others):
    end = others["end"]
    return {**others, "end": None if end is None else model.vocabulary - 1 - end}
