"""``verify.compare``: references of all kinds, inputs, sizes, and what is only reported."""

from __future__ import annotations

import ctypes
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.verify.output.test_document import violations
from verify import Unusable, compare
from verify.comparing import comparing

ROWS = [torch.randn(7, 13, generator=torch.Generator().manual_seed(0))]
QUICK: dict[str, Any] = {"kinds": (), "inputs": ROWS}


def softmax(x: Tensor) -> Tensor:
    """Shares."""
    return torch.softmax(x, -1)


def test_results_in_tuples_dictionaries_and_integers_are_compared_one_by_one() -> None:
    """What is wrong is named by where it is; an integer counts where no rounding makes it another."""

    def reference(x: Tensor) -> Any:
        return {"top": x.topk(2), "mean": (x.mean(-1), x.argmax(-1), x > 0)}

    def candidate(x: Tensor) -> Any:
        found = reference(x)
        return {**found, "mean": (found["mean"][0], x.argmin(-1), found["mean"][2])}

    assert compare(reference, reference, **QUICK).verdict == "conforms"
    found = compare(reference, candidate, **QUICK)
    assert found.verdict == "falsified"
    assert "output['mean'][1]" in found.headline
    assert (
        "returns no output['top']"
        in compare(reference, lambda x: {"mean": reference(x)["mean"]}, **QUICK).headline
    )


class Counting(nn.Module):
    """It returns something else each time."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Rows, and the number of the call."""
        self.calls += 1
        return x + self.calls


def float64_only_refused(x: Tensor) -> Tensor:
    """It insists on its type."""
    if x.dtype != torch.float32:
        raise TypeError("float32 alone")
    return x


@pytest.mark.parametrize(
    ("reference", "more", "said"),
    [
        (lambda x: F.dropout(x, 0.5), {}, "without draws"),
        (Counting, {}, "equal inputs gave other results"),
        (softmax, {"dtype": "float64"}, "float32, float16 or bfloat16; got float64"),
        (lambda x: x @ x, {}, "it raised RuntimeError"),
        (softmax, {"inputs": None}, "get_inputs() beside it, or inputs=; got neither"),
        ("no_file.py:Model", {}, "there is no file no_file.py"),
        (softmax, {"kinds": ("regimes",)}, "expected some of regime"),
        (3, {}, "expected a callable"),
    ],
)
def test_what_cannot_be_a_reference_is_refused_in_one_line(
    reference: Any, more: dict[str, Any], said: str
) -> None:
    """The line says what was expected and what was given."""
    with pytest.raises(Unusable) as refused:
        compare(reference, softmax, **{**QUICK, **more})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_reference_that_cannot_run_in_float64_leaves_nothing_judged() -> None:
    """The verdict is inconclusive, and says why."""
    found = compare(float64_only_refused, softmax, **QUICK)
    assert found.verdict == "inconclusive"
    assert "float32 alone in float64" in found.headline


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_allows_what_that_type_makes_and_no_more(dtype: str) -> None:
    """A softmax by steps conforms; one whose rows sum to 0.9 does not, and allclose at 1e-2 takes it."""
    inputs = [torch.randn(29, 1024, generator=torch.Generator().manual_seed(1))]
    options: dict[str, Any] = {"inputs": inputs, "dtype": dtype, "kinds": ("regime", "layout")}

    def by_steps(x: Tensor) -> Tensor:
        weights = torch.exp(x.float() - x.float().amax(-1, keepdim=True))
        return (weights / weights.sum(-1, keepdim=True)).to(x.dtype)

    assert compare(softmax, by_steps, **options).verdict == "conforms"
    half = inputs[0].half()
    assert torch.allclose(softmax(half) * 0.9, softmax(half), 1e-2, 1e-2)
    assert compare(softmax, lambda x: softmax(x) * 0.9, **options).verdict == "falsified"


def test_what_is_more_accurate_than_the_reference_conforms() -> None:
    """A variance that loses its digits in the reference is expected in float64, and its own spread allows both."""

    def one_pass(x: Tensor) -> Tensor:
        return x.square().mean(-1) - x.mean(-1).square()

    inputs = [torch.randn(7, 64, generator=torch.Generator().manual_seed(0)) + 100]
    exact = compare(one_pass, lambda x: x.double().var(-1, correction=0).float(), inputs=inputs, kinds=())
    assert exact.verdict == "conforms"
    assert not torch.allclose(one_pass(inputs[0]), inputs[0].var(-1, correction=0), 1e-4, 1e-4)


def test_gradients_are_judged_where_there_are_some() -> None:
    """A wrong backward pass is falsified; none at all is told, and judges nothing."""

    class Twice(torch.autograd.Function):
        """A square with the wrong derivative."""

        @staticmethod
        def forward(context: Any, x: Tensor) -> Tensor:
            context.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(context: Any, gradient: Tensor) -> Tensor:
            return gradient * context.saved_tensors[0]

    options: dict[str, Any] = {"inputs": ROWS, "kinds": ("gradient",)}
    found = compare(lambda x: x * x, Twice.apply, **options)
    assert found.verdict == "falsified"
    assert "gradient by x" in found.headline
    cut = compare(lambda x: x * x, lambda x: (x * x).detach(), **options)
    assert cut.verdict == "conforms"
    assert "carries no gradient" in next(case.message for case in cut.cases if case.kind == "gradient")


class Layer(nn.Module):
    """A linear layer and a function of each entry."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(67, 61)

    def forward(self, x: Tensor) -> Tensor:
        """Rows."""
        return torch.tanh(self.linear(x))


class Forgetful(Layer):
    """The same, but no gradient reaches the last entry of the bias."""

    def forward(self, x: Tensor) -> Tensor:
        """Rows."""
        bias = torch.cat((self.linear.bias[:-1], self.linear.bias[-1:].detach()))
        return torch.tanh(nn.functional.linear(x, self.linear.weight, bias))


def test_one_wrong_entry_of_a_smooth_gradient_is_falsified() -> None:
    """A share of entries may be off only where the reference has a kink; tanh has none."""
    drawn = lambda: [torch.randn(31, 67)]  # noqa: E731
    assert compare(Layer, Layer, inputs=drawn, kinds=("gradient",)).verdict == "conforms"
    assert compare(Layer, Forgetful, inputs=drawn, kinds=("gradient",)).verdict == "falsified"


def test_a_candidate_that_refuses_other_shapes_and_layouts_is_not_falsified_for_it() -> None:
    """What it raises is told; a wrong result would be falsified."""

    def picky(x: Tensor) -> Tensor:
        if x.shape != (7, 13) or not x.is_contiguous():
            raise ValueError("contiguous 7 × 13 alone")
        return softmax(x)

    options: dict[str, Any] = {"inputs": ROWS, "kinds": ("shape", "layout")}
    found = compare(softmax, picky, **options)
    assert found.verdict == "conforms"
    assert any("not supported: raised ValueError" in case.message for case in found.cases)
    blind = compare(softmax, lambda x: softmax(x.as_strided(x.shape, (x.shape[1], 1))), **options)
    assert [case.name for case in blind.cases if case.verdict == "falsified"]


def test_nan_in_one_member_that_spreads_to_another_is_falsified() -> None:
    """Whether a member is finite hangs on itself alone, as in the reference."""

    def spreads(x: Tensor) -> Tensor:
        return softmax(x) + 0 * x.sum()

    found = compare(softmax, spreads, inputs=ROWS, kinds=("regime",))
    assert found.verdict == "falsified"
    assert "NaN in one member of a batch spreads to others" in found.cause


def test_columns_beyond_a_block_are_named() -> None:
    """From which index on, and in how many blocks."""

    def cut(x: Tensor) -> Tensor:
        return torch.cat([softmax(x)[:, :32], 0 * x[:, 32:]], -1)

    found = compare(softmax, cut, inputs=[torch.randn(5, 61)], kinds=())
    assert "wrong from index 32 of axis 1 on, 1 × 32, and right before" in found.headline


UNREADABLE = {
    "torch.sparse_coo": Tensor.to_sparse,
    "on meta": lambda x: x.to("meta"),
    "dtype float8_e4m3fn": lambda x: x.to(torch.float8_e4m3fn),
    "dtype complex64": lambda x: x * 1j,
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_output_without_values_to_compare_is_named(what: str) -> None:
    """A candidate that returns one is falsified; a reference that does is refused."""
    found = compare(F.relu, UNREADABLE[what], **QUICK)
    assert found.verdict == "falsified"
    assert what in found.headline
    with pytest.raises(Unusable, match=f"expected a reference that returns tensors; its output .*{what}"):
        compare(UNREADABLE[what], F.relu, **QUICK)


def test_a_reference_that_leaves_the_process_is_refused() -> None:
    """As one that raises."""
    with pytest.raises(Unusable, match=r"a reference that can be called .*; it raised SystemExit: 3"):
        compare(lambda x: sys.exit(3), F.relu, **QUICK)


def test_outputs_elsewhere_are_named() -> None:
    """Where the candidate's are, and where they are expected."""
    found = compare(F.relu, lambda x: {"y": [F.relu(x)]}, **QUICK)
    assert "returns output['y'][0], not output as the reference does" in found.headline


def test_a_crash_is_a_verdict_in_a_process_of_its_own() -> None:
    """The caller goes on; a candidate that conforms does so there, too."""
    found = compare(F.relu, crash, inputs=ROWS, kinds=(), isolate=True)
    assert found.verdict == "falsified"
    assert "a call ended the process (SIGSEGV): " in found.headline
    assert "," not in found.headline
    assert compare(F.relu, torch.relu, inputs=ROWS, kinds=(), isolate=True).verdict == "conforms"


def crash(x: Tensor) -> Tensor:
    """It reads where there is nothing."""
    ctypes.string_at(0)
    return x


REFERENCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.inner(x))

count = 6
width = 32

def get_inputs():
    return [torch.randn(count, width)]

def get_init_inputs():
    return [width]
"""
CANDIDATE = REFERENCE.replace("class Model(", "class ModelNew(").replace(
    "return torch.relu(self.inner(x))", "return {}"
)


@pytest.mark.parametrize(
    ("body", "verdict", "said"),
    [
        ("self.inner(x).clamp_min(0)", "conforms", "conforms to reference.py:Model"),
        ("(self.inner(x) * (x.shape[1] % 16 == 0)).clamp_min(0)", "falsified", "no multiple of 16"),
        (
            "torch.relu(x @ self.inner.weight.bfloat16().float().T + self.inner.bias)",
            "imprecise",
            "as if held in",
        ),
    ],
)
def test_files_of_the_contract_are_built_alike_and_at_other_sizes(
    tmp_path: Path, body: str, verdict: str, said: str
) -> None:
    """Sizes are the module's numbers that get_inputs reads; each is changed by itself, and set back."""
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidate.py").write_text(CANDIDATE.format(body))
    found = compare(f"{tmp_path}/reference.py", f"{tmp_path}/candidate.py", kinds=("shape",))
    assert (found.verdict, said in found.headline) == (verdict, True), found.headline
    tried = {case.name for case in found.cases if case.kind == "shape"}
    assert {"count = 5", "count = 7", "count = 1", "width = 31", "width = 33", "width = 48"} <= tried
    assert found.to_dict()["verdict"] == verdict


def test_the_document_is_as_its_schema_says() -> None:
    """Numbers that are not finite are words."""
    schema = json.loads(Path(comparing.__file__).with_name("comparison.schema.json").read_text("utf-8"))
    for candidate in (softmax, lambda x: x * math.nan):
        found = compare(softmax, candidate, **QUICK).to_dict()
        assert list(violations(schema, json.loads(json.dumps(found, allow_nan=False)))) == []
        assert set(schema["required"]) == set(found)
