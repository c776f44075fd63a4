"""What torch's recurrent kernels want on CUDA, where they are cuDNN's: weights side by side, and to be told how exact to be.

Unlike its other products, torch rounds the factors of these to TF32's 10 bits unless it is told not to. Ours are as exact as
other products are: rounded where those of ``torch.backends.cuda.matmul`` are, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node
from torch.backends.cuda import matmul
from torch.backends.cudnn.rnn import get_cudnn_mode

TF32, EXACT = "tf32", "ieee"
RECURRENT: Any = torch.backends.cudnn.rnn
MODES = {torch.rnn_tanh: "RNN_TANH", torch.gru: "GRU", torch.lstm: "LSTM"}
"""cuDNN's names of torch's kernels."""


def laid_out(kernel: Callable[..., Any], directions: int, biased: bool, flat: list[Tensor]) -> list[Tensor]:
    """The weights of all layers side by side, if cuDNN is what runs."""
    if not torch.backends.cudnn.is_acceptable(flat[0]):
        return flat
    mode = get_cudnn_mode(MODES[kernel])
    return list(SideBySide.apply(mode, directions, biased, *flat))  # type: ignore[no-untyped-call]


class SideBySide(torch.autograd.Function):
    """The weights of all layers in one memory, as the kernel has them. It would copy them so for itself, at every call and with a
    warning.
    """

    @staticmethod
    def forward(ctx: Any, mode: int, directions: int, biased: bool, *flat: Tensor) -> tuple[Tensor, ...]:
        """Copies, in the order in which the weights were given: layer by layer W_x, W_h, and their biases if there are any."""
        # On memory that these alone leave when they are laid elsewhere.
        copied = [part.new_empty(0).set_(part.contiguous()) for part in flat]  # type: ignore[call-overload]
        count = 4 if biased else 2
        p, d, layers = flat[0].shape[1], flat[1].shape[1], len(flat) // count // directions
        torch._cudnn_rnn_flatten_weight(copied, count, p, mode, d, 0, layers, False, directions > 1)
        return tuple(copied)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """As they come."""
        return None, None, None, *grads


@contextmanager
def as_exact_as_others() -> Iterator[None]:
    """Meanwhile recurrent kernels round their factors no more than other products do. The setting is the process's own."""
    before = _set_as_others()
    try:
        yield
    finally:
        RECURRENT.fp32_precision = before


def likewise_backwards(y: Tensor) -> None:
    """The same while the gradient of a kernel's result is computed."""
    before: list[str] = []
    for node in () if y.grad_fn is None else _kernels(y.grad_fn):
        node.register_prehook(lambda _: before.append(_set_as_others()))
        node.register_hook(lambda *_: setattr(RECURRENT, "fp32_precision", before.pop()))


def _set_as_others() -> str:
    before: str = RECURRENT.fp32_precision
    if before == TF32 and matmul.fp32_precision != TF32:
        RECURRENT.fp32_precision = EXACT
    return before


def _kernels(node: Node) -> list[Node]:
    """What computed a result, itself or what it is a view of."""
    while "View" in node.name() or "Transpose" in node.name():
        node = node.next_functions[0][0]  # type: ignore[assignment]
    return [node]
