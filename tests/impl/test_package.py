import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import impl
from spec.language.registry import formulas

PARTS = {
    "bigbird_table",
    "draw_direction",
    "fit",
    "attend",
    "causal_mask",
    "key_padding_mask",
    "trust_hidden",
    "log_weight",
    "additive_of_halves",
    "shift_distances",
    "sampled",
    "penalised",
    "labels_of_pieces",
    "values_of_words",
    "embed",
    "best_span",
    "positions_of_size",
}
"""Functions that have no statement of their own: their docstring names the function they are a part of."""


def test_importing_impl_imports_no_torch():
    """Its modules are imported when they are first named."""
    code = "import sys, impl; assert 'torch' not in sys.modules; impl.scores; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", impl.__all__)
def test_every_public_function_has_a_docstring_that_names_its_statement(name):
    """``impl.attention.causal`` says that it implements ``attention.causal``; whatever else is public says what it is."""
    module = getattr(impl, name)
    assert module.__doc__
    for each in module.__all__:
        public = getattr(module, each)
        assert public.__doc__
        assert not inspect.isfunction(public) or each in PARTS or f"``{name}.{each}``" in public.__doc__


def fields_of(kind, name):
    """The names in a named tuple, of which fields may be named tuples, or the name of what is none."""
    parts = getattr(kind, "__annotations__", {}) if hasattr(kind, "_fields") else {}
    return [own for key, part in parts.items() for own in fields_of(part, key)] if parts else [name]


@pytest.mark.parametrize("formula", formulas().values(), ids=lambda formula: formula.id)
def test_inputs_have_the_names_that_the_statement_gives_them(formula):
    """In its order, the weights of a layer in a tuple; what comes after them (a convention, a backend) is passed by name. Both
    stacks of ``transformer.model`` are tuples with names of their own, for what has other letters in the whole; in a tuple of
    tuples each letter of the whole has a mark behind that of its part.
    """
    subject, name = formula.id.split(".")
    function = getattr(getattr(impl, subject), name, None)
    if function is None:
        pytest.skip("stated, not implemented")
    parameters = inspect.signature(function).parameters.values()
    positional = [
        name for p in parameters if p.kind is not p.KEYWORD_ONLY for name in fields_of(p.annotation, p.name)
    ]
    stated = [given.name for given in formula.inputs]
    if formula.id == "transformer.model":
        assert len(positional) == len(stated)
        assert positional[:15] == stated[:15]
        assert positional[-2:] == stated[-2:]
    elif formula.id == "evoformer.block":
        assert len(positional) == len(stated)
        assert all(whole.startswith(own) for own, whole in zip(positional, stated, strict=True))
    else:
        assert positional == stated


def test_an_unknown_module_is_an_attribute_error_that_lists_the_modules():
    """As for any other attribute, and helpful."""
    with pytest.raises(
        AttributeError, match="no attribute 'atention'; its modules are activation, attention, bert, decoding"
    ):
        _ = impl.atention


def test_no_module_takes_from_another_what_that_keeps_to_itself():
    """What several modules share stands in a module of its own (``_checks``), under a name without an underscore."""
    home = Path(impl.__file__).parent
    modules = {file.stem for file in home.rglob("*.py")}
    taken = [
        f"{file.relative_to(home)}: {name.name}"
        for file in home.rglob("*.py")
        for line in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(line, ast.ImportFrom)
        for name in line.names
        if name.name.startswith("_") and name.name not in modules
    ]
    assert not taken
