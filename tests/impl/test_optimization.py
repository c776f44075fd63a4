import math

import pytest
import torch

from impl.optimization import adamw

NUMBERS = (3, 0.01, 0.9, 0.999, 1e-8, 0.1)  # step, rate, both β, ε, decay


def state(normal, *shape):
    """Weights, a gradient and moments."""
    theta, g, m, v = (normal(*shape, dtype=torch.float64) for _ in range(4))
    return theta, g, m, v.square()


@pytest.mark.parametrize("decay", ["decoupled", "by_itself", "l2"])
def test_a_step_is_the_one_stated(decay, normal, stated, within):
    """Weights and both moments, under each place of the decay."""
    inputs = [*state(normal, 7), *NUMBERS]
    assert within(adamw(*inputs, decay=decay), stated("optimization.adamw", inputs, None, {"decay": decay}))


def test_three_steps_are_those_of_torch(normal, allowed):
    """From rest, with its optimizer's own state."""
    begun, *gradients = (normal(5, 7, dtype=torch.float64) for _ in range(4))
    weights = torch.nn.Parameter(begun.clone())
    optimizer = torch.optim.AdamW([weights], 0.01, (0.9, 0.999), 1e-8, 0.1)
    for g in gradients:
        weights.grad = g.clone()
        optimizer.step()

    def ours(dtype):
        theta, m, v = begun.to(dtype), torch.zeros(5, 7, dtype=dtype), torch.zeros(5, 7, dtype=dtype)
        for t, g in enumerate(gradients, 1):
            theta, m, v = adamw(theta, g.to(dtype), m, v, t, *NUMBERS[1:])
        return theta.double()

    assert (ours(torch.float64) - weights).abs().max() <= allowed(ours, torch.float64)


def test_nothing_given_is_written_to(normal):
    """Unlike an optimizer it gives new tensors."""
    given = state(normal, 7)
    kept = [x.clone() for x in given]
    adamw(*given, *NUMBERS)
    assert all(torch.equal(a, b) for a, b in zip(given, kept, strict=True))


def test_what_does_not_fit_is_refused_in_one_line(normal, unchecked):
    """Shapes, types, and numbers out of range."""
    theta, g, m, v = state(normal, 7)
    with pytest.raises(ValueError, match="theta, g, m and v of one shape"):
        adamw(theta, g[:5], m, v, *NUMBERS)
    with pytest.raises(TypeError, match="one floating dtype"):
        adamw(theta, g.float(), m, v, *NUMBERS)
    strange = dict.fromkeys(range(1, 6), (-1.0, math.inf, math.nan)) | {0: (0, -(10**9))}
    for place, values in strange.items():
        for value in values:
            with pytest.raises(ValueError, match=rf"expected t >= 1, .*finite eta > 0.*; got t .*{value}\b"):
                adamw(theta, g, m, v, *NUMBERS[:place], value, *NUMBERS[place + 1 :])
    with pytest.raises(ValueError, match="expected an integer of 63 bits at most as t; "):
        adamw(theta, g, m, v, 10**400, *NUMBERS[1:])
