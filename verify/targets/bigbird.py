"""BigBird's attention in transformers: one head, whose queries, keys and values are thirds of the rows that it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, module

HEADS = 3
"""Its rows are as wide as all heads together, and hold a query, a key and a value: of three heads the first is used."""


def block_sparse(training: bool) -> Adapter:
    """``BigBirdBlockSparseAttention``. While training it draws a table, and is made to draw the one given; in evaluation it has a
    table of its own, which is read, and has to be the one that is stated.
    """

    def call(
        attend: nn.Module, q: Tensor, k: Tensor, v: Tensor, table: Tensor, w: int, g: int, b: int
    ) -> Any:
        assert w == g == 1, "its window and its global blocks are what they are"
        return _attend(attend.train(training), q, k, v, table, b)

    return module(lambda B, b, r, d_k: _model(B, b, r, d_k)[1], _weights, call, train=training)


def after_a_short_text() -> Adapter:
    """The attention of a ``BigBirdModel`` that has read one short text before."""

    def build(B: int, b: int, r: int, d_k: int) -> nn.Module:
        model, _ = _model(B, b, r, d_k)
        with torch.no_grad():
            model(torch.zeros(1, b, dtype=torch.int64))
        left: nn.Module = model.encoder.layer[0].attention.self
        return left

    def call(
        attend: nn.Module, q: Tensor, k: Tensor, v: Tensor, table: Tensor, w: int, g: int, b: int
    ) -> Any:
        assert w == g == 1, "its window and its global blocks are what they are"
        return _attend(attend.train(), q, k, v, table, b)

    return module(build, _weights, call, train=True)


def original_full() -> Adapter:
    """``BigBirdSelfAttention``, without a mask."""

    def build(d_k: int) -> nn.Module:
        from transformers.models.big_bird.modeling_big_bird import BigBirdSelfAttention

        made: Any = BigBirdSelfAttention
        return made(_config(1, 1, 1, d_k))  # type: ignore[no-any-return]  # it is not annotated

    def call(attend: nn.Module, q: Tensor, k: Tensor, v: Tensor, d_k: int) -> Any:
        return attend(torch.cat((q, k, v), -1))[0][..., :d_k]

    return module(build, _weights, call)


def _config(B: int, b: int, r: int, d_k: int) -> Any:
    from transformers import BigBirdConfig

    return BigBirdConfig(
        vocab_size=3,
        bos_token_id=0,
        eos_token_id=1,
        sep_token_id=2,
        hidden_size=HEADS * d_k,
        num_attention_heads=HEADS,
        num_hidden_layers=1,
        intermediate_size=1,
        max_position_embeddings=max(B * b, b),
        num_random_blocks=r,
        block_size=b,
        use_bias=False,
        pad_token_id=0,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )


def _model(B: int, b: int, r: int, d_k: int) -> tuple[Any, nn.Module]:
    """A small model, and the attention of its layer."""
    from transformers import BigBirdModel

    model: Any = BigBirdModel(_config(B, b, r, d_k), add_pooling_layer=False)
    return model, model.encoder.layer[0].attention.self


def _weights(q: Tensor, d_k: int) -> State:
    nothing = q.new_zeros((HEADS - 1) * d_k, HEADS * d_k)
    thirds = torch.eye(HEADS * d_k, dtype=q.dtype, device=q.device).split(d_k)
    names = ("query", "key", "value")
    return {f"{name}.weight": torch.cat((third, nothing)) for name, third in zip(names, thirds, strict=True)}


def _attend(attend: Any, q: Tensor, k: Tensor, v: Tensor, table: Tensor, b: int) -> Tensor:
    """Its attention; its table is the one given in training, and its own, which has to be that one, else."""
    from transformers import BigBirdModel

    rows = table[1:-1].cpu().numpy()
    mask = q.new_ones(q.shape[:2])
    blocked, band, from_mask, to_mask = BigBirdModel.create_masks_for_block_sparse_attn(mask, b)
    x = torch.cat((q, k, v), -1)
    if not hasattr(attend, "bigbird_block_sparse_attention"):  # it became another
        found: Tensor = attend(x)[0]
        return found[..., : q.shape[-1]]
    own = {name: getattr(attend, name) for name in DRAWS}
    for name, draw in own.items():
        setattr(attend, name, _give(rows, name) if attend.training else _compare(rows, draw))
    try:
        found = attend(x, band, from_mask, to_mask, blocked, blocked)[0]
    finally:
        for name in DRAWS:
            delattr(attend, name)
    return found[..., : q.shape[-1]]


DRAWS = ("_bigbird_block_rand_mask", "_bigbird_block_rand_mask_with_head")
"""Its methods that make a table: for one head, at three lengths, and for all."""


def _give(rows: Any, name: str) -> Callable[..., Any]:
    return lambda *_, **__: [rows] * HEADS if name.endswith("head") else rows


def _compare(rows: Any, draw: Callable[..., Any]) -> Callable[..., Any]:
    def make(*given: Any, **named: Any) -> Any:
        tables = draw(*given, **named)
        for table in tables if isinstance(tables, list) else [tables]:
            if not np.array_equal(np.asarray(table)[: len(rows)], rows):
                raise RuntimeError(f"it has a table of its own: {np.asarray(table).tolist()}")
        return tables

    return make
