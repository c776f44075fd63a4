"""Multi-head attention with its projections, beside torch's module and BERT's self-attention, all with the same parameters."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertAttention

from benchmarks.harness import Comparison, seeded
from impl.attention import MultiHeadAttention, key_padding_mask
from impl.attention.layouts import to_bert, to_torch

B, N, D, H = 4, 512, 768, 12  # four sequences of BERT-base's width and heads


def entries(quick: bool) -> Iterator[Comparison]:
    """Training (forward and backward, gradients of input and parameters), and evaluation without gradients."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    theirs.load_state_dict(to_torch(ours.state_dict()))
    config = BertConfig(hidden_size=D, num_attention_heads=H, attn_implementation="sdpa")
    config.attention_probs_dropout_prob = config.hidden_dropout_prob = 0.0
    bert = BertAttention(config)
    bert.load_state_dict(
        to_bert(ours.state_dict()), strict=False
    )  # all but its normalization, which is not called

    def torch_(x: Tensor, **options: object) -> Tensor:
        return theirs(x, x, x, **{"need_weights": False, **options})[0]

    def transformers_(x: Tensor, mask: Tensor | None = None) -> Tensor:
        return bert.output.dense(bert.self(x, mask)[0])

    generator = seeded(1)
    size = f"{B}×{N}×{D}"
    x, g = (torch.randn(B, N, D, generator=generator) for _ in range(2))
    names = {"torch nn.MultiheadAttention": (torch_, theirs), "transformers BERT": (transformers_, bert)}
    yield Comparison(
        f"multi-head, {H} heads, training",
        size,
        partial(_trained, ours, ours, x, g),
        {name: partial(_trained, forward, module, x, g) for name, (forward, module) in names.items()},
        {"torch nn.MultiheadAttention": 1.0, "transformers BERT": 0.95},
    )
    yield Comparison(
        f"multi-head, {H} heads, evaluation",
        size,
        partial(_evaluated, ours, ours, x),
        {name: partial(_evaluated, forward, module, x) for name, (forward, module) in names.items()},
        {"torch nn.MultiheadAttention": 1.2, "transformers BERT": 0.95},
    )
    if quick:
        return
    real = key_padding_mask(torch.tensor([N, N - N // 8, N - N // 4, N // 2]), N)
    yield Comparison(
        f"multi-head, {H} heads, masked, training",
        size,
        partial(_trained, partial(ours, mask=real), ours, x, g),
        {
            "torch nn.MultiheadAttention": partial(
                _trained, partial(torch_, key_padding_mask=~real[:, 0]), theirs, x, g
            ),
            "transformers BERT": partial(_trained, partial(transformers_, mask=real[:, None]), bert, x, g),
        },
    )
    yield Comparison(
        f"multi-head, {H} heads, weights returned, training",
        size,
        partial(_trained, lambda x: ours(x, return_weights=True)[0], ours, x, g),
        {
            "torch nn.MultiheadAttention": partial(
                _trained, partial(torch_, need_weights=True, average_attn_weights=False), theirs, x, g
            )
        },
    )


def _trained(
    forward: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor, g: Tensor
) -> tuple[Tensor, ...]:
    module.train()
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(forward(x), [x, *module.parameters()], g, allow_unused=True)


def _evaluated(forward: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor) -> Tensor:
    module.eval()
    with torch.no_grad():
        return forward(x)
