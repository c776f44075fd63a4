"""Modules that cannot be imported without a package, whichever way they come to import it."""

from __future__ import annotations

import importlib
import sys

import pytest

from verify.scripting.needed import needs
from verify.scripting.sources import Sources

FORMS = {
    "beside_another": "import json, sought\n",
    "where_it_may_fail": "try:\n    from sought import one\nexcept ImportError as error:\n    raise SystemExit from error\n",
    "by_its_name": "import importlib\nmade = importlib.import_module('sought')\n",
    "what_another_makes": "from far.beside_another import TWO\n",
    "everything": "from sought import *\n",
}
FREE = {
    "for_types_alone": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sought\n",
    "inside_of_a_function": "def late():\n    import sought\n    return sought\n",
    "alike_by_name": "import sought_not\n",
}


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A package whose modules import another, and one that its own beginning imports what needs it."""
    files = {f"far/{name}.py": f"{text}TWO = 2\n" for name, text in (FORMS | FREE).items()}
    files |= {"sought.py": "one = 1\n", "sought_not.py": "", "far/__init__.py": ""}
    files |= {
        "whole/__init__.py": "from .adapted import one\n",
        "whole/adapted.py": "from sought import one\n",
    }
    files["whole/parts.py"] = "def double(x):\n    return 2 * x\n"
    files["using.py"] = (
        "import sought\nfrom whole.parts import double\n\n\ndef quadruple(x):\n    return double(double(x))\n"
    )
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    before = {*sys.modules}
    yield importlib.import_module
    for name in {*sys.modules} - before:
        if name.partition(".")[0] in ("far", "whole", "using", "sought", "sought_not"):
            del sys.modules[name]


@pytest.mark.parametrize("name", FORMS)
def test_what_is_imported_as_a_module_is_read_is_needed(modules, name):
    """On a line with others, where it may fail, by its name, through another module."""
    assert needs(modules(f"far.{name}"), ("sought",))


@pytest.mark.parametrize("name", FREE)
def test_what_is_not_imported_then_is_not_needed(modules, name):
    """For types alone, when a function is called, or another whose name begins alike."""
    modules("sought")
    assert not needs(modules(f"far.{name}"), ("sought",))


def test_a_library_is_asked_for_its_own_sake_alone():
    """What a library needs is not followed through all of it."""
    assert not needs(sys.modules["pytest"], ("pluggy_not",))
    assert needs(importlib.import_module("json.decoder"), ("json",))


def test_what_a_package_needs_is_needed_by_its_modules(modules):
    """A module is copied where the beginning of its package imports what is sought, by whomever it is called."""
    for found, called in ((modules("whole.parts").double, 6), (modules("using").quadruple, 12)):
        sources = Sources(["sought"])
        said = sources.of(found)
        names = {}
        exec("\n".join(sources.lines()), names)
        assert "import" not in "\n".join(sources.lines())
        assert names[said](3) == called
