"""Variants of the LSTM in layers and in both directions: ``recurrent.lstm_stacked`` and ``.lstm_bidirectional``."""

import torch
from torch import nn

from tests.mutants import right, wrong
from tests.mutants.lstm import run, stepping
from tests.mutants.recurrent import call_with, hollow
from tests.mutants.recurrent_layers import ends
from verify.adapt.layout import flat, restore_lead

STACKED, BOTH = "recurrent.lstm_stacked", "recurrent.lstm_bidirectional"

# Layers -------------------------------------------------------------------------------------------------------------------


def layered(x, h, s, W_x, W_h, b, U, order="ifgo", read=lambda x, states, inner: states):
    """The states and the internal states of every layer, right for an order of the packed rows.

    ``read`` gives what the next layer reads, and this one shows, from what this one read and found.
    """
    states, inner = [], []
    for l, W in enumerate([W_x, *U]):
        found, internal = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l], order))
        x = read(x if l else None, found, internal)
        states.append(x)
        inner.append(internal)
    return states, inner


def ended(found):
    """The top states and all last ones, right."""
    return found[0][-1], ends(found[0]), ends(found[1])


def network(x, h, s, W_x, W_h, b, U, **changes):
    """The network, right but for what is given."""
    return ended(layered(x, h, s, W_x, W_h, b, U, **changes))


def first_alone(x):
    """The first layer's part, and 0 for those above."""
    return torch.cat([x[..., :1, :], torch.zeros_like(x[..., 1:, :])], -2)


@wrong(STACKED, cause=r"states reads H\[0|first layer|H\[0\S* where")
def bottom_states(x, h, s, W_x, W_h, b, U):
    """Returns the states of the first layer."""
    found = layered(x, h, s, W_x, W_h, b, U)
    return found[0][0], ends(found[0]), ends(found[1])


@wrong(STACKED, cause=r"top layer|H\[L\S* where")
def last_of_the_top(x, h, s, W_x, W_h, b, U):
    """Returns the top layer's last states for every layer's."""
    top, last_h, last_s = network(x, h, s, W_x, W_h, b, U)
    return top, last_h[..., -1:, :].expand_as(h).clone(), last_s[..., -1:, :].expand_as(s).clone()


@wrong(STACKED, cause="in the order states, s'")
def last_states_exchanged(x, h, s, W_x, W_h, b, U):
    """Returns the last internal states before the last states."""
    top, last_h, last_s = network(x, h, s, W_x, W_h, b, U)
    return top, last_s, last_h


wrong(
    STACKED,
    "one_recurrence",
    "Uses the first layer's recurrent weights in all layers.",
    cause=r"reads W_h\[0|W_h of the first|first .*W_h",
)(lambda x, h, s, W_x, W_h, b, U: network(x, h, s, W_x, W_h[:1].expand_as(W_h), b, U))
wrong(
    STACKED,
    "one_input_map",
    "Uses one U for all layers above the first.",
    cause=r"reads U\[0|\bU of the first|first .*\bU\b",
)(lambda x, h, s, W_x, W_h, b, U: network(x, h, s, W_x, W_h, b, U[:1].expand_as(U)))
wrong(
    STACKED, "one_bias", "Uses the first layer's bias in all layers.", cause=r"reads b\[0|\bb of the first"
)(lambda x, h, s, W_x, W_h, b, U: network(x, h, s, W_x, W_h, b[:1].expand_as(b), U))
wrong(
    STACKED, "bias_of_the_first_alone", "Has no bias in the layers above the first.", cause=r"b\[l\S* is not"
)(lambda x, h, s, W_x, W_h, b, U: network(x, h, s, W_x, W_h, first_alone(b), U))
wrong(
    STACKED,
    "inner_states_from_zero",
    "Starts the internal states of the layers above the first from 0.",
    cause=r"\bs\[l|\bs\b.* above|begins? at 0",
)(lambda x, h, s, W_x, W_h, b, U: network(x, h, first_alone(s), W_x, W_h, b, U))
wrong(
    STACKED,
    "one_initial_state",
    "Starts every layer from the first one's initial states.",
    cause=r"reads [hs]\[0|of the first layer",
)(
    lambda x, h, s, W_x, W_h, b, U: network(
        x, h[..., :1, :].expand_as(h), s[..., :1, :].expand_as(s), W_x, W_h, b, U
    )
)


@wrong(STACKED, cause="reads S where H")
def inner_states_read(x, h, s, W_x, W_h, b, U):
    """Lets each layer read the internal states of the one below."""
    states, inner = [], []
    for l, W in enumerate([W_x, *U]):
        found, x = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l]))
        states.append(found)
        inner.append(x)
    return ended((states, inner))


wrong(
    STACKED,
    "residual",
    "Adds to what each layer above the first shows the states of the one below.",
    cause=r"\b(H\S*|states) (is|are) added",
)(
    lambda x, h, s, W_x, W_h, b, U: network(
        x, h, s, W_x, W_h, b, U, read=lambda x, states, inner: states if x is None else states + x
    )
)


@wrong(STACKED, cause=r"\bU\b.* order|(f and g|g and f) are exch")
def other_order_above(x, h, s, W_x, W_h, b, U):
    """Reads the rows of U in another order than those of the other weights."""
    i, f, g, o = U.chunk(4, 1)
    return network(x, h, s, W_x, W_h, b, torch.cat([i, g, f, o], 1))


@wrong(STACKED, cause=r"\bH\b.*constant")
def layers_trained_alone(x, h, s, W_x, W_h, b, U):
    """Detaches what each layer reads from the one below."""
    states, inner = [], []
    for l, W in enumerate([W_x, *U]):
        x, internal = run(x.detach() if l else x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l]))
        states.append(x)
        inner.append(internal)
    return ended((states, inner))


@right(STACKED)
def torch_module(x, h, s, W_x, W_h, b, U):
    """``torch.nn.LSTM`` with ``num_layers``."""
    lead, (d, p) = x.shape[:-2], (h.shape[-1], x.shape[-1])
    module = hollow(lambda: nn.LSTM(p, d, len(W_h), batch_first=True))
    weights = {}
    for l, W in enumerate([W_x, *U]):
        weights |= {f"weight_ih_l{l}": W, f"weight_hh_l{l}": W_h[l]}
        weights |= {f"bias_ih_l{l}": torch.zeros_like(b[l]), f"bias_hh_l{l}": b[l]}
    first = tuple(flat(part, lead, 2).transpose(0, 1).contiguous() for part in (h, s))
    states, last = call_with(module, weights, flat(x, lead, 2), first)
    last_h, last_s = (restore_lead(part.transpose(0, 1), lead) for part in last)
    return restore_lead(states, lead), last_h, last_s


@right(STACKED)
def element_by_element(x, h, s, W_x, W_h, b, U):
    """The loop over the elements outside, that over the layers inside, with packed weights."""
    weights = [torch.cat([W, W_h[l]], -1) for l, W in enumerate([W_x, *U])]
    now, inner, top = list(h.unbind(-2)), list(s.unbind(-2)), []
    for below in x.unbind(-2):
        for l, W in enumerate(weights):
            i, f, g, o = (torch.cat([below, now[l]], -1) @ W.mT + b[l]).chunk(4, -1)
            inner[l] = torch.addcmul(inner[l] * f.sigmoid(), g.tanh(), i.sigmoid())
            now[l] = below = inner[l].tanh() * o.sigmoid()
        top.append(below)
    return torch.stack(top, -2), torch.stack(now, -2), torch.stack(inner, -2)


right(STACKED, "layer_by_layer", "The loop over the layers outside; TensorFlow's order.", gate_order="igfo")(
    lambda x, h, s, W_x, W_h, b, U: network(x, h, s, W_x, W_h, b, U, order="igfo")
)

# Directions ---------------------------------------------------------------------------------------------------------------


def ahead(x, h, s, *parts, order="ifgo"):
    """States read from the first element on, by the weights and the initial states of index 0; right."""
    W_x, W_h, b = (part[0] for part in parts)
    return run(x, h[..., 0, :], s[..., 0, :], stepping(W_x, W_h, b, order))[0]


def back(x, h, s, *parts, order="ifgo"):
    """States read from the last element back, each at its place, by what is of index 1; right."""
    turned = (part.flip(0) for part in parts)
    return ahead(x.flip(-2), h.flip(-2), s.flip(-2), *turned, order=order).flip(-2)


def both(join=lambda f, r: torch.cat([f, r], -1), forward=ahead, backward=back):
    """Both directions, right but for what is given."""
    return lambda x, h, s, *parts: join(forward(x, h, s, *parts), backward(x, h, s, *parts))


wrong(
    BOTH,
    "backward_not_turned_back",
    "Leaves the backward states in the order of their computation.",
    cause=r"(?-i:\bB\b).*(\bend\b|revers)",
)(both(lambda f, r: torch.cat([f, r.flip(-2)], -1)))
wrong(
    BOTH, "sequence_not_turned", "Reads forward in both directions.", cause=r"reads x\[t|forward|not turned"
)(both(backward=lambda x, h, s, *parts: back(x.flip(-2), h, s, *parts).flip(-2)))
wrong(BOTH, "halves_exchanged", "Puts the backward half first.", cause="reads [BF] where [FB]|halves")(
    both(lambda f, r: torch.cat([r, f], -1))
)
wrong(BOTH, "halves_interleaved", "Interleaves the two halves.", cause="interleav|axes swapped: states")(
    both(lambda f, r: torch.stack([f, r], -1).flatten(-2))
)
wrong(
    BOTH,
    "halves_averaged",
    "Averages the two halves, repeated to the width that is asked for.",
    cause="averag|mean of [FB]",
)(both(lambda f, r: torch.cat([(f + r) / 2, (f + r) / 2], -1)))
wrong(BOTH, "weights_shared", "Uses the forward weights in both directions.", cause=r"W_[xh]\[0\S* where")(
    both(backward=lambda x, h, s, *parts: back(x, h, s, *(part[:1].expand_as(part) for part in parts)))
)
wrong(
    BOTH, "bias_shared", "Uses the forward bias in both directions.", cause=r"\bb\[0\S* where|forward bias"
)(
    lambda x, h, s, W_x, W_h, b: both(backward=lambda *given: back(*given[:5], b[:1].expand_as(b)))(
        x, h, s, W_x, W_h, b
    )
)
wrong(
    BOTH,
    "initial_states_exchanged",
    "Starts each direction from the other one's initial states.",
    cause=r"\b[hs] is moved by one|initial state",
)(lambda x, h, s, *parts: both()(x, h.flip(-2), s.flip(-2), *parts))
wrong(
    BOTH,
    "inner_state_of_the_other",
    "Starts both directions from the forward initial internal state.",
    cause=r"\bs\[0\S* where|initial internal",
)(lambda x, h, s, *parts: both()(x, h, s[..., :1, :].expand_as(s), *parts))
wrong(BOTH, "backward_from_zero", "Starts backward from 0.", cause=r"[hs]\[1\S* is ignored|begins? at 0")(
    both(backward=lambda x, h, s, *parts: back(x, torch.zeros_like(h), torch.zeros_like(h), *parts))
)
wrong(
    BOTH,
    "element_left_out",
    "Gives the backward state of what comes after an element, without that itself.",
    cause=r"off by one|\bB is moved",
)(both(backward=lambda x, h, s, *parts: torch.cat([back(x, h, s, *parts)[..., 1:, :], h[..., 1:, :]], -2)))
wrong(
    BOTH,
    "other_order_backward",
    "Reads the packed rows of the backward direction in ONNX's order.",
    cause="gate_order|(gates|rows|blocks) .*order",
)(both(backward=lambda *given: back(*given, order="iofg")))
wrong(
    BOTH, "backward_detached", "No gradient reaches the backward direction.", cause=r"(?-i:^B\b).*constant"
)(both(lambda f, r: torch.cat([f, r.detach()], -1)))


@right(BOTH)
def torch_bidirectional(x, h, s, W_x, W_h, b):
    """``torch.lstm``, bidirectional."""
    lead = x.shape[:-2]
    first = [flat(part, lead, 2).transpose(0, 1).contiguous() for part in (h, s)]
    parts = [part for way in range(2) for part in (W_x[way], W_h[way], b[way], torch.zeros_like(b[way]))]
    states, _, _ = torch.lstm(flat(x, lead, 2), first, parts, True, 1, 0.0, False, True, True)
    return restore_lead(states, lead)


@right(BOTH)
def side_by_side(x, h, s, W_x, W_h, b):
    """Both directions in one loop, as a batch of two."""
    states = []
    for element in torch.stack([x, x.flip(-2)], -2).unbind(-3):
        z = torch.einsum("wka,...wa->...wk", W_x, element) + torch.einsum("wke,...we->...wk", W_h, h) + b
        i, f, g, o = z.chunk(4, -1)
        s = f.sigmoid() * s + i.sigmoid() * g.tanh()
        h = o.sigmoid() * s.tanh()
        states.append(h)
    f, r = torch.stack(states, -3).unbind(-2)
    return torch.cat([f, r.flip(-2)], -1)


right(BOTH, "as_listed", "Two loops, in the order in which the equations are listed.", gate_order="gifo")(
    both(
        forward=lambda *given: ahead(*given, order="gifo"), backward=lambda *given: back(*given, order="gifo")
    )
)
