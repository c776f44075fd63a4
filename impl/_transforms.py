"""What is differentiating, mapping or compiling the code that asks."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def in_func() -> bool:
    """Whether a transform of ``torch.func`` is at work (outside the compiler, which follows them itself)."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def mapped() -> bool:
    """Whether ``vmap`` is at work: what it maps over has no values of its own."""
    levels = torch._C._functorch.get_interpreter_stack() or [] if in_func() else []
    return any(level.key() == torch._C._functorch.TransformType.Vmap for level in levels)


def readable(x: Tensor) -> bool:
    """Whether looking at a tensor's values is free: on the CPU, where no compiler and no vmap hides them."""
    return x.is_cpu and not torch.compiler.is_compiling() and not mapped()


def beyond_one_grad() -> bool:
    """Whether ``torch.func`` is at work in a way that no fused kernel follows: vmap, forward mode, a second derivative."""
    if not in_func():
        return False
    levels = torch._C._functorch.get_interpreter_stack() or []
    return len(levels) > 1 or any(level.key() != torch._C._functorch.TransformType.Grad for level in levels)


def in_forward_mode() -> bool:
    """Whether a ``torch.autograd.forward_ad.dual_level`` is open."""
    return forward_ad._current_level >= 0


def refuse_second_derivative(y: Tensor, kernel: str, line: str) -> None:
    """Have the second derivative of what a fused kernel computed refused in one line; torch's error names a part of the kernel.
    ``kernel`` is how the kernel's nodes begin: what torch computes otherwise has all derivatives.
    """
    node = None if torch.compiler.is_compiling() else y.grad_fn
    if node is None or not node.name().startswith(kernel):
        return

    def refuse(*_: object) -> None:
        raise NotImplementedError(line)

    def watch(gradients: tuple[Tensor | None, ...], _: object) -> None:
        for gradient in gradients:
            if gradient is not None and gradient.grad_fn is not None:
                gradient.grad_fn.register_prehook(refuse)

    node.register_hook(watch)
