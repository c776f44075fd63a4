"""Variants of the LSTM in layers and in both directions: ``recurrent.lstm_stacked`` and ``.lstm_bidirectional``."""

import torch
from torch import Tensor, nn

from verify.adapt.layout import flat, opened
from verify.mutants import right, wrong
from verify.mutants.lstm import run, stepping
from verify.mutants.recurrent_layers import ends
from verify.targets.flattening import called, hollow

STACKED, BOTH = "recurrent.lstm_stacked", "recurrent.lstm_bidirectional"
Three = tuple[Tensor, Tensor, Tensor]
Layers = tuple[list[Tensor], list[Tensor]]


# Layers -------------------------------------------------------------------------------------------------------------------


def layered(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor, order: str = "ifgo"
) -> Layers:
    """The states and the internal states of every layer, right for an order of the packed rows."""
    states: list[Tensor] = []
    inner: list[Tensor] = []
    for l, W in enumerate([W_x, *U]):
        x, internal = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l], order))
        states.append(x)
        inner.append(internal)
    return states, inner


def ended(found: Layers) -> Three:
    """The top states and all last ones, right."""
    return found[0][-1], ends(found[0]), ends(found[1])


def first_alone(x: Tensor) -> Tensor:
    """The first layer's part, and 0 for those above."""
    return torch.cat([x[..., :1, :], torch.zeros_like(x[..., 1:, :])], -2)


@wrong(STACKED)
def bottom_states(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Returns the states of the first layer."""
    found = layered(x, h, s, W_x, W_h, b, U)
    return found[0][0], *ended(found)[1:]


@wrong(STACKED)
def last_of_the_top(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Returns the top layer's last states for every layer's."""
    top, last_h, last_s = ended(layered(x, h, s, W_x, W_h, b, U))
    return top, last_h[..., -1:, :].expand_as(h).clone(), last_s[..., -1:, :].expand_as(s).clone()


@wrong(STACKED)
def last_states_exchanged(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Returns the last internal states before the last states."""
    top, last_h, last_s = ended(layered(x, h, s, W_x, W_h, b, U))
    return top, last_s, last_h


@wrong(STACKED)
def one_recurrence(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Uses the first layer's recurrent weights in all layers."""
    return ended(layered(x, h, s, W_x, W_h[:1].expand_as(W_h), b, U))


@wrong(STACKED)
def one_input_map(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Uses one U for all layers above the first."""
    return ended(layered(x, h, s, W_x, W_h, b, U[:1].expand_as(U)))


@wrong(STACKED)
def one_bias(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Uses the first layer's bias in all layers."""
    return ended(layered(x, h, s, W_x, W_h, b[:1].expand_as(b), U))


@wrong(STACKED)
def bias_of_the_first_alone(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Has no bias in the layers above the first."""
    return ended(layered(x, h, s, W_x, W_h, first_alone(b), U))


@wrong(STACKED)
def inner_states_from_zero(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Starts the internal states of the layers above the first from 0."""
    return ended(layered(x, h, first_alone(s), W_x, W_h, b, U))


@wrong(STACKED)
def one_initial_state(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Starts every layer from the first one's initial states."""
    return ended(layered(x, h[..., :1, :].expand_as(h), s[..., :1, :].expand_as(s), W_x, W_h, b, U))


@wrong(STACKED)
def inner_states_read(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Lets each layer read the internal states of the one below."""
    states: list[Tensor] = []
    inner: list[Tensor] = []
    for l, W in enumerate([W_x, *U]):
        found, x = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l]))
        states.append(found)
        inner.append(x)
    return ended((states, inner))


@wrong(STACKED)
def residual(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """Adds to what each layer above the first shows the states of the one below."""
    states: list[Tensor] = []
    inner: list[Tensor] = []
    for l, W in enumerate([W_x, *U]):
        found, internal = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l]))
        x = found + x if l else found
        states.append(x)
        inner.append(internal)
    return ended((states, inner))


@wrong(STACKED)
def other_order_above(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Reads the rows of U in another order than those of the other weights."""
    i, f, g, o = U.chunk(4, 1)
    return ended(layered(x, h, s, W_x, W_h, b, torch.cat([i, g, f, o], 1)))


@wrong(STACKED)
def layers_trained_alone(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
    """Detaches what each layer reads from the one below."""
    states: list[Tensor] = []
    inner: list[Tensor] = []
    for l, W in enumerate([W_x, *U]):
        x = x.detach() if l else x
        x, internal = run(x, h[..., l, :], s[..., l, :], stepping(W, W_h[l], b[l]))
        states.append(x)
        inner.append(internal)
    return ended((states, inner))


@right(STACKED)
def torch_module(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """``torch.nn.LSTM`` with ``num_layers``."""
    lead, (d, p) = x.shape[:-2], (h.shape[-1], x.shape[-1])
    module = hollow(lambda: nn.LSTM(p, d, len(W_h), batch_first=True))
    weights: dict[str, Tensor] = {}
    for l, W in enumerate([W_x, *U]):
        weights |= {f"weight_ih_l{l}": W, f"weight_hh_l{l}": W_h[l]}
        weights |= {f"bias_ih_l{l}": torch.zeros_like(b[l]), f"bias_hh_l{l}": b[l]}
    first = tuple(flat(part, lead, 2).transpose(0, 1).contiguous() for part in (h, s))
    states, last = called(module, weights, flat(x, lead, 2), first)
    last_h, last_s = (opened(part.transpose(0, 1), lead) for part in last)
    return opened(states, lead), last_h, last_s


@right(STACKED)
def element_by_element(
    x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
) -> Three:
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


@right(STACKED, gate_order="igfo")
def layer_by_layer(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor) -> Three:
    """The loop over the layers outside, in early TensorFlow's order."""
    return ended(layered(x, h, s, W_x, W_h, b, U, "igfo"))


# Directions ---------------------------------------------------------------------------------------------------------------


def ahead(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor, order: str = "ifgo") -> Tensor:
    """States read from the first element on, by the weights and the initial states of index 0; right."""
    W_x, W_h, b = (part[0] for part in parts)
    return run(x, h[..., 0, :], s[..., 0, :], stepping(W_x, W_h, b, order))[0]


def back(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor, order: str = "ifgo") -> Tensor:
    """States read from the last element back, each at its place, by what is of index 1; right."""
    turned = (part.flip(0) for part in parts)
    return ahead(x.flip(-2), h.flip(-2), s.flip(-2), *turned, order=order).flip(-2)


@wrong(BOTH)
def backward_not_turned_back(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Leaves the backward states in the order in which they were computed."""
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *parts).flip(-2)], -1)


@wrong(BOTH)
def sequence_not_turned(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Reads forward in both directions."""
    return torch.cat([ahead(x, h, s, *parts), back(x.flip(-2), h, s, *parts).flip(-2)], -1)


@wrong(BOTH)
def halves_exchanged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Puts the backward half first."""
    return torch.cat([back(x, h, s, *parts), ahead(x, h, s, *parts)], -1)


@wrong(BOTH)
def halves_interleaved(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Interleaves the two halves."""
    return torch.stack([ahead(x, h, s, *parts), back(x, h, s, *parts)], -1).flatten(-2)


@wrong(BOTH)
def halves_averaged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Averages the two halves, repeated to the width that is asked for."""
    mean = (ahead(x, h, s, *parts) + back(x, h, s, *parts)) / 2
    return torch.cat([mean, mean], -1)


@wrong(BOTH)
def weights_shared(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Uses the forward weights in both directions."""
    shared = (part[:1].expand_as(part) for part in parts)
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *shared)], -1)


@wrong(BOTH)
def bias_shared(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    """Uses the forward bias in both directions."""
    return torch.cat([ahead(x, h, s, W_x, W_h, b), back(x, h, s, W_x, W_h, b[:1].expand_as(b))], -1)


@wrong(BOTH)
def initial_states_exchanged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Starts forward from the backward initial states, and backward from the forward ones."""
    h, s = h.flip(-2), s.flip(-2)
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *parts)], -1)


@wrong(BOTH)
def inner_state_of_the_other(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Starts both directions from the forward initial internal state."""
    s = s[..., :1, :].expand_as(s)
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *parts)], -1)


@wrong(BOTH)
def backward_from_zero(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Starts backward from 0."""
    zero = torch.zeros_like(h)
    return torch.cat([ahead(x, h, s, *parts), back(x, zero, zero, *parts)], -1)


@wrong(BOTH)
def element_left_out(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Gives the backward state of what comes after an element, without the element itself."""
    b = torch.cat([back(x, h, s, *parts)[..., 1:, :], h[..., 1:, :]], -2)
    return torch.cat([ahead(x, h, s, *parts), b], -1)


@wrong(BOTH)
def other_order_backward(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Reads the packed rows of the backward direction in ONNX's order."""
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *parts, order="iofg")], -1)


@wrong(BOTH)
def backward_detached(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """No gradient reaches the backward direction."""
    return torch.cat([ahead(x, h, s, *parts), back(x, h, s, *parts).detach()], -1)


@right(BOTH)
def torch_bidirectional(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    """``torch.lstm``, bidirectional."""
    lead = x.shape[:-2]
    first = [flat(part, lead, 2).transpose(0, 1).contiguous() for part in (h, s)]
    parts = [part for way in range(2) for part in (W_x[way], W_h[way], b[way], torch.zeros_like(b[way]))]
    states, _, _ = torch.lstm(flat(x, lead, 2), first, parts, True, 1, 0.0, False, True, True)
    return opened(states, lead)


@right(BOTH)
def side_by_side(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
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


@right(BOTH, gate_order="gifo")
def as_listed(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Tensor:
    """Two loops, in the order in which the equations are listed."""
    return torch.cat([ahead(x, h, s, *parts, order="gifo"), back(x, h, s, *parts, order="gifo")], -1)
