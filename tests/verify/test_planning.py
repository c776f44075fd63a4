"""Which checks stand apart, so that a second process may make them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spec.language.registry import find
from verify.planning import plan_of
from verify.properties.judge import Judge
from verify.properties.scenarios import applicable
from verify.report import Report
from verify.search.search import Clock
from verify.properties.setting import Setting
from verify.subject.caller import Caller
from verify.targets.ours import implementation

KINDS = ["float64", "float32"]
WHOLE = {"robustness: large sizes", "robustness: a large batch"}


def parted(formula_id: str) -> tuple[list[str], list[str], set[str]]:
    """The titles of the checks that stand with all others, of those that stand apart, and of all scenarios of gradients."""
    formula = find(formula_id)
    judge, report = Judge(formula), Report(formula_id, "ours", {})
    setting = Setting(judge, Caller(implementation(formula_id), formula), 0, 5, Clock(None))
    plan = plan_of(setting, KINDS, report, False)
    titles: list[list[str]] = [
        [work.title for work in plan if work.apart is apart] for apart in (False, True)
    ]
    assert [work.title for work in plan] == [*titles[0], *titles[1]], "those that stand apart come last"
    return titles[0], titles[1], {f"robustness: {s.name}" for s in applicable(judge) if s.gradients}


@pytest.mark.parametrize("formula_id", ["attention.multi_head", "normalization.layer_norm", "recurrent.rnn"])
def test_of_a_short_statement_gradients_and_examples_of_their_own_stand_apart(formula_id: str) -> None:
    """With the grades they take about as long as all else."""
    _, apart, gradients = parted(formula_id)
    assert gradients
    assert set(apart) == gradients | WHOLE


@pytest.mark.parametrize("formula_id", ["transformer.encoder_layer", "bert.encoder"])
def test_of_a_statement_of_many_lines_the_grades_alone_stand_apart(formula_id: str) -> None:
    """They take as long as all else; what they are in, the caller adds."""
    rest, apart, gradients = parted(formula_id)
    assert not apart
    assert gradients | WHOLE <= set(rest)


@pytest.mark.parametrize("formula_id", ["recurrent.lstm_stacked", "recurrent.stacked"])
def test_of_a_dear_statement_of_many_steps_gradients_stand_apart(formula_id: str) -> None:
    """Its large sizes are made with all else."""
    rest, apart, gradients = parted(formula_id)
    assert gradients
    assert set(apart) == gradients
    assert set(rest) >= WHOLE


def test_of_a_law_nothing_stands_apart() -> None:
    """What is drawn is drawn in one process."""
    assert not parted("masking.mlm")[1]


FIRST = """
import sys
import verify.checking
import torch
before = set(sys.modules)
x = torch.ones(3, requires_grad=True)
torch.autograd.grad([x * 2], [x], [torch.ones(3)])
assert not {name for name in set(sys.modules) - before if name.startswith("torch")}
"""


def test_a_first_backward_pass_imports_nothing() -> None:
    """Each process of a check would wait for it."""
    subprocess.run([sys.executable, "-c", FIRST], check=True)
