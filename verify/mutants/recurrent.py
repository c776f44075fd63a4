"""Variants of the recurrent cell and of the recurrence over a sequence: ``recurrent.rnn_cell`` and ``.rnn``."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt.layout import flat, opened
from verify.mutants import right, wrong
from verify.targets.flattening import called, hollow

CELL, RNN = "recurrent.rnn_cell", "recurrent.rnn"
Two = tuple[Tensor, Tensor]
Step = Callable[[Tensor, Tensor], Tensor]


def inflow(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor) -> Tensor:
    """What a state is squashed from, right."""
    return h @ W_hh.mT + x @ W_xh.mT


def stepping(W_xh: Tensor, W_hh: Tensor) -> Step:
    """The step from an element and a state to the next state, right."""
    return lambda x, h: torch.tanh(inflow(x, h, W_xh, W_hh))


def run(x: Tensor, h: Tensor, step: Step) -> Tensor:
    """The states that a step runs through, without the initial one."""
    states = []
    for t in range(x.shape[-2]):
        h = step(x[..., t, :], h)
        states.append(h)
    return torch.stack(states, -2)


# The cell -----------------------------------------------------------------------------------------------------------------


@wrong(CELL)
def state_ignored(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Reads the input only: a feed-forward layer."""
    new = torch.tanh(x @ W_xh.mT)
    return new, new @ W_hy.mT


@wrong(CELL)
def state_weights_transposed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Computes h W_hh instead of W_hh h."""
    new = torch.tanh(inflow(x, h, W_xh, W_hh.mT))
    return new, new @ W_hy.mT


@wrong(CELL)
def no_tanh(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Leaves the tanh out."""
    new = inflow(x, h, W_xh, W_hh)
    return new, new @ W_hy.mT


@wrong(CELL)
def sigmoid(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Squashes with a sigmoid."""
    new = torch.sigmoid(inflow(x, h, W_xh, W_hh))
    return new, new @ W_hy.mT


@wrong(CELL)
def rectified(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Takes torch's other nonlinearity, the rectifier."""
    new = torch.relu(inflow(x, h, W_xh, W_hh))
    return new, new @ W_hy.mT


@wrong(CELL)
def hard_tanh(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Clips at ±1 instead of the tanh, "for speed"."""
    new = F.hardtanh(inflow(x, h, W_xh, W_hh))
    return new, new @ W_hy.mT


@wrong(CELL)
def tanh_of_each_part(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Squashes what comes from the state and what comes from the input separately."""
    new = torch.tanh(h @ W_hh.mT) + torch.tanh(x @ W_xh.mT)
    return new, new @ W_hy.mT


@wrong(CELL)
def tanh_by_exponentials(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Writes tanh z as (e^z − e^−z)/(e^z + e^−z): ∞/∞ for large z."""
    z = inflow(x, h, W_xh, W_hh)
    new = (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())
    return new, new @ W_hy.mT


@wrong(CELL)
def tanh_by_sigmoid(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Writes tanh z as 2σ(2z) − 1: small states lose their digits."""
    new = 2 * torch.sigmoid(2 * inflow(x, h, W_xh, W_hh)) - 1
    return new, new @ W_hy.mT


@wrong(CELL)
def output_of_the_old_state(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Computes the output from the state before the update."""
    return torch.tanh(inflow(x, h, W_xh, W_hh)), h @ W_hy.mT


@wrong(CELL)
def output_before_the_tanh(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Computes the output from what the state is squashed from."""
    z = inflow(x, h, W_xh, W_hh)
    return torch.tanh(z), z @ W_hy.mT


@wrong(CELL)
def output_normalised(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Returns the softmax of the output."""
    new = torch.tanh(inflow(x, h, W_xh, W_hh))
    return new, torch.softmax(new @ W_hy.mT, -1)


@wrong(CELL)
def weights_exchanged(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Exchanges the weights of input and state, wherever the shapes let it."""
    if W_xh.shape == W_hh.shape:
        W_xh, W_hh = W_hh, W_xh
    new = torch.tanh(inflow(x, h, W_xh, W_hh))
    return new, new @ W_hy.mT


@wrong(CELL)
def state_detached(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Lets no gradient reach the state before: backpropagation cut after one step."""
    new = torch.tanh(inflow(x, h.detach(), W_xh, W_hh))
    return new, new @ W_hy.mT


@wrong(CELL)
def state_overwritten(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Keeps the new state in the caller's tensor, too."""
    new = torch.tanh(inflow(x, h, W_xh, W_hh))
    out = new @ W_hy.mT
    with torch.no_grad():
        h.copy_(new)
    return new, out


@right(CELL)
def concatenated(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """One product of packed weights and [x; h]."""
    new = torch.tanh(F.linear(torch.cat([x, h], -1), torch.cat([W_xh, W_hh], -1)))
    return new, F.linear(new, W_hy)


@right(CELL)
def by_einsum(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Each product an einsum."""
    z = torch.einsum("ca,...a->...c", W_xh, x) + torch.einsum("ce,...e->...c", W_hh, h)
    return z.tanh(), torch.einsum("kc,...c->...k", W_hy, z.tanh())


@right(CELL)
def torch_cell(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """``torch.rnn_tanh_cell`` with biases of 0."""
    zero = W_hh.new_zeros(W_hh.shape[0])
    lead = x.shape[:-1]
    new = opened(torch.rnn_tanh_cell(flat(x, lead, 1), flat(h, lead, 1), W_xh, W_hh, zero, zero), lead)
    return new, new @ W_hy.mT


# The sequence -------------------------------------------------------------------------------------------------------------


def words(states: Tensor, W_hy: Tensor) -> Tensor:
    """The law over words after each state, right."""
    return torch.softmax(states @ W_hy.mT, -1)


@wrong(RNN)
def state_not_carried(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Starts every step from the initial state."""
    states = torch.tanh(inflow(x, h[..., None, :], W_xh, W_hh))
    return states, words(states, W_hy)


@wrong(RNN)
def initial_state_ignored(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Starts from 0 whatever state is passed."""
    states = run(x, torch.zeros_like(h), stepping(W_xh, W_hh))
    return states, words(states, W_hy)


@wrong(RNN)
def time_reversed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Reads the sequence from its end."""
    states = run(x.flip(-2), h, stepping(W_xh, W_hh)).flip(-2)
    return states, words(states, W_hy)


@wrong(RNN)
def states_before(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Returns each state before its element was read: the initial one first, the last one never."""
    states = run(x, h, stepping(W_xh, W_hh))
    states = torch.cat([h[..., None, :], states[..., :-1, :]], -2)
    return states, words(states, W_hy)


@wrong(RNN)
def words_before(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Computes the output of each element before the state is updated."""
    states = run(x, h, stepping(W_xh, W_hh))
    return states, words(torch.cat([h[..., None, :], states[..., :-1, :]], -2), W_hy)


@wrong(RNN)
def recurrence_transposed(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Multiplies by the transpose of W_hh."""
    states = run(x, h, stepping(W_xh, W_hh.mT))
    return states, words(states, W_hy)


@wrong(RNN)
def rectified_states(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Takes torch's other nonlinearity, the rectifier."""
    states = run(x, h, lambda x, h: torch.relu(inflow(x, h, W_xh, W_hh)))
    return states, words(states, W_hy)


@wrong(RNN)
def softmax_over_time(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Normalises over the positions instead of the words."""
    states = run(x, h, stepping(W_xh, W_hh))
    return states, torch.softmax(states @ W_hy.mT, -2)


@wrong(RNN)
def softmax_over_axis_one(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Normalises over axis 1: the words without a batch, the positions with one."""
    states = run(x, h, stepping(W_xh, W_hh))
    return states, torch.softmax(states @ W_hy.mT, 1)


@wrong(RNN)
def logarithms(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Returns logarithms of the probabilities."""
    states = run(x, h, stepping(W_xh, W_hh))
    return states, torch.log_softmax(states @ W_hy.mT, -1)


@wrong(RNN)
def logits(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Leaves the softmax to the loss."""
    states = run(x, h, stepping(W_xh, W_hh))
    return states, states @ W_hy.mT


@wrong(RNN)
def exponentials_unshifted(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Exponentiates the scores as they are: large ones overflow."""
    states = run(x, h, stepping(W_xh, W_hh))
    weights = (states @ W_hy.mT).exp()
    return states, weights / weights.sum(-1, keepdim=True)


@wrong(RNN)
def one_long_sequence(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Reads a batch as one long sequence: each member goes on from the state in which the one before ended."""
    first = h.reshape(-1, h.shape[-1])[0]
    states = run(x.reshape(-1, x.shape[-1]), first, stepping(W_xh, W_hh)).reshape(*x.shape[:-1], -1)
    return states, words(states, W_hy)


@wrong(RNN)
def truncated_gradient(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Detaches the state before every step: no gradient through time."""
    step = stepping(W_xh, W_hh)
    states = run(x, h, lambda x, h: step(x, h.detach()))
    return states, words(states, W_hy)


@wrong(RNN)
def truncated_after_twenty(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """Detaches the state after every 20 elements, as training on a long text does."""
    states = []
    for part in x.split(20, -2):
        states.append(run(part, h, stepping(W_xh, W_hh)))
        h = states[-1][..., -1, :].detach()
    every = torch.cat(states, -2)
    return every, words(every, W_hy)


@right(RNN)
def torch_module(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """``torch.nn.RNN`` with our weights for its own."""
    lead, (d, p) = x.shape[:-2], W_xh.shape
    module = hollow(lambda: nn.RNN(p, d, bias=False, batch_first=True))
    weights = {"weight_ih_l0": W_xh, "weight_hh_l0": W_hh}
    states = opened(called(module, weights, flat(x, lead, 2), flat(h, lead, 1)[None])[0], lead)
    return states, words(states, W_hy)


@right(RNN)
def inputs_at_once(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """All products with inputs before the loop, and the softmax by log-sum-exp."""
    u, states = x @ W_xh.mT, []
    for part in u.unbind(-2):
        h = (part + F.linear(h, W_hh)).tanh()
        states.append(h)
    o = torch.stack(states, -2) @ W_hy.mT
    return torch.stack(states, -2), (o - o.amax(-1, keepdim=True)).softmax(-1)


@right(RNN)
def recursively(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> Two:
    """By halves: the second goes on from the state in which the first ended. Packed weights."""
    W = torch.cat([W_hh, W_xh], -1)

    def over(x: Tensor, h: Tensor) -> Tensor:
        T = x.shape[-2]
        if T == 1:
            return torch.tanh(torch.cat([h, x[..., 0, :]], -1) @ W.mT)[..., None, :]
        early = over(x[..., : T // 2, :], h)
        return torch.cat([early, over(x[..., T // 2 :, :], early[..., -1, :])], -2)

    states = over(x, h)
    return states, words(states, W_hy)
