"""Variants of the recurrent cell and of the recurrence over a sequence: ``recurrent.rnn_cell`` and ``.rnn``."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.mutants import right, wrong
from verify.adapt.layout import flat, restore_lead

CELL, RNN = "recurrent.rnn_cell", "recurrent.rnn"


def hollow(make, training=False):
    """A module without values: they are passed in each call, and nothing is drawn for them."""
    with torch.device("meta"):
        return make().train(training)


def call_with(module, weights, *arguments):
    """Call a module with these tensors for its parameters; gradients flow to them."""
    return torch.func.functional_call(module, weights, arguments)


def inflow(x, h, W_xh, W_hh):
    """What a state is squashed from, right."""
    return h @ W_hh.mT + x @ W_xh.mT


def stepping(W_xh, W_hh):
    """The step from an element and a state to the next state, right."""
    return lambda x, h: torch.tanh(inflow(x, h, W_xh, W_hh))


def run(x, h, step):
    """The states that a step runs through, without the initial one."""
    states = []
    for t in range(x.shape[-2]):
        h = step(x[..., t, :], h)
        states.append(h)
    return torch.stack(states, -2)


# The cell -----------------------------------------------------------------------------------------------------------------


def cell(squash=torch.tanh, flow=inflow, output=lambda new, z, W: new @ W.mT):
    """A cell, right but for what is given; ``output`` has the new state, what it is squashed from, and W_hy."""

    def step(x, h, W_xh, W_hh, W_hy):
        z = flow(x, h, W_xh, W_hh)
        new = squash(z)
        return new, output(new, z, W_hy)

    return step


def tanh_of_each(x, h, W_xh, W_hh):
    """The squashed parts of state and input, added."""
    return torch.tanh(h @ W_hh.mT) + torch.tanh(x @ W_xh.mT)


wrong(
    CELL,
    "state_ignored",
    "Reads the input only: a feed-forward layer.",
    cause=r"\b(h|W_hh) (is|are) ignored|W_hh.* is not added",
)(cell(flow=lambda x, h, W_xh, W_hh: x @ W_xh.mT))
wrong(
    CELL, "state_weights_transposed", "Computes h W_hh instead of W_hh h.", cause=r"W_hh is .*transp|W_hh\[e"
)(cell(flow=lambda x, h, W_xh, W_hh: inflow(x, h, W_xh, W_hh.mT)))
wrong(CELL, "no_tanh", "Leaves the tanh out.", cause="no tanh|no activation")(cell(lambda z: z))
wrong(CELL, "sigmoid", "Squashes with a sigmoid.", cause="sigmoid (in|of)|sigmoid are exchanged")(
    cell(torch.sigmoid)
)
wrong(CELL, "rectified", "Takes torch's other nonlinearity, the rectifier.", cause="(has|is) ReLU")(
    cell(torch.relu)
)
wrong(CELL, "hard_tanh", 'Clips at ±1 instead of the tanh, "for speed".', cause="clip|clamp|hard")(
    cell(F.hardtanh)
)
wrong(
    CELL,
    "tanh_of_each_part",
    "Squashes what comes from the state and what comes from the input separately.",
    cause="tanh .*(each|apart|separat)",
)(cell(lambda z: z, tanh_of_each))
wrong(
    CELL,
    "tanh_by_exponentials",
    "Writes tanh z as (e^z − e^−z)/(e^z + e^−z): ∞/∞ for large z.",
    cause="overflows",
)(cell(lambda z: (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())))
wrong(
    CELL,
    "tanh_by_sigmoid",
    "Writes tanh z as 2σ(2z) − 1: small states lose their digits.",
    cause=r"^tanh\(u\) is computed",
)(cell(lambda z: 2 * torch.sigmoid(2 * z) - 1))
wrong(
    CELL,
    "output_of_the_old_state",
    "Computes the output from the state before the update.",
    cause="o reads h where h'",
)(lambda x, h, W_xh, W_hh, W_hy: (torch.tanh(inflow(x, h, W_xh, W_hh)), h @ W_hy.mT))
wrong(
    CELL,
    "output_before_the_tanh",
    "Computes the output from what the state is squashed from.",
    cause=r"\bo (has|reads).* tanh|before the tanh",
)(cell(output=lambda new, z, W: z @ W.mT))
wrong(CELL, "output_normalised", "Returns the softmax of the output.", cause=r"softmax is taken of o\b")(
    cell(output=lambda new, z, W: torch.softmax(new @ W.mT, -1))
)
wrong(
    CELL,
    "weights_exchanged",
    "Exchanges the weights of input and state, wherever the shapes let it.",
    cause="(W_xh and W_hh|x and h) are exchanged",
)(cell(flow=lambda x, h, W, U: inflow(x, h, U, W) if W.shape == U.shape else inflow(x, h, W, U)))
wrong(
    CELL,
    "state_detached",
    "Lets no gradient reach the state before: backpropagation cut after one step.",
    cause="no gradient reaches h:",
)(cell(flow=lambda x, h, W_xh, W_hh: inflow(x, h.detach(), W_xh, W_hh)))


@wrong(CELL, cause=r"writes to its input h\b")
def state_overwritten(x, h, W_xh, W_hh, W_hy):
    """Keeps the new state in the caller's tensor, too."""
    new, out = cell()(x, h, W_xh, W_hh, W_hy)
    with torch.no_grad():
        h.copy_(new)
    return new, out


@right(CELL)
def concatenated(x, h, W_xh, W_hh, W_hy):
    """One product of packed weights and [x; h]."""
    new = torch.tanh(F.linear(torch.cat([x, h], -1), torch.cat([W_xh, W_hh], -1)))
    return new, F.linear(new, W_hy)


@right(CELL)
def by_einsum(x, h, W_xh, W_hh, W_hy):
    """Each product an einsum."""
    z = torch.einsum("ca,...a->...c", W_xh, x) + torch.einsum("ce,...e->...c", W_hh, h)
    return z.tanh(), torch.einsum("kc,...c->...k", W_hy, z.tanh())


@right(CELL)
def torch_cell(x, h, W_xh, W_hh, W_hy):
    """``torch.rnn_tanh_cell`` with biases of 0."""
    zero, lead = W_hh.new_zeros(W_hh.shape[0]), x.shape[:-1]
    new = restore_lead(torch.rnn_tanh_cell(flat(x, lead, 1), flat(h, lead, 1), W_xh, W_hh, zero, zero), lead)
    return new, new @ W_hy.mT


# The sequence -------------------------------------------------------------------------------------------------------------


def words(states, W_hy):
    """The law over words after each state, right."""
    return torch.softmax(states @ W_hy.mT, -1)


def plain_states(x, h, W_xh, W_hh):
    """The states, right."""
    return run(x, h, stepping(W_xh, W_hh))


def before(h, states):
    """Each state before its element was read: the initial one first, the last one never."""
    return torch.cat([h[..., None, :], states[..., :-1, :]], -2)


def network(states=plain_states, output=words):
    """A network, right but for what is given."""

    def through(x, h, W_xh, W_hh, W_hy):
        found = states(x, h, W_xh, W_hh)
        return found, output(found, W_hy)

    return through


wrong(RNN, "state_not_carried", "Starts every step from the initial state.", cause=r"H\[0|not carried")(
    network(lambda x, h, W_xh, W_hh: torch.tanh(inflow(x, h[..., None, :], W_xh, W_hh)))
)
wrong(RNN, "initial_state_ignored", "Starts from 0 whatever state is passed.", cause=r"\bh is ignored")(
    network(lambda x, h, W_xh, W_hh: plain_states(x, torch.zeros_like(h), W_xh, W_hh))
)
wrong(
    RNN, "time_reversed", "Reads the sequence from its end.", cause="from the end along T|depends on later"
)(network(lambda x, h, W_xh, W_hh: plain_states(x.flip(-2), h, W_xh, W_hh).flip(-2)))
wrong(
    RNN, "states_before", "Returns each state before its element was read.", cause=r"off by one|moved by|H\[t"
)(network(lambda x, h, W_xh, W_hh: before(h, plain_states(x, h, W_xh, W_hh))))


@wrong(RNN, cause=r"off by one|moved by|H\[t")
def words_before(x, h, W_xh, W_hh, W_hy):
    """Computes the output of each element before the state is updated."""
    states = plain_states(x, h, W_xh, W_hh)
    return states, words(before(h, states), W_hy)


wrong(
    RNN, "recurrence_transposed", "Multiplies by the transpose of W_hh.", cause=r"W_hh is .*transp|W_hh\[e"
)(network(lambda x, h, W_xh, W_hh: plain_states(x, h, W_xh, W_hh.mT)))
wrong(RNN, "rectified_states", "Takes torch's other nonlinearity, the rectifier.", cause="(has|is) ReLU")(
    network(lambda x, h, W_xh, W_hh: run(x, h, lambda x, h: torch.relu(inflow(x, h, W_xh, W_hh))))
)
wrong(RNN, "softmax_over_time", "Normalises over the positions instead of the words.", cause="wrong axis")(
    network(output=lambda states, W_hy: torch.softmax(states @ W_hy.mT, -2))
)
wrong(
    RNN,
    "softmax_over_axis_one",
    "Normalises over axis 1: the words without a batch, the positions with one.",
    cause="wrong in batches|wrong axis",
)(network(output=lambda states, W_hy: torch.softmax(states @ W_hy.mT, 1)))
wrong(RNN, "logarithms", "Returns logarithms of the probabilities.", cause="logarithm of P is")(
    network(output=lambda states, W_hy: torch.log_softmax(states @ W_hy.mT, -1))
)
wrong(RNN, "logits", "Leaves the softmax to the loss.", cause=r"P reads o\b|no softmax")(
    network(output=lambda states, W_hy: states @ W_hy.mT)
)


def unshifted(scores):
    """The softmax by exponentials of the scores as they are."""
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


wrong(
    RNN,
    "exponentials_unshifted",
    "Exponentiates the scores as they are: large ones overflow.",
    cause="overflows",
)(network(output=lambda states, W_hy: unshifted(states @ W_hy.mT)))


@wrong(RNN, cause="wrong in batches")
def one_long_sequence(x, h, W_xh, W_hh, W_hy):
    """Reads a batch as one long sequence: each member goes on from the state in which the one before ended."""
    first = h.reshape(-1, h.shape[-1])[0]
    states = plain_states(x.reshape(-1, x.shape[-1]), first, W_xh, W_hh).reshape(*x.shape[:-1], -1)
    return states, words(states, W_hy)


wrong(
    RNN,
    "truncated_gradient",
    "Detaches the state before every step: no gradient through time.",
    cause=r"\bH\b.*constant|gradient reaches h:",
)(network(lambda x, h, W_xh, W_hh: run(x, h, lambda x, h: stepping(W_xh, W_hh)(x, h.detach()))))


@wrong(RNN, via=network, cause=r"T (>|≥) 2\d|\bH\b.*constant")
def truncated_after_twenty(x, h, W_xh, W_hh):
    """Detaches the state after every 20 elements, as training on a long text does."""
    states = []
    for part in x.split(20, -2):
        states.append(plain_states(part, h, W_xh, W_hh))
        h = states[-1][..., -1, :].detach()
    return torch.cat(states, -2)


@right(RNN)
def torch_module(x, h, W_xh, W_hh, W_hy):
    """``torch.nn.RNN`` with our weights for its own."""
    lead, (d, p) = x.shape[:-2], W_xh.shape
    module = hollow(lambda: nn.RNN(p, d, bias=False, batch_first=True))
    weights = {"weight_ih_l0": W_xh, "weight_hh_l0": W_hh}
    states = restore_lead(call_with(module, weights, flat(x, lead, 2), flat(h, lead, 1)[None])[0], lead)
    return states, words(states, W_hy)


@right(RNN)
def inputs_at_once(x, h, W_xh, W_hh, W_hy):
    """All products with inputs before the loop, and the softmax by log-sum-exp."""
    states = run(x @ W_xh.mT, h, lambda part, h: (part + F.linear(h, W_hh)).tanh())
    o = states @ W_hy.mT
    return states, (o - o.amax(-1, keepdim=True)).softmax(-1)


@right(RNN)
def recursively(x, h, W_xh, W_hh, W_hy):
    """By halves: the second goes on from the state in which the first ended. Packed weights."""
    W = torch.cat([W_hh, W_xh], -1)

    def over(x, h):
        T = x.shape[-2]
        if T == 1:
            return torch.tanh(torch.cat([h, x[..., 0, :]], -1) @ W.mT)[..., None, :]
        early = over(x[..., : T // 2, :], h)
        return torch.cat([early, over(x[..., T // 2 :, :], early[..., -1, :])], -2)

    states = over(x, h)
    return states, words(states, W_hy)
