"""Calling whatever is checked, and surviving it."""

import functools
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from spec.language.registry import find
from tests.verify.subject.calling import ROW, call, right
from verify import check
from verify.faults import Fault, Unsupported, Unusable
from verify.inputs.dtypes import DTYPES
from verify.subject import returned, wording
from verify.subject.caller import Caller

pytestmark = pytest.mark.usefixtures("ungraded")

ROOT = Path(__file__).parents[3]
SOFTMAX = find("attention.softmax")
EVERY = {"shapes": "every"}
"""Nothing is left out: an exception is a failure."""


def raising(error):
    """A callable that raises."""

    def fn(x, gamma, beta, eps):
        raise error

    return fn


@pytest.mark.parametrize(
    "fn",
    [lambda x: x, lambda a, b, c, d, e: a, lambda *, x: x, 3, None],
    ids=["too few", "too many", "by keyword only", "a number", "nothing"],
)
def test_what_cannot_be_called_is_unusable(fn):
    """A signature that cannot take the inputs is refused before any call, in one line that names formula and inputs."""
    with pytest.raises(Unusable) as caught:
        check(fn, "normalization.layer_norm")
    assert "normalization.layer_norm" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_arguments_are_rounded_as_torch_rounds(dtype):
    """Ties, what is too large or too small for the type, and what is no number, without a warning."""
    caller = Caller(right, find("normalization.layer_norm"))
    row = np.array(
        [1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e300, -1e300, 1e-45, -1e-46, 3e-39, np.inf, np.nan, -0.0]
    )
    made = caller.tensor(caller.formula.inputs[0], row, dtype, True)
    exact = torch.from_numpy(row.copy()).to(DTYPES[dtype])
    assert returned.identical(made.detach(), exact)
    assert made.is_leaf
    assert made.requires_grad


def test_unknown_things_are_unusable():
    """An unknown formula, convention, option, type or device is one clear line."""
    for formula, more, says in [
        ("normalization.layer_nrom", {}, "did you mean"),
        ("normalization.layer_norm", {"conventions": {"epsilon": "inside"}}, "no convention"),
        ("normalization.layer_norm", {"conventions": {"eps": "below"}}, "one of"),
        ("normalization.layer_norm", {"dtypes": ["float8"]}, "float8"),
        ("normalization.layer_norm", {"device": "quantum"}, "quantum"),
    ]:
        with pytest.raises(Unusable, match=says):
            check(right, formula, **more)


class Norm(torch.nn.Module):
    """A module."""

    def forward(self, x, gamma, beta, eps):
        """Torch's own."""
        return right(x, gamma, beta, eps)


@pytest.mark.parametrize(
    "fn",
    [Norm(), functools.partial(right), lambda *a: right(*a), lambda x, g, b, e, more=1: right(x, g, b, e)],
)
def test_every_kind_of_callable_is_called(fn):
    """Modules, partial functions, variadic functions and functions with further defaults can be checked."""
    _, (out,) = call(fn)
    assert out.shape == (3,)


def test_a_builtin_without_a_signature_is_tried():
    """A builtin that tells nothing about itself is called; without a mask if it takes none."""
    report = check(torch.relu, "attention.softmax", max_examples=10)
    assert report.verdict == "falsified"
    with pytest.raises(Unusable):
        check(torch.matmul, "normalization.layer_norm", max_examples=10)


def test_a_callable_without_mask_is_checked_without_and_the_report_says_so():
    """No mask parameter, no masks; a note."""
    report = check(lambda s: torch.softmax(s, -1), "attention.softmax", max_examples=20)
    assert report.verdict == "conforms"
    assert any("takes no mask" in note for note in report.notes)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no\nway"),
        SystemExit(0),
        KeyboardInterrupt(),
        RuntimeError("Float but found Double"),
        MemoryError(),
        GeneratorExit(),
        AssertionError(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_whatever_it_raises_is_a_fault_in_one_line(error):
    """Exceptions, exits and a KeyboardInterrupt nobody pressed become one line naming formula, inputs and the error."""
    report = check(raising(error), "normalization.layer_norm", max_examples=5, conventions=EVERY)
    assert report.verdict == "falsified"
    message = report.falsified[0].message
    assert "\n" not in message
    assert type(error).__name__ in message
    assert "x (" in message


def test_where_ctrl_c_is_ignored_nobody_has_pressed_it():
    """In a job that a script runs in the background SIGINT is ignored; a KeyboardInterrupt is then the callable's own."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        report = check(
            raising(KeyboardInterrupt()), "normalization.layer_norm", max_examples=5, conventions=EVERY
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.verdict == "falsified"


@pytest.mark.parametrize(
    "error",
    [
        NotImplementedError("later"),
        RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'"),
        TypeError("expected float32; got float64"),
    ],
    ids=repr,
)
def test_a_type_declared_unsupported_is_not_held_against_it(error):
    """NotImplementedError, torch's 'not implemented for', and a TypeError naming the type are inconclusive."""

    def fn(x, gamma, beta, eps):
        if x.dtype == torch.float64:
            raise error
        return right(x, gamma, beta, eps)

    report = check(fn, "normalization.layer_norm", max_examples=12)
    verdicts = {c.name: c.verdict for c in report.checks}
    assert verdicts["value in float64"] == verdicts["gradient in float64"] == "inconclusive"
    assert verdicts["value in float32"] == "conforms"
    assert report.verdict == "conforms"


def test_a_call_that_fails_now_and_then_is_no_unsupported_type():
    """After a success in a type, NotImplementedError there is a fault."""
    caller, _ = call(right)
    caller.fn = raising(NotImplementedError())
    with pytest.raises(Fault):
        caller(*caller.arguments(ROW, "float64"))
    with pytest.raises(Unsupported):
        caller(*caller.arguments(ROW, "float32"))


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda x, g, b, e: None, "must return a tensor; got NoneType"),
        (lambda x, g, b, e: 1.5, "got float"),
        (lambda x, g, b, e: x.numpy(), "got ndarray"),
        (lambda x, g, b, e: (x, x), "got tuple of Tensor, Tensor"),
        (lambda x, g, b, e: x[:1], r"shape \(1,\); expected \(3,\)"),
        (lambda x, g, b, e: x.float(), "dtype torch.float32; expected torch.float64"),
        (lambda x, g, b, e: x.int(), "dtype torch.int32"),
        (lambda x, g, b, e: x.to("meta"), "on meta; expected cpu"),
        (lambda x, g, b, e: x.to_sparse(), "sparse"),
        (lambda x, g, b, e: torch.nested.nested_tensor([x]), "is a nested tensor"),
        (lambda x, g, b, e: torch.nested.nested_tensor([x], layout=torch.jagged), "is a nested tensor"),
        (lambda x, g, b, e: x.to(torch.complex128), "dtype torch.complex128"),
        (lambda x, g, b, e: FakeTensorMode().from_tensor(x), "FakeTensor whose values cannot be read"),
    ],
)
def test_a_wrong_output_is_a_fault_that_says_expected_and_got(fn, says):
    """Type, number, shape, dtype, device and layout are held."""
    with pytest.raises(Fault, match=says):
        call(fn)


def test_a_result_in_the_storage_of_an_input_is_noted():
    """Returning an input, or a view of it, conforms where the values do; the report says what an in-place write would do."""
    report = check(lambda pos, W_PE: W_PE[pos], "positional.learned", max_examples=10)
    assert not any(each.name == "aliasing" for each in report.properties)

    def own_table(pos, W_PE):
        return W_PE if pos.ndim == 1 and torch.equal(pos, torch.arange(len(W_PE))) else W_PE[pos]

    report = check(own_table, "positional.learned", max_examples=40)
    assert report.verdict == "conforms", str(report)
    assert any("lies in the storage of the input W_PE" in each.says for each in report.properties)


def test_a_sparse_gradient_is_a_gradient():
    """Look-ups may return sparse gradients: they are compared like any others."""
    report = check(
        lambda pos, W_PE: F.embedding(pos, W_PE, sparse=True), "positional.learned", max_examples=20
    )
    assert report.verdict == "conforms", str(report)


def test_damage_to_inputs_is_reported_and_values_are_judged_on_the_pristine_ones():
    """In-place damage is a check of its own; NaN equals itself in the comparison."""

    def fn(x, gamma, beta, eps):
        out = right(x, gamma, beta, eps)
        with torch.no_grad():
            x.mul_(2)
        return out

    report = check(fn, "normalization.layer_norm", max_examples=5)
    verdicts = {c.name: c.verdict for c in report.checks}
    assert verdicts["value in float64"] == "conforms"
    assert verdicts["robustness: leaves its inputs alone"] == "falsified"


def test_identical_is_bitwise():
    """NaN is identical to itself, 0 is not identical to −0."""
    nan = torch.tensor([float("nan")])
    assert returned.identical(nan, nan.clone())
    assert not returned.identical(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not returned.identical(nan, nan[None])


def test_warnings_in_user_code_are_no_errors():
    """Warnings, even as errors outside, pass."""

    def fn(x, gamma, beta, eps):
        warnings.warn("careful", stacklevel=1)
        return right(x, gamma, beta, eps)

    assert check(fn, "normalization.layer_norm", max_examples=5).verdict == "conforms"


def test_a_callable_has_a_name():
    """Functions, partials, modules and instances are named."""
    assert wording.name_callable(functools.partial(right)).endswith("right")
    assert "Norm" in wording.name_callable(Norm())
    assert wording.name_callable(sys.exit) == "sys.exit"


def checked_alone(folder, text):
    """The command, in a process of its own, on ``dot`` of a module of this text."""
    (folder / "alone.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "verify", "check", "alone:dot", "--formula", "similarity.dot", "--max-examples", "4"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


class Stubborn(torch.Tensor):
    """A tensor that answers nothing."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("not that")


def test_a_tensor_that_answers_nothing_is_a_fault():
    """Whatever is asked of it first."""
    with pytest.raises(Fault, match=r"output y is a Stubborn whose values cannot be read \(RuntimeError\)"):
        call(lambda *a: right(*a).as_subclass(Stubborn))


@pytest.mark.parametrize(
    "ends", ["os._exit(0)", "return (x * y).sum(-1)", "raise ValueError", "raise SystemExit(3)"]
)
def test_a_process_that_user_code_branches_off_ends_with_its_call(tmp_path, ends):
    """As those of multiprocessing do, or when it comes back: the check goes on once, in its own process."""
    ran = checked_alone(
        tmp_path,
        "import os\n\nbranched = []\n\ndef dot(x, y):\n    if not branched:\n        branched.append(child := os.fork())\n"
        f"        if not child:\n            {ends}\n        os.waitpid(child, 0)\n    return (x * y).sum(-1)\n",
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("conforms: ") == 1


def test_a_process_that_a_module_branches_off_as_it_is_imported_ends_with_the_import(tmp_path):
    """Else it would check, too."""
    ran = checked_alone(
        tmp_path, "import os\n\nif child := os.fork():\n    os.waitpid(child, 0)\n\n"
        "def dot(x, y):\n    return (x * y).sum(-1)\n",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("conforms: ") == 1


def test_an_import_that_would_end_the_checker_is_an_error_like_any_other(tmp_path):
    """Nothing said, and status 0, would be taken for a check that passed."""
    ran = checked_alone(tmp_path, "import os\nos._exit(0)\n")
    assert ran.returncode == 2
    assert "alone does not import: SystemExit: os._exit(0)" in ran.stderr
