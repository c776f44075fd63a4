"""Variants of the gated recurrent unit, its cell and over a sequence: ``recurrent.gru_cell`` and ``.gru``."""

import torch
from torch import Tensor, nn

from verify.mutants import right, wrong
from verify.targets.flattening import called, hollow

CELL, GRU = "recurrent.gru_cell", "recurrent.gru"
Six = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def flows(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Six:
    """What element and state bring to the blocks r, z and n, right."""
    r, z, n = (x @ W_x.mT + b_x).chunk(3, -1)
    r_h, z_h, n_h = (h @ W_h.mT + b_h).chunk(3, -1)
    return r, z, n, r_h, z_h, n_h


def moved(h: Tensor, r: Tensor, z: Tensor, n: Tensor, r_h: Tensor, z_h: Tensor, n_h: Tensor) -> Tensor:
    """The new state from them, right."""
    z = torch.sigmoid(z + z_h)
    return (1 - z) * torch.tanh(n + torch.sigmoid(r + r_h) * n_h) + z * h


def stepped(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """A step, right."""
    return moved(h, *flows(x, h, *weights))


# The cell -----------------------------------------------------------------------------------------------------------------


@wrong(CELL)
def reset_before(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Resets the state before the product, as the paper, though after it was promised."""
    r, z, n, r_h, z_h, _ = flows(x, h, *weights)
    *_, n_h = flows(x, torch.sigmoid(r + r_h) * h, *weights)
    z = torch.sigmoid(z + z_h)
    return (1 - z) * torch.tanh(n + n_h) + z * h


@wrong(CELL)
def biases_together(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """Adds both biases up before the reset: the gate does not reach the candidate's second one."""
    return moved(h, *flows(x, h, W_x, W_h, b_x + b_h, 0 * b_h))


@wrong(CELL)
def everything_reset(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Lets the reset gate scale what the element brings, too."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    z = torch.sigmoid(z + z_h)
    return (1 - z) * torch.tanh(torch.sigmoid(r + r_h) * (n + n_h)) + z * h


@wrong(CELL)
def renewed(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Takes the update gate for the share of the candidate."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return moved(h, r, -z, n, r_h, -z_h, n_h)


@wrong(CELL)
def gates_exchanged(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Takes the blocks in Keras's order: update, reset, candidate."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return moved(h, z, r, n, z_h, r_h, n_h)


@wrong(CELL)
def never_reset(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Has no reset gate."""
    _, z, n, _, z_h, n_h = flows(x, h, *weights)
    z = torch.sigmoid(z + z_h)
    return (1 - z) * torch.tanh(n + n_h) + z * h


@wrong(CELL)
def candidate_by_sigmoid(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Squashes the candidate with a sigmoid, as the gates."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    z = torch.sigmoid(z + z_h)
    return (1 - z) * torch.sigmoid(n + torch.sigmoid(r + r_h) * n_h) + z * h


@wrong(CELL)
def gates_from_the_element(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Shows the state to the candidate only, not to the gates."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return moved(h, r, z, n, 0 * r_h, 0 * z_h, n_h)


@wrong(CELL)
def added_up(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Adds the whole candidate to what is kept, as a long short-term memory with a gate left out."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return torch.tanh(n + torch.sigmoid(r + r_h) * n_h) + torch.sigmoid(z + z_h) * h


@wrong(CELL)
def reset_detached(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Cuts the gradient of the reset gate."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return moved(h, r.detach(), z, n, r_h.detach(), z_h, n_h)


@right(CELL)
def mixed_by_lerp(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """n + z·(h − n), as torch.lerp has it."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    n = torch.tanh(n + torch.sigmoid(r + r_h) * n_h)
    return torch.lerp(n, h, torch.sigmoid(z + z_h))


@right(CELL)
def rest_by_a_sigmoid(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Has σ(−a) in the place of 1 − σ(a): the same number, rounded otherwise in values and gradients."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    n = torch.tanh(n + torch.sigmoid(r + r_h) * n_h)
    return torch.sigmoid(-(z + z_h)) * n + torch.sigmoid(z + z_h) * h


@right(CELL, reset="before")
def as_in_the_paper(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """The reset before the product, where that is the convention."""
    return reset_before(x, h, *weights)  # type: ignore[no-any-return]


@right(CELL, gate_order="zrn", update="renews")
def of_another_library(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Update gate first, the share of the candidate, where these are the conventions."""
    z, r, n, z_h, r_h, n_h = flows(x, h, *weights)
    z, n = torch.sigmoid(z + z_h), torch.tanh(n + torch.sigmoid(r + r_h) * n_h)
    return z * n + (1 - z) * h


# Over a sequence ----------------------------------------------------------------------------------------------------------


def run(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """The states, right."""
    states = []
    for t in range(x.shape[-2]):
        h = stepped(x[..., t, :], h, *weights)
        states.append(h)
    return torch.stack(states, -2)


@wrong(GRU)
def begins_with_nothing(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Ignores the state that the caller passes."""
    return run(x, 0 * h, *weights)


@wrong(GRU)
def state_detached(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Detaches the state between elements: nothing is learned over time."""
    states = []
    for t in range(x.shape[-2]):
        h = stepped(x[..., t, :], h.detach() if t else h, *weights)
        states.append(h)
    return torch.stack(states, -2)


@wrong(GRU)
def states_before(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Returns for each element the state before it."""
    return torch.cat(
        (h.expand(*x.shape[:-2], h.shape[-1]).unsqueeze(-2), run(x, h, *weights)[..., :-1, :]), -2
    )


@wrong(GRU)
def read_backwards(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Reads from the last element on."""
    return run(x.flip(-2), h, *weights).flip(-2)


@wrong(GRU)
def resets_before(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """The paper's network, with the weights of the other."""
    states = []
    for t in range(x.shape[-2]):
        h = reset_before(x[..., t, :], h, *weights)
        states.append(h)
    return torch.stack(states, -2)


@wrong(GRU)
def order_of_keras(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Takes the blocks in Keras's order."""
    swapped = (torch.cat([each.chunk(3)[k] for k in (1, 0, 2)]) for each in weights)
    return run(x, h, *swapped)


@wrong(GRU)
def gates_worked_out_once(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Works the update gate out from the first state and keeps it for all elements."""
    states, (_, _, _, _, z_h, _) = [], flows(x[..., 0, :], h, *weights)
    for t in range(x.shape[-2]):
        r, z, n, r_h, _, n_h = flows(x[..., t, :], h, *weights)
        h = moved(h, r, z, n, r_h, z_h, n_h)
        states.append(h)
    return torch.stack(states, -2)


@wrong(GRU)
def one_bias(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """Fills both biases of a library with the first."""
    return run(x, h, W_x, W_h, b_x, b_x + 0 * b_h)


@wrong(GRU)
def restarted(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Begins anew with a state of 0 after every fifth element."""
    parts = x.split(5, -2)
    return torch.cat([run(part, h if k == 0 else 0 * h, *weights) for k, part in enumerate(parts)], -2)


@wrong(GRU)
def elements_of_the_batch(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Takes sequences and members of the batch for each other, where their numbers agree."""
    if x.ndim == 3 and x.shape[0] == x.shape[1]:
        return run(x.transpose(0, 1), h, *weights).transpose(0, 1)
    return run(x, h, *weights)


@right(GRU)
def element_by_element(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """A loop, as the definition reads."""
    return run(x, h, *weights)


@right(GRU)
def by_the_kernel(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """nn.GRU, which takes time first."""
    module = hollow(lambda: nn.GRU(x.shape[-1], h.shape[-1]), training=True)
    weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b_x, "bias_hh_l0": b_h}
    lead = x.shape[:-2]
    flat = x.reshape(-1, *x.shape[-2:]).transpose(0, 1)
    first = h.expand(*lead, h.shape[-1]).reshape(1, -1, h.shape[-1])
    states = called(module, weights, flat, first)[0].transpose(0, 1)
    return states.reshape(*lead, *states.shape[-2:])  # type: ignore[no-any-return]


@right(GRU)
def rests_by_sigmoids(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """A loop in which σ(−a) stands in the place of 1 − σ(a)."""
    states = []
    for t in range(x.shape[-2]):
        h = rest_by_a_sigmoid(x[..., t, :], h, *weights)
        states.append(h)
    return torch.stack(states, -2)


@right(GRU, reset="before")
def network_of_the_paper(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """The reset before the product, where that is the convention."""
    return resets_before(x, h, *weights)  # type: ignore[no-any-return]
