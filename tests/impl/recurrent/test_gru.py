"""impl.recurrent.gru and gru_cell beside torch's, and under each of their conventions."""

from itertools import product

import pytest
import torch

from impl.recurrent import gru, gru_cell

T, p, d = 7, 3, 5
BACKENDS = pytest.mark.parametrize("backend", ["auto", "loop"])
CHOICES = [
    dict(zip(("gate_order", "reset", "update"), chosen, strict=True))
    for chosen in product(("rzn", "zrn"), ("after", "before"), ("keeps", "renews"))
]


@BACKENDS
def test_gru_is_torch_s(backend, case_of):
    """Alone and, with lengths, beside torch's packed sequences."""
    x, h, W_x, W_h, b_x, b_h = case_of("gru").inputs(13)
    theirs = torch.nn.GRU(p, d, batch_first=True)
    weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b_x, "bias_hh_l0": b_h}
    theirs.load_state_dict(weights)
    torch.testing.assert_close(gru(x, h, W_x, W_h, b_x, b_h, backend=backend), theirs(x, h[None])[0])
    lengths = torch.arange(13) % T + 1
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(pack, h[None])[0], batch_first=True)
    torch.testing.assert_close(gru(x, h, W_x, W_h, b_x, b_h, lengths=lengths, backend=backend), expected)


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_choice_is_the_statement_under_those_conventions(chosen, case_of, within):
    """Values and gradients, by the kernel where it can."""
    case = case_of("gru")
    inputs = case.inputs()
    assert within(case.with_gradients(inputs, **chosen), case.stated(inputs, chosen))


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_a_sequence_of_one_element_is_a_step_of_the_cell(chosen, case_of):
    """states[1] of gru is h' of gru_cell."""
    x, h, *weights = case_of("gru").inputs(13)
    states = gru(x[:, :1], h, *weights, **chosen)
    torch.testing.assert_close(states[:, 0], gru_cell(x[:, 0], h, *weights, **chosen))


def test_an_open_update_gate_keeps_the_state(case_of):
    """With a bias of 60 for z the state stays as it is."""
    x, h, W_x, W_h, b_x, b_h = case_of("gru").inputs(dtype=torch.float64)
    b_x[d : 2 * d] = 60.0
    torch.testing.assert_close(gru(x, h, W_x, W_h, b_x, b_h)[-1], h)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "known"),
    [("gate_order", "'rzn' or 'zrn'"), ("reset", "'after' or 'before'"), ("update", "'keeps' or 'renews'")],
)
def test_an_unknown_option_is_refused(name, known, case_of):
    """With those that are known, by the cell and by the sequence."""
    x, h, *weights = case_of("gru").inputs()
    with pytest.raises(ValueError, match=rf"^recurrent\.gru: {name} is {known}; got 'n'$"):
        gru(x, h, *weights, **{name: "n"})
    with pytest.raises(ValueError, match=rf"^recurrent\.gru_cell: {name} is {known}; got 'n'$"):
        gru_cell(x[0], h, *weights, **{name: "n"})
