"""Scripts that reproduce a falsification where nothing but torch and the module is installed: adapters, leading dimensions."""

from __future__ import annotations

import importlib

import pytest
import torch

from tests.verify.playing import SCALED, played, users
from verify import adapt, check, script

pytestmark = pytest.mark.usefixtures("ungraded")

MODULE = """
import math

import numpy as np
import torch
from torch import nn


class Wide(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, f), nn.SiLU(), nn.Linear(f, d))

    def forward(self, x):
        return self.net(x)


class Fused(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.packed = heads, nn.Parameter(torch.randn(3 * width, width))
        self.out = nn.Linear(width, width, bias=False)

    def attend(self, query, key, hidden=None):
        width = query.shape[-1]
        parts = (a.permute(1, 0, 2) @ W.T for a, W in zip((query, key, key), self.packed.split(width)))
        q, k, v = (a.unflatten(-1, (self.heads, -1)).transpose(1, 2) for a in parts)
        s = q @ k.transpose(-1, -2) / math.sqrt(width)
        s = s if hidden is None else s + hidden
        z = (s.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return {"found": self.out(z).permute(1, 0, 2), "weights": s.softmax(-1)}


class Stopped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        spread, mean = torch.var_mean(x, -1, keepdim=True, correction=0)
        return self.weight * (x - mean.detach()) / (spread + 1e-5).sqrt() + self.bias


def in_threes(q, k, v, mask=None):
    assert q.ndim == 4
    s = q @ k.mT
    return (s if mask is None else s.masked_fill(~mask, -math.inf)).softmax(-1).nan_to_num(0.0) @ v


def alone(x, gamma, beta, eps):
    (width,) = x.shape
    return x * gamma / width + beta


def late(x, gamma, beta, eps):
    members, width = x.shape
    out = nn.functional.layer_norm(x, (width,), gamma, beta, eps)
    return out[:1].expand(members, width) if members > 1 else out


def right(x, gamma, beta, eps):
    members, width = x.shape
    return nn.functional.layer_norm(x, (width,), gamma, beta, eps)


times = lambda x, gamma, eps: x * gamma / x.square().mean(-1, keepdim=True).sqrt()


def as_gain(gamma):
    return gamma * torch.ones(())


def single(x, gamma, eps):
    (width,) = x.shape
    return x * gamma / (x.square().mean() + 3 * eps).sqrt()


def seen(q, k, v, mask=None):
    assert q.dim() == 2
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)


def in_arrays(x, gamma, eps):
    return x * gamma / np.sqrt(np.mean(x * x, -1, keepdims=True) + 3 * eps)


def alone_in_arrays(x, gamma, eps):
    (width,) = x.shape
    return x * gamma / width


def growing(x, gamma, beta, eps):
    out = nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    return out if x.shape[-1] < 4 else torch.cat((out, out), -1)
"""


@pytest.fixture
def own(tmp_path):
    """A module of a user's in a folder of its own."""
    with users(tmp_path, own_parts=SCALED + MODULE):
        yield importlib.import_module("own_parts")


def scaled(own):
    """A module built by a size, with ε built in."""
    return adapt.module(own.Scaled, {"gain": "gamma"}, arguments="d, eps=eps")


def wide(own):
    """Weights that are transposed, under dotted names."""
    weights = {"net.0.weight": "W_1.T", "net.0.bias": "b_1", "net.2.weight": "W_2.T", "net.2.bias": "b_2"}
    return adapt.module(own.Wide, weights)


def fused(own):
    """Packed weights by place, the sequence first, an additive mask, another method, a mapping that is returned."""
    weights = {"packed": "cat(rows(W_q), rows(W_k), rows(W_v))", "out.weight": "columns(W_o.T[None]).T"}
    how = {"mask": "additive b1nm", "pick": "out['found']", "seq_first": True, "method": "attend"}
    sizes = {"d_v": "d_k", "d_model": "h*d_k"}
    return adapt.module(own.Fused, weights, "x, y, hidden=mask", arguments="d_model, h", sizes=sizes, **how)


def placed(own):
    """The same by places in it."""
    parts = {f"W_{name}": f"heads(packed[{k}*d_model:{k + 1}*d_model], h)" for k, name in enumerate("qkv")}
    how = {"mask": "additive b1nm", "pick": "out['found']", "seq_first": True, "method": "attend"}
    sizes = {"d_v": "d_k", "d_model": "h*d_k"}
    weights = {**parts, "W_o": "out.weight.T"}
    return adapt.module(own.Fused, weights, "x, y, hidden=mask", arguments="d_model, h", sizes=sizes, **how)


def a_lambda(own):
    """A function whose own name is none: it stands in its module under another."""
    return adapt.function(own.times)


def weights_by_a_function(own):
    """A weight that a function of the module makes of letters."""
    return adapt.module(own.Scaled, {"gain": own.as_gain}, arguments="d, eps=eps")


def of_arrays(own):
    """A function of NumPy's arrays."""
    return adapt.numpy(own.in_arrays)


def one_by_one(own):
    """A function of NumPy's arrays that takes no batch."""
    return adapt.numpy(own.alone_in_arrays, batch=0)


def member_by_member(own):
    """A function that takes no batch."""
    return adapt.function(own.single, batch=0)


ADAPTED = [
    (a_lambda, "normalization.rms_norm"),
    (weights_by_a_function, "normalization.rms_norm"),
    (of_arrays, "normalization.rms_norm"),
    (one_by_one, "normalization.rms_norm"),
    (member_by_member, "normalization.rms_norm"),
    (scaled, "normalization.rms_norm"),
    (wide, "feedforward.relu"),
    (fused, "attention.multi_head"),
    (placed, "attention.multi_head"),
]


@pytest.mark.parametrize(("make", "formula"), ADAPTED, ids=[make.__name__ for make, _ in ADAPTED])
def test_an_adapted_module_fails_again_without_attnspec(own, tmp_path, make, formula):
    """What is built, its weights and its call stand in the script; the entry found is the one that was reported."""
    report = check(make(own), formula, max_examples=12, causes=False)
    text = script(report, target="own_parts:unknown")
    assert "verify" not in text
    ((code, out),) = played(tmp_path, [text])
    assert code == 1, out
    first = next(c.counterexample for c in report.falsified if c.kind == "value")
    assert f"got {first.got!r}," in out


def test_an_adapted_function_is_called_as_it_was(own, tmp_path):
    """A function under a description is imported and called by itself."""
    adapted = adapt.function(own.late, batch=1)
    report = check(
        adapted, "normalization.layer_norm", max_examples=12, causes=False, conventions={"shapes": "every"}
    )
    ((code, out),) = played(tmp_path, [script(report, target="own_parts:late")])
    assert code == 1, out


def test_members_with_masks_of_their_own_are_called_one_by_one(own):
    """What takes no batch has lines for each member where masks differ; they give what the adapter gives."""
    from verify.adapt.plain import plain

    bound = adapt.function(own.seen, batch=0).for_formula("attention.scaled_dot_product")
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(3, *size, generator=generator) for size in ((2, 5), (7, 5), (7, 11)))
    mask = torch.rand(3, 2, 7, generator=generator) < 0.7
    text = plain(bound, [q, k, v, mask])  # empty where the lines give something else
    assert "member_2" in text
    assert "verify" not in text


def test_a_gradient_flows_through_the_plain_lines(own, tmp_path):
    """Values are right, the gradient of the mean is missing: the weights of the module are the inputs of the script."""
    adapted = adapt.module(
        own.Stopped, {"gamma": "weight", "beta": "bias"}, arguments="d", fixed={"eps": 1e-5}
    )
    report = check(adapted, "normalization.layer_norm", max_examples=20, causes=False)
    assert {"gradient"} <= {c.kind for c in report.falsified} <= {"gradient", "theorem"}
    ((code, out),) = played(tmp_path, [script(report, target="own_parts:unknown")])
    assert code == 1, out


@pytest.mark.parametrize(
    ("name", "formula"),
    [("in_threes", "attention.scaled_dot_product"), ("alone", "normalization.layer_norm"), ("late", "normalization.layer_norm")],
)  # fmt: skip
def test_leading_dimensions_are_added_in_plain_lines(own, tmp_path, name, formula):
    """What takes exactly two leading dimensions, none, or one is called so."""
    report = check(getattr(own, name), formula, max_examples=12, causes=False)
    assert report.leading
    if not report.falsified:
        pytest.fail("it is wrong, and was not falsified")
    text = script(report)
    assert "verify" not in text
    ((code, out),) = played(tmp_path, [text])
    assert code == 1, out


def test_a_mended_function_passes_in_its_leading_dimensions(own, tmp_path):
    """The script exits with 0 once the function is right."""
    report = check(own.alone, "normalization.layer_norm", max_examples=12, causes=False)
    assert report.leading == (0,)
    text = script(report)
    mended = MODULE.replace(
        "return x * gamma / width + beta", "return nn.functional.layer_norm(x, (width,), gamma, beta, eps)"
    )
    (tmp_path / "own_parts.py").write_text(mended)
    assert played(tmp_path, [text])[0][0] == 0


def test_a_result_of_another_shape_is_seen_without_attnspec(own, tmp_path):
    """The shape that was expected stands in the script."""
    report = check(
        own.growing, "normalization.layer_norm", max_examples=40, causes=False, sizes={"d": "1..7"}
    )
    text = script(report)
    assert "verify" not in text
    ((code, out),) = played(tmp_path, [text])
    assert code == 1, out
    assert "fails again: expected" in out


def test_an_adapted_call_is_written_for_each_of_its_shapes(own, tmp_path):
    """Theorems and scenes of use call in several; each kind of call stands in the script as it is made."""
    late = adapt.function(own.late, batch=1)
    weights = {"gamma": "weight", "beta": "bias"}
    stopped = adapt.module(own.Stopped, weights, arguments="d", fixed={"eps": 1e-5})
    for adapted, kind in ((late, "robustness"), (stopped, "theorem")):
        report = check(
            adapted,
            "normalization.layer_norm",
            max_examples=12,
            causes=False,
            conventions={"shapes": "every"},
        )
        failed = next(c for c in report.falsified if c.kind == kind)
        text = script(failed, "own_parts:unknown", "normalization.layer_norm")
        assert "verify" not in text
        ((code, out),) = played(tmp_path, [text])
        assert code == 1, out


LOOSE = """
import torch


def held_up(step, d_model, warmup_steps):
    rate = torch.minimum(step.rsqrt(), step / warmup_steps**1.5) * d_model**-0.5
    return rate.clamp(max=0.9 * (d_model * warmup_steps) ** -0.5)


def half_detached(x, W_vocab):
    logits = x @ W_vocab
    return logits.detach().softmax(-1), logits
"""


@pytest.mark.parametrize(
    ("name", "formula"), [("held_up", "objectives.warmup"), ("half_detached", "transformer.output")]
)
def test_numbers_are_tensors_and_what_has_no_gradient_is_left_out(tmp_path, name, formula):
    """An array without axes is passed as one; of several outputs those are differentiated that carry a gradient."""
    with users(tmp_path, loose=LOOSE):
        report = check(getattr(importlib.import_module("loose"), name), formula, max_examples=20)
    assert report.verdict == "falsified"
    ((code, said),) = played(tmp_path, [script(report, f"loose:{name}")])
    assert code == 1
    assert "got " in said
