"""Variants of ``transformer.output`` and ``transformer.model``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.transformer_decoders import stack as decoder
from verify.mutants.transformer_decoders import token_by_token
from verify.mutants.transformer_layers import stack as encoder

OUTPUT, MODEL = "transformer.output", "transformer.model"
Two = tuple[Tensor, Tensor]


@wrong(OUTPUT)
def over_the_places(x: Tensor, W_vocab: Tensor) -> Two:
    """Softmax over the places."""
    logits = x @ W_vocab
    return logits.softmax(-2), logits


@wrong(OUTPUT)
def scaled(x: Tensor, W_vocab: Tensor) -> Two:
    """Logits divided by √d_model, as scores are."""
    logits = x @ W_vocab / x.shape[-1] ** 0.5
    return logits.softmax(-1), logits


@wrong(OUTPUT)
def softmax_twice(x: Tensor, W_vocab: Tensor) -> Two:
    """Softmax of probabilities."""
    logits = x @ W_vocab
    return logits.softmax(-1).softmax(-1), logits


@wrong(OUTPUT)
def in_logarithms(x: Tensor, W_vocab: Tensor) -> Two:
    """Logarithms of the probabilities."""
    logits = x @ W_vocab
    return logits.log_softmax(-1), logits


@wrong(OUTPUT)
def each_by_itself(x: Tensor, W_vocab: Tensor) -> Two:
    """A sigmoid for each word: they do not sum to 1."""
    logits = x @ W_vocab
    return logits.sigmoid(), logits


@wrong(OUTPUT)
def largest_subtracted(x: Tensor, W_vocab: Tensor) -> Two:
    """Returns the logits as they were made safe for the softmax."""
    logits = x @ W_vocab
    logits = logits - logits.amax(-1, keepdim=True)
    return logits.softmax(-1), logits


@wrong(OUTPUT)
def exchanged(x: Tensor, W_vocab: Tensor) -> Two:
    """Logits first."""
    logits = x @ W_vocab
    return logits, logits.softmax(-1)


@wrong(OUTPUT)
def not_shifted(x: Tensor, W_vocab: Tensor) -> Two:
    """Exponentials of the logits as they are: large ones overflow."""
    logits = x @ W_vocab
    return logits.exp() / logits.exp().sum(-1, keepdim=True), logits


@wrong(OUTPUT)
def table_frozen(x: Tensor, W_vocab: Tensor) -> Two:
    """No gradient reaches the words' vectors."""
    logits = x @ W_vocab.detach() + 0 * W_vocab.sum()
    return logits.softmax(-1), logits


@right(OUTPUT)
def by_logarithms(x: Tensor, W_vocab: Tensor) -> Two:
    """The exponential of log-softmax."""
    logits = torch.einsum("...c,cv->...v", x, W_vocab)
    return logits.log_softmax(-1).exp(), logits


@right(OUTPUT)
def shifted_by_hand(x: Tensor, W_vocab: Tensor) -> Two:
    """The largest logit subtracted first."""
    logits = x @ W_vocab
    e = (logits - logits.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True), logits


# The model ----------------------------------------------------------------------------------------------------------------


def positions(n: int, E: Tensor, start: int = 0) -> Tensor:
    """Sines and cosines, right; counted from ``start``."""
    d = E.shape[-1]
    pair = torch.arange(d, dtype=torch.float64, device=E.device) // 2
    place = torch.arange(start, start + n, dtype=torch.float64, device=E.device)
    angle = place[:, None] * 10000.0 ** (-2 * pair / d)
    odd = torch.arange(d, device=E.device) % 2 == 1
    return torch.where(odd, angle.cos(), angle.sin()).to(E.dtype)


def embedded(ids: Tensor, E: Tensor, scale: float | None = None, start: int = 0) -> Tensor:
    """Tokens with their positions, right unless another scale or start is given."""
    return E[ids] * (E.shape[-1] ** 0.5 if scale is None else scale) + positions(ids.shape[-1], E, start)


def parts(inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...], float, Tensor | None]:
    """The encoder's parameters, the decoder's, ε and the mask, for all queries."""
    mask = inputs[31] if len(inputs) > 31 else None
    return inputs[:12], inputs[12:30], inputs[30], None if mask is None else mask.unsqueeze(-2)


def seen(mask: Tensor | None, rows: int) -> Tensor | None:
    """The mask for so many queries."""
    return None if mask is None else mask.expand(*mask.shape[:-2], rows, mask.shape[-1])


def run(
    X: Tensor,
    Y: Tensor,
    table: Tensor,
    inputs: tuple[Any, ...],
    hide: tuple[bool, bool] = (True, True),
    write: Any = decoder,
) -> Tensor:
    """The logits, right for embedded sequences; ``hide`` tells whether encoder and decoder are given the mask."""
    first, second, eps, mask = parts(inputs)
    x = encoder(X, *first, eps, seen(mask, X.shape[-2]) if hide[0] else None)
    y = write(Y, x, *second, eps, seen(mask, Y.shape[-2]) if hide[1] else None)
    made: Tensor = y @ table.mT
    return made


@wrong(MODEL)
def positions_from_one(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Counts positions from 1."""
    return run(embedded(s, E, start=1), embedded(t, E, start=1), E, inputs).softmax(-1)


@wrong(MODEL)
def not_scaled(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Embeddings as they stand in the table."""
    return run(embedded(s, E, 1.0), embedded(t, E, 1.0), E, inputs).softmax(-1)


@wrong(MODEL)
def positions_scaled(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """√d_model multiplies the positions too."""
    root = E.shape[-1] ** 0.5
    return run(embedded(s, E, 1.0) * root, embedded(t, E, 1.0) * root, E, inputs).softmax(-1)


@wrong(MODEL)
def target_without_positions(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """No positions in the target."""
    return run(embedded(s, E), E[t] * E.shape[-1] ** 0.5, E, inputs).softmax(-1)


@wrong(MODEL)
def padding_in_cross(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """The decoder sees the source's padding."""
    return run(embedded(s, E), embedded(t, E), E, inputs, (True, False)).softmax(-1)


@wrong(MODEL)
def padding_in_encoder(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """The encoder sees its padding, the decoder does not."""
    return run(embedded(s, E), embedded(t, E), E, inputs, (False, True)).softmax(-1)


@wrong(MODEL)
def table_shifted(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """The output's table is off by one row."""
    return run(embedded(s, E), embedded(t, E), E.roll(1, 0), inputs).softmax(-1)


@wrong(MODEL)
def sequences_exchanged(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Source and target exchanged where their lengths let them."""
    if s.shape == t.shape:
        s, t = t, s
    return run(embedded(s, E), embedded(t, E), E, inputs).softmax(-1)


@wrong(MODEL)
def logits_returned(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Returns logits."""
    return run(embedded(s, E), embedded(t, E), E, inputs)


@wrong(MODEL)
def output_untied(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """The output's table learns nothing: it was copied."""
    return run(embedded(s, E), embedded(t, E), E.detach(), inputs).softmax(-1)


@right(MODEL)
def plainly(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Loops over layers and heads."""
    return run(embedded(s, E), embedded(t, E), E, inputs).softmax(-1)


@right(MODEL)
def written_one_by_one(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """The target a token at a time, as in use."""
    return run(embedded(s, E), embedded(t, E), E, inputs, write=token_by_token).softmax(-1)


@right(MODEL, embedding_scale="one")
def not_scaled_by_name(s: Tensor, t: Tensor, E: Tensor, *inputs: Any) -> Tensor:
    """Embeddings as they stand in the table, under that convention."""
    made: Tensor = not_scaled(s, t, E, *inputs)
    return made
