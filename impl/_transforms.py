"""What is differentiating, mapping or compiling the code that asks."""

import torch
from torch.autograd import forward_ad


def in_func() -> bool:
    """Whether a transform of ``torch.func`` is at work (outside the compiler, which follows them itself)."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def beyond_one_grad() -> bool:
    """Whether ``torch.func`` is at work in a way that no fused kernel follows: vmap, forward mode, a second derivative."""
    if not in_func():
        return False
    levels = torch._C._functorch.get_interpreter_stack() or []
    return len(levels) > 1 or any(level.key() != torch._C._functorch.TransformType.Grad for level in levels)


def in_forward_mode() -> bool:
    """Whether a ``torch.autograd.forward_ad.dual_level`` is open."""
    return forward_ad._current_level >= 0
