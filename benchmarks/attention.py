"""Scaled dot-product attention, beside torch's function and the two functions that transformers' models call."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.bert.modeling_bert import eager_attention_forward

from benchmarks.harness import Comparison, seeded
from impl.attention import causal, causal_mask, scaled_dot_product

B, H, D = 4, 12, 64  # four sequences, BERT-base's twelve heads of 64

sdpa = F.scaled_dot_product_attention


class _Layer(torch.nn.Module):
    """All that transformers' functions ask of the layer that calls them."""

    def __init__(self, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.eval()


def entries(quick: bool) -> Iterator[Comparison]:
    """Every query sees every key; the past; all but padding; the last with its gradients as well."""
    for n in (16, 256) if quick else (16, 256, 512, 1024):
        generator = seeded(n)
        # (b n h d) seen as (b h n d), as a projection leaves it
        q, k, v = (torch.randn(B, n, H, D, generator=generator).transpose(1, 2) for _ in range(3))
        padding = torch.arange(n)[None] < torch.tensor([n, n - n // 8, n - n // 4, n // 2])[:, None]
        mask = padding[:, None, None]
        size = f"{B}×{H}×{n}×{D}"
        target = 0.8 if n < 256 else 1.0

        def others(
            causal: bool, mask: Tensor | None, seen: Tensor | None, q=q, k=k, v=v
        ) -> dict[str, Callable]:
            layer = _Layer(causal)
            added = None if seen is None else torch.zeros_like(seen, dtype=q.dtype).masked_fill(~seen, -1e30)
            return {
                "torch sdpa": partial(sdpa, q, k, v, mask, is_causal=causal),
                "transformers sdpa": partial(sdpa_attention_forward, layer, q, k, v, mask),
                "transformers eager": partial(
                    eager_attention_forward, layer, q, k, v, added, scaling=D**-0.5
                ),
            }

        yield Comparison(
            "attention", size, partial(scaled_dot_product, q, k, v), others(False, None, None), target
        )
        yield Comparison(
            "attention, causal", size, partial(causal, q, k, v), others(True, None, causal_mask(n, n)), target
        )
        yield Comparison(
            "attention, masked",
            size,
            partial(scaled_dot_product, q, k, v, mask),
            others(False, mask, mask),
            target,
        )
        yield Comparison(
            "attention, masked, gradients",
            size,
            partial(_trained, scaled_dot_product, q, k, v, mask),
            {"torch sdpa": partial(_trained, sdpa, q, k, v, mask)},
            target,
        )


def _trained(
    attend: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> tuple[Tensor, ...]:
    with torch.enable_grad():
        inputs = [x.detach().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(attend(*inputs, mask).sum(), inputs)
