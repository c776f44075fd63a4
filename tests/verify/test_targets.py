"""Targets: each stands for a real callable, takes the declared inputs, and absent peers are listed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch

import impl
from spec.language.formula import Formula
from spec.language.registry import find, procedures, statement, statement_ids
from verify.decoding.cases import Case
from verify.decoding.contract import Decoder
from verify.decoding.judging import VALUE, CaseJudge, kinds_for
from verify.decoding.tokens import Merging, Texts, TokenJudge, Words
from verify.edges import split_conventions
from verify.inputs.examples import Example, Space
from verify.inputs.size_rules import Supported
from verify.subject.caller import Caller
from verify.targets import PACKAGES, TARGETS, Target, choose_targets, peer_version
from verify.targets.optimization import torch_optimizer
from verify.targets.ours import is_implemented


def named(target: Target) -> str:
    """A target's label and formula."""
    return f"{target.label}-{target.formula_id}"


def drawn(target: Target, seed: int = 0, mask: int = 1) -> tuple[Caller, Example]:
    """A target's caller, and a batch of two of its formula's inputs at sizes it supports."""
    formula = find(target.formula_id)
    supported = Supported.of(formula, target.sizes, target.fixed or None)
    caller = Caller(target.load(), formula, name=target.label, sizes=supported)
    space = Space(formula, caller.takes_mask, supported=supported)
    batch = (2,) if any(t.role == "data" for t in formula.tensors) else ()
    recipe = next(iter(space.plan(1, seed)))._replace(mask=mask)
    return caller, space.example(recipe, "float32", batch)


def takes_a_case(target: Target) -> None:
    """Call a decoder for two prompts; it returns continuations of three tokens for each."""
    decoder = Decoder.of(target.load(), target.formula_id)
    kind = kinds_for(decoder, VALUE)[0]
    case = Case(kind, 5, 1, ((1, 2), (3, 0)), 3, width=2 if decoder.beams else 1)
    judge = CaseJudge(statement(target.formula_id), target.conventions, decoder)
    found = decoder.solve(case, judge.problem(case))
    assert [len(row) for row in found] == [case.width] * 2
    assert all(len(one.tokens) == 3 for row in found for one in row)


def makes_tokens(target: Target) -> None:
    """Call what makes tokens, for two words or two texts; it returns a list for each word, or as many ids as segments."""
    judge = TokenJudge.of(
        target.load(), statement(target.formula_id), statement(target.formula_id).choose(target.conventions)
    )
    if target.formula_id == "bert.wordpiece":
        assert len(judge.solve(Words(("ab", "b"), ("[UNK]", "a", "##b"), 100).problem({}))) == 2
    elif target.formula_id == "gpt.bpe":
        assert judge.solve(Merging(("ab", "b"), (("a", "b"),)).problem({})) == [("ab",), ("b",)]
    else:
        ids, segments = judge.solve(Texts((1003, 1005), (1007,), 11).problem(judge.conventions))
        assert len(ids) == len(segments) == 6


@pytest.mark.parametrize("target", TARGETS, ids=named)
def test_a_target_takes_the_declared_inputs(target: Target) -> None:
    """Every target that is installed is called with its formula's inputs, and returns the declared shapes and types."""
    if not target.present:
        pytest.skip(f"{target.peer} is not installed")
    if target.formula_id in procedures():
        (takes_a_case if target.formula_id.startswith("decoding.") else makes_tokens)(target)
        return
    caller, example = drawn(target)
    real = any(t.domain == "real" and t.role in ("data", "parameter") for t in caller.formula.tensors)
    arguments = caller.arguments(example.inputs, "float32", generator_seed=0)
    found = caller.results(arguments, example.sizes, example.batch, "float32" if real else None)
    assert len(found) == len(caller.returns)
    seeds = {"generator"} if "BigBird" in target.name else set()  # it seeds NumPy's for its table
    assert caller.offences.keys() <= seeds


def kernels_taken(
    kernel: str, formulas: Sequence[str], mask: int, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Target, int]]:
    """PyTorch's targets of these formulas, without and with gradients, and how often each calls that kernel of torch."""
    taken = []
    native = getattr(torch, kernel)

    def spy(*arguments: object) -> object:
        taken.append(arguments)
        return native(*arguments)

    monkeypatch.setattr(torch, kernel, spy)
    for target in TARGETS:
        if target.peer == "torch" and target.formula_id in formulas:
            caller, example = drawn(target, mask=mask)
            for grad in (False, True):
                taken.clear()
                caller(*caller.arguments(example.inputs, "float32", grad=grad))
                yield target, len(taken)


@pytest.mark.parametrize("mask", [0, 1, 2])
def test_the_fast_path_is_really_taken(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target that is called so computes with torch's native kernel, masked or not; the others do not."""
    kernel = "_native_multi_head_attention"
    for target, count in kernels_taken(kernel, ["attention.multi_head"], mask, monkeypatch):
        assert count == ("fast path" in target.name)


@pytest.mark.parametrize(
    "mask", [0, 1]
)  # the third leaves a source without words, which is a known deviation
def test_the_fast_path_of_encoders_is_really_taken(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's encoders that are called so compute with torch's native layer, masked or not; the others do not."""
    encoders = ["transformer.encoder_layer", "transformer.encoder", "transformer.model"]
    for target, count in kernels_taken("_transformer_encoder_layer_fwd", encoders, mask, monkeypatch):
        assert bool(count) == ("fast path" in target.name)


@pytest.mark.parametrize("target", TARGETS, ids=named)
def test_a_target_names_conventions_that_exist(target: Target) -> None:
    """The conventions of a target are conventions of its formula or of the check, and its sizes those of its inputs."""
    stated = statement(target.formula_id)
    stated.choose(split_conventions(target.conventions)[1])
    if isinstance(stated, Formula):
        Supported.of(stated, target.sizes)
    else:
        assert not target.sizes


def test_every_formula_that_we_implement_is_a_target() -> None:
    """What the sources of impl are found to hold is what importing it gives; no formula is left out, and none comes twice."""
    found = [
        formula_id
        for formula_id in statement_ids()
        if hasattr(getattr(impl, formula_id.split(".")[0]), formula_id.split(".")[1])
    ]
    plain = [t for t in TARGETS if t.peer == "impl" and t.keywords.keys() == {"formula_id"}]
    assert [t.formula_id for t in plain] == found


def test_an_implementation_is_found_without_importing_it() -> None:
    """Parts, which bear no formula's ID, are found as well: the registry tells which are formulas."""
    assert is_implemented("attention.self")
    assert is_implemented("attention.attend")
    assert not is_implemented("attention.weighted")
    assert not is_implemented("attention.nothing_like_it")
    assert not is_implemented("nothing.like_it")


def test_labels_are_unique() -> None:
    """A label and a formula identify a target: the list of known deviations stands on them."""
    assert len({(t.label, t.formula_id) for t in TARGETS}) == len(TARGETS)


def test_choosing() -> None:
    """Targets are chosen by formula, by peer, by label or by name; unknown names choose nothing."""
    assert choose_targets() == list(TARGETS)
    assert {t.peer for t in choose_targets((), ["torch"])} == {"torch"}
    assert [t.name for t in choose_targets((), ["nn.LayerNorm"])] == ["nn.LayerNorm"]
    assert [t.name for t in choose_targets((), ["torch nn.layernorm"])] == ["nn.LayerNorm"]
    assert {t.formula_id for t in choose_targets(["masking.mlm"])} == {"masking.mlm"}
    assert choose_targets((), ["jax"]) == []


def test_a_peer_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absence is told by find_spec, without importing the peer."""
    monkeypatch.setitem(PACKAGES, "transformers", "surely_not_installed_anywhere")
    assert peer_version("transformers") is None
    assert not next(t for t in TARGETS if t.peer == "transformers").present
    assert peer_version("torch")


def test_the_list_of_targets_imports_no_framework() -> None:
    """Importing the targets imports neither torch nor transformers."""
    code = (
        "import sys, verify.targets as t; [x.present for x in t.TARGETS]; "
        "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("target", [target for target in TARGETS if target.needs], ids=lambda t: t.label)
def test_what_a_version_has_is_read_off_its_source_as_it_is_found_in_it(target: Target) -> None:
    """The list, which imports nothing, and a run agree on whether a target is there."""
    assert target.installed == (not target.explain_absence())
    assert not replace(target, needs=f"{target.needs}_not").installed


def test_a_fused_step_is_given_state_of_one_shape_and_layout() -> None:
    """torch's fused step reads memory, whatever its shape: it writes beyond a moment of fewer rows, and takes a gradient that is
    laid out otherwise than the weights in another order. The first step goes against the gradient.
    """
    g = torch.tensor([[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]]).t()
    zeros, rest = torch.zeros(2, 3), torch.zeros(3)
    step = torch_optimizer("AdamW", fused=True)
    weights, _, second = step(zeros, g, rest, rest, 1, 0.5, 0.5, 0.5, 0.5, 0.0)
    assert torch.equal(weights.sign(), -g.sign())
    assert second.shape == g.shape
    weights = torch.nn.Parameter(zeros)
    weights.grad = g
    torch.optim.AdamW([weights], fused=True).step()
    assert not torch.equal(weights.sign(), -g.sign()), "torch has mended it: no copies of one layout needed"
