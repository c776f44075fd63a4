"""What layers cost is what PyTorch counts when they run: on the meta device, so that nothing is computed."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from impl.attention import multi_head, scaled_dot_product
from impl.recurrent import rnn
from impl.transformer import cost

SIZES = [(2, 3, 5), (13, 7, 3), (31, 11, 2), (1, 5, 1), (101, 103, 7), (1031, 257, 5)]
every_size = pytest.mark.parametrize(("n", "d", "k"), SIZES)


def made(*shape):
    """An array that takes no memory."""
    return torch.empty(*shape, device="meta")


def multiply_adds(layer, *inputs):
    """The multiply-adds of the matrix products of a call; PyTorch counts each as two."""
    with FlopCounterMode(display=False) as counter:
        layer(*inputs)
    assert counter.get_total_flops() % 2 == 0
    return counter.get_total_flops() // 2


@every_size
def test_attention_takes_its_two_products(n, d, k):
    """PyTorch's fused attention, its attention written out, and ours."""
    expected = cost(n, d, k)[0]
    x = made(n, d)
    assert multiply_adds(lambda q: (q @ q.mT).softmax(-1) @ q, x) == expected
    assert multiply_adds(lambda q: scaled_dot_product(q, q, q, backend="math"), x) == expected
    assert multiply_adds(F.scaled_dot_product_attention, *3 * [x[None, None]]) == expected


@every_size
@pytest.mark.parametrize("h", [1, 3])
def test_with_projections_attention_takes_four_products_more(n, d, k, h):
    """However many heads share the width: ours and ``nn.MultiheadAttention``."""
    expected = cost(n, h * d, k, projections="counted")[0]
    x, weights = made(n, h * d), [made(h, h * d, d) for _ in "qkv"]
    ours = multiply_adds(lambda: multi_head(x, x, *weights, made(h * d, h * d), backend="math"))
    assert ours == expected
    module = torch.nn.MultiheadAttention(h * d, h, bias=False, device="meta")
    assert multiply_adds(module, x, x, x) == expected


@every_size
def test_recurrence_takes_a_product_with_the_row_and_one_with_the_state(n, d, k):
    """``nn.RNNCell`` in a loop, and ours, whose output is one number here; an LSTM takes four times as many."""
    n = min(n, 101)
    expected = cost(n, d, k)[1]

    def run(cell, state):
        for row in made(n, 1, d):
            state = cell(row, state)
            yield

    x, h, W, W_hy = made(1, n, d), made(1, d), made(d, d), made(1, d)
    assert multiply_adds(lambda: rnn(x, h, W, W, W_hy, backend="loop")) == expected + n * d
    rnn_cell, lstm_cell = (cell(d, d, device="meta") for cell in (torch.nn.RNNCell, torch.nn.LSTMCell))
    assert multiply_adds(lambda: list(run(rnn_cell, made(1, d)))) == expected
    assert multiply_adds(lambda: list(run(lstm_cell, (made(1, d), made(1, d))))) == 4 * expected


@pytest.mark.parametrize(("n", "d", "k"), [size for size in SIZES if size[2] % 2])
def test_a_convolution_takes_a_product_for_each_place_of_its_kernel(n, d, k):
    """Padded to as many places as there are."""
    layer = multiply_adds(lambda: F.conv1d(made(1, d, n), made(d, d, k), padding=k // 2))
    assert layer == cost(n, d, k)[2]


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in (2, 3, 5, 13, 14, 15, 31) for k in (2, 3, 5, 7)])
def test_the_paths_are_the_fewest_layers_that_carry_a_gradient(n, k):
    """From the last place to the first, through a stack of convolutions that see k − 1 places back, as deep as is said."""
    path = cost(n, 1, k)[4].tolist()
    x = torch.ones(1, 1, n, requires_grad=True)

    def reaches(layers):
        y = x
        for _ in range(layers):
            y = F.conv1d(F.pad(y, (k - 1, 0)), torch.ones(1, 1, k))
        (gradient,) = torch.autograd.grad(y[..., -1].sum(), x)
        return bool(gradient[..., 0] != 0)

    assert reaches(int(path[2]))
    assert not reaches(int(path[2]) - 1)
    assert path[:2] == [1, n]


def test_counts_are_exact_where_other_integers_would_overflow():
    """100,003 words, 8,209 wide: beyond what 32 bits hold, and exact in float64."""
    n, d = 100_003, 8_209
    assert cost(n, d, 3)[0].item() == 2 * n * n * d
    assert cost(n, d, 3)[1].item() == 2 * n * d * d


@pytest.mark.parametrize("sizes", [(0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_sizes_below_one_are_refused(sizes):
    """In one line."""
    with pytest.raises(ValueError, match=r"transformer.cost: expected sizes of at least 1"):
        cost(*sizes)


@pytest.mark.usefixtures("unchecked")
def test_other_projections_are_refused():
    """In one line."""
    with pytest.raises(ValueError, match=r"transformer.cost: projections is"):
        cost(2, 3, 5, projections="all")
