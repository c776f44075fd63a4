"""What BERT is pre-trained for: the words that were hidden, and whether a second part follows a first.

Letters are the statements': n places and V words, or m pairs; logits s and z, ``labels`` of words (−100 where nothing was
selected), answers y. Source: Devlin et al. 2019, "BERT", section 3.1 and appendix A.2.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._transforms import mapped
from impl.objectives.losses import check_targets, cross_entropy
from impl.recurrent.cells import wide

__all__ = ["bert", "mlm", "nsp"]


def mlm(s: Float[Tensor, "... n V"], labels: Integer[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """The mean, over the selected places, of −log p[label], where p is the softmax of the logits; 0 where none was selected.
    Statement: ``objectives.mlm``.

    Only rows of selected places are read, and they may be all there are: places of a batch can be gathered beforehand. Leading
    dimensions broadcast. IndexError for a label that is neither −100 nor a word (on the CPU); ValueError for shapes that do not
    fit, TypeError unless labels are integers and logits floating, whose dtype the result has.
    """
    lead = check_targets("objectives.mlm", s, labels)
    return _mlm(s, labels, lead).to(s.dtype)


def nsp(z: Float[Tensor, "... m 2"], y: Integer[Tensor, "... m"]) -> Float[Tensor, "..."]:
    """The mean, over the pairs, of −log p[y], where p is the softmax of a pair's two logits. Statement: ``objectives.nsp``.

    y is 0 where the second part follows, 1 where it is random. Leading dimensions broadcast. IndexError for another answer (on
    the CPU), ValueError for shapes that do not fit, TypeError unless answers are integers and logits floating, whose dtype the
    result has.
    """
    _check_pairs("objectives.nsp", z, y)
    return _nsp(z, y).to(z.dtype)


def bert(
    s: Float[Tensor, "... n V"],
    labels: Integer[Tensor, "... n"],
    z: Float[Tensor, "... m 2"],
    y: Integer[Tensor, "... m"],
) -> Float[Tensor, "..."]:
    """The sum of :func:`mlm` and :func:`nsp`. Statement: ``objectives.bert``.

    Both sets of logits share one floating dtype, which the result has; it is rounded once. Errors as of the two.
    """
    lead = check_targets("objectives.bert", s, labels)
    _check_pairs("objectives.bert", z, y)
    _refuse.check_floating("objectives.bert", s=s, z=z)
    return (_mlm(s, labels, lead) + _nsp(z, y)).to(s.dtype)


def _mlm(s: Tensor, labels: Tensor, lead: torch.Size) -> Tensor:
    places = (*lead, labels.shape[-1])
    if mapped():  # vmap follows no selection
        return cross_entropy(s.to(wide(s.dtype)), labels)
    labels = labels.long().expand(places)
    selected = labels >= 0
    rows = s.expand(*places, s.shape[-1])[selected]
    cost = F.cross_entropy(rows.to(wide(s.dtype)), labels[selected], reduction="none")
    spread = torch.zeros(places, dtype=cost.dtype, device=cost.device).index_put((selected,), cost)
    return spread.sum(-1) / selected.sum(-1).clamp(min=1)


def _nsp(z: Tensor, y: Tensor) -> Tensor:
    z = z.to(wide(z.dtype))
    # ln σ(right − other): nothing is lost where the two lie far apart.
    ahead = torch.where(y == 0, z[..., 0] - z[..., 1], z[..., 1] - z[..., 0])
    return -F.logsigmoid(ahead).mean(-1)


def _check_pairs(formula: str, z: Tensor, y: Tensor) -> None:
    _refuse.check_integers(formula, "integer answers", y=y)
    if z.ndim < 2 or z.shape[-1] != 2 or y.shape[-1:] != z.shape[-2:-1]:
        raise _refuse.shapes(formula, "z (... m 2), y (... m)", z=z, y=y)
    _refuse.check_floating(formula, z=z)
    _refuse.check_range(formula, "answers", y, 2)
    _refuse.check_lead(formula, {"y": y}, z=z)
