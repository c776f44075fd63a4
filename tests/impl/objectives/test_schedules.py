"""impl.objectives.warmup: the Transformer's learning rate."""

import pytest
import torch

from impl.objectives import warmup


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("step", [1.0, 3998.5, 4000.0, 4001.5, 100000.0])
def test_it_is_the_statement(dtype, step, stated, within):
    """Before, at and after the end of warm-up, within its bound."""
    at = torch.tensor(step, dtype=dtype)
    assert within([warmup(at, 512, 4000)], stated("objectives.warmup", [at, 512, 4000]))


def test_a_tensor_of_steps_gives_a_tensor_of_rates():
    """It rises until warm-up ends, falls afterwards, and is largest there."""
    rates = warmup(torch.arange(1, 98, dtype=torch.float64), 7, 31)
    assert rates.shape == (97,)
    assert rates.argmax() == 30
    assert (rates[:31].diff() > 0).all()
    assert (rates[30:].diff() < 0).all()


def test_it_drives_an_optimizer():
    """As a factor of rate 1."""
    optimizer = torch.optim.SGD([torch.zeros(())], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: warmup(torch.tensor(step + 1.0, dtype=torch.float64), 7, 3).item()
    )
    seen = []
    for _ in range(5):
        seen.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert seen == pytest.approx(warmup(torch.arange(1.0, 6, dtype=torch.float64), 7, 3).tolist())


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused():
    """Sizes below 1, and steps that are no floating numbers."""
    with pytest.raises(ValueError, match=r"objectives\.warmup: expected sizes of at least 1"):
        warmup(torch.ones(()), 0, 4000)
    with pytest.raises(TypeError, match=r"objectives\.warmup: expected one floating dtype"):
        warmup(torch.ones((), dtype=torch.int64), 512, 4000)
