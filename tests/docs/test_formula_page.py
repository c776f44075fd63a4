"""The page of a formula: the reason first, each letter with its meaning, what goes wrong, sources; one record a theorem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

import pytest
from generate import bibliography, derivations, formula_page, lines, source, theorems, worked

import impl.attention
from spec.language import define, indices, sizes
from spec.language.expr import Ref
from spec.language.formula import Formula, Worked, data, pitfall, tensor
from spec.language.known import forget
from spec.language.lines import Definition
from spec.language.proving.proof import check
from spec.language.registry import find, formulas
from spec.language.trees import walk

every_formula = pytest.mark.parametrize("formula", formulas().values(), ids=lambda f: f.id)


@pytest.fixture
def stated() -> Iterator[Formula]:
    """A formula that nothing implements."""
    (n,) = sizes("n")
    (i,) = indices(i=n)
    x = data("x", n, meaning="what is doubled")
    y = tensor("y", n, meaning="the double")
    yield Formula(
        "test.double",
        "Doubling",
        why="How does one get twice as much? By adding the same again.",
        sizes={n: "entries"},
        inputs=(x,),
        lines=(define(y[i], x[i] + x[i]),),
        outputs=(y,),
        pitfalls=(pitfall("squared instead", mutant="squared"),),
        worked=(Worked("Twice three", {"x": [3]}, ["6.0"], 1),),
    )
    forget("test.double")


def test_a_page_begins_with_the_reason() -> None:
    """What the formula is for stands between its title and its statement, set apart as the lead."""
    text = formula_page.page(find("normalization.rms_norm"))
    why = find("normalization.rms_norm").why
    assert text.index("# Root mean square") < text.index(f"{why}\n{{: .lead }}") < text.index("## Statement")


@every_formula
def test_every_letter_stands_in_the_table_with_its_meaning(formula: Formula) -> None:
    """Inputs, lines, results and sizes."""
    text = lines.symbols_table(formula)
    shown = [t for t in (*formula.tensors, *formula.outputs) if t.role != "internal" or t in formula.outputs]
    meanings = [t.meaning for t in shown] + [formula.sizes[s] for s in lines.sizes_of(formula)]
    assert all(f"<td>{escape(meaning)}</td>" in text for meaning in meanings)


@every_formula
def test_what_goes_wrong_says_what_shows_it(formula: Formula) -> None:
    """A row for each mistake; a theorem that shows it is linked where the page has it."""
    text = lines.pitfalls(formula)
    assert all(f"<td>{escape(p.text)}</td>" in text for p in formula.pitfalls)
    anchors = {derivations.anchor(theorem.name) for theorem in formula.theorems.values()} | {"conventions"}
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors


@every_formula
def test_every_source_leads_to_its_entry(formula: Formula) -> None:
    """And the entry names the formula among those that cite it."""
    entries = bibliography.entries("decks") + bibliography.entries("papers")
    for cited in (*formula.sources, *(w.source for w in formula.worked if w.source is not None)):
        found = re.search(r'href="bibliography\.html#([^"]+)"', bibliography.cited(cited))
        assert found is not None
        assert f'<span id="{found[1]}">' in entries
    assert f'href="{formula.id}.html"' in entries


@every_formula
def test_worked_numbers_agree_with_the_statement(formula: Formula) -> None:
    """Whoever worked them out: a source, which is named, or we."""
    text = worked.section(formula)
    assert "differs" not in text
    assert text.count("By hand") == sum(w.source is None for w in formula.worked)
    assert text.count("Printed in the source") == sum(w.source is not None for w in formula.worked)


@pytest.mark.parametrize("formula_id", ["attention.softmax", "normalization.layer_norm"])
def test_a_theorem_has_one_record_and_says_nothing_in_it_twice(formula_id: str) -> None:
    """What had to hold is listed once, its mathematics typeset, and apart from the derivation."""
    formula = find(formula_id)
    met = 0
    for theorem in formula.theorems.values():
        text = theorems.written(check(theorem, formula))
        derived, *records = text.split('"The checker’s record"')
        assert len(records) == 1
        assert "href" not in derived
        listed = re.findall(r"<li>.*?</li>", records[0])
        assert len(listed) == len(set(listed))
        assert all("<math" in line for line in listed)
        met += len(listed)
    assert met > 0


def test_a_proof_of_one_reason_is_that_reason() -> None:
    """Its claim is not written again."""
    formula = find("positional.sinusoidal")
    text = theorems.written(check(formula.theorems["bounded"], formula))
    assert "**(1)**, **(2)** At once: sines and cosines do." in text
    assert "derivation" not in text


def test_a_rotation_is_written_in_blocks() -> None:
    """Four lines that give a matrix pair by pair are one equation, where theorems apply it, with its letters explained."""
    text = theorems.section(find("positional.sinusoidal"))
    assert len(re.findall("<mtable", text[: text.index("{#theorem")])) == 2
    assert "pairs that are turned" in text


def test_lines_that_are_no_blocks_stay_lines() -> None:
    """Of a vector, or of several tensors."""
    step = find("recurrent.lstm").applied[0]
    definitions: tuple[Definition, ...] = step.flat().lines
    assert len(lines.in_blocks(definitions)) == len(definitions)


def test_a_statement_without_a_page_is_explained_where_it_is_applied() -> None:
    """What a recurrent step gives, and its letters where they mean something else than the network's."""
    text = lines.by_convention(find("recurrent.rnn"))
    assert "the state after: the old one and the element, squashed together" in text
    assert "the element that arrives" in text
    assert "what each unit of the state takes from the element" not in text


def test_a_formula_that_nothing_implements_has_a_page(stated: Formula) -> None:
    """It is stated: no code, no measured error, and how to hold a function to it."""
    text = formula_page.page(stated)
    assert "attnspec check module:function --formula test.double" in text
    assert "## Error model" not in text
    assert "```python" not in text
    for part in ("## Statement", "the double", "squared instead", "Twice three", "## Gradient"):
        assert part in text


def test_helpers_are_what_is_not_public() -> None:
    """Whatever their names: shared ones bear no underscore."""
    text = source.helpers(impl.attention.softmax)
    assert "def weighted" not in text
    named = re.findall(r"^def (\w+)", text, re.MULTILINE)
    assert named
    assert not set(named) & set(impl.attention.__all__)
    assert any(not name.startswith("_") for name in named)


def test_a_line_that_copies_another_is_not_shown() -> None:
    """What an applied statement calls s is written by the name that it has here; values stay those of the statement."""
    shown = lines.without_copies(find("attention.causal").flat().lines)
    assert [line.name for line in shown] == ["mask", "s", "a", "z"]
    whole = find("transformer.encoder_layer").flat().lines
    less = lines.without_copies(whole)
    assert len(less) < len(whole)
    assert {line.name for line in less} <= {line.name for line in whole}
    read = {part.tensor.name for line in less for part in walk(line.right) if isinstance(part, Ref)}
    defined = {line.name for line in less}
    given = {str(item) for item in find("transformer.encoder_layer").inputs}
    assert read <= defined | given
