"""Every kind of declaration can be checked: several outputs, affine shapes, ids, numbers, scalars, recurrences."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from spec.language import Formula, Sum, data, define, indices, number, parameter, sizes, tanh, tensor
from spec.language.known import forget
from verify import check
from verify.faults import Unusable

T, V, d, L = sizes("T V d L")
t, a, c, e, l = indices("t a c e l")


@pytest.fixture(scope="module")
def formula() -> Iterator[Formula]:
    """Ids below V, a packed parameter (2·d, d), states (L + 1, d), a number; outputs (T, 2·d), (L + 1, d) and ()."""
    ids = data("ids", T, domain="integer", below=V)
    E, W = parameter("E", V, d), parameter("W", 2 * d, d)
    h, D = data("h", L + 1, d), number("D", domain="positive")
    y, last, total = tensor("y", T, 2 * d), tensor("last", L + 1, d), tensor("total")
    H = tensor("H", T + 1, L + 1, d)
    made = Formula(
        "scores.trial",
        "A trial of declarations",
        inputs=(ids, E, W, h, D),
        lines=(
            define(H[0, l, c], h[l, c]),
            define(H[t, l, c], tanh(H[t - 1, l, c] + E[ids[t - 1], c]), (t, 1, T)),
            define(y[t, a], Sum(W[a, e] * H[t + 1, 0, e], (e, 0, d - 1)) / D),
            define(last[l, c], H[T, l, c]),
            define(total, Sum(Sum(y[t, a], (a, 0, 2 * d - 1)), (t, 0, T - 1))),
        ),
        outputs=(y, last, total),
        stored=("H",),
    )
    yield made
    forget(made.id)


def trial(ids, E, W, h, D, *, last_wrong=False, swapped=False):
    """The same in torch."""
    top, states = h, []
    for step in range(ids.shape[-1]):
        top = torch.tanh(top + E[ids[..., step]].unsqueeze(-2))
        states.append(top[..., 0, :])
    y = torch.stack(states, -2) @ W.mT / D
    if last_wrong:
        top = top * (1 + 1e-3)
    if swapped:
        y = y.roll(W.shape[1], -1)
    return y, top, y.sum((-1, -2))


def test_a_right_implementation_conforms(formula):
    """Values, gradients and robustness, effective in most examples, in two types."""
    report = check(trial, formula, max_examples=40)
    assert report.verdict == "conforms", str(report)
    for each in report.checks:
        if each.kind in ("value", "gradient"):
            assert each.effective is not None
            assert each.effective > 0.5


@pytest.mark.parametrize("mistake", ["last_wrong", "swapped"])
def test_a_wrong_output_is_found_and_shrunk(formula, mistake):
    """Each output is compared; a counterexample is small in every size, compound ones and vocabularies included."""
    report = check(lambda *inputs: trial(*inputs, **{mistake: True}), formula, dtypes=["float64"])
    found = report.falsified[0].counterexample
    assert found.what == {"last_wrong": "last", "swapped": "y"}[mistake]
    assert found.inputs["ids"].shape == (1,)
    assert found.inputs["h"].shape[0] <= 2
    assert found.inputs["E"].shape[0] == 1
    assert found.inputs["W"].shape == (2 * found.inputs["W"].shape[1], found.inputs["W"].shape[1])


def test_another_number_of_outputs_is_refused_in_a_line_that_names_them(formula):
    """What was returned, and the outputs that were expected."""
    with pytest.raises(Unusable, match=r"tuple of Tensor, Tensor, expected 3 tensors \(y, last, total\)"):
        check(lambda *inputs: trial(*inputs)[:2], formula, max_examples=5)


def test_an_output_of_another_shape_is_refused_in_a_line_that_names_it(formula):
    """The declared compound shape, in numbers."""

    def flat(*inputs):
        y, last, total = trial(*inputs)
        return y, last.flatten(-2), total

    with pytest.raises(Unusable, match=r"returned last of shape \(\d+,\), expected"):
        check(flat, formula, max_examples=5)
