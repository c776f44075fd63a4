"""RNN and LSTM over sequences, beside torch's modules with the same weights; padded batches beside packed sequences.

Training is a forward and a backward pass, by the input and every parameter.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.harness import Comparison, seeded
from impl.recurrent import lstm, stacked

B, T, D = 32, 128, 256
TARGET = 0.95

Run = Callable[[Tensor], Tensor]


def entries(quick: bool) -> Iterator[Comparison]:
    """The states of one layer, as torch's modules give them; our loop is there to show what the kernel is worth."""
    generator = seeded(T)
    x = torch.randn(B, T, D, generator=generator)
    lengths = torch.randint(T // 2, T + 1, (B,), generator=generator)
    start, size = torch.zeros(B, D), f"{B}×{T}×{D}"

    rnn = nn.RNN(D, D, bias=False, batch_first=True)
    W = [rnn.weight_ih_l0, rnn.weight_hh_l0]

    def run_rnn(x: Tensor, **options) -> Tensor:
        return stacked(x, start[:, None], W[0], W[1][None], W[1].new_zeros(0, D, D), **options)[0]

    long = nn.LSTM(D, D, batch_first=True)
    weights = [long.weight_ih_l0, long.weight_hh_l0, long.bias_ih_l0]

    def run_lstm(x: Tensor, **options) -> Tensor:
        return lstm(x, start, start, *weights, **options)[0]

    for name, ours, parameters, module in (
        ("RNN", run_rnn, W, rnn),
        ("LSTM", run_lstm, weights, long),
    ):
        peer = f"torch nn.{name}"
        yield Comparison(
            f"{name}, training",
            size,
            partial(_trained, ours, x, parameters),
            {
                peer: partial(_trained, partial(_states, module), x, list(module.parameters())),
                "ours, backend='loop'": partial(_trained, partial(ours, backend="loop"), x, parameters),
            },
            {peer: TARGET},
        )
        yield Comparison(
            f"{name}, evaluation",
            size,
            partial(ours, x),
            {peer: partial(_states, _evaluating(module), x)},
            TARGET,
        )
        yield Comparison(
            f"{name}, padded, training",
            size,
            partial(_trained, partial(ours, lengths=lengths), x, parameters),
            {
                f"{peer}, packed": partial(
                    _trained, partial(_packed, module, lengths.cpu()), x, list(module.parameters())
                )
            },
            TARGET,
        )


def _trained(run: Run, x: Tensor, parameters: Sequence[Tensor]) -> tuple[Tensor, ...]:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(run(x).sum(), [x, *parameters])


def _evaluating(module: nn.RNNBase) -> nn.RNNBase:
    """A copy, its weights side by side as the original's are."""
    copied = deepcopy(module).eval()
    copied.flatten_parameters()
    return copied


def _states(module: nn.Module, x: Tensor) -> Tensor:
    return module(x)[0]


def _packed(module: nn.Module, lengths: Tensor, x: Tensor) -> Tensor:
    pack = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(module(pack)[0], batch_first=True, total_length=T)[0]
