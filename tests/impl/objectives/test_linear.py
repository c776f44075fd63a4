"""impl.objectives.linear_cross_entropy: the same with few rows of logits at a time as with all of them."""

import math

import pytest
import torch

from impl.objectives import cross_entropy, linear_cross_entropy

T, V, d = 7, 11, 5
TWO_ROWS = 2 * V * 8  # bytes of logits in float64
Y = torch.tensor([3, -100, 10, 0, 3, -100, 7])


def both(x, W, y, epsilon, block=TWO_ROWS):
    """The loss in blocks, and with the logits whole."""
    return linear_cross_entropy(x, W, y, epsilon, block=block), cross_entropy(x @ W.mT, y, epsilon)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("alike", [True, False])
def test_blocks_give_the_same_loss_and_gradients(lead, epsilon, alike, normal):
    """Whether the members' losses count alike (their gradients are at hand) or not (they are computed anew)."""
    x = normal(*lead, T, d, dtype=torch.float64, grad=True)
    W = normal(V, d, dtype=torch.float64, grad=True)
    y = Y.expand(*lead, T).clone()
    if lead:
        y[-1] = -100
    ours, whole = both(x, W, y, epsilon)
    g = torch.full(lead, 2.0, dtype=torch.float64) if alike else normal(*lead, dtype=torch.float64)
    torch.testing.assert_close(ours, whole)
    found, expected = (torch.autograd.grad(loss, (x, W), g) for loss in (ours, whole))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("block", [TWO_ROWS, 2**20])
def test_a_bias_is_added_to_the_logits(lead, alike, block, normal):
    """And has its gradient, first and second, whether the logits are whole or in blocks."""
    x = normal(*lead, T, d, dtype=torch.float64, grad=True)
    W, b = (normal(*shape, dtype=torch.float64, grad=True) for shape in ((V, d), (V,)))
    y = Y.expand(*lead, T)
    g = torch.full(lead, 2.0, dtype=torch.float64) if alike else normal(*lead, dtype=torch.float64)
    ours = linear_cross_entropy(x, W, y, 0.3, b=b, block=block)
    whole = cross_entropy(x @ W.mT + b, y, 0.3)
    torch.testing.assert_close(ours, whole)
    found, expected = (torch.autograd.grad(loss, (x, W, b), g) for loss in (ours, whole))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert torch.autograd.gradgradcheck(
        lambda *given: linear_cross_entropy(*given[:2], y, b=given[2], block=block), (x, W, b)
    )


def test_it_is_the_statement(normal, stated, within):
    """Value and gradients, within its bounds."""
    x, W = normal(T, d, grad=True), normal(V, d, grad=True)
    loss = linear_cross_entropy(x, W, Y, 0.1, block=1)
    grads = torch.autograd.grad(loss, (x, W))
    g = torch.ones((), dtype=torch.float64)
    assert within([loss.detach(), *grads], stated("objectives.linear_cross_entropy", [x, W, Y, 0.1], g))


def test_derivatives_to_second_order(normal):
    """Finite differences agree with both."""
    x, W = normal(T, d, dtype=torch.float64, grad=True), normal(V, d, dtype=torch.float64, grad=True)

    def loss(x, W):
        return linear_cross_entropy(x, W, Y, 0.1, block=TWO_ROWS)

    assert torch.autograd.gradcheck(loss, (x, W))
    assert torch.autograd.gradgradcheck(loss, (x, W))


def test_transforms_take_the_whole_logits(normal):
    """torch.func's grad within vmap, and forward mode."""
    x, W = normal(3, T, d, dtype=torch.float64), normal(V, d, dtype=torch.float64)

    def loss(x):
        return linear_cross_entropy(x, W, Y, 0.1, block=TWO_ROWS)

    mapped = torch.func.vmap(torch.func.grad(loss))(x)
    single = torch.stack([torch.func.grad(loss)(each) for each in x])
    torch.testing.assert_close(mapped, single)
    _, tangent = torch.func.jvp(loss, (x[0],), (torch.ones_like(x[0]),))
    torch.testing.assert_close(tangent, single[0].sum())


def test_what_is_not_asked_reaches_nothing(normal):
    """NaN at ignored places, whether the logits are whole or in blocks."""
    x, W = normal(T, d), normal(V, d, grad=True)
    x[1] = math.nan
    x.requires_grad_()
    for block in (1, 2**20):
        loss = linear_cross_entropy(x, W, Y, 0.1, block=block)
        dx, dW = torch.autograd.grad(loss, (x, W))
        assert loss.isfinite()
        assert dW.isfinite().all()
        assert (dx[1] == 0).all()


def test_without_a_target_it_is_0(normal):
    """And so are the gradients."""
    x, W = normal(T, d, grad=True), normal(V, d, grad=True)
    loss = linear_cross_entropy(x, W, torch.full((T,), -100), block=1)
    assert loss == 0
    assert all((g == 0).all() for g in torch.autograd.grad(loss, (x, W)))


def test_the_operator_is_well_formed(normal):
    """Schema, fake tensors, registration of the derivative."""
    x, W = normal(T, d), normal(V, d)
    operator = torch.ops.attnspec.linear_cross_entropy.default
    share = (Y >= 0).float() / 5
    torch.library.opcheck(operator, (x, W, Y, share, 1, 0.1, TWO_ROWS, True))
    torch.library.opcheck(operator, (x, W, Y, share, 1, 0.1, TWO_ROWS, True, normal(V)))


def test_memory_stays_below_the_logits(normal):
    """Nothing of the size of the logits is made, forward or backward."""
    places, words = 1021, 1031
    x, W, y = normal(places, d, grad=True), normal(words, d, grad=True), torch.arange(places)

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        """The largest tensor that any operation gives."""

        entries = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            for each in out if isinstance(out, tuple | list) else (out,):
                if isinstance(each, torch.Tensor):
                    self.entries = max(self.entries, each.numel())
            return out

    with Largest() as seen:
        linear_cross_entropy(x, W, y, block=16 * words * 4).backward()
    assert 0 < seen.entries <= 16 * words < places * words // 8


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: linear_cross_entropy(torch.ones(T, d), torch.ones(V, d + 1), Y), ValueError),
        (lambda: linear_cross_entropy(torch.ones(T, d), torch.ones(V, d).double(), Y), TypeError),
        (lambda: linear_cross_entropy(torch.ones(T, d), torch.ones(V, d), Y + 1, block=1), IndexError),
        (lambda: linear_cross_entropy(torch.ones(T, d), torch.ones(V, d), Y[:5]), ValueError),
        (lambda: linear_cross_entropy(torch.ones(T, d), torch.ones(V, d), Y, b=torch.ones(d)), ValueError),
    ],
)
def test_what_does_not_fit_is_refused(call, error):
    """In one line that names the formula."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith("objectives.linear_cross_entropy: ")
