"""Variants of recurrences in layers and in both directions: ``recurrent.stacked`` and ``.bidirectional``."""

import torch
from torch import nn

from tests.mutants import right, wrong
from tests.mutants.recurrent import call_with, hollow, inflow, run, stepping
from verify.adapt.layout import flat, restore_lead

STACKED, BOTH = "recurrent.stacked", "recurrent.bidirectional"

# Layers -------------------------------------------------------------------------------------------------------------------


def layered(x, h, W_xh, W_hh, U, one=lambda below, h, step: run(below, h, step)):
    """The states of every layer, right, or where ``one`` gives those of a layer above the first."""
    found = [run(x, h[..., 0, :], stepping(W_xh, W_hh[0]))]
    for l, W in enumerate(U, 1):
        found.append(one(found[-1], h[..., l, :], stepping(W, W_hh[l])))
    return found


def ends(layers):
    """The last state of every layer, right."""
    return torch.stack([states[..., -1, :] for states in layers], -2)


def stacked(states=layered, top=lambda found: found[-1], last=ends, **changes):
    """A network in layers, right but for what is given."""

    def through(x, h, W_xh, W_hh, U):
        found = states(x, h, W_xh, W_hh, U, **changes)
        return top(found), last(found)

    return through


wrong(STACKED, "bottom_states", "Returns the states of the first layer.", cause=r"states.*H\[0|first layer")(
    stacked(top=lambda found: found[0])
)
wrong(
    STACKED,
    "states_below_the_top",
    "Returns the states that the top layer reads.",
    cause="states.*(L-1|L − 1)|layer below",
)(stacked(top=lambda found: found[-2]))
wrong(
    STACKED, "one_recurrence", "Uses the first layer's recurrent weights in all layers.", cause="W_hh.*first"
)(stacked(lambda x, h, W_xh, W_hh, U: layered(x, h, W_xh, W_hh[:1].expand_as(W_hh), U)))
wrong(STACKED, "one_input_map", "Uses one U for all layers above the first.", cause=r"\bU\b.*(first|\[0)")(
    stacked(lambda x, h, W_xh, W_hh, U: layered(x, h, W_xh, W_hh, U[:1].expand_as(U)))
)
wrong(
    STACKED,
    "residual",
    "Adds to each layer's states those of the one below, as deep models like to.",
    cause=r"residual|is added to H\b|H\[l-1\S* is added",
)(stacked(one=lambda below, h, step: below + run(below, h, step)))
wrong(STACKED, "last_of_the_top", "Returns the top layer's last state for every layer's.", cause="top layer")(
    stacked(last=lambda found: torch.stack([found[-1][..., -1, :]] * len(found), -2))
)
wrong(
    STACKED, "last_from_the_top", "Lists the last states from the top layer down.", cause="last is returned"
)(stacked(last=lambda found: ends(found[::-1])))
wrong(
    STACKED,
    "upper_layers_from_zero",
    "Starts the layers above the first from 0.",
    cause=r"\bh\S* is (ignored|not read|0)|initial state",
)(stacked(one=lambda below, h, step: run(below, torch.zeros_like(h), step)))
wrong(
    STACKED,
    "one_initial_state",
    "Starts every layer from the first one's initial state.",
    cause="initial state|first layer",
)(stacked(lambda x, h, W_xh, W_hh, U: layered(x, h[..., :1, :].expand_as(h), W_xh, W_hh, U)))
wrong(
    STACKED,
    "carried_upwards",
    "Starts each layer from the state in which the one below ended.",
    cause="initial state|last state|state below",
)(stacked(one=lambda below, h, step: run(below, below[..., -1, :], step)))


@wrong(STACKED, cause=r"off by one|element before|t-1\S* where")
def delayed(x, h, W_xh, W_hh, U):
    """Lets each layer read the state of the one below from the element before."""
    found = layered(x, h, W_xh, W_hh, U[:0])
    for l, W in enumerate(U, 1):
        below = torch.cat([h[..., l - 1 : l, :], found[-1][..., :-1, :]], -2)
        found.append(run(below, h[..., l, :], stepping(W, W_hh[l])))
    return found[-1], ends(found)


wrong(
    STACKED,
    "maps_exchanged",
    "Exchanges U and the recurrent weights in the layers above the first.",
    cause=r"(W_hh|\bU\b).*(where|and) (U|W_hh)\b",
)(stacked(lambda x, h, W_xh, W_hh, U: layered(x, h, W_xh, torch.cat([W_hh[:1], U]), W_hh[1:])))
wrong(STACKED, "maps_transposed", "Multiplies by the transpose of each U.", cause=r"axes swapped.*\bU\b")(
    stacked(lambda x, h, W_xh, W_hh, U: layered(x, h, W_xh, W_hh, U.mT))
)
wrong(
    STACKED,
    "trained_alone",
    "Detaches what each layer reads from the one below.",
    cause="no gradient flows|gradient of",
)(stacked(one=lambda below, h, step: run(below.detach(), h, step)))


@right(STACKED)
def torch_module(x, h, W_xh, W_hh, U):
    """``torch.nn.RNN`` with ``num_layers``."""
    lead, (d, p) = x.shape[:-2], W_xh.shape
    module = hollow(lambda: nn.RNN(p, d, len(W_hh), bias=False, batch_first=True))
    weights = {f"weight_ih_l{l}": W for l, W in enumerate([W_xh, *U])}
    weights |= {f"weight_hh_l{l}": W for l, W in enumerate(W_hh)}
    first = flat(h, lead, 2).transpose(0, 1).contiguous()
    states, last = call_with(module, weights, flat(x, lead, 2), first)
    return restore_lead(states, lead), restore_lead(last.transpose(0, 1), lead)


@right(STACKED)
def element_by_element(x, h, W_xh, W_hh, U):
    """The loop over the elements outside, that over the layers inside."""
    now, top = list(h.unbind(-2)), []
    for element in x.unbind(-2):
        below = element
        for l, W in enumerate([W_xh, *U]):
            now[l] = below = torch.tanh(inflow(below, now[l], W, W_hh[l]))
        top.append(below)
    return torch.stack(top, -2), torch.stack(now, -2)


@right(STACKED)
def packed(x, h, W_xh, W_hh, U):
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


def ahead(x, h, W_x, W_h):
    """States read from the first element on, right."""
    return run(x, h, stepping(W_x, W_h))


def back(x, h, W_x, W_h):
    """States read from the last element back, each at its place, right."""
    return run(x.flip(-2), h, stepping(W_x, W_h)).flip(-2)


def both(join=lambda f, b: torch.cat([f, b], -1), forward=ahead, backward=back, states=lambda f, b: (f, b)):
    """Both directions, right but for what is given; ``states`` are the initial ones."""

    def read(x, h, W_xf, W_hf, W_xb, W_hb):
        f, b = states(h[..., 0, :], h[..., 1, :])
        return join(forward(x, f, W_xf, W_hf), backward(x, b, W_xb, W_hb))

    return read


wrong(
    BOTH,
    "backward_not_turned_back",
    "Leaves the backward states in the order of their computation.",
    cause=r"\bB\b.*(order|from the end)|turned back",
)(both(lambda f, b: torch.cat([f, b.flip(-2)], -1)))
wrong(BOTH, "sequence_not_turned", "Reads forward in both directions.", cause=r"both directions|\bB\b.*t-1")(
    both(backward=ahead)
)
wrong(
    BOTH,
    "first_axis_turned",
    "Turns the first axis: the time without a batch, the batch with one.",
    cause="wrong in batches",
)(both(backward=lambda x, h, W_x, W_h: ahead(x.flip(0), h, W_x, W_h).flip(0)))
wrong(BOTH, "halves_exchanged", "Puts the backward half first.", cause=r"\bB where F|\bF where B|\bF and B")(
    both(lambda f, b: torch.cat([b, f], -1))
)
wrong(BOTH, "halves_interleaved", "Interleaves the two halves.", cause="interleaved|2·c|reshaped")(
    both(lambda f, b: torch.stack([f, b], -1).flatten(-2))
)
wrong(
    BOTH,
    "halves_summed",
    "Sums the two halves, repeated to the width that is asked for.",
    cause=r"\b[FB](\[\S*)? is added",
)(both(lambda f, b: torch.cat([f + b, f + b], -1)))
wrong(
    BOTH, "weights_shared", "Uses the forward weights in both directions.", cause="W_xb.* ignored|W_xf where"
)(lambda x, h, W_xf, W_hf, W_xb, W_hb: both()(x, h, W_xf, W_hf, W_xf, W_hf))
wrong(
    BOTH,
    "recurrence_shared",
    "Uses the forward recurrent weights in both directions, not the input weights.",
    cause=r"W_hb is ignored|W_hf\S* where W_hb",
)(lambda x, h, W_xf, W_hf, W_xb, W_hb: both()(x, h, W_xf, W_hf, W_xb, W_hf))
wrong(
    BOTH,
    "initial_states_exchanged",
    "Starts each direction from the other one's initial state.",
    cause=r"\bh is (moved by one|read from)|initial state",
)(both(states=lambda f, b: (b, f)))
wrong(
    BOTH, "backward_from_zero", "Starts backward from 0.", cause=r"\bh\S* is (ignored|not read)|initial state"
)(both(states=lambda f, b: (f, torch.zeros_like(b))))


@wrong(BOTH, cause=r"initial state|\bF\S* where h")
def there_and_back(x, h, W_xf, W_hf, W_xb, W_hb):
    """Starts backward from the state in which the forward direction ended."""
    f = ahead(x, h[..., 0, :], W_xf, W_hf)
    return torch.cat([f, back(x, f[..., -1, :], W_xb, W_hb)], -1)


wrong(
    BOTH,
    "element_left_out",
    "Gives the backward state of what comes after an element, without that itself.",
    cause=r"off by one|\bB\[t\+1",
)(both(backward=lambda x, h, *W: torch.cat([back(x, h, *W)[..., 1:, :], h[..., None, :]], -2)))
wrong(
    BOTH,
    "backward_detached",
    "No gradient reaches the backward direction.",
    cause=r"gradient reaches W_xb|\bB\b.* taken for",
)(both(lambda f, b: torch.cat([f, b.detach()], -1)))


@right(BOTH)
def torch_bidirectional(x, h, W_xf, W_hf, W_xb, W_hb):
    """``torch.rnn_tanh``, bidirectional."""
    lead = x.shape[:-2]
    first = flat(h, lead, 2).transpose(0, 1).contiguous()
    parts = [W_xf, W_hf, W_xb, W_hb]
    states, _ = torch.rnn_tanh(flat(x, lead, 2), first, parts, False, 1, 0.0, False, True, True)
    return restore_lead(states, lead)


@right(BOTH)
def from_the_end(x, h, W_xf, W_hf, W_xb, W_hb):
    """A loop over the indices from the last to the first; nothing is turned."""
    f, b, found = h[..., 0, :], h[..., 1, :], {}
    T = x.shape[-2]
    for t in range(T):
        f = torch.tanh(inflow(x[..., t, :], f, W_xf, W_hf))
        b = torch.tanh(inflow(x[..., T - 1 - t, :], b, W_xb, W_hb))
        found[0, t], found[1, T - 1 - t] = f, b
    return torch.stack([torch.cat([found[0, t], found[1, t]], -1) for t in range(T)], -2)


@right(BOTH)
def side_by_side(x, h, W_xf, W_hf, W_xb, W_hb):
    """Both directions in one loop, as a batch of two."""
    W_x, W_h, now, states = torch.stack([W_xf, W_xb]), torch.stack([W_hf, W_hb]), h, []
    for element in torch.stack([x, x.flip(-2)], -2).unbind(-3):
        z = torch.einsum("wca,...wa->...wc", W_x, element) + torch.einsum("wce,...we->...wc", W_h, now)
        now = torch.tanh(z)
        states.append(now)
    f, b = torch.stack(states, -3).unbind(-2)
    return torch.cat([f, b.flip(-2)], -1)
