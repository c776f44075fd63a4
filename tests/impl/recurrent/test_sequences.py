import pytest
import torch

from impl.recurrent import bidirectional, rnn, rnn_cell, stacked

BACKENDS = pytest.mark.parametrize("backend", ["auto", "loop"])
T, p, d, r = 7, 3, 5, 11


def test_rnn_is_torch_s_without_biases(case_of):
    """nn.RNN with our weights gives our states; p is the softmax of a linear layer."""
    x, h, W_xh, W_hh, W_hy = case_of("rnn").inputs(13)
    theirs = torch.nn.RNN(p, d, bias=False, batch_first=True)
    theirs.load_state_dict({"weight_ih_l0": W_xh, "weight_hh_l0": W_hh})
    states, probabilities = rnn(x, h, W_xh, W_hh, W_hy)
    torch.testing.assert_close(states, theirs(x, h[None])[0])
    torch.testing.assert_close(probabilities, torch.nn.functional.linear(states, W_hy).softmax(-1))


@BACKENDS
def test_stacked_is_torch_s_rnn_in_layers(backend, case_of):
    """States of the top layer and the last ones of all."""
    x, h, W_xh, W_hh, U = case_of("stacked").inputs(13)
    theirs = torch.nn.RNN(p, d, num_layers=3, bias=False, batch_first=True)
    inputs = (W_xh, *U)
    theirs.load_state_dict(
        {f"weight_ih_l{k}": inputs[k] for k in range(3)} | {f"weight_hh_l{k}": W_hh[k] for k in range(3)}
    )
    states, last = stacked(x, h, W_xh, W_hh, U, backend=backend)
    their_states, their_last = theirs(x, h.transpose(0, 1).contiguous())
    torch.testing.assert_close(states, their_states)
    torch.testing.assert_close(last, their_last.transpose(0, 1))


@BACKENDS
def test_bidirectional_is_torch_s_rnn_in_both_directions(backend, case_of):
    """Also with lengths, beside torch's packed sequences."""
    x, h, *weights = case_of("bidirectional").inputs(13)
    theirs = torch.nn.RNN(p, d, bias=False, batch_first=True, bidirectional=True)
    names = ("weight_ih_l0", "weight_hh_l0", "weight_ih_l0_reverse", "weight_hh_l0_reverse")
    theirs.load_state_dict(dict(zip(names, weights, strict=True)))
    initial = h.transpose(0, 1).contiguous()
    ours = bidirectional(x, h, *weights, backend=backend)
    torch.testing.assert_close(ours, theirs(x, initial)[0])
    lengths = torch.arange(13) % T + 1
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    packed = torch.nn.utils.rnn.pad_packed_sequence(theirs(pack, initial)[0], batch_first=True)[0]
    torch.testing.assert_close(bidirectional(x, h, *weights, lengths=lengths, backend=backend), packed)


@BACKENDS
def test_one_layer_of_stacked_is_rnn(backend, case_of):
    """L = 0: no layer above the first; its last state is that of the last element."""
    x, h, W_xh, W_hh, W_hy = case_of("rnn").inputs(13)
    states, last = stacked(x, h[:, None], W_xh, W_hh[None], W_hh.new_zeros(0, d, d), backend=backend)
    torch.testing.assert_close(states, rnn(x, h, W_xh, W_hh, W_hy)[0])
    assert torch.equal(last[:, 0], states[:, -1])


def test_a_sequence_of_one_element_is_a_step_of_the_cell(case_of):
    """h[1] of rnn is h' of rnn_cell."""
    x, h, *weights = case_of("rnn").inputs(13)
    new, o = rnn_cell(x[:, 0], h, *weights)
    states, probabilities = rnn(x[:, :1], h, *weights)
    torch.testing.assert_close(states[:, 0], new)
    torch.testing.assert_close(probabilities[:, 0], o.softmax(-1))


@BACKENDS
def test_no_state_sees_what_comes_after_it(backend, case_of):
    """The prefix property: cut the sequence, and the states before are as they were; their gradient beyond the cut is 0."""
    x, *others = case_of("rnn").inputs(13, dtype=torch.float64)
    x.requires_grad_()
    states, _ = rnn(x, *others, backend=backend)
    torch.testing.assert_close(states[:, :4], rnn(x[:, :4], *others, backend=backend)[0])
    states[:, :4].sum().backward()
    assert not x.grad[:, 4:].any()
    assert x.grad[:, :4].all()


@BACKENDS
def test_reversing_the_input_swaps_the_directions(backend, case_of):
    """With weights and initial states swapped too, the halves change places and run the other way."""
    x, h, W_xf, W_hf, W_xb, W_hb = case_of("bidirectional").inputs(13)
    there = bidirectional(x, h, W_xf, W_hf, W_xb, W_hb, backend=backend)
    back = bidirectional(x.flip(-2), h.flip(-2), W_xb, W_hb, W_xf, W_hf, backend=backend)
    torch.testing.assert_close(back.flip(-2), torch.cat((there[..., d:], there[..., :d]), -1))


def test_probabilities_beyond_a_sequence_are_zero_too(case_of):
    """Not 1/r, which the softmax of 0 would be."""
    probabilities = rnn(*case_of("rnn").inputs(), lengths=torch.tensor(4))[1]
    assert not probabilities[4:].any()
    torch.testing.assert_close(probabilities[:4].sum(-1), torch.ones(4))
