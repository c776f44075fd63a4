"""Accuracy grades: careful callables stay near careful arithmetic, coarse ones are named, with the line that is coarse.

Everything is drawn from fixed seeds, so that what holds once holds always. Where a new draw would be unlucky is said: a careful
callable's largest error is below 12 sigma over all that was measured, the limit is 32; a coarse line makes more than 100.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from spec.language.registry import find
from tests.mutants import precision, variants
from tests.mutants.precision import held
from verify.accuracy.grade import WORST
from verify.accuracy.grades import AccuracyProperty
from verify.accuracy.lost_digits import find_first_step, find_line
from verify.checking import check
from verify.command.commands import do_check
from verify.inputs.examples import realistic, round_to
from verify.inputs.size_rules import EVERY_SIZE
from verify.inputs.sizes import make_sizing, wide_sums
from verify.oracle import Oracle
from verify.output.table import accuracy, overall, table, verdict_of
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.report import IMPRECISE, CheckResult, Report
from verify.search.loop import Search
from verify.subject.caller import Caller

ATTENTION, SOFTMAX = "attention.scaled_dot_product", "attention.softmax"


def graded(fn: Any, formula_id: str, dtype: str = "float32", seed: int = 0, **options: Any) -> CheckResult:
    """The accuracy check of a callable alone."""
    formula = find(formula_id)
    setting = Setting.of(Judge(formula), Caller(fn, formula), max_examples=32, seed=seed)
    (result,) = Search(AccuracyProperty(setting, dtype, **options), setting.budget).run()
    return result


def test_digits_that_an_offset_takes_are_missed() -> None:
    """A cross entropy that subtracts a score from the logarithm of the sum loses them; one that shifts the scores does not."""

    def mean(log_p: Any, y: Any, epsilon: float) -> Any:
        own = log_p.gather(-1, y.clamp(min=0)[..., None])[..., 0]
        cost = torch.where(y >= 0, -(1 - epsilon) * own - epsilon * log_p.mean(-1), 0.0)
        return cost.sum(-1) / (y >= 0).sum(-1).clamp(min=1)

    def subtracting(s: Any, y: Any, epsilon: float) -> Any:
        return mean(s - torch.logsumexp(s, -1, keepdim=True), y, epsilon)

    def shifting(s: Any, y: Any, epsilon: float) -> Any:
        return mean(F.log_softmax(s, -1), y, epsilon)

    lossy, careful = (graded(fn, "objectives.cross_entropy") for fn in (subtracting, shifting))
    assert lossy.verdict == "imprecise"
    assert lossy.details["grades"]["value, offset sizes"]["sigma"] > WORST["float32"]
    assert careful.verdict == "conforms"


def coarse_scores(dtype: torch.dtype, from_: int = 128) -> Any:
    """Attention whose scores are held in another type from so many keys on."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        return held(q @ k.mT / q.shape[-1] ** 0.5, dtype, from_).softmax(-1) @ v

    return attention


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("fn", "formula_id"),
    [
        (F.scaled_dot_product_attention, ATTENTION),
        (lambda s: s.softmax(-1), SOFTMAX),
        (lambda x, g, b, eps: F.layer_norm(x, x.shape[-1:], g, b, eps), "normalization.layer_norm"),
        (lambda x, y: (x * y).sum(-1), "similarity.dot"),
    ],
)
def test_careful_callables_are_graded_as_careful(fn: Any, formula_id: str, dtype: str) -> None:
    """PyTorch's own in both types: a few sigma, no digits lost, and it says at which sizes."""
    found = graded(fn, formula_id, dtype)
    assert found.verdict == "conforms"
    assert 0 < found.details["sigma"] < 12
    assert found.details["digits"] < 0.2
    assert max(found.details["grades"]["value, wide sizes"]["sizes"].values()) > 256


@pytest.mark.parametrize("coarse", [torch.float16, torch.bfloat16])
def test_scores_held_in_a_coarser_type_are_imprecise_and_named(coarse: torch.dtype) -> None:
    """More than a digit lost at realistic sizes, with the line and its type; at default sizes nothing shows."""
    found = graded(coarse_scores(coarse), ATTENTION)
    name = str(coarse).removeprefix("torch.")
    assert found.verdict == "imprecise"
    assert found.details["sigma"] > 100
    assert found.details["digits"] > 1
    assert found.details["place"] == f"as if `s` were held in {name}"
    assert found.details["explained"]
    assert found.details["grades"]["value, default sizes"]["sigma"] < 12
    assert f"as if `s` were held in {name}" in found.message


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("state_in_half_after_many_steps", "states[100]"),
        ("gated_state_in_bfloat16_after_many_steps", "states[100]"),
        ("weights_in_half_of_large_tables", ""),
    ],
)
def test_what_is_coarse_only_where_several_sizes_are_large_is_imprecise(name: str, since: str) -> None:
    """Many steps of a state that is not narrow, or many queries and keys; from which step on is said."""
    (variant,) = (each for each in variants() if each.name == name)
    found = graded(variant.call, variant.formula_id)
    assert found.verdict == "imprecise"
    grades = found.details["grades"]
    assert grades["value, no small sizes"]["sigma"] > 1000
    others = [each["sigma"] for name, each in grades.items() if name != "value, no small sizes"]
    assert max(others) < 12 or not since
    assert found.details["place"] == (
        f"{since} is the first that is off" if since else "as if `a` were held in float16"
    )


def test_a_sequence_that_is_off_from_the_first_step_on_has_no_first_step() -> None:
    """All entries are off: there is nothing to say of where it begins; nor where none is."""
    (output,) = find("recurrent.gru").outputs
    (T, _) = output.shape
    spread = np.ones((5, 2))
    for errors, said in (
        (np.full((5, 2), 9.0), ""),
        (np.zeros((5, 2)), ""),
        (np.diag([0.0, 0, 0, 9, 9])[:, 2:4], "states[3] is the first that is off"),
    ):
        assert str(find_first_step([output], [T], {output.name: errors}, {output.name: spread}, 8.0)) == said


def test_a_sum_accumulated_in_bfloat16_stands_out_from_eager_bfloat16() -> None:
    """Of the variants in bfloat16 the accumulator is imprecise, and the eager ones are not."""
    named = {v.name: v for v in variants() if v.call.__module__ == precision.__name__}
    found = {
        name: graded(named[name].call, named[name].formula_id, "bfloat16")
        for name in ("accumulated_in_bfloat16", "eager_softmax_in_bfloat16", "eager_in_bfloat16")
    }
    verdicts = {name: result.verdict for name, result in found.items()}
    assert verdicts == {
        "accumulated_in_bfloat16": "imprecise",
        "eager_softmax_in_bfloat16": "conforms",
        "eager_in_bfloat16": "conforms",
    }
    assert "sums were accumulated in bfloat16" in found["accumulated_in_bfloat16"].details["place"]


@pytest.mark.parametrize("seed", range(3))
def test_a_single_number_that_is_held_in_float16_is_found_at_any_seed(seed: int) -> None:
    """One inner product may lie on a float16 number by chance, so it is graded at many examples."""

    def rounded_last(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        product = (x * y).sum(-1)
        return product if x.shape[-1] < 128 else product.to(torch.float16).to(x.dtype)

    result = graded(rounded_last, "similarity.dot", seed=seed)
    assert result.verdict == "imprecise", result.message
    assert result.details["grades"]["value, wide sizes"]["entries"] >= 32


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_softmax_whose_gradient_goes_through_the_maximum_is_careful(dtype: str) -> None:
    """The roundings of a row meet in the entry of its largest score; a single entry of a row makes no gradient imprecise."""

    def plainly(s: torch.Tensor) -> torch.Tensor:
        e = (s - s.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    results = [graded(plainly, "attention.softmax", dtype, seed) for seed in range(4)]
    assert [result.verdict for result in results] == ["conforms"] * 4
    assert max(result.details["sigma"] for result in results) > 8, "the entry shows in what is reported"


def test_nan_at_the_sizes_of_real_models_is_falsified_not_imprecise() -> None:
    """Where even the bound is finite, what is no number is no question of accuracy."""

    def breaks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        product = (x * y).sum(-1)
        return product if x.shape[-1] < 257 else product * math.nan

    result = graded(breaks, "similarity.dot")
    assert result.verdict == "falsified"
    assert "not finite" in result.message


def test_a_limit_of_the_user_makes_it_a_failure() -> None:
    """``accuracy=N``: beyond N sigma falsified, below it as it was; without it imprecise at most."""
    fn = coarse_scores(torch.float16)
    assert graded(fn, ATTENTION, limit=1e9).verdict == "imprecise"
    assert graded(fn, ATTENTION, limit=32).verdict == "falsified"
    assert graded(F.scaled_dot_product_attention, ATTENTION, limit=0.001).verdict == "falsified"


def test_check_reports_the_grades_and_the_word() -> None:
    """A report is imprecise where nothing but the accuracy is at fault; it says so in text, JSON and table."""
    named = next(v for v in variants(("feedforward.relu",)) if v.name == "half_in_usual_networks")
    report = check(named.call, named.formula_id, dtypes=["float32"], max_examples=20)
    assert report.verdict == overall(report) == "imprecise"
    assert not report.falsified
    sigma, digits = report.grades["float32"]
    assert sigma > WORST["float32"]
    assert digits > 0.5
    assert "imprecise: feedforward.relu" in str(report)
    assert "held in float16" in str(report)
    accurate = next(c for c in report.to_dict()["checks"] if c["kind"] == "accuracy")
    assert accurate["details"]["sigma"] == sigma
    assert verdict_of(report, "accuracy") == "imprecise"
    assert accuracy(report).startswith("f32 ")
    assert "in sigma" in [str(column.header) for column in table([report]).columns]


def test_what_is_another_value_gets_no_grade_but_what_is_coarse_gets_its_line() -> None:
    """A wrong scale is no matter of accuracy; float16 scores at every size are falsified, and the grade says why."""
    wrong = check(lambda q, k, v: (q @ k.mT).softmax(-1) @ v, ATTENTION, dtypes=["float32"], max_examples=10)
    assert wrong.verdict == "falsified"
    assert not wrong.grades
    coarse = check(coarse_scores(torch.float16, 0), ATTENTION, dtypes=["float32"], max_examples=10)
    assert coarse.verdict == "falsified"
    places = [c.details["place"] for c in coarse.checks if c.kind == "accuracy"]
    assert places == ["as if `s` were held in float16"]


def test_inconclusive_checks_in_sixteen_bits_show_the_grade_instead() -> None:
    """Gradients in bfloat16 are not judged; what is said of them is the grade."""
    report = check(F.scaled_dot_product_attention, ATTENTION, dtypes=["bfloat16"], max_examples=10)
    (gradient,) = [c for c in report.checks if c.kind == "gradient"]
    assert gradient.verdict == "inconclusive"
    assert "graded instead: within" in gradient.message


def test_types_are_graded_as_asked() -> None:
    """float32 and bfloat16 by default, else those asked for; float64 is the reference and has no grade."""

    def dot(x: Any, y: Any) -> Any:
        return (x * y).sum(-1)

    assert set(check(dot, "similarity.dot", max_examples=4).grades) == {"float32", "bfloat16"}
    assert not check(dot, "similarity.dot", max_examples=4, dtypes=["float64"]).grades
    assert set(check(dot, "similarity.dot", max_examples=4, dtypes=["float16"]).grades) <= {"float16"}


def test_a_type_that_nobody_asked_for_is_reported_not_judged() -> None:
    """Running sums are careful in float32; what they lose in bfloat16 is said, and does not count unless it was asked for."""
    named = next(v for v in variants(("scores.scaled_dot",)) if v.name == "accumulated_one_by_one")
    report = check(named.call, named.formula_id, max_examples=10)
    assert report.verdict == "conforms"
    assert report.grades["bfloat16"][0] > WORST["bfloat16"]
    (short,) = [c for c in report.checks if c.kind == "accuracy" and c.dtype == "bfloat16"]
    assert short.verdict == "inconclusive"
    assert short.message.startswith("reported, not judged: ")


def test_a_row_that_cancels_is_graded_by_a_spread_that_any_order_of_its_sum_has() -> None:
    """The mean of two numbers near -2,565 may be exact in one order and is not in a running one: neither is far off."""
    from spec.language.evaluation.expected import expected_error

    x = np.array([-2565.44287109375, -2566.1044921875])
    inputs = {"x": x, "gamma": np.ones(2), "beta": np.zeros(2), "eps": 1e-12}
    ((value, sigma),) = expected_error(find("normalization.layer_norm"), inputs)
    made, gamma, beta = (torch.tensor(inputs[name], dtype=torch.float32) for name in ("x", "gamma", "beta"))
    got = F.layer_norm(made, (2,), gamma, beta, 1e-12).double().numpy()
    assert (np.abs(got - value) / sigma).max() < 12


def test_a_type_that_is_not_supported_is_silent_unless_asked_for() -> None:
    """A callable for float32 and float64 has one grade, and nothing inconclusive beside it."""

    def dot(x: Any, y: Any) -> Any:
        if x.dtype == torch.bfloat16:
            raise NotImplementedError('"dot" not implemented for bfloat16')
        return (x * y).sum(-1)

    report = check(dot, "similarity.dot", max_examples=4)
    assert report.verdict == "conforms"
    assert [c.name for c in report.checks if c.kind == "accuracy"] == ["accuracy in float32"]


# The place ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "dtype"), [("s", "float16"), ("a", "bfloat16"), ("k", "float16")])
def test_the_line_that_was_rounded_is_found_entry_by_entry(line: str, dtype: str) -> None:
    """Attention with one tensor rounded, whichever it is: that one explains nearly all of the error."""
    formula = find(ATTENTION)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    q, k, v = (example.inputs[name] for name in "qkv")
    k_used = round_to(k, dtype) if line == "k" else k
    s = q @ k_used.T / math.sqrt(q.shape[-1])
    s = round_to(s, dtype) if line == "s" else s
    e = np.exp(s - s.max(-1, keepdims=True))
    a = e / e.sum(-1, keepdims=True)
    z = (round_to(a, dtype) if line == "a" else a) @ v
    exact = np.exp(q @ k.T / math.sqrt(q.shape[-1]))
    error = z - exact / exact.sum(-1, keepdims=True) @ v
    found = find_line(formula.flat(), example.inputs, {"z": error}, {"z": np.ones_like(error)}, "float32")
    assert (found.name, found.dtype) == (line, dtype)
    assert found.share > 0.9


def test_an_error_that_no_line_explains_is_described_by_its_size() -> None:
    """Random errors of a size are 'about as large as if', never 'as if'; where no line makes such, nothing is said."""
    formula = find(ATTENTION)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    error = 1e-4 * np.random.default_rng(0).standard_normal(
        (example.inputs["q"].shape[0], example.inputs["v"].shape[1])
    )
    found = find_line(formula.flat(), example.inputs, {"z": error}, {"z": np.ones_like(error)}, "float32")
    assert not found.certain
    assert str(found).startswith("an error about as large as if `")
    smaller = find_line(
        formula.flat(), example.inputs, {"z": 1e-5 * error}, {"z": np.ones_like(error)}, "float32"
    )
    assert str(smaller) == ""


def test_an_error_that_all_entries_share_is_told_with_their_root_mean_square() -> None:
    """No entry is beyond the limit, and all together are: the message says by which of both it is judged."""
    found = graded(lambda s: s.softmax(-1) * (1 + 1.5 * 2.0**-20), SOFTMAX)
    assert found.verdict == IMPRECISE
    told = re.search(r"is ([\d.]+) sigma off", found.message)
    assert told is not None
    assert float(told[1]) <= WORST["float32"]
    assert " as the root mean square of all, " in found.message
    assert "held in" not in found.message


def test_a_report_that_is_falsified_is_not_called_imprecise() -> None:
    """The worse word counts."""
    checks = [CheckResult("value", "value", "falsified"), CheckResult("accuracy", "accuracy", "imprecise")]
    assert Report("scores.dot", "f", {}, checks).verdict == "falsified"
    assert Report("scores.dot", "f", {}, checks[1:]).verdict == "imprecise"


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--accuracy", "32"), 1)])
def test_the_command_exits_0_for_imprecise_and_1_beyond_a_limit(
    options: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """``attnspec check``: the word and the line are printed either way."""
    from verify.command.parsing import parser

    where = "tests.mutants.fast_paths:half_in_usual_networks"
    given = parser().parse_args(
        [
            "check",
            where,
            "--formula",
            "feedforward.relu",
            "--dtype",
            "float32",
            "--max-examples",
            "20",
            *options,
        ]
    )
    assert do_check(given) == status
    said = capsys.readouterr().out
    assert "held in float16" in said.replace("\n", " ")
    assert ("imprecise" if status == 0 else "falsified") in said


def test_what_is_coarse_in_whole_blocks_alone_is_graded_there():
    """Fast paths for rows of 64, or of several times as many, entries; but for those that are large alone other sizes are odd."""

    def norm(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        x = held(x, torch.bfloat16, 0) if x.shape[-1] % 64 == 0 else x
        return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    def attention(q: Any, k: Any, v: Any) -> Any:
        k = held(k, torch.float16, 0) if k.shape[-1] in (64, 128) else k
        return F.scaled_dot_product_attention(q, k, v)

    for fn, formula_id, line in ((norm, "normalization.layer_norm", "x"), (attention, ATTENTION, "k")):
        found = graded(fn, formula_id)
        assert found.verdict == "imprecise"
        assert f"`{line}`" in found.details["place"]
        grades = found.details["grades"].items()
        odd = [grade["sigma"] for name, grade in grades if not {"aligned", "large"} & set(name.split())]
        assert max(odd) < WORST["float32"] < found.details["sigma"]


def test_a_number_alone_is_graded_at_several_examples_that_are_less_wide():
    """A mean over many places, each held in half of the digits once there are many: as wide as can be, it is one number."""

    def loss(s: Any, y: Any, epsilon: float) -> Any:
        flat = s.flatten(0, -2), y.flatten()
        each = F.cross_entropy(*flat, ignore_index=-100, reduction="none", label_smoothing=epsilon)
        return held(each.reshape(y.shape), torch.float16, 64).sum(-1) / (y >= 0).sum(-1).clamp(min=1)

    for seed in range(3):
        found = graded(loss, "objectives.cross_entropy", seed=seed)
        assert found.verdict == "imprecise"
        assert found.details["grades"]["value, wide sizes"]["entries"] > 8


def test_one_rounding_of_a_whole_row_is_looked_for_in_several_rows():
    """The inverse root good to 16 bits in wide rows: in one row the error may be small by chance."""

    def norm(x: Any, gamma: Any, eps: float) -> Any:
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
        if x.shape[-1] >= 128:
            mantissa, exponent = torch.frexp(scale)
            scale = torch.ldexp(torch.round(mantissa * 2**16) / 2**16, exponent)
        return gamma * x * scale

    for seed in range(4):  # where it happens to be further off than any right one, that is said
        assert graded(norm, "normalization.rms_norm", seed=seed).verdict in ("imprecise", "falsified")


def test_more_samples_are_asked_for_where_half_of_them_do_not_settle_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is careful is told from half of the samples of a wide example; what is not, from all, as what is near a limit is."""
    asked: dict[str, set[int]] = {}
    error = Oracle.error

    def counted(self: Oracle, flat: Any, inputs: Any, precision: Any, samples: int, seed: int) -> Any:
        asked.setdefault("x".join(map(str, inputs["s"].shape)), set()).add(samples)
        return error(self, flat, inputs, precision, samples, seed)

    monkeypatch.setattr(Oracle, "error", counted)
    graded(lambda s: s.softmax(-1), SOFTMAX, "float32")
    careful = list(asked.values())
    asked.clear()
    graded(lambda s: s.half().softmax(-1).to(s.dtype), SOFTMAX, "float32")
    assert {8} in careful
    assert {8, 16} in asked.values()
