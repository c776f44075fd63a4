"""A mask is passed to the parameter that takes it, by its name where another stands in its place; scripts do the same."""

from __future__ import annotations

import functools
import importlib

import pytest
import torch

from impl.attention import scaled_dot_product
from spec.language.registry import find
from tests.verify.scripts import run_alone, users
from verify import adapt, check, script
from verify.faults import Unusable
from verify.subject.callables import find_unread
from verify.subject.signature import read_signature

pytestmark = pytest.mark.usefixtures("ungraded")

FORMULA = find("attention.scaled_dot_product")
MODULE = """
import torch
import torch.nn.functional as F


def right(q, k, v, *, mask=None):
    z = F.scaled_dot_product_attention(q, k, v, mask)
    return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, 0.0)


def ignoring(q, k, v, *, mask=None):
    return right(q, k, v)


def gathered(q, *rest, attn_mask=None):
    return right(q, *rest, mask=attn_mask) * 1.001
"""


def of_three(q, k, v):
    """No mask."""


def by_place(q, k, v, mask=None):
    """Where it is expected."""


def of_another_name(q, k, v, allowed=None):
    """Where it is expected, as something else."""


def by_name_alone(q, k, v, *, mask=None):
    """By name alone."""


def behind_others(q, k, v, dropout=None, attention_mask=None):
    """Behind another that need not be given."""


def gathered(q, *rest, attn_mask=None):
    """By name alone; what is passed by place would be gathered."""


def twice(q, k, v, mask=None, attn_mask=None):
    """The one in its place."""


def needed(q, k, v, scale, mask=None):
    """What stands in its place has to be given."""


@pytest.mark.parametrize(
    ("fn", "mask", "by_name"),
    [
        (of_three, False, ""),
        (by_place, True, ""),
        (of_another_name, True, ""),
        (by_name_alone, True, "mask"),
        (behind_others, True, "attention_mask"),
        (gathered, True, "attn_mask"),
        (twice, True, ""),
        (needed, True, ""),
        (functools.partial(by_name_alone), True, "mask"),
        (functools.partial(behind_others, dropout=0.1), True, "attention_mask"),
        (lambda *inputs: None, True, ""),
        (torch.nn.functional.scaled_dot_product_attention, True, ""),
    ],
)
def test_who_takes_the_mask(fn, mask, by_name):
    """The last place, a parameter of a usual name, or nobody."""
    found = read_signature(fn, FORMULA, (), "fn")
    assert (found.mask, found.by_name) == (mask, by_name)


@torch.jit.script
def scripted(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, p: float = 0.0, mask: torch.Tensor | None = None
):
    """Scripted: its parameters are those of its schema."""
    return q


class Attention(torch.nn.Module):
    """A module."""

    def forward(self, q, k, v, is_causal=False, attn_mask=None):
        """Behind another."""


@pytest.mark.parametrize(
    ("fn", "by_name"),
    [
        (scripted, "mask"),
        (functools.partial(Attention(), is_causal=True), "attn_mask"),
        (Attention(), "attn_mask"),
    ],
)
def test_parameters_are_those_of_what_is_called(fn, by_name):
    """Of a scripted function, and of a module's forward pass, also of a part of it."""
    assert read_signature(fn, FORMULA, (), "fn").by_name == by_name


@pytest.mark.parametrize(
    ("fn", "left_out", "by_name"),
    [
        (lambda q, k, mask=None, dropout=0.0: None, {"v"}, ""),
        (lambda q, k, dropout=0.0, *, mask=None: None, {"v"}, "mask"),
        (lambda q, k, mask=None, *, v=None: None, {"v"}, ""),
        (lambda q, k, values, mask=None: None, set(), ""),
        (lambda q, k, v=None, mask=None: None, set(), ""),
    ],
)
def test_what_is_fixed_is_left_out_where_another_stands_in_its_place(fn, left_out, by_name):
    """An option that need not be given is not given what is fixed, nor is the mask."""
    found = read_signature(fn, FORMULA, ("v",), "fn")
    assert (found.left_out, found.mask, found.by_name) == (left_out, True, by_name)


def test_where_the_mask_is_passed_is_said_if_the_name_does_not():
    """A parameter of another name takes it in its place; the report says which."""
    report = check(taking_visible, FORMULA.id, max_examples=5, dtypes=("float64",))
    assert "the mask is passed as visible" in report.notes


def taking_visible(q, k, v, visible=None):
    """Right, under another name."""
    return scaled_dot_product(q, k, v, visible)


@pytest.mark.parametrize(
    "fn",
    [
        lambda q, k, v, scale=None: None,
        lambda q, k, v, softmax_scale=None: None,
        lambda q, k, v, causal=False: None,
        lambda q, k, v, dropout_p=0.0: None,
        lambda q, k, v, block=16: None,
    ],
)
def test_an_option_in_the_place_of_the_mask_keeps_its_default(fn):
    """Its name or its default says that it is none; what is said of it stands beside that there is no mask."""
    found = read_signature(fn, FORMULA, (), "fn")
    assert not found.mask
    assert found.said.endswith("keeps its default")


@pytest.mark.parametrize("fn", [lambda q, k, v, keep=None: None, lambda q, k, v, causal_mask=None: None])
def test_an_option_that_may_be_the_mask_is_given_it(fn):
    """Where nothing says otherwise."""
    assert read_signature(fn, FORMULA, (), "fn").mask


def test_what_has_no_place_for_the_inputs_is_refused():
    """However the mask may be passed."""
    with pytest.raises(Unusable, match=r"called positionally with \(q, k, v, mask \(optional\)\)"):
        read_signature(lambda q, k, *, mask=None: None, FORMULA, (), "fn")


def test_a_fixed_input_is_left_out_and_the_mask_passed_by_its_name():
    """Both at once: the place of the mask is counted without what is left out."""

    def scaled(q, k, *, mask=None):
        """v is built in."""

    found = read_signature(scaled, FORMULA, ("v",), "scaled")
    assert (found.left_out, found.mask, found.by_name) == ({"v"}, True, "mask")


@pytest.fixture
def own(tmp_path):
    """A module of a user's in a folder of its own."""
    with users(tmp_path, own_masked=MODULE):
        yield importlib.import_module("own_masked")


def test_what_takes_the_mask_by_name_alone_is_judged_with_masks(own):
    """It was checked without, and one that ignores the mask conformed."""
    report = check(own.right, FORMULA.id, max_examples=20)
    assert report.verdict == "conforms"
    assert "the mask is passed by its name, mask" in report.notes
    without = check(of_torch, FORMULA.id, max_examples=20)
    assert sum(c.examples for c in report.checks) > sum(c.examples for c in without.checks)
    report = check(own.ignoring, FORMULA.id, max_examples=20)
    assert report.verdict == "falsified"
    assert "mask is ignored" in report.hint


def of_torch(q, k, v):
    """Without a mask."""
    return scaled_dot_product(q, k, v)


@pytest.mark.parametrize("name", ["ignoring", "gathered"])
def test_a_script_passes_the_mask_by_its_name(own, name, tmp_path):
    """It fails again where nothing but torch and the module can be imported."""
    report = check(getattr(own, name), FORMULA.id, max_examples=20)
    assert run_alone(tmp_path, script(report))[0] == 1


def keys_by_name(q, *, k, v):
    """Keys and values by name alone."""


def letters(x, *, T, k, p, generator):
    """A sampler whose names are those of the statement."""


def words(logits, *, temperature, top_k, top_p, generator, seed=0):
    """A sampler with names of its own, and an option."""


def masked_by_name(q, k, *, value, attention_mask=None):
    """Values by another name, the mask by one of its own."""


@pytest.mark.parametrize(
    ("fn", "formula_id", "wrapper"),
    [
        (keys_by_name, FORMULA.id, "lambda q, k, v: keys_by_name(q, k=k, v=v)"),
        (letters, "decoding.sample", "lambda x, T, k, p, generator: letters(x, T=T, k=k, p=p, generator=generator)"),
        (words, "decoding.sample",
         "lambda x, T, k, p, generator: words(x, temperature=T, top_k=k, top_p=p, generator=generator)"),
        (masked_by_name, FORMULA.id,
         "lambda q, k, v, mask: masked_by_name(q, k, value=v, attention_mask=mask)"),
    ],
)  # fmt: skip
def test_what_takes_arguments_by_keyword_alone_is_refused_with_the_wrapper(fn, formula_id, wrapper):
    """The line says how to wrap it, under its own names; the wrapper can be called."""
    formula = find(formula_id)
    with pytest.raises(Unusable, match="by keyword alone, in a wrapper: ") as refused:
        read_signature(fn, formula, (), fn.__name__)
    assert str(refused.value).endswith(wrapper)
    read_signature(eval(wrapper, {fn.__name__: fn}), formula, (), "wrapper")


def test_what_lacks_an_input_is_refused_without_a_wrapper():
    """No keyword takes the values: there is nothing to wrap."""
    with pytest.raises(
        Unusable, match=r"cannot be called so; verify\.adapt\.function says how it is called$"
    ):
        read_signature(lambda q, *, k: None, FORMULA, (), "two")


@pytest.mark.parametrize(
    ("fn", "formula_id", "left_out"),
    [
        (lambda x, T, k, p, generator: None, "decoding.sample", False),
        (lambda x, T, k, p, rng: None, "decoding.sample", False),
        (lambda x, T=1.0, k=0, p=1.0, generator=None: None, "decoding.sample", False),
        (lambda x, T, k, p: None, "decoding.sample", True),
        (lambda x, T, k, p, least=1: None, "decoding.sample", True),
        (lambda ids, special, mask_id, V, share=0.15: None, "masking.mlm", True),
        (lambda q, k, v, mask=None: None, "attention.hard", True),
        (lambda q, k, v, generator, mask=None: None, "attention.hard", False),
    ],
)
def test_a_generator_is_left_out_where_nothing_takes_it(fn, formula_id, left_out):
    """A parameter of its own takes it; an option for something else keeps its default."""
    found = read_signature(fn, find(formula_id), (), "fn")
    assert (found.left_out == {"generator"}) is left_out
    assert ("seeded before each call" in found.said) is left_out


def step_without_correction(theta, g, m, v, eta, beta_1, beta_2, eps, w):
    """AdamW, which does not count its steps."""
    m_new, v_new = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g**2
    return (1 - eta * w) * theta - eta * m_new / (v_new.sqrt() + eps), m_new, v_new


def test_what_no_line_reads_need_not_be_taken():
    """The number of the step, where nothing is corrected by it; by an adapter as by position. Else it is asked for."""
    names = "theta, g, m, v, eta, beta_1, beta_2, eps, w"
    adapted = adapt.function(step_without_correction, call=eval(f"lambda f, {names}: f({names})"))
    options = {"max_examples": 3, "dtypes": ("float64",), "grades": False}
    for fn in (step_without_correction, adapted):
        assert (
            check(fn, "optimization.adamw", conventions={"correction": "none"}, **options).verdict
            == "conforms"
        )
    with pytest.raises(Unusable, match=r"called positionally with \(theta, g, m, v, t, eta"):
        check(step_without_correction, "optimization.adamw", **options)


@pytest.mark.parametrize(
    ("formula_id", "conventions", "names"),
    [
        ("attention.decoder_heads", {"cap": "none", "window": "none"}, {"cap", "w"}),
        ("attention.decoder_heads", {"sinks": "none"}, {"sink"}),
        ("gpt.model", {"norm": "post"}, {"gamma_f", "beta_f"}),
        ("optimization.adamw", {}, set()),
        ("attention.hard", {}, set()),
    ],
)
def test_what_no_line_reads_is_known(formula_id, conventions, names):
    """Numbers, sizes and parameters; a law's inputs are all read."""
    formula = find(formula_id)
    assert find_unread(formula, formula.choose(conventions)) == names
