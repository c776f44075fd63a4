"""Scripts of theorems and scenes of use: they need torch and the callable alone, fail for a wrong one and pass a right one."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch

from tests import mutants
from tests.verify import wrong_products
from tests.verify.playing import played
from verify import check, script

pytestmark = pytest.mark.usefixtures("ungraded")

SCENES = [
    ("buffer", "robustness: same shapes, other values"),
    ("last_weights", "robustness: same shapes, other values"),
    ("once", "robustness: same inputs twice"),
    ("strided", "robustness: non-contiguous inputs"),
    ("self_shortcut", "robustness: one tensor for several inputs"),
    ("first_only", "robustness: a batch equals its members"),
    ("first_only", "robustness: two leading dimensions"),
    ("coarse_without_gradients", "robustness: with and without gradients"),
    ("coarse_in_inference", "robustness: in inference mode"),
    ("damaging", "robustness: leaves its inputs alone"),
    ("meddling", "robustness: leaves global state alone"),
    ("exchanging", "robustness: leaves global state alone"),
    ("reads_by_pointer", "robustness: gradients from cotangents stored otherwise"),
    ("needs_the_first", "robustness: gradients of one input at a time"),
    ("kept_in_one_place", "robustness: gradients after another call"),
    ("broken", "gradient in float64"),
]
CATALOGUE = [  # equalities, gradients, bounds, other formulas of results, faults; scenes with masks, weights, ids, laws
    ("normalization.rms_norm", "eps_outside", "theorem mean_square"),
    ("normalization.rms_norm", "statistic_detached", "theorem backward"),
    ("normalization.rms_norm", "scaled_in_place", "theorem backward"),
    ("normalization.rms_norm", "over_the_batch", "robustness: gradients of a batch"),
    ("normalization.rms_norm", "over_the_positions", "robustness: a batch of one"),
    ("attention.scaled_dot_product", "keys_dropped", "theorem convex_hull"),
    ("attention.scaled_dot_product", "finite_minimum", "theorem masked_for_all"),
    ("attention.scaled_dot_product", "dropout_left_on", "theorem convex_hull"),
    ("attention.scaled_dot_product", "batch_softmax", "robustness: expanded inputs"),
    ("attention.scaled_dot_product", "kernel_as_is", "robustness: NaN where nothing is read"),
    ("recurrent.stacked", "carried_upwards", "theorem another_layer"),
    ("recurrent.lstm_cell", "no_second_tanh", "theorem bounded"),
    ("scores.general", "keys_kept_by_weights", "robustness: some inputs change, the others stay"),
    ("embedding.token", "ids_in_16_bits", "robustness: large sizes"),
    ("normalization.layer_norm", "members_past_64_from_the_first", "robustness: a large batch"),
    ("feedforward.relu", "members_past_128_detached", "robustness: a large batch"),
    ("masking.mlm", "calls_in_pairs", "robustness: same seed, same result"),
    ("masking.mlm", "global_generator", "robustness: leaves global state alone"),
]
OURS = {"flat", "opened", "called", "hollow"}
"""What a few variants of the catalogue use of ours."""
INSTEAD = "import importlib; setattr(importlib.import_module({!r}), {!r}, importlib.import_module({!r}).{})"
"""A variant that is right takes the place of a wrong one."""


def copied(folder: Path) -> None:
    """The catalogue of wrong variants as a package that needs nothing of ours."""
    home = Path(mutants.__file__).parent
    for path in home.glob("*.py"):
        text = path.read_text().replace("from tests.mutants", "from wrongs")
        text = re.sub(r"^from verify\..*\n", "", text, flags=re.MULTILINE)  # others have need of it
        (folder / "wrongs" / path.name).write_text(text)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder with a user's module, and the catalogue."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "wrongs").mkdir()
    copied(folder)
    shutil.copy(wrong_products.__file__, folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("wrong_products", None)
    shutil.rmtree(folder)


def written(report, name, target):
    """The script of the falsified check of this name."""
    failed = next((c for c in report.falsified if c.name == name), None)
    assert failed is not None, (name, [c.name for c in report.falsified])
    return script(failed, target, report.formula_id)


@pytest.fixture(scope="module")
def seen(own):
    """What every script shows for the wrong callable and for a right one: exit code and output."""
    cases = []
    module = importlib.import_module("wrong_products")
    for name, by in SCENES:
        conventions = {"shapes": "every", "generator": "untouched"}
        report = check(
            getattr(module, name), "scores.dot", max_examples=40, causes=False, conventions=conventions
        )
        text = written(report, by, f"wrong_products:{name}")
        cases.append((name, by, text, INSTEAD.format("wrong_products", name, "wrong_products", "right")))
    every = mutants.variants(tuple({formula for formula, _, _ in CATALOGUE}))
    for formula, name, by in CATALOGUE:
        wrong = next(v for v in every if v.formula_id == formula and v.name == name)
        right = next(
            v
            for v in every
            if (v.is_right, v.formula_id, v.conventions) == (True, formula, wrong.conventions)
            and not OURS & {*v.call.__code__.co_names}
        )
        torch.manual_seed(3)  # one of them draws from it
        report = check(wrong.call, formula, max_examples=24, causes=False, **wrong.options)
        home, other = (v.call.__module__.replace("tests.mutants", "wrongs") for v in (wrong, right))
        text = written(report, by, f"{home}:{wrong.call.__name__}")
        instead = INSTEAD.format(home, wrong.call.__name__, other, right.call.__name__)
        cases.append((wrong.call.__name__, by, text, instead))
    wrongs = played(own, [text for _, _, text, _ in cases])
    rights = played(own, [(instead, text) for _, _, text, instead in cases])
    return {
        (name, by): (text, *ended) for (name, by, text, _), *ended in zip(cases, wrongs, rights, strict=True)
    }


KEYS = [*SCENES, *((name, by) for _, name, by in CATALOGUE)]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key[0]}: {key[1]}")
def test_a_script_needs_the_callable_alone_fails_for_it_and_passes_a_right_one(seen, key):
    """In one sentence it says what is seen and what was expected, or that the call fails."""
    text, (code, said), (after, then) = seen[key]
    assert not re.search(r"^\s*(import|from) (verify|spec|impl)\b", text, re.MULTILINE)
    assert code == 1, said
    assert re.search(r"got .*, expected|Error: ", said), said
    assert (after, then) == (0, "does not fail\n"), then


def test_every_scene_and_kind_of_claim_has_a_script(seen):
    """All scenes that are played; claims that are equalities, bounds and gradients."""
    from verify.properties import shared_inputs
    from verify.properties.scenarios import LAWS, VALUES, WRITTEN_TO

    scenes = {by.removeprefix("robustness: ") for _, by in KEYS}
    rare = {"sizes of one", "at a boundary", "no leading dimension", "three leading dimensions"}
    rare |= {shared_inputs.VALUES, shared_inputs.GRADIENTS, WRITTEN_TO}  # which are properties
    assert {scenario.name for scenario in (*VALUES, *LAWS)} - scenes <= rare
    texts = [text for text, *_ in seen.values()]
    for kind in ("related(left, '=',", "related(left, '<=',", "slopes(", "look(", "same("):
        assert any(kind in text for text in texts), kind
