"""A recurrence over a sequence: by torch's fused kernel, or our cell step by step. Every function over sequences comes here.

Inside, a sequence is (T B p), as the kernel takes it; a state is one tensor (K B d) for an RNN and two for an LSTM, where K
counts layers or directions; a layer's weights are (W_x, W_h) for an RNN, (W_x, W_h, b) for an LSTM and (W_x, W_h, b_x, b_h) for a
GRU, gates in torch's order.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from impl import _refuse
from impl._transforms import beyond_one_grad
from impl.recurrent import _cuda
from impl.recurrent._checks import check_lengths, lead_with_lengths
from impl.recurrent.cells import gru_step, lstm_step, rnn_step, wide

Backend = Literal["auto", "loop"]
State = tuple[Tensor, ...]
Weights = tuple[Tensor, ...]

STEPS: dict[int, Callable[..., State]] = {
    2: lambda *given: (rnn_step(*given),),
    3: lstm_step,
    4: lambda *given: (gru_step(*given),),
}
"""The cell of each network, by how many weights a layer has."""
KERNELS: dict[tuple[int, int], Callable[..., tuple[Tensor, ...]]] = {
    (1, 2): torch.rnn_tanh,
    (1, 4): torch.gru,
    (2, 4): torch.lstm,
}
"""torch's fused kernel of a network, by how many states it has, and weights as the kernel takes them."""


class Batch(NamedTuple):
    """What runs: sequences and states, and where sequences have lengths of their own, those (B), and what is inside (T B 1)."""

    x: Tensor
    state: State
    lengths: Tensor | None
    inside: Tensor | None
    lead: torch.Size  # the batch axes that B stands for
    dtype: torch.dtype  # of the result


def restore_lead(given: Batch, y: Tensor) -> Tensor:
    """(N B c), whatever N counts, as (... N c) in the result's dtype."""
    N, _, c = y.shape
    return y.transpose(0, 1).reshape(*given.lead, N, c).to(given.dtype)


def zero_padding(given: Batch, y: Tensor) -> Tensor:
    """(T B c) with 0 beyond each sequence's length."""
    return y if given.inside is None else torch.where(given.inside, y, 0.0)


def batch(formula: str, x: Tensor, state: State, lengths: Tensor | None, single: bool = False) -> Batch:
    """Batch axes brought to one; (... T p), (... K d) and (...) come in. 16 bits are computed in 32. Padding becomes 0.

    A ``single`` layer's states come in as (... d).
    """
    lead = _lead(formula, x, state, lengths, single)
    state = tuple(each.unsqueeze(-2) for each in state) if single else state
    (T, p), (K, d), B = x.shape[-2:], state[0].shape[-2:], math.prod(lead)
    dtype, result, inside = wide(x.dtype), x.dtype, None
    x = x.to(dtype).expand(*lead, T, p).reshape(B, T, p).transpose(0, 1)
    state = tuple(each.to(dtype).expand(*lead, K, d).reshape(B, K, d).transpose(0, 1) for each in state)
    if lengths is not None:
        lengths = lengths.to(x.device, torch.int64).expand(lead).reshape(B)
        check_lengths(formula, lengths, T)
        inside = (torch.arange(T, device=x.device)[:, None] < lengths)[..., None]
        x = torch.where(inside, x, 0.0)
    return Batch(x, state, lengths, inside, lead, result)


def layers(formula: str, given: Batch, weights: Sequence[Weights], backend: Backend) -> tuple[Tensor, State]:
    """Layers on layers: the states of the top one (T B d), 0 beyond a sequence's length, and every layer's last (K B d)."""
    if _by_loop(given, backend):
        return run_loop(given, weights)
    if given.lengths is not None:
        return _run_padded(formula, given, weights)
    return _kernel(formula, given.x, given.state, weights)


def directions(formula: str, given: Batch, weights: Sequence[Weights], backend: Backend) -> Tensor:
    """A forward and a backward layer: their states side by side (T B 2d), 0 beyond a sequence's length."""
    x, state, lengths = given.x, given.state, given.lengths
    if lengths is None and not _by_loop(given, backend):
        return _kernel(formula, x, state, weights, bidirectional=True)[0]
    ahead = given._replace(state=tuple(each[:1] for each in state))
    back = given._replace(state=tuple(each[1:] for each in state), x=_backwards(x, lengths))
    ahead_states, _ = layers(formula, ahead, weights[:1], backend)
    back_states, _ = layers(formula, back, weights[1:], backend)
    return torch.cat((ahead_states, _backwards(back_states, lengths)), -1)


def reverse_within(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Sequences (... T p) with lengths (...), each from its end to its beginning; what lies beyond its end stays."""
    if lengths is None:
        return x.flip(-2)
    t, end = torch.arange(x.shape[-2], device=x.device), lengths.to(x.device)[..., None]
    source = torch.where(t < end, end - 1 - t, t)
    return x.gather(-2, source[..., None].expand(x.shape))


def _backwards(x: Tensor, lengths: Tensor | None) -> Tensor:
    """``reverse_within`` of (T B p)."""
    return reverse_within(x.transpose(0, 1), lengths).transpose(0, 1)


def run_loop(
    given: Batch, weights: Sequence[Weights], step: Callable[..., State] | None = None
) -> tuple[Tensor, State]:
    """The cells, step by step: those that the weights tell of, or ``step``. Beyond its length a sequence's state stays."""
    x, last = given.x, []
    for k, layer in enumerate(weights):
        now, states, parts = tuple(each[k] for each in given.state), [], _parts(layer)
        cell = step or STEPS[len(layer)]
        for t in range(x.shape[0]):
            new = cell(x[t], *now, *parts)
            if given.inside is not None:
                inside = given.inside[t]
                new = tuple(torch.where(inside, one, old) for one, old in zip(new, now, strict=True))
            now = new
            states.append(now[0])
        x = torch.stack(states) if states else x.new_zeros(0, *now[0].shape)
        last.append(now)
    return zero_padding(given, x), _stack_states(last)


def _parts(layer: Weights) -> Weights:
    """A layer's weights as its cell takes them: an LSTM's by blocks, each with its W_x, W_h and b, input node first."""
    if len(layer) != 3:
        return layer
    blocks = dict(zip("ifgo", zip(*(each.chunk(4) for each in layer), strict=True), strict=True))
    return tuple(part for block in "gifo" for part in blocks[block])


def _stack_states(last: list[State]) -> State:
    """Every layer's last state (B d), as one tensor (K B d), or two."""
    return tuple(torch.stack(each) for each in zip(*last, strict=True))


def _kernel(
    formula: str, x: Tensor, state: State, weights: Sequence[Weights], bidirectional: bool = False
) -> tuple[Tensor, State]:
    """torch's fused kernel on all layers or both directions. The compiler would unroll it, every step: it is kept away."""
    run = torch.compiler.disable(_call) if torch.compiler.is_compiling() else _call
    try:
        return run(x, state, weights, bidirectional)
    except NotImplementedError as error:
        raise NotImplementedError(
            f"{formula}: torch's fused kernel has no forward-mode derivative; pass backend='loop'"
        ) from error


def _call(x: Tensor, state: State, weights: Sequence[Weights], bidirectional: bool) -> tuple[Tensor, State]:
    """What nn.RNN, nn.GRU and nn.LSTM call. To the latter's kernel a bias is two; ours is one, so the other is 0."""
    state = tuple(each.contiguous() for each in state)
    if len(state) > 1:
        weights = [(W_x, W_h, b, torch.zeros_like(b)) for W_x, W_h, b in weights]
    kernel, biased = KERNELS[len(state), len(weights[0])], len(weights[0]) == 4
    flat, layers = [part for layer in weights for part in layer], 1 if bidirectional else len(weights)
    options = biased, layers, 0.0, torch.is_grad_enabled(), bidirectional, False
    given = state[0] if len(state) == 1 else state
    if not x.is_cuda:
        # Of some processors autocast chooses a type in which the kernel then raises.
        with torch.autocast("cpu", enabled=False):
            states, *last = kernel(x, given, flat, *options)
        return states, tuple(last)
    with _cuda.as_exact_as_others():
        laid = _cuda.laid_out(kernel, len(weights) // layers, biased, flat)
        states, *last = kernel(x.contiguous(), given, laid, *options)
    _cuda.likewise_backwards(states)
    return states, tuple(last)


def _run_padded(formula: str, given: Batch, weights: Sequence[Weights]) -> tuple[Tensor, State]:
    """Sequences of their own lengths through the kernel as if all had T elements.

    No state sees what comes after it, so padding is no concern of the states before it; the last state is the one at the
    sequence's own end. But an LSTM's s is returned after T elements only. Therefore its input has one more entry, 1 in the
    padding and 0 before, whose weights close the input gate and open the forget gate: s stays. That takes half the time of
    packed sequences, for which torch has no fused kernel on the CPU.
    """
    assert given.lengths is not None
    assert given.inside is not None
    x, last = given.x, []
    end = (given.lengths - 1)[None, :, None].expand(1, -1, given.state[0].shape[-1])
    for k, layer in enumerate(weights):
        if len(layer) == 3:
            x = torch.cat((x, (~given.inside).to(x.dtype)), -1)
            layer = torch.cat((layer[0], _make_holding_column(layer[0])), -1), *layer[1:]
        x, now = _kernel(formula, x, tuple(each[k : k + 1] for each in given.state), (layer,))
        last.append((x.gather(0, end)[0], *(each[0] for each in now[1:])))
    return zero_padding(given, x), _stack_states(last)


def _make_holding_column(W_x: Tensor) -> Tensor:
    """The column (4d 1) that closes the input gate and opens the forget gate: σ(−big) is 0 and σ(big) is 1."""
    device, dtype = W_x.device, W_x.dtype
    if W_x.is_cuda and torch.is_autocast_enabled("cuda") and dtype == torch.float32:
        dtype = torch.get_autocast_dtype(device.type)
    big = torch.finfo(dtype).max ** 0.75
    column = torch.tensor([-big, big, 0.0, 0.0], dtype=W_x.dtype, device=device)
    return column.repeat_interleave(W_x.shape[0] // 4)[:, None]


def _by_loop(given: Batch, backend: Backend) -> bool:
    """Whether the kernel cannot do it, or shall not."""
    return backend == "loop" or 0 in given.x.shape or 0 in given.state[0].shape or beyond_one_grad()


def _lead(formula: str, x: Tensor, state: State, lengths: Tensor | None, single: bool) -> torch.Size:
    """The batch axes that all broadcast to."""
    states = dict(zip("hs", state, strict=False))
    lead = _refuse.check_belonging(formula, x.shape[:-2], 1 if single else 2, **states)
    return lead if lengths is None else lead_with_lengths(formula, lead, lengths)
