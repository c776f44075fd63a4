import pytest
import torch

from impl.recurrent import lstm, lstm_bidirectional, lstm_cell, lstm_stacked

BACKENDS = pytest.mark.parametrize("backend", ["auto", "loop"])
ORDERS = pytest.mark.parametrize("order", ["ifgo", "iofg", "igfo", "gifo"])
T, p, d, L = 7, 3, 5, 2


def torch_s(layers, W_x, W_h, b, **options):
    """nn.LSTM with these weights, of layers or of directions."""
    theirs = torch.nn.LSTM(p, d, num_layers=layers, batch_first=True, **options)
    ends = ["l0", "l0_reverse"] if options else [f"l{k}" for k in range(layers)]
    weights = {}
    for k, end in enumerate(ends):
        weights |= {f"weight_ih_{end}": W_x[k], f"weight_hh_{end}": W_h[k], f"bias_ih_{end}": b[k]}
        weights[f"bias_hh_{end}"] = torch.zeros(4 * d)
    theirs.load_state_dict(weights)
    return theirs


def reordered(W, order, axis):
    """Blocks in torch's order, put into another."""
    blocks = dict(zip("ifgo", W.chunk(4, axis), strict=True))
    return torch.cat([blocks[each] for each in order], axis)


@BACKENDS
def test_lstm_is_torch_s(backend, case_of):
    """States and the last internal state, alone and, with lengths, beside torch's packed sequences."""
    x, h, s, W_x, W_h, b = case_of("lstm").inputs(13)
    theirs = torch_s(1, [W_x], [W_h], [b])
    states, last = lstm(x, h, s, W_x, W_h, b, backend=backend)
    their_states, (_, their_last) = theirs(x, (h[None], s[None]))
    torch.testing.assert_close(states, their_states)
    torch.testing.assert_close(last, their_last[0])
    lengths = torch.arange(13) % T + 1
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    packed, (_, their_last) = theirs(pack, (h[None], s[None]))
    states, last = lstm(x, h, s, W_x, W_h, b, lengths=lengths, backend=backend)
    torch.testing.assert_close(states, torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)[0])
    torch.testing.assert_close(last, their_last[0])


@BACKENDS
def test_lstm_stacked_is_torch_s_in_layers(backend, case_of):
    """Top states, and both last states of every layer, with and without lengths."""
    x, h, s, W_x, W_h, b, U = case_of("lstm_stacked").inputs(13)
    theirs = torch_s(L + 1, [W_x, *U], W_h, b)
    initial = tuple(each.transpose(0, 1).contiguous() for each in (h, s))
    lengths = torch.arange(13) % T + 1
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    for given, sequences in ((None, x), (lengths, pack)):
        ours = lstm_stacked(x, h, s, W_x, W_h, b, U, lengths=given, backend=backend)
        states, last = theirs(sequences, initial)
        if given is not None:
            states = torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0]
        torch.testing.assert_close(ours[0], states)
        for one, other in zip(ours[1:], last, strict=True):
            torch.testing.assert_close(one, other.transpose(0, 1))


@BACKENDS
def test_lstm_bidirectional_is_torch_s_in_both_directions(backend, case_of):
    """With and without lengths."""
    x, h, s, W_x, W_h, b = case_of("lstm_bidirectional").inputs(13)
    theirs = torch_s(1, W_x, W_h, b, bidirectional=True)
    initial = tuple(each.transpose(0, 1).contiguous() for each in (h, s))
    ours = lstm_bidirectional(x, h, s, W_x, W_h, b, backend=backend)
    torch.testing.assert_close(ours, theirs(x, initial)[0])
    lengths = torch.arange(13) % T + 1
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    packed = torch.nn.utils.rnn.pad_packed_sequence(theirs(pack, initial)[0], batch_first=True)[0]
    ours = lstm_bidirectional(x, h, s, W_x, W_h, b, lengths=lengths, backend=backend)
    torch.testing.assert_close(ours, packed)


@ORDERS
@pytest.mark.parametrize("name", ["lstm", "lstm_stacked", "lstm_bidirectional"])
def test_every_gate_order_is_the_statement_under_that_convention(order, name, case_of, within):
    """Values and gradients, by the kernel."""
    case = case_of(name)
    inputs = case.inputs()
    stated = case.stated(inputs, {"gate_order": order})
    assert within(case.with_gradients(inputs, gate_order=order), stated)


@ORDERS
@pytest.mark.parametrize("name", ["lstm", "lstm_stacked", "lstm_bidirectional"])
def test_blocks_put_into_another_order_give_the_same(order, name, case_of):
    """Weights and biases reordered alike."""
    case = case_of(name)
    inputs = case.inputs(13)
    weights = [reordered(each, order, -1 if key == 2 else -2) for key, each in enumerate(inputs[case.data :])]
    ours = case(*inputs[: case.data], *weights, gate_order=order)
    for one, other in zip(ours, case(*inputs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_gate_order_is_refused(case_of):
    """With the four that are known."""
    line = r"^recurrent\.lstm: gate_order is 'ifgo', 'iofg', 'igfo' or 'gifo'; got 'fgio'$"
    with pytest.raises(ValueError, match=line):
        lstm(*case_of("lstm").inputs(), gate_order="fgio")


def test_a_sequence_of_one_element_is_a_step_of_the_cell(case_of):
    """h[1] and s[1] of lstm are h' and s' of lstm_cell."""
    x, h, s, W_x, W_h, b = case_of("lstm").inputs(13)
    blocks = dict(zip("ifgo", zip(W_x.chunk(4), W_h.chunk(4), b.chunk(4), strict=True), strict=True))
    new, inner = lstm_cell(x[:, 0], h, s, *(part for block in "gifo" for part in blocks[block]))
    states, last = lstm(x[:, :1], h, s, W_x, W_h, b)
    torch.testing.assert_close(states[:, 0], new)
    torch.testing.assert_close(last, inner)


@BACKENDS
def test_no_state_sees_what_comes_after_it(backend, case_of):
    """The prefix property: cut the sequence, and the states before are as they were; their gradient beyond the cut is 0."""
    x, *others = case_of("lstm").inputs(13, dtype=torch.float64)
    x.requires_grad_()
    states, _ = lstm(x, *others, backend=backend)
    torch.testing.assert_close(states[:, :4], lstm(x[:, :4], *others, backend=backend)[0])
    states[:, :4].sum().backward()
    assert not x.grad[:, 4:].any()
    assert x.grad[:, :4].all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_last_internal_state_stays_through_any_padding(dtype, normal):
    """It does not drift: a thousand elements of padding behind one leave it, and its gradient, as one alone has it."""
    x, h, s = normal(1009, p, dtype=dtype), normal(d, dtype=dtype), normal(d, dtype=dtype, grad=True)
    weights = [normal(*shape, dtype=dtype) for shape in ((4 * d, p), (4 * d, d), (4 * d,))]
    last = lstm(x, h, s, *weights, lengths=torch.tensor(1))[1]
    alone = lstm(x[:1], h, s, *weights)[1]
    torch.testing.assert_close(last, alone)
    gradients = (torch.autograd.grad(each.sum(), s)[0] for each in (last, alone))
    torch.testing.assert_close(*gradients)
