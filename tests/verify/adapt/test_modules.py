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
from verify.adapt import causal, rows
from verify.inputs.examples import Space
from verify.inputs.mask_kinds import fits
from verify.properties.gradients import judge_gradient
from verify.properties.judge import Judge
from verify.properties.slopes import of_what_is_said, with_cotangents
from verify.properties.values import judge_value
from verify.subject.callables import find_supported
from verify.subject.caller import Caller

ROOT = Path(__file__).parents[3]
ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}
UNSPECIFIED = {"fully_masked": "unspecified"}


def worst(adapter, formula_id, conventions=None, count=8, gradients=True):
    """The largest error/bound of values and gradients over the first examples, batched and not; of gradients where no entry is
    left unsaid: what a row that sees nothing does to them is no matter of the adapter.
    """
    formula = find(formula_id)
    judge = Judge(formula, conventions or {})
    caller = Caller(adapter, formula, sizes=find_supported(adapter, formula))
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
            (asked,) = of_what_is_said(judge, [with_cotangents(judge, example, recipe.seed)])
            if all(seed.all() for seed in asked.cotangents.values()):
                outcome = judge_gradient(judge, caller, asked)
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


def fused(W_q, W_k, W_v, W_o):
    """Its parameters; biases are 0."""
    return {"q.weight": rows(W_q), "kv.weight": rows(W_k, W_v), "out.weight": W_o.T, "*bias": 0}


def adapted(weights):
    """It for multi-head attention."""
    return adapt.module(
        lambda d_model, h, d_k: Fused(d_model, h, d_k), weights, mask="additive b1nm", seq_first=True, pick="states",
        sizes={"d_v": "d_k"},
    )  # fmt: skip


def test_letters_may_be_parts_of_one_parameter():
    """Weights by head are packed into one parameter; buffers keep what they hold."""
    assert worst(adapted(fused), "attention.multi_head", UNSPECIFIED) > 0


def test_a_wrong_module_is_falsified_through_its_adapter():
    """An adapter forgives nothing: the same module with keys and values exchanged fails."""
    swapped = adapted(lambda W_q, W_k, W_v, W_o: fused(W_q, W_v, W_k, W_o))
    with pytest.raises(AssertionError, match="times the bound"):
        worst(swapped, "attention.multi_head", UNSPECIFIED)


class Norm(nn.Module):
    """Layer normalisation whose ε is written in."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        """Every row normalised."""
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


FIXED = {"eps": 1e-5}


def build(d):
    """It with a bias."""
    return Norm(d, True)


def named(gamma, beta):
    """Its parameters."""
    return {"weight": gamma, "bias": beta}


def test_a_number_that_is_built_in_is_fixed():
    """With ε as it is written in the module conforms; with another it does not, and the verdict says which was meant."""
    adapter = adapt.module(build, named)
    report = verify.check(adapter, "normalization.layer_norm", fixed=FIXED, max_examples=6)
    assert report.verdict == "conforms", str(report)
    assert report.sizes == "eps = 1e-05"
    assert "scale" in report.not_run
    other = verify.check(adapter, "normalization.layer_norm", fixed={"eps": 1e-3}, max_examples=6)
    assert other.verdict == "falsified"


def test_a_parameter_that_is_left_out_is_fixed():
    """A module without a bias is the statement with β = 0, and no gradient of β is asked for."""
    adapter = adapt.module(
        lambda d: Norm(d, False), lambda gamma: {"weight": gamma}, fixed={**FIXED, "beta": 0}
    )
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
    adapter = adapt.module(
        Drawn, lambda gamma: {"weight": gamma, "later": None}, lambda norm, x, eps: norm(x, eps)
    )
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

    def weights(W_1, b_1, W_2, b_2):
        return {"first.weight": W_1.T, "first.bias": b_1, "second.weight": W_2.T, "second.bias": b_2}

    worst(adapt.module(Lazy, weights), "feedforward.relu")


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

    def call(attend, x, y, mask, n):
        padding = mask if form == "keys" else mask[:, 0, 0]
        return attend(torch.cat((x, y), 1), padding=padding)[:, :n]

    adapter = adapt.module(
        lambda d_model, h: OneSequence(d_model, h),
        lambda W_q, W_k, W_v, W_o: {"qkv.weight": rows(W_q, W_k, W_v), "out.weight": W_o.T},
        call, mask=f"joined drop {form}", batch=1, sizes={"d_model": "h*d_k", "d_v": "d_k"},
    )  # fmt: skip
    worst(adapter, "attention.multi_head", UNSPECIFIED)


def by_name(attend, q, k, v, mask):
    """A call with its last argument by name."""
    return attend(q, k, v, lengths=mask)


@pytest.mark.parametrize(
    ("make", "options", "conventions"),
    [
        (Lengths, {"mask": "lengths"}, {"fully_masked": "mean"}),
        (Lengths, {"mask": "lengths", "batch": 1, "call": by_name}, {"fully_masked": "mean"}),
        (Ahead, {"mask": "causal", "sizes": {"m": "n"}, "batch": 0}, UNSPECIFIED),
        (Ahead, {"mask": "causal", "sizes": {"m": "n"}, "batch": None}, UNSPECIFIED),
        (ByHead, {"mask": "drop b11m", "heads_axis": 2}, UNSPECIFIED),
        (ByHead, {"mask": "drop", "heads_axis": 2}, UNSPECIFIED),
    ],
)
def test_masks_are_drawn_as_they_can_be_taken(make, options, conventions):
    """Lengths, padding and the causal mask: only such examples are drawn, and the module conforms on them."""
    worst(adapt.module(make, **options), "attention.scaled_dot_product", conventions)


class Mixed(nn.Module):
    """Layers, each with a gain, a bias and a normalisation before both."""

    def __init__(self, d, layers):
        super().__init__()
        self.layers = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))


def test_a_stack_is_made_layer_by_layer():
    """What is made of the letters of one layer is made of each, under the layer's number;"""
    letters = {"gamma": torch.rand(3, 5), "beta": torch.rand(3, 5)}
    state = adapt.layers("layers.{}.", named, letters)
    assert list(state) == list(Mixed(5, 3).state_dict())
    assert torch.equal(state["layers.2.bias"], letters["beta"][2])


def test_all_letters_are_had_by_two_stars():
    """A function with ** is given every letter that it does not name."""
    adapter = adapt.module(build, lambda **w: named(**w), fixed=FIXED)
    worst(adapter, "normalization.layer_norm")


def test_a_module_of_one_size_is_itself_what_is_built():
    """An instance is held at its sizes."""
    adapter = adapt.module(nn.LayerNorm(5, eps=1e-5), named, sizes={"d": 5}, fixed=FIXED)
    worst(adapter, "normalization.layer_norm")


def twice(gamma, beta):
    """Too many entries."""
    return {"weight": torch.cat((gamma, beta)), "bias": beta}


def mistyped(gamma, beta):
    """A name that is none."""
    return {"wieght": gamma, "bias": beta}


@pytest.mark.parametrize(
    ("weights", "more", "says"),
    [
        (lambda gamma: {"weight": gamma}, {}, "is given no beta; weights is a function from letters"),
        (twice, {}, r"weight has shape \(3,\), and is given \(6,\); if it fits at some sizes only"),
        (
            mistyped,
            {},
            "no parameter wieght; nothing is said about weight: .*; its parameters are weight, bias",
        ),
        (lambda gamma, beta: {"weight": gamma + 0 * beta}, {}, "nothing is said about bias"),
        (
            lambda gamma, beta: {"weight": "gamma", "bias": beta},
            {},
            "weight is a str, expected a tensor, a number",
        ),
        (lambda gamma, beta: [gamma, beta], {}, "weights of Norm give a list"),
        (
            lambda gamma, beta, g: {},
            {},
            "weights of Norm takes g, which is nothing here; there are: d, x, gamma",
        ),
        (
            lambda gamma, beta: {"weight": gamma @ beta[:1]},
            {},
            r"weights of Norm fail: .* where gamma is \(3,\)",
        ),
        ({"gamma": "weight", "beta": "bias"}, {}, r"weights is a function .*lambda W, b: .*; got {'gamma'"),
        (named, {"build": lambda d: Norm(d)}, "cannot be built where d = 3: TypeError"),
        (
            named,
            {"build": lambda width: Norm(width, True)},
            "takes width, which is nothing here; there are: d",
        ),
        (named, {"build": lambda d: None}, "builds a NoneType; expected a torch module"),
        (named, {"build": Norm}, "Norm takes width, bias, which is nothing here; .* lambda d_model, h"),
        (named, {"build": "Norm"}, "build is the module's class, or a function"),
        (
            named,
            {"arguments": "d, True"},
            "arguments is gone: build is a function of sizes, lambda d_model, h",
        ),
        (
            named,
            {"seq_frist": True},
            "seq_frist is no part of a description; expected mask, pick, batch, seq_first",
        ),
        (named, {"method": "encode"}, r"method is gone: call is a function of the module"),
        (named, {"call": "x, mask=mask"}, "call is a function of what is called .*; got 'x, mask=mask'"),
        (
            named,
            {"call": lambda norm, x: norm(x, x)},
            r"is called as Norm\(x\): .* takes 2 positional arguments",
        ),
        (named, {"call": lambda norm, x, z: norm(z)}, "the call of Norm takes z, which is nothing here"),
        (named, {"fixed": {}}, "is given no eps .* if it has eps built in"),
        (named, {"mask": "keys"}, 'has no mask; Norm can have mask="none" only'),
        (named, {"call": lambda norm, beta: norm(beta)}, "is given no x"),
        (named, {"pick": 3}, "returns a Tensor; pick=3 takes 3 of it; expected a place, a key"),
        (named, {"pick": "out[0]"}, r"returns a Tensor; pick='out\[0\]' takes 'out\[0\]' of it"),
        (
            named,
            {"pick": lambda out: out.logits},
            "pick of Norm fails where it returns a Tensor: AttributeError",
        ),
        (named, {"pick": ()}, "takes nothing of it"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(weights, more, says):
    """Each mistake of a description names what was given and what was expected; so does text, as descriptions once were."""
    options = {"build": build, "fixed": FIXED, **more}

    def called():
        bound = adapt.module(options.pop("build"), weights, **options).for_formula("normalization.layer_norm")
        return bound(torch.ones(2, 3), torch.ones(3), torch.zeros(3))

    with pytest.raises(Unusable, match=says) as refused:
        called()
    assert "\n" not in str(refused.value)


class Wrong(nn.Module):
    """A module that calls a part of itself in a way that it does not have."""

    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        """It fails."""
        return self.norm(x, x)


def test_what_a_module_does_wrong_within_is_its_own():
    """Only a call of the module itself that it does not have is the description's."""
    adapter = adapt.module(
        lambda d: Wrong(d), lambda gamma, beta: {"norm.weight": gamma, "norm.bias": beta}, fixed=FIXED
    )
    with pytest.raises(TypeError, match="positional"):
        adapter.for_formula("normalization.layer_norm")(torch.ones(2, 3), torch.ones(3), torch.zeros(3))


def test_hooks_and_methods_of_a_module_are_its_own():
    """The call is of the module that was built: its hooks run, and it may be another method of it."""
    module, seen = nn.LayerNorm(5, eps=1e-5), []
    module.register_forward_hook(lambda *given: seen.append(1))
    worst(adapt.module(module, named, sizes={"d": 5}, fixed=FIXED), "normalization.layer_norm")
    assert seen
    by_method = adapt.module(module, named, lambda norm, x: norm.forward(x), sizes={"d": 5}, fixed=FIXED)
    worst(by_method, "normalization.layer_norm")


@pytest.mark.parametrize("words", ["upside-down", "drop additive", "keys lengths", "additive=much", "bool=1"])
def test_words_of_a_mask_that_are_none_are_refused(words):
    """A word that is unknown, or a second of the same kind."""
    with pytest.raises(Unusable, match="mask="):
        adapt.module(Lengths, mask=words)


def test_an_adapter_is_not_called_without_a_formula():
    """It does not know what its arguments would be."""
    with pytest.raises(Unusable, match="for_formula"):
        adapt.module(build, named)(torch.ones(3))


@pytest.mark.parametrize("batch", [0, 1])
def test_results_without_axes_of_their_own_come_back_as_such(batch):
    """A text has one probability: without a batch the result has no axis at all."""

    def probability(s, y):
        taken = s.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
        return taken.sum(-1)

    assert worst(adapt.function(probability, batch=batch), "objectives.autoregressive") <= 1


def test_the_causal_mask_ends_at_the_last_key():
    """It is made where it is asked for; the device without memory stands for any other."""
    assert causal(2, 3).tolist() == [[True, True, False], [True, True, True]]
    assert causal(2, device="meta").is_meta
