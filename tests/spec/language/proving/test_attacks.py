"""False theorems that once passed, and their relatives, are refused: by what they misuse, one register each."""

from __future__ import annotations

import re

import pytest

from spec.language.proving.proof import check
from spec.language.theorem import Assurance
from tests.attack.board import FalseClaim
from tests.attack.refute import refuted
from tests.spec.language.proving.attacks.attack import Attack
from tests.spec.language.proving.attacks.blocks import BLOCKS
from tests.spec.language.proving.attacks.cases import CASES
from tests.spec.language.proving.attacks.derivatives import DERIVATIVES
from tests.spec.language.proving.attacks.expectations import EXPECTATIONS
from tests.spec.language.proving.attacks.look_ups import LOOK_UPS
from tests.spec.language.proving.attacks.maxima import MAXIMA
from tests.spec.language.proving.attacks.negations import NEGATIONS
from tests.spec.language.proving.attacks.powers import POWERS
from tests.spec.language.proving.attacks.signs import SIGNS

REGISTERS = (BLOCKS, CASES, DERIVATIVES, EXPECTATIONS, LOOK_UPS, MAXIMA, NEGATIONS, POWERS, SIGNS)
EVERY = [attack for register in REGISTERS for attack in register]


@pytest.mark.parametrize("attack", EVERY, ids=lambda attack: attack.name)
def test_a_false_theorem_is_refused(attack: Attack) -> None:
    """In one line that says what is missing."""
    checked = check(attack.theorem(), attack.formula, guard=False)
    assert checked.assurance == Assurance.REFUSED
    assert "\n" not in checked.refusal
    assert re.search(attack.refusal, checked.refusal), checked.refusal


@pytest.mark.parametrize("attack", [one for one in EVERY if one.shown], ids=lambda attack: attack.name)
def test_a_false_theorem_is_false(attack: Attack) -> None:
    """By evaluation: a side has another value somewhere, or none."""
    one = FalseClaim("registers", attack.name, attack.theorem, attack.formula, undefined=True)
    assert refuted(one, attack.theorem())


def test_no_two_attacks_have_the_same_name() -> None:
    """Each is found again by its name."""
    names = [attack.name for attack in EVERY]
    assert len(names) == len(set(names))
