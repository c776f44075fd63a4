"""Modules as they are: weights, calls, layouts and masks, each held to its statement; what does not fit is refused in a line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from torch import nn

import verify
from spec.language.registry import find
from verify import Unusable, adapt
from verify.adapt.expressions import value
from verify.inputs.examples import Space
from verify.inputs.mask_kinds import fits
from verify.properties.gradients import judge_gradient
from verify.properties.judge import Judge
from verify.properties.slopes import with_cotangents
from verify.properties.values import judge_value
from verify.subject.callables import supported_by
from verify.subject.caller import Caller

ROOT = Path(__file__).parents[3]
ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}
UNSPECIFIED = {"fully_masked": "unspecified"}


def worst(adapter, formula_id, conventions=None, count=8, gradients=True):
    """The largest error/bound of values and gradients over the first examples, batched and not."""
    formula = find(formula_id)
    judge = Judge(formula, conventions or {})
    caller = Caller(adapter, formula, sizes=supported_by(adapter, formula))
    space = Space(formula, caller.takes_mask, moderate=True, supported=caller.sizes)
    found = 0.0
    for turn, recipe in enumerate(space.plan(count, 3)):
        example = space.example(recipe, "float64", ((), (2, 3), (1,))[turn % 3])
        assert all(
            fits(caller.sizes.masks, example.inputs.get(t.name)) for t in formula.tensors if t.role == "mask"
        )
        outcome = judge_value(judge, caller, example)
        assert not outcome.fails, outcome.message
        found = max(found, outcome.ratio)
        if gradients and not example.batch:
            outcome = judge_gradient(judge, caller, with_cotangents(judge, example, recipe.seed))
            assert not outcome.fails, outcome.message
    assert not caller.offences
    return found


def sample(name):
    """A module of the pages' samples."""
    found = importlib.util.spec_from_file_location(
        f"_sample_{name}", ROOT / "docs" / "samples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "formula_id", "conventions"),
    [
        ("torch_attention", "attention.multi_head", UNSPECIFIED),
        ("torch_padding", "attention.multi_head", UNSPECIFIED),
        ("torch_lstm", "recurrent.lstm", {}),
        ("bert_attention", "attention.multi_head", UNSPECIFIED),
        ("bert_layer", "transformer.encoder_layer", UNSPECIFIED),
        ("gpt2_attention", "attention.multi_head", UNSPECIFIED),
        ("t5_attention", "attention.multi_head", UNSPECIFIED),
    ],
)
def test_what_the_pages_show_of_libraries_conforms(name, formula_id, conventions):
    """Each module of torch and transformers, described in a few lines, has the statement's values and gradients."""
    if "torch" not in name:
        pytest.importorskip("transformers")
    worst(getattr(sample("peers"), name)(), formula_id, conventions, count=6)


class Fused(nn.Module):
    """Self-contained attention with one matrix for keys and values, both by head, and the sequence first."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads, self.q = heads, nn.Linear(width, heads * inner, bias=False)
        self.kv, self.out = nn.Linear(width, 2 * heads * inner), nn.Linear(heads * inner, width)
        self.register_buffer("inner", torch.tensor(float(inner)))

    def forward(self, x, y, keep=None):
        """(sequence, batch, width)."""
        q = self.q(x).unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3)
        k, v = self.kv(y).unflatten(-1, (2, self.heads, -1)).permute(2, 1, 3, 0, 4)
        s = q @ k.mT / self.inner.sqrt()
        a = s if keep is None else s + keep
        return {"states": self.out((a.softmax(-1) @ v).transpose(1, 2).flatten(-2)).transpose(0, 1)}


FUSED = {
    "W_q": "q.weight.view(h, d_k, d_model).mT",
    "W_k": "kv.weight[:h*d_k].view(h, d_k, d_model).mT",
    "W_v": "kv.weight[h*d_k:].view(h, d_v, d_model).mT",
    "W_o": "out.weight.T",
    "*bias": 0,
}


def test_letters_may_be_parts_of_one_parameter():
    """Slices, views and transposes of a fused parameter are where letters stand; buffers keep what they hold."""
    adapter = adapt.module(
        Fused, FUSED, arguments="d_model, h, d_k", mask="additive b1nm", seq_first=True, pick="out['states']",
        sizes={"d_v": "d_k"},
    )  # fmt: skip
    assert worst(adapter, "attention.multi_head", UNSPECIFIED) > 0


def test_a_wrong_module_is_falsified_through_its_adapter():
    """An adapter forgives nothing: the same module with keys and values exchanged fails."""
    swapped = {**FUSED, "W_k": FUSED["W_v"], "W_v": FUSED["W_k"].replace("d_k", "d_v")}
    adapter = adapt.module(
        Fused, swapped, arguments="d_model, h, d_k", mask="additive b1nm", seq_first=True, pick="out['states']",
        sizes={"d_v": "d_k"},
    )  # fmt: skip
    with pytest.raises(AssertionError, match="times the bound"):
        worst(adapter, "attention.multi_head", UNSPECIFIED)


class Norm(nn.Module):
    """Layer normalisation whose ε is written in."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        """Every row normalised."""
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


PLACES = {"gamma": "weight", "beta": "bias"}
FIXED = {"eps": 1e-5}


def test_a_number_that_is_built_in_is_fixed():
    """With ε as it is written in the module conforms; with another it does not, and the verdict says which was meant."""
    adapter = adapt.module(Norm, PLACES, arguments="d, True")
    report = verify.check(adapter, "normalization.layer_norm", fixed=FIXED, max_examples=6)
    assert report.verdict == "conforms", str(report)
    assert report.sizes == "eps = 1e-05"
    assert "scale" in report.not_run
    other = verify.check(adapter, "normalization.layer_norm", fixed={"eps": 1e-3}, max_examples=6)
    assert other.verdict == "falsified"


def test_a_parameter_that_is_left_out_is_fixed():
    """A module without a bias is the statement with β = 0, and no gradient of β is asked for."""
    adapter = adapt.module(Norm, {"gamma": "weight"}, arguments="d, False", fixed={**FIXED, "beta": 0})
    report = verify.check(adapter, "normalization.layer_norm", max_examples=6)
    assert report.verdict == "conforms", str(report)


class Drawn(nn.Module):
    """A module that draws its weights when it is made, and counts how often that is."""

    made = 0

    def __init__(self, d):
        super().__init__()
        Drawn.made += 1
        self.weight = nn.Parameter(torch.randn(d))
        self.later = nn.Parameter(torch.randn(3))

    def forward(self, x, eps):
        """Root mean square."""
        return self.weight * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def test_building_draws_from_no_generator_and_happens_once_for_each_size():
    """What is built is no part of what is judged: the global state stays, and each size is built once."""
    Drawn.made = 0
    adapter = adapt.module(Drawn, {"gamma": "weight", "later": None}, "x, eps")
    state = torch.get_rng_state()
    bound = adapter.for_formula("normalization.rms_norm")
    for d in (2, 3, 2, 3, 2):
        bound(torch.ones(5, d), torch.ones(d), 1e-5)
    assert Drawn.made == 2
    assert torch.equal(torch.get_rng_state(), state)
    worst(adapter, "normalization.rms_norm")


class Lazy(nn.Module):
    """Two layers that take their widths from what they are first given."""

    def __init__(self, f: int, d: int) -> None:
        super().__init__()
        self.first, self.second = nn.LazyLinear(f), nn.LazyLinear(d)

    def forward(self, x):
        """The second after the first."""
        return self.second(self.first(x).relu())


def test_layers_that_take_their_sizes_from_the_first_call_are_called_once_as_they_are_built():
    """The weights are the statement's all the same, in either type."""
    weights = {"first.weight": "W_1.T", "first.bias": "b_1", "second.weight": "W_2.T", "second.bias": "b_2"}
    worst(adapt.module(Lazy, weights, "x"), "feedforward.relu")


class Lengths(nn.Module):
    """Attention over the first keys of each member, the others filled with a large negative number."""

    def forward(self, q, k, v, lengths=None):
        """Three dimensions."""
        s = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        if lengths is not None:
            assert lengths.shape == (len(q),)
            s[torch.arange(k.shape[1]) >= lengths[:, None, None].expand(s.shape)] = -1e30
        return torch.bmm(s.softmax(-1), v)


class Ahead(nn.Module):
    """Attention that looks at nothing ahead."""

    def forward(self, q, k, v):
        """Any dimensions."""
        s = q @ k.mT / q.shape[-1] ** 0.5
        n, m = s.shape[-2:]
        return s.masked_fill(~torch.ones(n, m, dtype=torch.bool).tril(m - n), -torch.inf).softmax(-1) @ v


class ByHead(nn.Module):
    """(batch, sequence, heads, width), and what padding drops."""

    def forward(self, q, k, v, drop=None):
        """Attention for each head."""
        s = torch.einsum("bnhd,bmhd->bhnm", q, k) / q.shape[-1] ** 0.5
        if drop is not None:
            s = s.masked_fill(drop, -torch.inf)
        return torch.einsum("bhnm,bmhe->bnhe", s.softmax(-1), v), s


class OneSequence(nn.Module):
    """Self-attention of one sequence with packed weights, and which of its keys are padding."""

    def __init__(self, width, h):
        super().__init__()
        self.h, self.qkv = h, nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, padding=None):
        """(batch, sequence, width)."""
        q, k, v = (part.unflatten(-1, (self.h, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        s = q @ k.mT / q.shape[-1] ** 0.5
        if padding is not None:
            s = s.masked_fill(padding[:, None, None], -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("form", ["keys", "b11m"])
def test_a_mask_of_keys_hides_those_of_one_joined_sequence(form):
    """x and y are one sequence, of which the queries of x see the keys of y alone, but for those that are padding."""
    weights = {"qkv.weight": "cat(rows(W_q), rows(W_k), rows(W_v))", "out.weight": "W_o.T"}
    call = "cat(x, y, dim=1), padding=mask" + ("" if form == "keys" else "[:, 0, 0]")
    adapter = adapt.module(
        lambda d_model, h: OneSequence(d_model, h), weights, call, mask=f"joined drop {form}", pick="out[:, :n]",
        batch=1, sizes={"d_model": "h*d_k", "d_v": "d_k"},
    )  # fmt: skip
    worst(adapter, "attention.multi_head", UNSPECIFIED)


@pytest.mark.parametrize(
    ("make", "options", "conventions"),
    [
        (Lengths, {"mask": "lengths"}, {"fully_masked": "mean"}),
        (Lengths, {"mask": "lengths", "batch": 1, "call": "q, k, v, lengths=mask"}, {"fully_masked": "mean"}),
        (Ahead, {"mask": "causal", "sizes": {"m": "n"}, "batch": 0}, UNSPECIFIED),
        (Ahead, {"mask": "causal", "sizes": {"m": "n"}, "batch": None}, UNSPECIFIED),
        (ByHead, {"mask": "drop b11m", "heads_axis": 2}, UNSPECIFIED),
        (ByHead, {"mask": "drop", "heads_axis": 2}, UNSPECIFIED),
    ],
)
def test_masks_are_drawn_as_they_can_be_taken(make, options, conventions):
    """Lengths, padding and the causal mask: only such examples are drawn, and the module conforms on them."""
    worst(adapt.module(make, **options), "attention.scaled_dot_product", conventions)


def test_a_stack_is_spoken_of_layer_by_layer():
    """A number in a parameter's name picks the letter's layer; an earlier name is before a pattern."""
    weights = {
        "weight_ih_l0": "W_x",
        "weight_ih_l{t}": "U[t - 1]",
        "weight_hh_l{t}": "W_h[t]",
        "bias_ih_l{t}": "b[t]",
    }
    states = "x, (h.transpose(0, 1).contiguous(), s.transpose(0, 1).contiguous())"
    pick = "out[0], out[1][0].transpose(0, 1), out[1][1].transpose(0, 1)"
    made = adapt.module(
        nn.LSTM, {**weights, "bias_hh*": 0}, states, arguments="p, d, L + 1, batch_first=True", pick=pick
    )
    worst(made, "recurrent.lstm_stacked", count=4)


def test_a_module_of_one_size_is_itself_what_is_built():
    """An instance is held at its sizes."""
    adapter = adapt.module(nn.LayerNorm(5, eps=1e-5), PLACES, sizes={"d": 5}, fixed=FIXED)
    worst(adapter, "normalization.layer_norm")


@pytest.mark.parametrize(
    ("weights", "more", "says"),
    [
        ({"gamma": "weight"}, {}, "is given no beta; say with weights"),
        (
            {"gamma": "weight[:1]", "beta": "bias"},
            {},
            r'weights\["gamma"\] = "weight\[:1\]" has shape \(1,\); gamma has \(3,\)',
        ),
        ({"weight": "cat(gamma, beta)", "bias": "beta"}, {}, r"has shape \(6,\); weight of Norm has \(3,\)"),
        ({"gamma": "wight", "beta": "bias"}, {}, "says 'wight', which is nothing here"),
        ({"gamma": "weight", "beta": "weight"}, {}, "overlaps with another place"),
        ({"gamma": "weight * 2", "beta": "bias"}, {}, "computes; a place is made of parts"),
        ({"gamma": "weight", "beta": "open('x')"}, {}, r"may not call open\(…\)"),
        ({"gamma": "weight", "beta": "bias.__class__"}, {}, "may not say .__class__"),
        ({"gamma": "weight", "beta": "bias."}, {}, "is no expression"),
        ({"gamma": "weight", "wide": "beta"}, {}, 'has no parameter "wide"; it has weight, bias'),
        ({"weight": "gamma + 0 * beta"}, {}, "say nothing about bias of Norm"),
        (PLACES, {"arguments": "d"}, "cannot be built where d = 3"),
        (PLACES, {"arguments": "width, True"}, "says 'width', which is nothing here"),
        (PLACES, {"arguments": None}, "is built by width, bias; width, bias is no size"),
        (PLACES, {"call": "x, x"}, r"is called as Norm\(x\): too many positional arguments"),
        (PLACES, {"call": "x y"}, "is no list of arguments"),
        (PLACES, {"fixed": {}}, "is given no eps .* if it has eps built in"),
        (PLACES, {"mask": "keys"}, 'has no mask; Norm can have mask="none" only'),
        (PLACES, {"call": "beta"}, "is given no x"),
        (PLACES, {"pick": 3}, "returns a Tensor; pick=3 takes the place 3 of it"),
        (PLACES, {"pick": ()}, "takes nothing of it"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(weights, more, says):
    """Each mistake of a description names the letter, the expression, and the shapes expected and given."""
    options = {"arguments": "d, True", "fixed": FIXED, **more}

    def called():
        bound = adapt.module(Norm, weights, **options).for_formula("normalization.layer_norm")
        return bound(torch.ones(2, 3), torch.ones(3), torch.zeros(3))

    with pytest.raises(Unusable, match=says) as refused:
        called()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", ["upside-down", "drop additive", "keys lengths", "additive=much", "bool=1"])
def test_words_of_a_mask_that_are_none_are_refused(words):
    """A word that is unknown, or a second of the same kind."""
    with pytest.raises(Unusable, match="mask="):
        adapt.module(Lengths, mask=words)


def test_an_adapter_is_not_called_without_a_formula():
    """It does not know what its arguments would be."""
    with pytest.raises(Unusable, match="for_formula"):
        adapt.module(Norm, PLACES)(torch.ones(3))


@pytest.mark.parametrize("batch", [0, 1])
def test_results_without_axes_of_their_own_come_back_as_such(batch):
    """A text has one probability: without a batch the result has no axis at all."""

    def probability(s, y):
        taken = s.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
        return taken.sum(-1)

    assert worst(adapt.function(probability, batch=batch), "objectives.autoregressive") <= 1


def test_what_an_expression_makes_of_sizes_alone_is_made_where_the_tensors_are() -> None:
    """The device without memory stands for any other."""
    names = {"n": 3, "x": torch.zeros(3, device="meta")}
    for text in ("causal(n)", "zeros(n, 2)", "ones(n)", "arange(n)", "eye(n)"):
        assert value(text, names, "call").is_meta
        assert value(text, {"n": 3, "x": torch.zeros(3)}, "call").is_cpu
