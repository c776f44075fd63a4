"""The seven functions over sequences, each with the shapes of its inputs, and the bounds that their statements give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import spec
from impl import recurrent
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.evaluate import bound

T, p, d, r, L = 7, 3, 5, 11, 2

DATA = {  # what has batch axes
    "rnn": {"x": (T, p), "h": (d,)},
    "stacked": {"x": (T, p), "h": (L + 1, d)},
    "bidirectional": {"x": (T, p), "h": (2, d)},
    "lstm": {"x": (T, p), "h": (d,), "s": (d,)},
    "lstm_stacked": {"x": (T, p), "h": (L + 1, d), "s": (L + 1, d)},
    "lstm_bidirectional": {"x": (T, p), "h": (2, d), "s": (2, d)},
    "gru": {"x": (T, p), "h": (d,)},
}
PARAMETERS = {
    "rnn": {"W_xh": (d, p), "W_hh": (d, d), "W_hy": (r, d)},
    "stacked": {"W_xh": (d, p), "W_hh": (L + 1, d, d), "U": (L, d, d)},
    "bidirectional": {"W_xf": (d, p), "W_hf": (d, d), "W_xb": (d, p), "W_hb": (d, d)},
    "lstm": {"W_x": (4 * d, p), "W_h": (4 * d, d), "b": (4 * d,)},
    "lstm_stacked": {
        "W_x": (4 * d, p),
        "W_h": (L + 1, 4 * d, d),
        "b": (L + 1, 4 * d),
        "U": (L, 4 * d, d),
    },
    "lstm_bidirectional": {"W_x": (2, 4 * d, p), "W_h": (2, 4 * d, d), "b": (2, 4 * d)},
    "gru": {"W_x": (3 * d, p), "W_h": (3 * d, d), "b_x": (3 * d,), "b_h": (3 * d,)},
}


@dataclass(frozen=True)
class Case:
    """One function over sequences."""

    name: str
    normal: Callable[..., Tensor]

    @property
    def data(self) -> int:
        """How many of the inputs, which come first, have batch axes."""
        return len(DATA[self.name])

    def inputs(self, *lead: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> list[Tensor]:
        """Random inputs; x is the first."""
        shapes = [(*lead, *shape) for shape in DATA[self.name].values()]
        shapes += PARAMETERS[self.name].values()
        return [(0.5 * self.normal(*shape)).to(dtype).requires_grad_(grad) for shape in shapes]

    def __call__(self, *inputs: Tensor, **options: Any) -> tuple[Tensor, ...]:
        """The function's results, as a tuple also where it is one."""
        results = getattr(recurrent, self.name)(*inputs, **options)
        return results if isinstance(results, tuple) else (results,)

    def with_gradients(self, inputs: Sequence[Tensor], **options: Any) -> list[Tensor]:
        """The results, then the gradients of a weighted sum of them."""
        inputs = [each.detach().requires_grad_() for each in inputs]
        results = self(*inputs, **options)
        return [*results, *torch.autograd.grad(results, inputs, list(map(weights, results)))]

    def stated(
        self, inputs: Sequence[Tensor], conventions: dict[str, str] | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """Value and bound of what ``with_gradients`` computes, from the statement; the inputs have no batch axes."""
        formula, dtype = spec.find(f"recurrent.{self.name}"), str(inputs[0].dtype).removeprefix("torch.")
        arrays = [each.detach().double().numpy() for each in inputs]
        results = bound(formula, arrays, conventions, dtype)
        seeds = {
            out.name: weights(torch.tensor(value, dtype=inputs[0].dtype)).double().numpy()
            for out, (value, _) in zip(formula.outputs, results, strict=True)
        }
        gradients = pull_back(formula, arrays, seeds, None, conventions, dtype)
        found = [*results, *(gradients[str(item)] for item in formula.inputs)]
        return [(torch.tensor(value), torch.tensor(limit)) for value, limit in found]


def weights(result: Tensor) -> Tensor:
    """Weights of a sum, no two alike; of a result's dtype and shape."""
    return torch.linspace(-1, 1, result.numel(), dtype=result.dtype, device=result.device).reshape(
        result.shape
    )


@pytest.fixture
def cotangent() -> Callable[[Tensor], Tensor]:
    """The weights of results in ``with_gradients`` and ``stated``."""
    return weights


@pytest.fixture(params=DATA)
def case(request: pytest.FixtureRequest, normal: Callable[..., Tensor]) -> Case:
    """Each of the seven functions."""
    return Case(request.param, normal)


@pytest.fixture
def case_of(normal: Callable[..., Tensor]) -> Callable[[str], Case]:
    """One of them, by its name."""
    return lambda name: Case(name, normal)


@pytest.fixture
def within() -> Callable[..., bool]:
    """Whether results are within the statement's bounds of its values; ``times=2`` for two results that each are."""

    def judge(got: Sequence[Tensor], stated: Sequence[tuple[Tensor, Tensor]], times: int = 1) -> bool:
        assert all(limit.isfinite().all() for _, limit in stated)
        return all(
            ((each.double() - value).abs() <= times * limit).all()
            for each, (value, limit) in zip(got, stated, strict=True)
        )

    return judge
