"""Lines of a script in a function of their own."""

from __future__ import annotations

from verify.scripting.literals import commented
from verify.scripting.within import clash, within

LINES = '''import math


def told(x):
    """What is said.

  And how.
    """
    return f"""{x}
 at {math.floor(x)}""", "a
  b"


function = told'''.replace('"a\n  b"', '("a"\n  "b")')


def test_lines_in_a_function_do_what_they_did():
    """Strings of several lines stay as they are, to the column."""
    alone, apart = {}, {}
    exec(LINES, alone)
    exec(within(LINES, "made", "function"), apart)
    assert apart["made"]()(2.5) == alone["told"](2.5) == ("2.5\n at 2", "ab")
    assert "told" not in apart


def test_two_that_set_a_name_clash():
    """Unless both set it by the same import."""
    assert clash(LINES, "def told():\n    return 1")
    assert clash(LINES, "for told in (1, 2):\n    print(told)")
    assert clash("from os import path as math", LINES)
    assert not clash("import math", LINES)
    assert not clash("import os.path", "import os")
    assert not clash(LINES, "x = told\ndef other(told):\n    return told")


def test_what_anybody_says_stands_in_a_docstring():
    """No end of it, no character that ends a file, no half of a character."""
    said = 'a """ of \0 and \ud800 \\ here'
    text = f'"""{commented(said)}"""'
    text.encode()
    assert eval(text) == said.replace('"""', "'''")
