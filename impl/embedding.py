"""Words as vectors: a row of a table for each id; for BERT, rows of three tables, added up and normalised.

Letters are the statements': n ids below V, a table E of V rows of d entries; K segments with a table S, N positions with P.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments
from impl.normalization import layer_norm

__all__ = ["bert", "token"]


def token(ids: Integer[Tensor, "... n"], E: Float[Tensor, "V d"]) -> Float[Tensor, "... n d"]:
    """Row ids[i] of the table E. Gradient reaches the rows looked up and no other. Statement: ``embedding.token``.

    IndexError, with the place and the value, for an id below 0 or not below V: at once on the CPU, where reading it is free;
    on CUDA, where it would wait for the queue, torch's device-side assertion says it later. ValueError unless E is (V, d),
    TypeError for ids that are not integers and an E that is not floating. Source: Bengio et al. 2003, "A Neural Probabilistic
    Language Model", section 2.
    """
    return rows("embedding.token", "E (V d)", ids=ids, E=E)


def bert(
    ids: Integer[Tensor, "... #n"],
    seg: Integer[Tensor, "... #n"],
    pos: Integer[Tensor, "... #n"],
    E: Float[Tensor, "V d"],
    S: Float[Tensor, "K d"],
    P: Float[Tensor, "N d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    eps: float,
) -> Float[Tensor, "... n d"]:
    """x = ``layer_norm(E[ids] + S[seg] + P[pos], gamma, beta, eps)``: token, segment and position of each place. Statement:
    ``embedding.bert``.

    BERT's positions are ``torch.arange(n)``, its ε is 1e-12. ids, seg and pos broadcast. In 16 bits the sum is held in float32
    until it is normalised. Errors are those of ``token`` and ``layer_norm``; ValueError where the three do not broadcast. Source:
    Devlin et al. 2019, section 3.
    """
    formula = "embedding.bert"
    _refuse.check_floating(formula, E=E, S=S, P=P, gamma=gamma, beta=beta)
    if (
        any(places.dim() == 0 for places in (ids, seg, pos))
        or not E.shape[-1:] == S.shape[-1:] == P.shape[-1:]
    ):
        expected = "ids, seg, pos (... n), E (V d), S (K d), P (N d)"
        raise _refuse.shapes(formula, expected, ids=ids, seg=seg, pos=pos, E=E, S=S, P=P)
    try:
        _refuse.broadcast_shapes(ids.shape, seg.shape, pos.shape)
    except RuntimeError:
        raise _refuse.shapes(formula, "shapes that broadcast", ids=ids, seg=seg, pos=pos) from None
    found = (
        rows(formula, "E (V d)", ids=ids, E=E),
        rows(formula, "S (K d)", seg=seg, S=S),
        rows(formula, "P (N d)", pos=pos, P=P),
    )
    if E.dtype.itemsize > 2:
        return layer_norm(found[0] + found[1] + found[2], gamma, beta, eps)
    words, segments, positions = (part.float() for part in found)
    return layer_norm(words + segments + positions, gamma.float(), beta.float(), eps).to(E.dtype)


def rows(formula: str, expected: str, **given: Tensor) -> Tensor:
    """The rows of a table that ids ask for, both by their letters; refuse a table that is none, and ids that have no row."""
    (name, ids), (letter, table) = given.items()
    if table.dim() != 2:
        raise _refuse.shapes(formula, expected, **{letter: table})
    if not table.is_floating_point():
        raise _refuse.dtypes(formula, f"a floating {letter}", **{letter: table})
    if ids.dtype != torch.int64:
        _refuse.check_integers(formula, f"integer {name}", **{name: ids})
        ids = ids.long()
    if not len(table) and ids.numel():
        raise _refuse.shapes(formula, f"{expected} with a row at least", **{letter: table})
    try:
        return F.embedding(ids, table)
    except IndexError:
        raise _refuse.out_of_range(formula, name, ids, table.shape[0]) from None


check_arguments(__name__)
