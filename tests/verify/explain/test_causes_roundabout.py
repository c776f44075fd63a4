"""Functions computed in a roundabout way, equal on paper: the way is named, and nothing else is taken for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from spec.language.evaluation.evaluate import enclose
from spec.language.registry import find
from tests.verify.explain.explaining import why
from verify.explain.digits import ROUNDABOUT, Roundabout
from verify.explain.evidence import Evidence
from verify.explain.explain import SLOPES, first_cause
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.subject.caller import Caller

Scalar = Callable[[torch.Tensor], torch.Tensor]
LSTM, GRU, RNN, COST = (
    "recurrent.lstm_cell",
    "recurrent.gru_cell",
    "recurrent.rnn_cell",
    "objectives.cross_entropy",
)


def by_tanh(u):
    """σ by tanh."""
    return 0.5 * (1 + torch.tanh(0.5 * u))


def by_sigmoid(u):
    """Tanh by σ."""
    return 2 * torch.sigmoid(2 * u) - 1


def lstm(x, h, s, *weights, sigma: Scalar):
    """An LSTM's cell with a σ of its own."""
    ways = (torch.tanh, sigma, sigma, sigma)
    g, i, f, o = (
        way(x @ W_x.mT + h @ W_h.mT + b)
        for way, W_x, W_h, b in zip(ways, weights[::3], weights[1::3], weights[2::3], strict=True)
    )
    s = f * s + i * g
    return o * s.tanh(), s


def gru(x, h, W_x, W_h, b_x, b_h, sigma: Scalar):
    """A GRU's cell with a σ of its own."""
    u, w = (x @ W_x.mT + b_x).chunk(3, -1), (h @ W_h.mT + b_h).chunk(3, -1)
    r, z = sigma(u[0] + w[0]), sigma(u[1] + w[1])
    return (1 - z) * torch.tanh(u[2] + r * w[2]) + z * h


def rnn(x, h, W_xh, W_hh, W_hy, tanh: Scalar):
    """A simple cell with a tanh of its own."""
    h = tanh(x @ W_xh.mT + h @ W_hh.mT)
    return h, h @ W_hy.mT


def cost(s, y, epsilon, log_sum: Scalar):
    """Cross entropy with a logarithm of the sum of its own."""
    law, asked = s - log_sum(s), y >= 0
    hit = law.gather(-1, y.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    costs = torch.where(asked, -(1 - epsilon) * hit - epsilon * law.mean(-1), 0.0)
    return costs.sum(-1) / asked.sum(-1).clamp(min=1)


NAMED: list[tuple[str, Callable[..., Any], str]] = [
    (LSTM, lambda *a: lstm(*a, sigma=by_tanh), "σ(u) is computed as a difference of numbers near 1"),
    (RNN, lambda *a: rnn(*a, tanh=by_sigmoid), "tanh(u) is computed as a difference of numbers near 1"),
]


@pytest.mark.parametrize(("formula", "fn", "said"), NAMED, ids=[case[2][:20] for case in NAMED])
def test_a_function_in_a_roundabout_way_is_named(formula: str, fn: Callable[..., Any], said: str):
    """The digits that are lost are those that the way loses."""
    assert said in why(fn, formula).said


def slopes(fn: Callable[..., Any], formula_id: str) -> str:
    """What explains wrong gradients of a callable."""
    formula = find(formula_id)
    setting = Setting.of(Judge(formula), Caller(fn, formula))
    return first_cause(Evidence(setting, ["float64", "float32"]), SLOPES).said


def test_it_is_named_where_gradients_alone_show_it():
    """A GRU's values hide which digits σ lost: what it keeps of the state is added to something larger."""
    assert "σ(u) is computed as" in slopes(lambda *a: gru(*a, sigma=by_tanh), GRU)


def clamped(u):
    """σ that is flat far out."""
    return torch.sigmoid(u.clamp(-40, 40))


def test_another_fault_in_the_same_place_is_not_taken_for_it():
    """A σ that is clamped far out, or computed in float32, and a right one: none of them lost digits in this way."""
    for other in (clamped, lambda u: torch.sigmoid(u.float()).to(u), torch.sigmoid):
        assert "is computed as" not in why(lambda *a, way=other: lstm(*a, sigma=way), LSTM).said
        assert "is computed as" not in slopes(lambda *a, way=other: gru(*a, sigma=way), GRU)


@pytest.mark.parametrize(
    "log_sum",
    [
        lambda s: s.bfloat16().logsumexp(-1, keepdim=True).to(s),
        lambda s: s.logsumexp(-1, keepdim=True).bfloat16().to(s),
    ],
    ids=["worked out", "held"],
)
def test_a_logarithm_of_a_sum_in_a_narrower_type_is_named(log_sum: Scalar):
    """Its error lies between two types, since entries are large beside what is rounded: the type that holds it counts."""
    assert "bfloat16 inside" in why(lambda s, y, epsilon: cost(s, y, epsilon, log_sum), COST).said


@pytest.mark.parametrize("way", ROUNDABOUT, ids=[way.says[:30] for way in ROUNDABOUT])
def test_each_way_is_equal_on_paper(way: Roundabout):
    """Enclosed, a statement so written is the statement."""
    formula = next(
        each for each in map(find, (LSTM, "normalization.layer_norm")) if way(each.flat()) is not each.flat()
    )
    flat, random = formula.flat(), np.random.default_rng(3)
    widths = {"p": 2, "d": 3}
    given = {t.name: random.standard_normal([widths[str(size)] for size in t.shape]) for t in formula.tensors}
    given |= {t.name: 1e-5 for t in formula.tensors if t.role == "number"}
    for mine, other in zip(enclose(flat, given), enclose(way(flat), given), strict=True):
        assert all(a.overlaps(b) and (a - b).rad() < 1e-25 for a, b in zip(mine, other, strict=True))
