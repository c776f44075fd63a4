"""Variants of the long short-term memory, its cell and over a sequence: ``recurrent.lstm_cell`` and ``.lstm``."""

import torch
from torch import nn

from tests.mutants import right, wrong
from tests.mutants.recurrent import call_with, hollow
from verify.adapt.layout import flat, restore_lead

CELL, LSTM = "recurrent.lstm_cell", "recurrent.lstm"

# The cell: its weights come as W_x, W_h and b of the blocks g, i, f and o -----------------------------------------------------


def flows(x, h, *parts):
    """What flows into the four blocks, right."""
    return [x @ parts[k].mT + h @ parts[k + 1].mT + parts[k + 2] for k in range(0, 12, 3)]


def opened_blocks(flowing, node=torch.tanh, gate=torch.sigmoid):
    """The four blocks from what flows into them, right, or with other functions for the input node and the gates."""
    g, i, f, o = flowing
    return node(g), gate(i), gate(f), gate(o)


def blocks(x, h, *parts, **functions):
    """The four blocks, right."""
    return opened_blocks(flows(x, h, *parts), **functions)


def moved(s, g, i, f, o):
    """Both states from the blocks, right."""
    s = g * i + s * f
    return torch.tanh(s) * o, s


def cell(move=moved, **functions):
    """A cell in which ``move(s, g, i, f, o)`` gives both states from the blocks."""
    return lambda x, h, s, *parts: move(s, *blocks(x, h, *parts, **functions))


wrong(CELL, "input_and_forget_exchanged", "Exchanges the input and the forget gate.", cause=r"\bf and i\b")(
    cell(lambda s, g, i, f, o: moved(s, g, f, i, o))
)
wrong(CELL, "input_and_output_exchanged", "Exchanges the input and the output gate.", cause=r"\bi and o\b")(
    cell(lambda s, g, i, f, o: moved(s, g, o, f, i))
)
wrong(CELL, "no_second_tanh", "Leaves the tanh of the internal state out.", cause="h' has no tanh")(
    cell(lambda s, g, i, f, o: ((g * i + s * f) * o, g * i + s * f))
)
wrong(
    CELL, "output_gate_inside", "Applies the output gate before the tanh.", cause=r"\bo\b.*(inside|before)"
)(cell(lambda s, g, i, f, o: (torch.tanh((g * i + s * f) * o), g * i + s * f)))
wrong(
    CELL,
    "state_of_before_shown",
    "Computes the new state from the internal state before the update.",
    cause="reads s where s'",
)(cell(lambda s, g, i, f, o: (torch.tanh(s) * o, g * i + s * f)))
wrong(CELL, "coupled", "Couples the gates: forgets exactly what it lets in.", cause="1 − i|b_f are ignored")(
    cell(lambda s, g, i, f, o: moved(s, g, i, 1 - i, o))
)
wrong(CELL, "never_forgets", "Has no forget gate, as the network of 1997.", cause=r"by f\b|b_f are ignored")(
    cell(lambda s, g, i, f, o: moved(s, g, i, torch.ones_like(f), o))
)
wrong(
    CELL,
    "forget_bias",
    "Adds 1 to the bias of the forget gate without a word, as early TensorFlow did.",
    cause="1 is added to b_f",
)(lambda x, h, s, *parts: moved(s, *blocks(x, h, *parts[:8], parts[8] + 1, *parts[9:])))


@wrong(CELL, cause=r"\bs'? is added")
def peepholes(x, h, s, *parts):
    """Shows the internal state to the gates."""
    g, i, f, o = flows(x, h, *parts)
    inner = torch.tanh(g) * torch.sigmoid(i + s) + s * torch.sigmoid(f + s)
    return torch.tanh(inner) * torch.sigmoid(o + inner), inner


wrong(CELL, "node_by_sigmoid", "Squashes the input node with a sigmoid, too.", cause=r"\bg has (a )?sigmoid")(
    cell(node=torch.sigmoid)
)
wrong(
    CELL,
    "hard_sigmoids",
    "Takes the gates' sigmoids for straight pieces, as early Keras did.",
    cause=r"hard sigmoid|straight|0\.2",
)(cell(gate=lambda flow: (0.2 * flow + 0.5).clamp(0, 1)))
wrong(CELL, "plain_sigmoids", "Writes σ(z) as e^z/(1 + e^z): ∞/∞ for large z.", cause="overflow")(
    cell(gate=lambda flow: flow.exp() / (1 + flow.exp()))
)
wrong(
    CELL,
    "sigmoids_by_tanh",
    "Writes σ(z) as (1 + tanh(z/2))/2: nearly closed gates lose their digits.",
    cause=r"σ\(u\) is computed",
)(cell(gate=lambda flow: (1 + torch.tanh(flow / 2)) / 2))
wrong(CELL, "node_without_bias", "Leaves the bias of the input node out.", cause=r"b_g\S* is (not|ignored)")(
    lambda x, h, s, *parts: moved(s, *blocks(x, h, *parts[:2], torch.zeros_like(parts[2]), *parts[3:]))
)
wrong(
    CELL,
    "bias_twice",
    "Fills both biases that libraries have with the one: it is added twice.",
    cause=r"\bb_\w .*(doubled|twice)",
)(lambda x, h, s, *parts: moved(s, *blocks(x, h, *(2 * p if p.dim() == 1 else p for p in parts))))
wrong(
    CELL,
    "state_weights_transposed",
    "Multiplies the state by the transposes of its weights.",
    cause=r"axes swapped.*W_\wh",
)(lambda x, h, s, *parts: moved(s, *blocks(x, h, *(p.mT if k % 3 == 1 else p for k, p in enumerate(parts)))))
wrong(CELL, "states_exchanged", "Returns the internal state first.", cause="results are exchanged")(
    cell(lambda s, g, i, f, o: moved(s, g, i, f, o)[::-1])
)


@wrong(CELL, cause="writes to its input")
def inner_state_overwritten(x, h, s, *parts):
    """Keeps the new internal state in the caller's tensor, too."""
    new, inner = moved(s.clone(), *blocks(x, h, *parts))
    with torch.no_grad():
        s.copy_(inner)
    return new, inner


@right(CELL)
def torch_cell(x, h, s, *parts):
    """``torch.lstm_cell`` with packed weights and a second bias of 0."""
    lead = x.shape[:-1]
    W_x, W_h, b = (torch.cat([parts[3 * block + k] for block in (1, 2, 0, 3)]) for k in range(3))
    states = [flat(h, lead, 1), flat(s, lead, 1)]
    new, inner = torch.lstm_cell(flat(x, lead, 1), states, W_x, W_h, b, torch.zeros_like(b))
    return restore_lead(new, lead), restore_lead(inner, lead)


@right(CELL)
def one_product(x, h, s, *parts):
    """One product of all weights and [h; x; 1]."""
    rows = [torch.cat([parts[k + 1], parts[k], parts[k + 2][:, None]], -1) for k in range(0, 12, 3)]
    both = torch.cat([h, x, torch.ones_like(x[..., :1])], -1)
    g, i, f, o = torch.einsum("ck,...k->...c", torch.cat(rows), both).chunk(4, -1)
    inner = torch.addcmul(g.tanh() * i.sigmoid(), s, f.sigmoid())
    return o.sigmoid() * inner.tanh(), inner


# The sequence: weights are packed, by convention in torch's order ---------------------------------------------------------------


def stepping(W_x, W_h, b, order="ifgo"):
    """The step of a network, right for an order of the packed rows."""

    def step(x, h, s):
        parts = (x @ W_x.mT + h @ W_h.mT + b).chunk(4, -1)
        return moved(s, *opened_blocks([parts[order.index(block)] for block in "gifo"]))

    return step


def run(x, h, s, step):
    """The states and the internal states that a step runs through, without the initial ones."""
    states, inner = [], []
    for t in range(x.shape[-2]):
        h, s = step(x[..., t, :], h, s)
        states.append(h)
        inner.append(s)
    return torch.stack(states, -2), torch.stack(inner, -2)


def ended(found):
    """The states, and the internal state after the last element."""
    return found[0], found[1][..., -1, :]


def network(x, h, s, W_x, W_h, b, order="ifgo"):
    """The states and the last internal state, right for an order of the packed rows."""
    return ended(run(x, h, s, stepping(W_x, W_h, b, order)))


wrong(LSTM, "order_of_onnx", "Reads the packed rows in ONNX's order.", cause="gate_order")(
    lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, b, "iofg")
)
wrong(LSTM, "order_of_tensorflow", "Reads the packed rows in early TensorFlow's order.", cause="gate_order")(
    lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, b, "igfo")
)
wrong(
    LSTM,
    "order_of_torch",
    "Reads rows packed as the equations are listed in torch's.",
    gate_order="gifo",
    cause="gate_order",
)(lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, b))


def alternating(part):
    """Rows of four blocks that alternate, block by block."""
    return part.unflatten(0, (-1, 4)).transpose(0, 1).flatten(0, 1)


wrong(
    LSTM, "blocks_interleaved", "Takes the rows of the four blocks to alternate.", cause="interleave|reshaped"
)(lambda x, h, s, W_x, W_h, b: network(x, h, s, alternating(W_x), alternating(W_h), alternating(b)))
wrong(
    LSTM,
    "inner_state_not_carried",
    "Starts every step from the initial internal state.",
    cause=r"S\[0|reads s\b|not carried",
)(lambda x, h, s, W_x, W_h, b: ended(run(x, h, s, lambda x, h, _: stepping(W_x, W_h, b)(x, h, s))))
wrong(LSTM, "inner_state_from_zero", "Ignores the initial internal state.", cause=r"\bs is ignored")(
    lambda x, h, s, W_x, W_h, b: network(x, h, torch.zeros_like(s), W_x, W_h, b)
)
wrong(LSTM, "state_from_zero", "Ignores the initial state.", cause=r"\bh is ignored")(
    lambda x, h, s, W_x, W_h, b: network(x, torch.zeros_like(h), s, W_x, W_h, b)
)


@wrong(LSTM, cause="reads H where S")
def ends_with_the_state(x, h, s, W_x, W_h, b):
    """Returns the last state instead of the last internal state."""
    states, _ = network(x, h, s, W_x, W_h, b)
    return states, states[..., -1, :]


@wrong(LSTM, cause="reads S where H")
def inner_states_shown(x, h, s, W_x, W_h, b):
    """Returns the internal states for the states."""
    _, inner = run(x, h, s, stepping(W_x, W_h, b))
    return inner, inner[..., -1, :]


@wrong(LSTM, cause="from (the|its) end|look-ahead")
def time_reversed(x, h, s, W_x, W_h, b):
    """Reads the sequence from its end."""
    states, last = network(x.flip(-2), h, s, W_x, W_h, b)
    return states.flip(-2), last


def with_forget_bias(b, change):
    """A packed bias, the forget gate's part of it changed."""
    i, f, g, o = b.chunk(4)
    return torch.cat([i, change(f), g, o])


wrong(
    LSTM,
    "bias_of_both_kinds",
    "Passes the bias to torch twice, for the input and for the state.",
    cause=r"\bb(\[k\])? is (doubled|added)",
)(lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, b + b))
wrong(
    LSTM,
    "one_more_to_forget",
    "Adds 1 to the forget gate's bias as if weights were being initialised.",
    cause=r"1 is added to .*(\bf\b|forget)",
)(lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, with_forget_bias(b, lambda f: f + 1)))
wrong(
    LSTM,
    "inner_state_detached",
    "Lets no gradient go back through the internal state, as it was made to go.",
    cause=r"\bS is taken|reaches s\b",
)(lambda x, h, s, W_x, W_h, b: ended(run(x, h, s, lambda x, h, s: stepping(W_x, W_h, b)(x, h, s.detach()))))


@right(LSTM)
def torch_module(x, h, s, W_x, W_h, b):
    """``torch.nn.LSTM`` with our weights for its own."""
    lead, (d, p) = x.shape[:-2], (h.shape[-1], x.shape[-1])
    module = hollow(lambda: nn.LSTM(p, d, batch_first=True))
    weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": torch.zeros_like(b), "bias_hh_l0": b}
    first = flat(h, lead, 1)[None], flat(s, lead, 1)[None]
    states, (_, last) = call_with(module, weights, flat(x, lead, 2), first)
    return restore_lead(states, lead), restore_lead(last[0], lead)


@right(LSTM, gate_order="gifo")
def torch_reordered(x, h, s, W_x, W_h, b):
    """``torch.lstm`` with rows that are packed as the equations are listed put into its order."""
    lead, d = x.shape[:-2], h.shape[-1]
    rows = torch.cat([torch.arange(d) + d * "gifo".index(block) for block in "ifgo"])
    parts, first = [W_x[rows], W_h[rows], b[rows], 0 * b], [flat(h, lead, 1)[None], flat(s, lead, 1)[None]]
    states, _, last = torch.lstm(flat(x, lead, 2), first, parts, True, 1, 0.0, False, False, True)
    return restore_lead(states, lead), restore_lead(last[0], lead)


@right(LSTM)
def inputs_at_once(x, h, s, W_x, W_h, b):
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
def block_by_block(x, h, s, W_x, W_h, b):
    """The four blocks apart, in ONNX's order."""
    parts = [tuple(part.chunk(4)["iofg".index(block)] for part in (W_x, W_h, b)) for block in "gifo"]
    each = [part for block in parts for part in block]
    return ended(run(x, h, s, lambda x, h, s: moved(s, *blocks(x, h, *each))))
