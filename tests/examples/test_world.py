"""Components of libraries: how they are listed, adapted and recorded."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from examples.world import record
from examples.world.__main__ import RECORDS, main
from examples.world.component import adapters, components, installed, modules

LIBRARIES = Path(__file__).parents[2] / "examples" / "world" / "libraries"
MOST = 5


@pytest.mark.parametrize("path", sorted(LIBRARIES.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_a_component_is_adapted_in_at_most_five_lines(path: Path):
    """What stands below the docstring of each; what a module lists is the library that it is called after."""
    source = path.read_text(encoding="utf-8")
    functions = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    assert functions
    for function in functions:
        assert ast.get_docstring(function), function.name
        assert function.end_lineno - function.body[0].end_lineno <= MOST, function.name
    assert f'of("{path.stem.replace("_", "-")}")' in source


def test_a_component_is_checked_and_replaces_what_was_recorded_of_it(tmp_path: Path):
    """One entry a component, with its version and verdict, however often it is checked."""
    path = tmp_path / "found" / "today.json"
    few = ["--library", "torch", "--component", "nn.RMSNorm", "--max-examples", "6", "--record", str(path)]
    main(few)
    main([*few, "--seed", "1"])
    (entry,) = record.read(path)
    assert (entry["library"], entry["component"], entry["verdict"]) == ("torch", "nn.RMSNorm", "conforms")
    assert entry["version"] == installed("torch")
    assert adapters("torch")["nn.RMSNorm", "normalization.rms_norm"] == [
        'return module(lambda d, eps: nn.RMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)'
    ]


def test_names_are_those_of_distributions():
    """A module's name with hyphens; a library that is not installed has no version."""
    assert {"torch", "x-transformers", "keras"} <= set(modules())
    assert installed("no-such-library-at-all") is None
    assert {each.name for each in components("torch")} >= {"nn.LSTM", "nn.MultiheadAttention"}


def test_what_is_recorded_is_listed():
    """No entry is of a component that is no longer there: the page shows how it is adapted."""
    for path in RECORDS.glob("*.json"):
        for entry in record.read(path):
            if entry["component"]:
                assert (entry["component"], entry["formula"]) in adapters(entry["library"]), entry
