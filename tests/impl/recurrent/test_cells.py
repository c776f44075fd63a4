import pytest
import torch

from impl.recurrent import lstm_cell, rnn_cell
from spec.language.evaluation.evaluate import bound
from spec.recurrent.lstm_cell import lstm_cell as stated_lstm
from spec.recurrent.rnn_cell import rnn_cell as stated_rnn

p, d, r = 3, 5, 11
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])


def rnn_inputs(normal, *lead, dtype=torch.float32):
    """x, h, W_xh, W_hh, W_hy."""
    shapes = (*lead, p), (*lead, d), (d, p), (d, d), (r, d)
    return [normal(*shape, dtype=dtype) for shape in shapes]


def lstm_inputs(normal, *lead, dtype=torch.float32):
    """x, h, s, and W_x, W_h, b of each block."""
    shapes = (*lead, p), (*lead, d), (*lead, d), *(((d, p), (d, d), (d,)) * 4)
    return [normal(*shape, dtype=dtype) for shape in shapes]


BOTH = pytest.mark.parametrize(
    ("cell", "inputs", "formula", "data"),
    [
        (rnn_cell, rnn_inputs, stated_rnn, 2),
        (lstm_cell, lstm_inputs, stated_lstm, 3),
    ],
    ids=["rnn_cell", "lstm_cell"],
)


@BOTH
@DTYPES
def test_a_step_is_the_statement(cell, inputs, formula, data, dtype, normal):
    """Within the statement's bound, in every floating dtype."""
    given = inputs(normal, dtype=dtype)
    limits = bound(
        formula, [each.double().numpy() for each in given], None, str(dtype).removeprefix("torch.")
    )
    for got, (value, limit) in zip(cell(*given), limits, strict=True):
        assert got.dtype == dtype
        assert ((got.double() - torch.tensor(value)).abs() <= torch.tensor(limit)).all()


@BOTH
def test_a_step_of_a_batch(cell, inputs, formula, data, normal):
    """Any leading axes, and they broadcast."""
    given = inputs(normal, 2, 7)
    many = cell(*given)
    given[0] = given[0][:1]
    shared = cell(*given)
    one = cell(*(each[0, 4] for each in given[:data]), *given[data:])
    for a, b, c in zip(many, shared, one, strict=True):
        assert a.shape == b.shape == (2, 7, *c.shape)
        torch.testing.assert_close(a[0, 4], c)
        torch.testing.assert_close(b[0], a[0])


@BOTH
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_16_bit_step_is_rounded_once(cell, inputs, formula, data, dtype, normal):
    """It is the float32 step of the same inputs, rounded."""
    given = inputs(normal, dtype=dtype)
    for narrow, wide in zip(cell(*given), cell(*(each.float() for each in given)), strict=True):
        assert torch.equal(narrow, wide.to(dtype))


@BOTH
def test_a_step_has_derivatives_of_every_order_in_either_mode(cell, inputs, formula, data, normal):
    """gradcheck, gradgradcheck, forward mode, vmap."""
    given = [each.requires_grad_() for each in inputs(normal, dtype=torch.float64)]
    assert torch.autograd.gradcheck(cell, given, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(cell, given, fast_mode=True)
    many = inputs(normal, 7, dtype=torch.float64)
    mapped = torch.func.vmap(cell, in_dims=(0,) * data + (None,) * (len(many) - data))(*many)
    for one, other in zip(mapped, cell(*many), strict=True):
        torch.testing.assert_close(one, other)


@BOTH
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_a_cell_is_refused_in_one_line(cell, inputs, formula, data, normal):
    """The line names the formula, what was expected, and what was given."""
    given = inputs(normal)
    line = {
        "recurrent.rnn_cell": r"expected x \(\.\.\. p\), .*; got x \(2,\), h \(5,\)",
        "recurrent.lstm_cell": r"expected W_gx \(d p\) with p = 2, d = 5 from x, h, s; got W_gx \(5, 3\)$",
    }[formula.id]
    with pytest.raises(ValueError, match=f"^{formula.id}: {line}"):
        cell(given[0][:2], *given[1:])
    with pytest.raises(
        TypeError, match=rf"^{formula.id}: expected one floating dtype; got x float64, h float32"
    ):
        cell(given[0].double(), *given[1:])


@BOTH
@pytest.mark.compiled
def test_a_cell_compiles_as_one_graph(cell, inputs, formula, data, normal):
    """torch.compile takes the function whole."""
    given = inputs(normal, 7)
    for one, other in zip(
        torch.compile(cell, fullgraph=True, backend="aot_eager")(*given), cell(*given), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_an_rnn_cell_is_torch_s_without_biases(normal):
    """nn.RNNCell with our weights takes the same step."""
    x, h, W_xh, W_hh, W_hy = rnn_inputs(normal, 7)
    theirs = torch.nn.RNNCell(p, d, bias=False)
    theirs.load_state_dict({"weight_ih": W_xh, "weight_hh": W_hh})
    new, o = rnn_cell(x, h, W_xh, W_hh, W_hy)
    torch.testing.assert_close(new, theirs(x, h))
    torch.testing.assert_close(o, torch.nn.functional.linear(new, W_hy))


def test_an_lstm_cell_is_torch_s_with_its_blocks_in_torch_s_order(normal):
    """Input gate, forget gate, input node, output gate."""
    x, h, s, *weights = lstm_inputs(normal, 7)
    g, i, f, o = (weights[3 * block : 3 * block + 3] for block in range(4))
    W_x, W_h, b = (torch.cat(each) for each in zip(i, f, g, o, strict=True))
    theirs = torch.nn.LSTMCell(p, d)
    theirs.load_state_dict({"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b, "bias_hh": torch.zeros(4 * d)})
    for one, other in zip(lstm_cell(x, h, s, *weights), theirs(x, (h, s)), strict=True):
        torch.testing.assert_close(one, other)


def test_an_open_forget_gate_and_a_closed_input_gate_carry_the_internal_state(normal):
    """The constant error carousel: s' = s exactly, and its gradient passes unchanged."""
    x, h, s, *weights = lstm_inputs(normal, 7)
    weights[5], weights[8] = torch.full((d,), -1e3), torch.full((d,), 1e3)  # b_i, b_f
    s.requires_grad_()
    _, new = lstm_cell(x, h, s, *weights)
    new.sum().backward()
    assert torch.equal(new, s)
    assert torch.equal(s.grad, torch.ones_like(s))
