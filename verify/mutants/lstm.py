"""Variants of the long short-term memory, its cell and over a sequence: ``recurrent.lstm_cell`` and ``.lstm``."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from verify.adapt.layout import flat, opened
from verify.mutants import right, wrong
from verify.mutants.recurrent import Two
from verify.targets.flattening import called, hollow

CELL, LSTM = "recurrent.lstm_cell", "recurrent.lstm"
Four = tuple[Tensor, Tensor, Tensor, Tensor]
Step = Callable[[Tensor, Tensor, Tensor], Two]


# The cell: its weights come as W_x, W_h and b of the blocks g, i, f and o -----------------------------------------------------


def flows(x: Tensor, h: Tensor, *parts: Tensor) -> Four:
    """What flows into the four blocks, right."""
    g, i, f, o = (x @ parts[k].mT + h @ parts[k + 1].mT + parts[k + 2] for k in range(0, 12, 3))
    return g, i, f, o


def blocks(x: Tensor, h: Tensor, *parts: Tensor) -> Four:
    """The four blocks, right."""
    g, i, f, o = flows(x, h, *parts)
    return torch.tanh(g), torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)


def moved(s: Tensor, g: Tensor, i: Tensor, f: Tensor, o: Tensor) -> Two:
    """Both states from the blocks, right."""
    s = g * i + s * f
    return torch.tanh(s) * o, s


@wrong(CELL)
def input_and_forget_exchanged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Exchanges the input and the forget gate."""
    g, i, f, o = blocks(x, h, *parts)
    return moved(s, g, f, i, o)


@wrong(CELL)
def input_and_output_exchanged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Exchanges the input and the output gate."""
    g, i, f, o = blocks(x, h, *parts)
    return moved(s, g, o, f, i)


@wrong(CELL)
def no_second_tanh(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Leaves the tanh of the internal state out."""
    g, i, f, o = blocks(x, h, *parts)
    s = g * i + s * f
    return s * o, s


@wrong(CELL)
def output_gate_inside(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Applies the output gate before the tanh."""
    g, i, f, o = blocks(x, h, *parts)
    s = g * i + s * f
    return torch.tanh(s * o), s


@wrong(CELL)
def state_of_before_shown(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Computes the new state from the internal state before the update."""
    g, i, f, o = blocks(x, h, *parts)
    return torch.tanh(s) * o, g * i + s * f


@wrong(CELL)
def coupled(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Couples the gates: forgets exactly what it lets in."""
    g, i, _, o = blocks(x, h, *parts)
    return moved(s, g, i, 1 - i, o)


@wrong(CELL)
def never_forgets(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Has no forget gate, as the network of 1997."""
    g, i, f, o = blocks(x, h, *parts)
    return moved(s, g, i, torch.ones_like(f), o)


@wrong(CELL)
def forget_bias(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Adds 1 to the bias of the forget gate without a word, as early TensorFlow did."""
    g, i, f, o = blocks(x, h, *parts[:8], parts[8] + 1, *parts[9:])
    return moved(s, g, i, f, o)


@wrong(CELL)
def peepholes(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Shows the internal state to the gates."""
    g, i, f, o = flows(x, h, *parts)
    i, f = torch.sigmoid(i + s), torch.sigmoid(f + s)
    s = torch.tanh(g) * i + s * f
    return torch.tanh(s) * torch.sigmoid(o + s), s


@wrong(CELL)
def node_by_sigmoid(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Squashes the input node with a sigmoid, too."""
    return moved(s, *(torch.sigmoid(flow) for flow in flows(x, h, *parts)))


@wrong(CELL)
def hard_sigmoids(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Takes the gates' sigmoids for straight pieces, as early Keras did."""
    g, i, f, o = flows(x, h, *parts)
    return moved(s, torch.tanh(g), *((0.2 * flow + 0.5).clamp(0, 1) for flow in (i, f, o)))


@wrong(CELL)
def plain_sigmoids(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Writes σ(z) as e^z/(1 + e^z): ∞/∞ for large z."""
    g, i, f, o = flows(x, h, *parts)
    return moved(s, torch.tanh(g), *(flow.exp() / (1 + flow.exp()) for flow in (i, f, o)))


@wrong(CELL)
def sigmoids_by_tanh(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Writes σ(z) as (1 + tanh(z/2))/2: gates that are nearly closed lose their digits."""
    g, i, f, o = flows(x, h, *parts)
    return moved(s, torch.tanh(g), *((1 + torch.tanh(flow / 2)) / 2 for flow in (i, f, o)))


@wrong(CELL)
def node_without_bias(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Leaves the bias of the input node out."""
    return moved(s, *blocks(x, h, *parts[:2], torch.zeros_like(parts[2]), *parts[3:]))


@wrong(CELL)
def bias_twice(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Fills both biases that libraries have with the one: it is added twice."""
    return moved(s, *blocks(x, h, *(2 * p if p.dim() == 1 else p for p in parts)))


@wrong(CELL)
def state_weights_transposed(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Multiplies the state by the transposes of its weights."""
    return moved(s, *blocks(x, h, *(p.mT if k % 3 == 1 else p for k, p in enumerate(parts))))


@wrong(CELL)
def states_exchanged(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Returns the internal state first."""
    return moved(s, *blocks(x, h, *parts))[::-1]


@wrong(CELL)
def inner_state_overwritten(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """Keeps the new internal state in the caller's tensor, too."""
    new, inner = moved(s.clone(), *blocks(x, h, *parts))
    with torch.no_grad():
        s.copy_(inner)
    return new, inner


@right(CELL)
def torch_cell(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """``torch.lstm_cell`` with packed weights and a second bias of 0."""
    lead = x.shape[:-1]
    W_x, W_h, b = (torch.cat([parts[3 * block + k] for block in (1, 2, 0, 3)]) for k in range(3))
    states = [flat(h, lead, 1), flat(s, lead, 1)]
    new, inner = torch.lstm_cell(flat(x, lead, 1), states, W_x, W_h, b, torch.zeros_like(b))
    return opened(new, lead), opened(inner, lead)


@right(CELL)
def one_product(x: Tensor, h: Tensor, s: Tensor, *parts: Tensor) -> Two:
    """One product of all weights and [h; x; 1]."""
    rows = [torch.cat([parts[k + 1], parts[k], parts[k + 2][:, None]], -1) for k in range(0, 12, 3)]
    both = torch.cat([h, x, torch.ones_like(x[..., :1])], -1)
    g, i, f, o = torch.einsum("ck,...k->...c", torch.cat(rows), both).chunk(4, -1)
    inner = torch.addcmul(g.tanh() * i.sigmoid(), s, f.sigmoid())
    return o.sigmoid() * inner.tanh(), inner


# The sequence: weights are packed, by convention in torch's order ---------------------------------------------------------------


def packed_flows(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, order: str = "ifgo") -> Four:
    """What flows into the blocks g, i, f and o, right for an order of the packed rows."""
    parts = (x @ W_x.mT + h @ W_h.mT + b).chunk(4, -1)
    g, i, f, o = (parts[order.index(block)] for block in "gifo")
    return g, i, f, o


def stepping(W_x: Tensor, W_h: Tensor, b: Tensor, order: str = "ifgo") -> Step:
    """The step of a network, right for an order of the packed rows."""

    def step(x: Tensor, h: Tensor, s: Tensor) -> Two:
        g, i, f, o = packed_flows(x, h, W_x, W_h, b, order)
        return moved(s, torch.tanh(g), torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o))

    return step


def run(x: Tensor, h: Tensor, s: Tensor, step: Step) -> tuple[Tensor, Tensor]:
    """The states and the internal states that a step runs through, without the initial ones."""
    states, inner = [], []
    for t in range(x.shape[-2]):
        h, s = step(x[..., t, :], h, s)
        states.append(h)
        inner.append(s)
    return torch.stack(states, -2), torch.stack(inner, -2)


def ended(found: Two) -> Two:
    """The states, and the internal state after the last element."""
    return found[0], found[1][..., -1, :]


@wrong(LSTM)
def order_of_onnx(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Reads the packed rows in ONNX's order."""
    return ended(run(x, h, s, stepping(W_x, W_h, b, "iofg")))


@wrong(LSTM)
def order_of_tensorflow(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Reads the packed rows in early TensorFlow's order."""
    return ended(run(x, h, s, stepping(W_x, W_h, b, "igfo")))


@wrong(LSTM, gate_order="gifo")
def order_of_torch(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Reads rows that are packed as the equations are listed in torch's order."""
    return ended(run(x, h, s, stepping(W_x, W_h, b)))


@wrong(LSTM)
def blocks_interleaved(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Takes the rows of the four blocks to alternate."""
    turned = [part.unflatten(0, (-1, 4)).transpose(0, 1).flatten(0, 1) for part in (W_x, W_h, b)]
    return ended(run(x, h, s, stepping(*turned)))


@wrong(LSTM)
def inner_state_not_carried(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Starts every step from the initial internal state."""
    step = stepping(W_x, W_h, b)
    return ended(run(x, h, s, lambda x, h, _: step(x, h, s)))


@wrong(LSTM)
def inner_state_from_zero(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Ignores the initial internal state."""
    return ended(run(x, h, torch.zeros_like(s), stepping(W_x, W_h, b)))


@wrong(LSTM)
def state_from_zero(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Ignores the initial state."""
    return ended(run(x, torch.zeros_like(h), s, stepping(W_x, W_h, b)))


@wrong(LSTM)
def ends_with_the_state(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Returns the last state instead of the last internal state."""
    states, _ = run(x, h, s, stepping(W_x, W_h, b))
    return states, states[..., -1, :]


@wrong(LSTM)
def inner_states_shown(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Returns the internal states for the states."""
    _, inner = run(x, h, s, stepping(W_x, W_h, b))
    return inner, inner[..., -1, :]


@wrong(LSTM)
def time_reversed(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Reads the sequence from its end."""
    states, last = ended(run(x.flip(-2), h, s, stepping(W_x, W_h, b)))
    return states.flip(-2), last


@wrong(LSTM)
def bias_of_both_kinds(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Passes the bias to torch twice, for the input and for the state."""
    return ended(run(x, h, s, stepping(W_x, W_h, b + b)))


@wrong(LSTM)
def one_more_to_forget(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Adds 1 to the forget gate's bias as if weights were being initialised."""
    i, f, g, o = b.chunk(4)
    return ended(run(x, h, s, stepping(W_x, W_h, torch.cat([i, f + 1, g, o]))))


@wrong(LSTM)
def inner_state_detached(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """Lets no gradient go back through the internal state: the way it was made to go."""
    step = stepping(W_x, W_h, b)
    return ended(run(x, h, s, lambda x, h, s: step(x, h, s.detach())))


@right(LSTM)
def torch_module(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """``torch.nn.LSTM`` with our weights for its own."""
    lead, (d, p) = x.shape[:-2], (h.shape[-1], x.shape[-1])
    module = hollow(lambda: nn.LSTM(p, d, batch_first=True))
    weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": torch.zeros_like(b), "bias_hh_l0": b}
    first = flat(h, lead, 1)[None], flat(s, lead, 1)[None]
    states, (_, last) = called(module, weights, flat(x, lead, 2), first)
    return opened(states, lead), opened(last[0], lead)


@right(LSTM, gate_order="gifo")
def torch_reordered(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """``torch.lstm`` with rows that are packed as the equations are listed put into its order."""
    lead, d = x.shape[:-2], h.shape[-1]
    rows = torch.cat([torch.arange(d) + d * "gifo".index(block) for block in "ifgo"])
    parts, first = [W_x[rows], W_h[rows], b[rows], 0 * b], [flat(h, lead, 1)[None], flat(s, lead, 1)[None]]
    states, _, last = torch.lstm(flat(x, lead, 2), first, parts, True, 1, 0.0, False, False, True)
    return opened(states, lead), opened(last[0], lead)


@right(LSTM)
def inputs_at_once(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """All products with inputs before the loop, one σ for three gates."""
    u, states, d = x @ W_x.mT + b, [], h.shape[-1]
    for part in u.unbind(-2):
        z = part + h @ W_h.mT
        i, f, _, o = z.sigmoid().split(d, -1)
        s = f * s + i * z[..., 2 * d : 3 * d].tanh()
        h = o * s.tanh()
        states.append(h)
    return torch.stack(states, -2), s


@right(LSTM, gate_order="iofg")
def block_by_block(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Two:
    """The four blocks apart, in ONNX's order."""
    parts = [tuple(part.chunk(4)["iofg".index(block)] for part in (W_x, W_h, b)) for block in "gifo"]
    each = [part for block in parts for part in block]
    return ended(run(x, h, s, lambda x, h, s: moved(s, *blocks(x, h, *each))))
