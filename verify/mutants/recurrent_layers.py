"""Variants of recurrences in layers and in both directions: ``recurrent.stacked`` and ``.bidirectional``."""

import torch
from torch import Tensor, nn

from verify.adapt.layout import flat, opened
from verify.mutants import right, wrong
from verify.mutants.recurrent import Two, inflow, run, stepping
from verify.targets.flattening import called, hollow

STACKED, BOTH = "recurrent.stacked", "recurrent.bidirectional"


# Layers -------------------------------------------------------------------------------------------------------------------


def layered(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> list[Tensor]:
    """The states of every layer, right."""
    found: list[Tensor] = []
    for l, W in enumerate([W_xh, *U]):
        x = run(x, h[..., l, :], stepping(W, W_hh[l]))
        found.append(x)
    return found


def ends(layers: list[Tensor]) -> Tensor:
    """The last state of every layer, right."""
    return torch.stack([states[..., -1, :] for states in layers], -2)


@wrong(STACKED)
def bottom_states(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Returns the states of the first layer."""
    found = layered(x, h, W_xh, W_hh, U)
    return found[0], ends(found)


@wrong(STACKED)
def states_below_the_top(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Returns the states that the top layer reads."""
    found = layered(x, h, W_xh, W_hh, U)
    return found[-2], ends(found)


@wrong(STACKED)
def one_recurrence(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Uses the first layer's recurrent weights in all layers."""
    found = layered(x, h, W_xh, W_hh[:1].expand_as(W_hh), U)
    return found[-1], ends(found)


@wrong(STACKED)
def one_input_map(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Uses one U for all layers above the first."""
    found = layered(x, h, W_xh, W_hh, U[:1].expand_as(U))
    return found[-1], ends(found)


@wrong(STACKED)
def residual(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Adds to each layer's states those of the one below, as deep recurrent models like to."""
    found = [run(x, h[..., 0, :], stepping(W_xh, W_hh[0]))]
    for l, W in enumerate(U, 1):
        found.append(found[-1] + run(found[-1], h[..., l, :], stepping(W, W_hh[l])))
    return found[-1], ends(found)


@wrong(STACKED)
def last_of_the_top(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Returns the top layer's last state for every layer's."""
    found = layered(x, h, W_xh, W_hh, U)
    return found[-1], found[-1][..., -1:, :].expand_as(h).clone()


@wrong(STACKED)
def last_from_the_top(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Lists the last states from the top layer down."""
    found = layered(x, h, W_xh, W_hh, U)
    return found[-1], ends(found[::-1])


@wrong(STACKED)
def upper_layers_from_zero(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Starts the layers above the first from 0."""
    first = torch.cat([h[..., :1, :], torch.zeros_like(h[..., 1:, :])], -2)
    found = layered(x, first, W_xh, W_hh, U)
    return found[-1], ends(found)


@wrong(STACKED)
def one_initial_state(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Starts every layer from the first one's initial state."""
    found = layered(x, h[..., :1, :].expand_as(h), W_xh, W_hh, U)
    return found[-1], ends(found)


@wrong(STACKED)
def carried_upwards(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Starts each layer from the state in which the one below ended."""
    found = [run(x, h[..., 0, :], stepping(W_xh, W_hh[0]))]
    for l, W in enumerate(U, 1):
        found.append(run(found[-1], found[-1][..., -1, :], stepping(W, W_hh[l])))
    return found[-1], ends(found)


@wrong(STACKED)
def delayed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Lets each layer read the state of the one below from the element before."""
    found = [run(x, h[..., 0, :], stepping(W_xh, W_hh[0]))]
    for l, W in enumerate(U, 1):
        below = torch.cat([h[..., l - 1 : l, :], found[-1][..., :-1, :]], -2)
        found.append(run(below, h[..., l, :], stepping(W, W_hh[l])))
    return found[-1], ends(found)


@wrong(STACKED)
def maps_exchanged(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Exchanges U and the recurrent weights in the layers above the first."""
    found = layered(x, h, W_xh, torch.cat([W_hh[:1], U]), W_hh[1:])
    return found[-1], ends(found)


@wrong(STACKED)
def maps_transposed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Multiplies by the transpose of each U."""
    found = layered(x, h, W_xh, W_hh, U.mT)
    return found[-1], ends(found)


@wrong(STACKED)
def trained_alone(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """Detaches what each layer reads from the one below."""
    found = [run(x, h[..., 0, :], stepping(W_xh, W_hh[0]))]
    for l, W in enumerate(U, 1):
        found.append(run(found[-1].detach(), h[..., l, :], stepping(W, W_hh[l])))
    return found[-1], ends(found)


@right(STACKED)
def torch_module(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """``torch.nn.RNN`` with ``num_layers``."""
    lead, (d, p) = x.shape[:-2], W_xh.shape
    module = hollow(lambda: nn.RNN(p, d, len(W_hh), bias=False, batch_first=True))
    weights = {f"weight_ih_l{l}": W for l, W in enumerate([W_xh, *U])}
    weights |= {f"weight_hh_l{l}": W for l, W in enumerate(W_hh)}
    first = flat(h, lead, 2).transpose(0, 1).contiguous()
    states, last = called(module, weights, flat(x, lead, 2), first)
    return opened(states, lead), opened(last.transpose(0, 1), lead)


@right(STACKED)
def element_by_element(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """The loop over the elements outside, that over the layers inside."""
    now, top = list(h.unbind(-2)), []
    for element in x.unbind(-2):
        below = element
        for l, W in enumerate([W_xh, *U]):
            now[l] = below = torch.tanh(inflow(below, now[l], W, W_hh[l]))
        top.append(below)
    return torch.stack(top, -2), torch.stack(now, -2)


@right(STACKED)
def packed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> Two:
    """One product of packed weights and [below; before] at each step."""
    below, last = x, []
    for l, W in enumerate([W_xh, *U]):
        together, now, states = torch.cat([W, W_hh[l]], -1), h[..., l, :], []
        for element in below.unbind(-2):
            now = torch.einsum("ck,...k->...c", together, torch.cat([element, now], -1)).tanh()
            states.append(now)
        below = torch.stack(states, -2)
        last.append(now)
    return below, torch.stack(last, -2)


# Directions ---------------------------------------------------------------------------------------------------------------


def ahead(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor) -> Tensor:
    """States read from the first element on, right."""
    return run(x, h, stepping(W_x, W_h))


def back(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor) -> Tensor:
    """States read from the last element back, each at its place, right."""
    return run(x.flip(-2), h, stepping(W_x, W_h)).flip(-2)


@wrong(BOTH)
def backward_not_turned_back(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """Leaves the backward states in the order in which they were computed."""
    f = ahead(x, h[..., 0, :], W_xf, W_hf)
    return torch.cat([f, back(x, h[..., 1, :], W_xb, W_hb).flip(-2)], -1)


@wrong(BOTH)
def sequence_not_turned(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """Reads forward in both directions."""
    return torch.cat([ahead(x, h[..., 0, :], W_xf, W_hf), ahead(x, h[..., 1, :], W_xb, W_hb)], -1)


@wrong(BOTH)
def first_axis_turned(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Turns the first axis: the time without a batch, the batch with one."""
    f = ahead(x, h[..., 0, :], W_xf, W_hf)
    return torch.cat([f, ahead(x.flip(0), h[..., 1, :], W_xb, W_hb).flip(0)], -1)


@wrong(BOTH)
def halves_exchanged(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Puts the backward half first."""
    f, b = ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hb)
    return torch.cat([b, f], -1)


@wrong(BOTH)
def halves_interleaved(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """Interleaves the two halves."""
    f, b = ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hb)
    return torch.stack([f, b], -1).flatten(-2)


@wrong(BOTH)
def halves_summed(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Sums the two halves, repeated to the width that is asked for."""
    f, b = ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hb)
    return torch.cat([f + b, f + b], -1)


@wrong(BOTH)
def weights_shared(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Uses the forward weights in both directions."""
    return torch.cat([ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xf, W_hf)], -1)


@wrong(BOTH)
def recurrence_shared(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Uses the forward recurrent weights in both directions, each with input weights of its own."""
    return torch.cat([ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hf)], -1)


@wrong(BOTH)
def initial_states_exchanged(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """Starts forward from the backward initial state, and backward from the forward one."""
    return torch.cat([ahead(x, h[..., 1, :], W_xf, W_hf), back(x, h[..., 0, :], W_xb, W_hb)], -1)


@wrong(BOTH)
def backward_from_zero(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """Starts backward from 0."""
    f = ahead(x, h[..., 0, :], W_xf, W_hf)
    return torch.cat([f, back(x, torch.zeros_like(h[..., 1, :]), W_xb, W_hb)], -1)


@wrong(BOTH)
def there_and_back(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Starts backward from the state in which the forward direction ended."""
    f = ahead(x, h[..., 0, :], W_xf, W_hf)
    return torch.cat([f, back(x, f[..., -1, :], W_xb, W_hb)], -1)


@wrong(BOTH)
def element_left_out(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Gives the backward state of what comes after an element, without the element itself."""
    f, b = ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hb)
    return torch.cat([f, torch.cat([b[..., 1:, :], h[..., 1:, :]], -2)], -1)


@wrong(BOTH)
def backward_detached(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """No gradient reaches the backward direction."""
    f, b = ahead(x, h[..., 0, :], W_xf, W_hf), back(x, h[..., 1, :], W_xb, W_hb)
    return torch.cat([f, b.detach()], -1)


@right(BOTH)
def torch_bidirectional(
    x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor
) -> Tensor:
    """``torch.rnn_tanh``, bidirectional."""
    lead = x.shape[:-2]
    first = flat(h, lead, 2).transpose(0, 1).contiguous()
    parts = [W_xf, W_hf, W_xb, W_hb]
    states, _ = torch.rnn_tanh(flat(x, lead, 2), first, parts, False, 1, 0.0, False, True, True)
    return opened(states, lead)


@right(BOTH)
def from_the_end(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """A loop over the indices from the last to the first; nothing is turned."""
    f, b, found = h[..., 0, :], h[..., 1, :], {}
    T = x.shape[-2]
    for t in range(T):
        f = torch.tanh(inflow(x[..., t, :], f, W_xf, W_hf))
        b = torch.tanh(inflow(x[..., T - 1 - t, :], b, W_xb, W_hb))
        found[0, t], found[1, T - 1 - t] = f, b
    return torch.stack([torch.cat([found[0, t], found[1, t]], -1) for t in range(T)], -2)


@right(BOTH)
def side_by_side(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
    """Both directions in one loop, as a batch of two."""
    W_x, W_h, now, states = torch.stack([W_xf, W_xb]), torch.stack([W_hf, W_hb]), h, []
    for element in torch.stack([x, x.flip(-2)], -2).unbind(-3):
        z = torch.einsum("wca,...wa->...wc", W_x, element) + torch.einsum("wce,...we->...wc", W_h, now)
        now = torch.tanh(z)
        states.append(now)
    f, b = torch.stack(states, -3).unbind(-2)
    return torch.cat([f, b.flip(-2)], -1)
