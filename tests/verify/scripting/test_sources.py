"""Sources of what cannot be imported: with all that they speak of, under names of their own, and refused where that fails."""

from __future__ import annotations

import importlib
import sys

import pytest

from verify.scripting.naming import Unwritten
from verify.scripting.sources import Sources

OURS = {
    "given/__init__.py": "from given.numbers import area as area\n",
    "given/numbers.py": '''
from math import pi as circle

ROUND, SQUARE = 2.0, 3.0


def size(x):
    """Not of a shape."""
    return x


def double(x):
    return 2 * x


def area(r, *, of=ROUND):
    ROUND = size(r)
    (twice, *_) = [half for part in (ROUND,) if (half := part / 2) and (SQUARE := half)]
    return circle * ROUND**of * SQUARE / half
''',
    "given/names.py": """
from __future__ import annotations

import math
import os.path
from given import numbers
from given.numbers import double as twice
from given.numbers import size as other


def size(x: undefined = numbers.SQUARE) -> undefined:
    return math.floor(other(x)) + numbers.SQUARE


class Table:
    size = 5

    def many(self, math=7):
        return [size for size in range(math)] + [size(self.size), Table.size]


def quadruple(x):
    double = twice(x)
    return twice(double)


def rooted(parts):
    return os.path.join(*parts)


def wrapped(f):
    return f


@wrapped
def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def late():
    from given import names

    return names


def whole():
    return numbers


def left():
    try:
        return MISSING
    except NameError as error:
        return error


made = [lambda x, y=y: x + y for y in (10, 20)], [lambda x, y=y: x - y for y in (10, 20)]


def counted(start):
    step = {"by": 2}

    def plain(x, *, more=start):
        return x + more

    def held(x):
        return x + step["by"]

    return plain, held
""",
}


@pytest.fixture
def names(tmp_path, monkeypatch):
    """A package that a script cannot import."""
    for path, text in OURS.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("given.names")
    for name in [name for name in sys.modules if name.partition(".")[0] == "given"]:
        del sys.modules[name]


def loaded(sources):
    """What the lines define, where the package is not to be had."""
    text = "from __future__ import annotations\n" + "\n".join(sources.lines())
    assert "given" not in text
    found = {}
    exec(text, found)
    return found


def test_a_function_brings_what_it_speaks_of_and_no_more(names):
    """Constants and imports come along, what a parameter or a variable hides does not."""
    sources = Sources(["given"])
    said = sources.of(names.numbers.area)
    found = loaded(sources)
    assert found[said](3.0) == pytest.approx(28.274333882308138)  # π·3², as the definition has it
    assert not {"SQUARE_2", "Table"} & {*found}


def test_two_of_one_name_are_told_apart(names):
    """Of two functions called alike the second gets another name, where it is defined and wherever it is called."""
    sources = Sources(["given"], reserved=("odd",))
    table, odd = sources.of(names.Table), sources.of(names.odd)
    found = loaded(sources)
    assert found[table]().many(2) == [0, 1, 8.0, 5]
    assert odd == "odd_2"
    assert found[odd](7)


def test_what_a_function_calls_its_own_hides_nothing(names):
    """An import under another name keeps apart from a variable that has the name it was made with."""
    sources = Sources(["given"])
    said = sources.of(names.quadruple)
    assert loaded(sources)[said](3) == 12


def test_a_package_of_another_is_imported_whole(names):
    """What a module imports by a dotted name is imported so."""
    sources = Sources(["given"])
    said = sources.of(names.rooted)
    assert loaded(sources)[said](["a", "b"]).startswith("a")
    assert "import os.path" in sources.lines()


@pytest.mark.parametrize("name", ["late", "whole", "left"])
def test_what_no_line_says_is_refused(names, name):
    """An import of the package inside, a module of it as a value, a name that is nowhere."""
    with pytest.raises(Unwritten):
        Sources(["given"]).of(getattr(names, name))


def test_lambdas_of_one_line_are_told_apart(names):
    """Each is found by where its own instructions stand, and keeps the default it was made with."""
    sources = Sources(["given"])
    said = [sources.of(one, "step") for row in names.made for one in row]
    found = loaded(sources)
    assert [found[name](1) for name in said] == [11, 21, -9, -19]


def test_what_a_function_holds_is_a_constant_or_refused(names):
    """A number that a function was made with is written; a dictionary that may change is not."""
    plain, held = names.counted(4)
    sources = Sources(["given"])
    said = sources.of(plain)
    assert loaded(sources)[said](1) == 5
    with pytest.raises(Unwritten):
        Sources(["given"]).of(held)


def test_what_needs_nothing_of_ours_is_imported(names):
    """A function of another package stands in its import alone."""
    sources = Sources(["given"])
    assert sources.of(importlib.import_module("json").dumps) == "dumps"
    assert sources.lines() == ["from json import dumps"]
