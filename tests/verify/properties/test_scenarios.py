"""Robustness scenarios: each finds what it is there for, and none refuses a right implementation."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.masking
import impl.positional
import impl.scores
from impl.attention.masks import blank
from spec.language.registry import find
from tests.verify.wrong_products import (
    Buffer,
    ByPointer,
    LastWeights,
    Memo,
    Packed,
    as_if_contiguous,
    first_of_shared,
    first_only,
    no_batch,
    noisy,
    rows_read_on,
    self_shortcut,
    shared_turned_over,
    strided,
)
from verify import check
from verify.inputs.examples import Example, Space
from verify.inputs.layouts import store_transposed, with_gaps
from verify.properties.judge import Judge
from verify.properties.leaks import unread
from verify.properties.scenarios import applicable, by_name
from verify.properties.scenes import scenario_examples
from verify.properties.setting import Setting
from verify.properties.shared_inputs import choose_shared
from verify.subject.caller import Caller
from verify.targets.ours import implementation

pytestmark = pytest.mark.usefixtures("as_found", "ungraded")


def falsified(fn, formula_id, **more):
    """Names of the falsified checks."""
    report = check(fn, formula_id, max_examples=60, causes=False, **more)
    return {c.name.removeprefix("robustness: ") for c in report.falsified}


def test_what_is_kept_from_a_call_in_inference_mode_is_no_use_in_training():
    """A table by size, made at the first call: autograd refuses it where that was in inference mode."""
    tables = {}

    def cached(q, k):
        table = tables.setdefault((len(q), q.dtype), torch.ones(q.shape[-1], dtype=q.dtype))
        return (q * tables.setdefault((q.shape, q.dtype), torch.ones_like(q))) @ k.mT + 0 * table[0]

    assert falsified(cached, "scores.dot") == {"in inference mode"}


def test_a_coarse_path_of_inference_mode_is_found():
    """Also where no gradient mode shows it."""

    def served(q, k):
        s = q @ k.mT
        return s.half().to(s.dtype) if torch.is_inference_mode_enabled() else s

    assert falsified(served, "scores.dot") == {"in inference mode"}


@pytest.mark.parametrize(
    ("fn", "by"),
    [
        (no_batch, "a batch equals its members"),
        (strided, "non-contiguous inputs"),
        (Buffer(), "same shapes, other values"),
        (ByPointer(), "same shapes, other values"),
        (LastWeights(), "same shapes, other values"),
        (Packed(0), "some inputs change, the others stay"),
        (Packed(1), "some inputs change, the others stay"),
        (rows_read_on, "non-contiguous inputs"),
        (self_shortcut, "one tensor for several inputs"),
        (first_only, "a batch equals its members"),
        (noisy, "value in float64"),
    ],
    ids=lambda x: getattr(x, "__name__", str(type(x).__name__)),
)
def test_each_scenario_finds_what_it_is_for(fn, by):
    """Batches, strides, buffers, caches by address and by identity, aliases, randomness."""
    found = falsified(fn, "scores.dot", conventions={"shapes": "every"})
    assert by in found, found


def fails_in(name, fn, formula_id):
    """Whether it fails in a scenario, at the examples of a usual check."""
    judge = Judge(find(formula_id))
    setting, scenario = Setting.of(judge, Caller(fn, judge.formula)), by_name(judge, name)
    examples = scenario_examples(setting, scenario, setting.space(), ["float64", "float32"])
    return any(scenario.play(judge, setting.caller, example).fails for example in examples)


class KeptFor:
    """The last value made, for as long as a key stays."""

    def __init__(self, key):
        self.key, self.last, self.value = key, None, None

    def __call__(self, of, make):
        """The value, made anew for another key, and for other shapes."""
        if torch.is_grad_enabled() and make().requires_grad:
            return make()
        key = self.key(of), make().shape, of.dtype
        if key != self.last:
            self.last, self.value = key, make().clone()
        return self.value


def entries(x):
    """All entries."""
    return x.tolist()


def test_plain_calls_that_were_right_before_are_no_excuse():
    """W k is kept for as long as k has the same entries: behind the scene plain calls at its inputs are wrong, too."""
    turned = KeptFor(entries)
    report = check(
        lambda q, k, W: q @ turned(k, lambda: W @ k.mT), "scores.general", max_examples=60, causes=False
    )
    assert "robustness: some inputs change, the others stay" in {c.name for c in report.falsified}
    assert not any("set_aside" in check.details for check in report.checks)


@pytest.mark.parametrize(
    "key",
    [
        lambda k: float(k.sum()),
        lambda k: float(k.abs().sum()),
        lambda k: k[..., :1, :1].tolist(),
        lambda k: sorted(k.flatten().tolist()),
        lambda k: (k.data_ptr(), k._version),
    ],
    ids=["sum", "size", "beginning", "entries in any order", "address"],
)
def test_what_is_kept_for_a_part_of_an_input_is_found(key):
    """Whether or not the other inputs are in the key, too."""
    turned = KeptFor(key)
    both = KeptFor(lambda k: (key(k), len(k.shape)))
    assert fails_in(
        "some inputs change, the others stay",
        lambda q, k, W: q @ turned(k, lambda: W @ k.mT),
        "scores.general",
    )
    assert fails_in(
        "some inputs change, the others stay", lambda q, k: q @ both(k, lambda: k.mT), "scores.dot"
    )


def test_a_number_that_a_key_leaves_out_is_found():
    """1/√(var + ε) is kept for as long as the row has the same entries, whatever ε is now."""
    scale = KeptFor(entries)

    def norm(x, gamma, beta, eps):
        centred = x - x.mean(-1, keepdim=True)
        return (
            centred * scale(x, lambda: (centred.square().mean(-1, keepdim=True) + eps).rsqrt()) * gamma + beta
        )

    assert fails_in("some inputs change, the others stay", norm, "normalization.layer_norm")


def from_the_beginning(x):
    """What lies at the beginning of the storage, where enough lies there."""
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), 0)


def of_even_rows(x):
    """The rows of all members as if each lay as far behind the one before it as in the last two axes."""
    if x.ndim < 3:
        return x
    last = x.storage_offset() + (x[..., 0].numel() - 1) * x.stride(-2) + x.stride(-1) * (x.shape[-1] - 1)
    if (last + 1) * x.element_size() > x.untyped_storage().nbytes():
        return x
    return torch.as_strided(x, (x[..., 0].numel(), x.shape[-1]), x.stride()[-2:], x.storage_offset()).reshape(
        x.shape
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda q, k: (q, from_the_beginning(k) if k.is_contiguous() else k),
        lambda q, k: (q, from_the_beginning(k) if k.is_contiguous() and k.ndim == 3 else k),
        lambda q, k: (as_if_contiguous(q) if q.ndim == 4 and q.stride(-1) == 1 else q, k),
        lambda q, k: (q, of_even_rows(k)),
        lambda q, k: (q, as_if_contiguous(k)) if q.is_contiguous() else (q.contiguous(), k.contiguous()),
        lambda q, k: (as_if_contiguous(q), k) if k.is_contiguous() else (q.contiguous(), k.contiguous()),
        lambda q, k: (q, k) if q.ndim < 3 or q.stride(0) or not k.stride(0) else (2 * q, k),
    ],
    ids=[
        "offset",
        "offset of a batch",
        "four axes",
        "even rows",
        "only q is asked",
        "only k is asked",
        "stride 0",
    ],
)
def test_every_input_lies_otherwise_by_itself_at_every_rank(read):
    """Who reads the storage of one of them as if it were contiguous, or asks another how it lies, is found."""

    def product(q, k):
        q, k = read(q, k)
        return q @ k.mT

    named = ["non-contiguous inputs", "expanded inputs"]
    assert any(fails_in(name, product, "scores.dot") for name in named)
    assert not any(fails_in(name, lambda q, k: q @ k.mT, "scores.dot") for name in named)


def kept(fn, formula_id):
    """Whether writing to a result is said to change later ones; the callable conforms either way."""
    report = check(fn, formula_id, max_examples=60, causes=False)
    assert report.verdict == "conforms", str(report)
    said = "writing to what it returned changes what it returns later"
    found = [p.says for p in report.properties if p.name == "kept results"] == [said]
    assert report.headline.endswith(f", but {said}") == found
    return found


def test_a_table_that_is_kept_is_told_of_where_a_view_of_it_is_returned():
    """Rows of a table that is made once: ``rows += x`` would change it for all calls to come. A copy of them would not."""
    tables = {}

    def rows(n, d):
        table = tables.setdefault(d, impl.positional.sinusoidal(5000, d))
        return table[:n] if n <= len(table) else impl.positional.sinusoidal(n, d)

    assert kept(rows, "positional.sinusoidal")
    assert kept(Memo(), "scores.dot")
    assert not kept(lambda n, d: rows(n, d).clone(), "positional.sinusoidal"), "what lay there is put back"


def test_results_that_lie_where_inputs_do_may_be_written_to():
    """That changes what the caller passed, and nothing that is kept. Where entries share a place, nothing can be written."""

    def rows(pos, W_PE):
        first = int(pos[0]) if pos.ndim == 1 and len(pos) else 0
        several = pos.ndim == 1 and torch.equal(pos, torch.arange(first, first + len(pos)))
        return W_PE[first : first + len(pos)] if several else W_PE[pos]

    def spread(q, k):
        return (q @ k.mT)[..., :1, :1].expand(*q.shape[:-1], k.shape[-2])

    assert not kept(rows, "positional.learned")
    report = check(spread, "scores.dot", max_examples=20, causes=False)
    assert not [p for p in report.properties if p.name == "kept results"]


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (shared_turned_over, "a batch that shares k, passed once for all members, gets wrong values"),
        (first_of_shared, "a batch that shares q, passed once for all members, gets wrong gradients"),
        (
            lambda q, k: torch.stack([*q]) @ k.mT if q.ndim == k.ndim else 1 / 0,
            "a batch that shares q, k, passed",
        ),
        (lambda q, k: q @ k.mT, ""),
    ],
)
def test_what_a_batch_shares_is_a_property_where_nobody_promised_it(fn, says):
    """No statement says that a memory may be passed once for many sequences: it conforms, and is told of."""
    report = check(fn, "scores.dot", max_examples=60, causes=False)
    assert report.verdict == "conforms"
    told = "; ".join(p.says for p in report.properties if p.name == "shared inputs")
    assert told.startswith(says) if says else not told
    assert report.headline == f"conforms, but {says}" if "wrong" in says else report.headline == "conforms"


@pytest.mark.parametrize(
    "formula_id", ["objectives.cross_entropy", "attention.scaled_dot_product", "bert.layer"]
)
def test_ours_take_what_a_batch_shares(formula_id):
    """Values and gradients of what is passed once are those of what is passed for each member."""
    report = check(implementation(formula_id), formula_id, max_examples=40, causes=False)
    assert not [p for p in report.properties if p.name == "shared inputs"]
    judged = [c.verdict for c in report.checks if "shared by a batch" in c.name]
    assert judged == ["conforms", "conforms"]


def test_of_many_inputs_each_is_shared_alone_and_all_but_each():
    """Turn by turn, masks among them; and nothing where there is one input, or no batch."""
    judge = Judge(find("attention.scaled_dot_product"))
    one = {
        "q": np.ones((3, 2, 5)),
        "k": np.ones((3, 7, 5)),
        "v": np.ones((3, 7, 2)),
        "mask": np.ones((3, 2, 7), bool),
    }
    example = Example(one, "float64", {}, batch=(3,))
    seen = []
    for turn in range(8):
        example.turn = turn
        seen.append(choose_shared(judge, example))
    assert seen[:4] == [("q",), ("k",), ("v",), ("mask",)]
    assert seen[4:] == [("k", "v", "mask"), ("q", "v", "mask"), ("q", "k", "mask"), ("q", "k", "v")]
    assert not choose_shared(judge, Example({"q": one["q"]}, "float64", {}, batch=(3,)))
    assert not choose_shared(judge, Example(one, "float64", {}))


def test_what_no_batched_input_reaches_is_not_asked_for():
    """A step with attention: its context does not depend on the word, and is the same where all else is shared."""
    judge = Judge(find("attention.bahdanau_step"))
    space = Space(judge.formula)
    example = space.example(next(space.plan(1, 0)), "float64", batch=(3,))
    asked = set()
    for turn in range(8):
        example.turn = turn
        asked.add(choose_shared(judge, example))
    assert ("y",) in asked
    assert ("s", "h", "mask") not in asked


def test_nan_behind_a_mask_must_stay_there():
    """Torch's kernel lets NaN through slots that no query may see; ours does not."""

    def kernel(q, k, v, mask=None):
        z = F.scaled_dot_product_attention(q, k, v, mask)
        return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, 0.0)

    strictly = {"conventions": {"unread": "isolated"}}
    assert "NaN where nothing is read" in falsified(kernel, "attention.scaled_dot_product", **strictly)
    assert not falsified(kernel, "attention.scaled_dot_product")
    assert not falsified(kernel, "attention.scaled_dot_product", conventions={"unread": "ignored"})
    assert not falsified(impl.attention.scaled_dot_product, "attention.scaled_dot_product", **strictly)


def test_what_is_never_read_follows_from_the_statement():
    """Keys and values hidden from all queries, queries that see nothing, and nothing else."""
    judge = Judge(find("attention.scaled_dot_product"))
    random = np.random.default_rng(0)
    q, k, v = random.standard_normal((2, 3)), random.standard_normal((4, 3)), random.standard_normal((4, 2))
    mask = np.array([[True, False, False, True], [False] * 4])
    found = unread(judge, Example({"q": q, "k": k, "v": v, "mask": mask}, "float64", {}))
    assert set(found) == {("q", 0, 1), ("k", 0, 1), ("k", 0, 2), ("v", 0, 1), ("v", 0, 2)}


def test_where_the_statement_overflows_nothing_is_called_unread():
    """Its value is NaN whatever stands in a slot: that nothing changes does not tell that nothing is read."""
    judge = Judge(find("attention.window"))
    q, k, v = np.full((7, 5), -2e200), np.full((3, 5), -3e200), np.ones((3, 2))
    far = Example({"q": q, "k": k, "v": v, "w": 0}, "float64", {})
    assert unread(judge, far) == []
    near = far.replace_inputs(q=q[:2] * 1e-200, k=k * 1e-200)
    assert set(unread(judge, near)) == {("k", 0, 0), ("v", 0, 0)}


def test_what_is_compared_is_read_and_what_is_idle_altogether_is_not_hidden():
    """Beside a zero vector any other may stand, but that hides none of its entries."""
    judge = Judge(find("similarity.cosine"))
    for x, y in ((2.0, 0.0), (0.0, 0.0), (2.0, 3.0)):
        assert unread(judge, Example({"x": np.array([x]), "y": np.array([y])}, "float64", {})) == []


def test_a_cosine_may_divide_each_vector_by_its_own_norm():
    """A NaN beside a zero vector is then NaN: no fault."""

    def scores(q, k):
        q, k = (torch.where((n := x.norm(dim=-1, keepdim=True)) > 0, x / n, 0.0) for x in (q, k))
        return q @ k.mT

    assert "NaN where nothing is read" not in falsified(
        scores, "scores.cosine", conventions={"unread": "isolated"}
    )


def test_a_scenario_is_not_blamed_for_a_wrong_value_among_its_calls():
    """Where one of its calls is wrong when made plainly, the scenario says nothing."""

    def only_small(q, k):
        s = impl.scores.dot(q, k)
        return torch.where(s.abs() > 1e3, 0.99 * s, s)

    report = check(only_small, "scores.dot", max_examples=60, causes=False)
    scene = next(c for c in report.checks if c.name == "robustness: same shapes, other values")
    (count,) = scene.details["set_aside"].values()
    assert scene.verdict == "conforms"
    assert (
        scene.message
        == f"{count} of {scene.examples + count} examples set aside: plain calls fail there, as is reported"
    )


def test_a_view_of_an_input_is_a_result():
    """What is written to the input after the result was looked at is not held against it."""

    def views(H):
        layers = H.unbind(-3)
        return (
            layers[0],
            layers[-1],
            H[..., 1:, :, :].sum(-3),
            layers[-2],
            sum(layers[-4:]),
            torch.cat(layers[-4:], -1),
        )

    assert falsified(views, "bert.features") == set()


def test_leaks_between_rows_are_noted_not_judged():
    """NaN in a slot that some queries see may reach the others: a property."""

    def weighted(q, k, v, mask=None):
        if mask is not None:
            q, k, v = blank(q, k, v, mask)
        return impl.attention.softmax(impl.scores.scaled_dot(q, k), mask) @ v

    report = check(weighted, "attention.scaled_dot_product", max_examples=30)
    assert report.verdict == "conforms", str(report)
    assert any(each.name == "leaks" for each in report.properties)


def test_rearranged_tensors_hold_the_same_values():
    """Scattered and turned tensors differ in strides only."""
    x = torch.arange(12.0).reshape(3, 4)
    for change in (with_gaps, store_transposed):
        assert torch.equal(change(x), x)
        assert not change(x).is_contiguous()
    assert with_gaps(torch.tensor(1.0)).shape == ()


def test_a_law_has_its_own_scenarios():
    """For a law: same seed, same result; batches; strides."""
    judge = Judge(find("masking.mlm"))
    assert {"same seed, same result", "non-contiguous inputs"} <= {s.name for s in applicable(judge)}


def test_a_batch_of_compiled_calls(monkeypatch):
    """With ``compile`` the compiled callable is held to the statement, too (here with a stand-in for the compiler)."""
    monkeypatch.setattr(torch, "compile", lambda fn: lambda q, k: 2 * fn(q, k))
    report = check(impl.scores.dot, "scores.dot", max_examples=10, compile=True)
    assert [c.name for c in report.falsified] == ["robustness: compiled"]
