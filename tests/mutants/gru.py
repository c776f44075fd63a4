"""Variants of the gated recurrent unit, its cell and over a sequence: ``recurrent.gru_cell`` and ``.gru``."""

import torch
from torch import nn

from tests.mutants import right, wrong
from tests.mutants.recurrent import call_with, hollow
from tests.mutants.recurrent import run as run_steps

CELL, GRU = "recurrent.gru_cell", "recurrent.gru"


def flows(x, h, W_x, W_h, b_x, b_h):
    """What element and state bring to the blocks r, z and n, right."""
    return *(x @ W_x.mT + b_x).chunk(3, -1), *(h @ W_h.mT + b_h).chunk(3, -1)


def moved(h, r, z, n, r_h, z_h, n_h):
    """The new state from them, right."""
    return mixed(h, torch.sigmoid(z + z_h), torch.tanh(n + torch.sigmoid(r + r_h) * n_h))


def mixed(h, z, n):
    """The new state from the opened update gate and the candidate, right."""
    return (1 - z) * n + z * h


def opened(candidate):
    """A cell whose candidate is ``candidate(r, n, n_h)``, with the reset gate r opened."""
    return cell(
        lambda h, r, z, n, r_h, z_h, n_h: mixed(
            h, torch.sigmoid(z + z_h), candidate(torch.sigmoid(r + r_h), n, n_h)
        )
    )


def stepped(x, h, *weights):
    """A step, right."""
    return moved(h, *flows(x, h, *weights))


def cell(move):
    """A cell whose new state is ``move(h, r, z, n, r_h, z_h, n_h)``."""
    return lambda x, h, *weights: move(h, *flows(x, h, *weights))


# The cell -----------------------------------------------------------------------------------------------------------------


@wrong(CELL, cause="reset=before")
def reset_before(x, h, *weights):
    """Resets the state before the product, as the paper, though after it was promised."""
    r, z, n, r_h, z_h, _ = flows(x, h, *weights)
    *_, n_h = flows(x, torch.sigmoid(r + r_h) * h, *weights)
    return mixed(h, torch.sigmoid(z + z_h), torch.tanh(n + n_h))


wrong(
    CELL,
    "biases_together",
    "Adds both biases up before the reset: the gate does not reach the second one.",
    cause="b_h is not added to w",
)(lambda x, h, W_x, W_h, b_x, b_h: moved(h, *flows(x, h, W_x, W_h, b_x + b_h, 0 * b_h)))
wrong(
    CELL,
    "everything_reset",
    "Lets the reset gate scale what the element brings, too.",
    cause=r"\bu.* multiplied by r\b",
)(opened(lambda r, n, n_h: torch.tanh(r * (n + n_h))))
wrong(CELL, "renewed", "Takes the update gate for the share of the candidate.", cause="update=renews")(
    cell(lambda h, r, z, n, r_h, z_h, n_h: moved(h, r, -z, n, r_h, -z_h, n_h))
)
wrong(
    CELL,
    "gates_exchanged",
    "Takes the blocks in Keras's order: update, reset, candidate.",
    cause=r"gate_order|\br and z\b",
)(cell(lambda h, r, z, n, r_h, z_h, n_h: moved(h, z, r, n, z_h, r_h, n_h)))
wrong(CELL, "never_reset", "Has no reset gate.", cause=r"not multiplied by r\b")(
    opened(lambda r, n, n_h: torch.tanh(n + n_h))
)
wrong(
    CELL,
    "candidate_by_sigmoid",
    "Squashes the candidate with a sigmoid, as the gates.",
    cause="sigmoid instead of tanh",
)(opened(lambda r, n, n_h: torch.sigmoid(n + r * n_h)))
wrong(
    CELL,
    "gates_from_the_element",
    "Shows the state to the candidate only, not to the gates.",
    cause=r"\bw\S* is not added",
)(cell(lambda h, r, z, n, r_h, z_h, n_h: moved(h, r, z, n, 0 * r_h, 0 * z_h, n_h)))
wrong(
    CELL,
    "added_up",
    "Adds the whole candidate to what is kept, as an LSTM with a gate left out.",
    cause=r"not multiplied by \(?1 − z",
)(
    cell(
        lambda h, r, z, n, r_h, z_h, n_h: (
            torch.tanh(n + torch.sigmoid(r + r_h) * n_h) + torch.sigmoid(z + z_h) * h
        )
    )
)
wrong(CELL, "reset_detached", "Cuts the gradient of the reset gate.", cause=r"\br .*for a constant")(
    cell(lambda h, r, z, n, r_h, z_h, n_h: moved(h, r.detach(), z, n, r_h.detach(), z_h, n_h))
)


@right(CELL)
def mixed_by_lerp(x, h, *weights):
    """n + z·(h − n), as torch.lerp has it."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    return torch.lerp(torch.tanh(n + torch.sigmoid(r + r_h) * n_h), h, torch.sigmoid(z + z_h))


@right(CELL)
def rest_by_a_sigmoid(x, h, *weights):
    """Has σ(−a) instead of 1 − σ(a): the same number, rounded otherwise in values and gradients."""
    r, z, n, r_h, z_h, n_h = flows(x, h, *weights)
    n = torch.tanh(n + torch.sigmoid(r + r_h) * n_h)
    return torch.sigmoid(-(z + z_h)) * n + torch.sigmoid(z + z_h) * h


right(CELL, "as_in_the_paper", "The reset before the product, where that is the convention.", reset="before")(
    lambda x, h, *weights: reset_before(x, h, *weights)
)


@right(CELL, gate_order="zrn", update="renews")
def of_another_library(x, h, *weights):
    """Update gate first, the share of the candidate, where these are the conventions."""
    z, r, n, z_h, r_h, n_h = flows(x, h, *weights)
    z, n = torch.sigmoid(z + z_h), torch.tanh(n + torch.sigmoid(r + r_h) * n_h)
    return z * n + (1 - z) * h


# Over a sequence ----------------------------------------------------------------------------------------------------------


def run(x, h, *weights, step=stepped):
    """The states, right, or of another step."""
    return run_steps(x, h, lambda x, h: step(x, h, *weights))


wrong(GRU, "begins_with_nothing", "Ignores the state that the caller passes.", cause=r"\bh is ignored")(
    lambda x, h, *weights: run(x, 0 * h, *weights)
)


@wrong(GRU, cause=r"\bH .*for a constant")
def state_detached(x, h, *weights):
    """Detaches the state between elements: nothing is learned over time."""
    first = run(x[..., :1, :], h, *weights)
    if x.shape[-2] == 1:
        return first
    step = lambda x, h, *weights: stepped(x, h.detach(), *weights)
    return torch.cat([first, run(x[..., 1:, :], first[..., -1, :], *weights, step=step)], -2)


wrong(
    GRU, "states_before", "Returns for each element the state before it.", cause="off by one|states .*by one"
)(
    lambda x, h, *weights: torch.cat(
        (h.expand(*x.shape[:-2], h.shape[-1]).unsqueeze(-2), run(x, h, *weights)[..., :-1, :]), -2
    )
)
wrong(GRU, "read_backwards", "Reads from the last element on.", cause="from (the|its) end|look-ahead")(
    lambda x, h, *weights: run(x.flip(-2), h, *weights).flip(-2)
)
wrong(GRU, "resets_before", "The paper's network, with the weights of the other.", cause="reset=before")(
    lambda x, h, *weights: run(x, h, *weights, step=reset_before)
)
wrong(GRU, "order_of_keras", "Takes the blocks in Keras's order.", cause=r"gate_order|\br and z\b")(
    lambda x, h, *weights: run(x, h, *(torch.cat([each.chunk(3)[k] for k in (1, 0, 2)]) for each in weights))
)


@wrong(GRU, cause=r"\b[zw]\b.*(first|H\[0|reads h)")
def gates_worked_out_once(x, h, *weights):
    """Keeps the first state's share of the update gate for all elements."""
    *_, z_first, _ = flows(x[..., 0, :], h, *weights)

    def step(x, h, *weights):
        r, z, n, r_h, _, n_h = flows(x, h, *weights)
        return moved(h, r, z, n, r_h, z_first, n_h)

    return run(x, h, *weights, step=step)


wrong(
    GRU,
    "one_bias",
    "Fills both biases of a library with the first.",
    cause="b_x (is read )?where b_h|b_h is ignored: other",
)(lambda x, h, W_x, W_h, b_x, b_h: run(x, h, W_x, W_h, b_x, b_x + 0 * b_h))


@wrong(GRU, cause="T (≥|>) [56]|every 5|fifth")
def restarted(x, h, *weights):
    """Begins anew with a state of 0 after every fifth element."""
    first, *later = x.split(5, -2)
    return torch.cat([run(first, h, *weights), *(run(part, 0 * h, *weights) for part in later)], -2)


wrong(
    GRU,
    "elements_of_the_batch",
    "Takes sequences and members for each other, where their numbers agree.",
    cause="in batches",
)(
    lambda x, h, *weights: (
        run(x.transpose(0, 1), h, *weights).transpose(0, 1)
        if x.ndim == 3 and x.shape[0] == x.shape[1]
        else run(x, h, *weights)
    )
)
right(GRU, "element_by_element", "A loop, as the definition reads.")(
    lambda x, h, *weights: run(x, h, *weights)
)


@right(GRU)
def by_the_kernel(x, h, W_x, W_h, b_x, b_h):
    """nn.GRU, which takes time first."""
    module = hollow(lambda: nn.GRU(x.shape[-1], h.shape[-1]), training=True)
    weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b_x, "bias_hh_l0": b_h}
    lead = x.shape[:-2]
    flat = x.reshape(-1, *x.shape[-2:]).transpose(0, 1)
    first = h.expand(*lead, h.shape[-1]).reshape(1, -1, h.shape[-1])
    states = call_with(module, weights, flat, first)[0].transpose(0, 1)
    return states.reshape(*lead, *states.shape[-2:])


right(GRU, "rests_by_sigmoids", "A loop in which σ(−a) stands instead of 1 − σ(a).")(
    lambda x, h, *weights: run(x, h, *weights, step=rest_by_a_sigmoid)
)
right(GRU, "network_of_the_paper", "The reset before the product, under that convention.", reset="before")(
    lambda x, h, *weights: run(x, h, *weights, step=reset_before)
)
