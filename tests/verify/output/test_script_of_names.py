"""Scripts of callables and helpers that are called as something in the script is."""

from __future__ import annotations

import importlib

import pytest

from tests.verify.playing import played, users
from verify import check, script

NAMES = """
import torch
from torch import nn

factor = nn.Parameter(torch.ones(()))


def np(ids, special, mask_id, V, generator):
    drawn = torch.rand(ids.shape, generator=generator) < 0.5
    chosen = drawn & ~special
    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)


def differs(words, vocabulary, unknown):
    return [list(word) for word in words]


def solved(model, prompts, max_length):
    return prompts[:, :1].repeat(1, max_length)


def made():
    def decode(model, prompts, max_length):
        return prompts[:, :1].repeat(1, max_length)

    return decode


def hard(q, k, v, generator, mask=None):
    place = torch.zeros(q.shape[:-1], dtype=torch.int64)
    found = factor * v[..., :1, :].expand(*q.shape[:-1], v.shape[-1])
    return found, place


def rounded(q, k, v, generator, mask=None):
    found, place = hard(q, k, v, generator, mask)
    return found.bfloat16(), place


def sys(x, y):
    return (x * y).sum(-1).abs()
"""
TORCH = """
def torch(x, y):
    return (x * y).sum(-1).abs()
"""
ADAPTED = """
from verify import adapt


def leaf(x):
    return x.square().mean(-1, keepdim=True)


def called(x):
    return leaf(x) + 2e-5


def output(x, gamma):
    return gamma * x / called(x).sqrt()


norm = adapt.function(output, "x, gamma", fixed={"eps": 1e-5})
"""


@pytest.fixture
def home(tmp_path):
    """A folder with modules of a user's."""
    with users(tmp_path, names_of_users=NAMES, adapted_by_users=ADAPTED, torch_of_users=TORCH):
        yield tmp_path


@pytest.mark.parametrize(
    ("name", "formula_id"),
    [
        ("np", "masking.mlm"),
        ("differs", "bert.wordpiece"),
        ("solved", "decoding.greedy"),
        ("hard", "attention.hard"),
        ("rounded", "attention.hard"),
    ],
)
def test_a_callable_may_be_called_as_anything_in_the_script(home, name, formula_id):
    """NumPy's short name, that of a helper of ours; what it returns may require a gradient, or have a type of its own."""
    found = getattr(importlib.import_module("names_of_users"), name)
    report = check(found, formula_id, max_examples=8, causes=False)
    ((status, said),) = played(home, [script(report, f"names_of_users:{name}")])
    assert status == 1
    assert said.startswith("fails again: ")
    assert "Error" not in said


@pytest.mark.parametrize("target", ["names_of_users:sys", "torch_of_users:torch"])
@pytest.mark.parametrize("kind", ["value", "gradient", "theorem"])
def test_a_callable_may_have_the_name_of_a_module_that_the_script_needs(home, target, kind):
    """Scripts of values, of gradients and of calls keep the two apart."""
    module, _, name = target.partition(":")
    report = check(
        getattr(importlib.import_module(module), name), "similarity.dot", max_examples=8, causes=False
    )
    (found, *_) = (failed for failed in report.falsified if failed.kind == kind)
    ((status, said),) = played(home, [script(found, target, "similarity.dot")])
    assert status == 1, said
    assert "Error" not in said


def test_what_gives_the_decoder_is_called(home):
    """A function without parameters gives the callable in a script of a procedure, too."""
    found = importlib.import_module("names_of_users").made()
    report = check(found, "decoding.greedy", max_examples=8, causes=False)
    ((status, said),) = played(home, [script(report, "names_of_users:made", written="made()")])
    assert (status, "Error" in said) == (1, False)


def test_helpers_of_users_keep_apart_from_those_of_scripts(home):
    """What the script calls ``leaf``, ``called`` or ``output`` replaces nothing that a copied function calls."""
    adapter = importlib.import_module("adapted_by_users").norm
    report = check(adapter, "normalization.rms_norm", max_examples=8, causes=False)
    texts = [script(found, "adapted_by_users:norm", "normalization.rms_norm") for found in report.falsified]
    ended = played(home, texts)
    assert [code for code, _ in ended] == [1] * len(texts), ended
    assert not any("Error" in said for _, said in ended), ended
    mended = played(home, [text.replace("2e-5", "1e-5") for text in texts])
    assert [code for code, _ in mended] == [0] * len(texts), mended
