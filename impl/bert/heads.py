"""Heads on BERT's encoder: what one layer makes of its rows, for hidden words, texts, pairs, tokens and spans.

Letters are the statements': rows of d entries; W (d K) and b (K) lead to a logit for each of K classes. u is what the pooler
makes of [CLS]; x (n d) are the rows of all tokens, or of those that are asked.
"""

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes

__all__ = ["Spans", "best_span", "head_mlm", "head_pair", "head_sequence", "head_span", "head_token"]

_TEXT = Axes("u (... d), W (d K), b (K)")
_TOKENS = Axes("x (... n d), W (d K), b (K)")
_SPAN = Axes("x (... n d), w_s (d), w_e (d)")
_MLM = Axes("x (... n d), W (d d), b (d), gamma (d), beta (d), E (V d), b_V (V)")


def head_sequence(
    u: Float[Tensor, "... d"], W: Float[Tensor, "d K"], b: Float[Tensor, " K"]
) -> Float[Tensor, "... K"]:
    """logits = u W + b: what speaks for each class of a text. Statement: ``bert.head_sequence``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Devlin et al. 2019, section 4.1.
    """
    _TEXT.fit("bert.head_sequence", u=u, W=W, b=b)
    return _of_text(u, W, b)


def head_pair(
    u: Float[Tensor, "... d"], W: Float[Tensor, "d K"], b: Float[Tensor, " K"]
) -> tuple[Float[Tensor, "... K"], Float[Tensor, "... K"]]:
    """The probabilities of each relation of a pair of texts, softmax(logits), and the logits u W + b. Statement:
    ``bert.head_pair``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Devlin et al. 2019, section 4.1.
    """
    _TEXT.fit("bert.head_pair", u=u, W=W, b=b)
    logits = _of_text(u, W, b)
    return torch.softmax(logits, -1), logits


def head_token(
    x: Float[Tensor, "... n d"], W: Float[Tensor, "d K"], b: Float[Tensor, " K"]
) -> Float[Tensor, "... n K"]:
    """logits = x W + b: what speaks for each class at each token. Statement: ``bert.head_token``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Devlin et al. 2019, section 5.3.
    """
    _TOKENS.fit("bert.head_token", x=x, W=W, b=b)
    return F.linear(x, W.mT, b)


class Spans(NamedTuple):
    """Logits of each token as the first and as the last of the answer; the probability of each span, its first token first."""

    s: Float[Tensor, "... n"]
    t: Float[Tensor, "... n"]
    P: Float[Tensor, "... n n"]


def head_span(x: Float[Tensor, "... n d"], w_s: Float[Tensor, " d"], w_e: Float[Tensor, " d"]) -> Spans:
    """s = x w_s and t = x w_e; P[i, j] = softmax(s)[i] · softmax(t)[j] for i ≤ j, else 0. Statement: ``bert.head_span``.

    The n² probabilities are for looking at; a loss needs the logits alone, and :func:`best_span` finds the likeliest span in n
    steps. ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Devlin et al. 2019,
    section 4.2.
    """
    _SPAN.fit("bert.head_span", x=x, w_s=w_s, w_e=w_e)
    s, t = F.linear(x, torch.stack((w_s, w_e))).unbind(-1)
    pairs = torch.softmax(s, -1)[..., :, None] * torch.softmax(t, -1)[..., None, :]
    return Spans(s, t, pairs.triu())


def best_span(
    s: Float[Tensor, "... n"], t: Float[Tensor, "... n"], allowed: Bool[Tensor, "... n"] | None = None
) -> tuple[Integer[Tensor, "..."], Integer[Tensor, "..."]]:
    """First and last token of the span of the largest s[i] + t[j] with i ≤ j: the likeliest of :func:`head_span`.

    ``allowed`` marks the tokens that an answer may begin or end at, such as those of the text and not of the question; where
    there is none, both are 0. Of equally good spans the one that ends first. ValueError for shapes that do not fit and without a
    token, TypeError for allowed that is not boolean.
    """
    if s.shape != t.shape or s.dim() == 0 or (allowed is not None and allowed.shape != s.shape):
        given = {"s": s, "t": t} if allowed is None else {"s": s, "t": t, "allowed": allowed}
        raise _refuse.shapes("bert.best_span", "s (... n), t (... n), allowed (... n)", **given)
    if not s.shape[-1]:
        raise _refuse.shapes("bert.best_span", "at least one token", s=s)
    if allowed is not None:
        if allowed.dtype != torch.bool:
            raise _refuse.dtypes("bert.best_span", "a boolean allowed", allowed=allowed)
        s, t = s.masked_fill(~allowed, -torch.inf), t.masked_fill(~allowed, -torch.inf)
    best, begin = s.cummax(-1)
    end = (best + t).argmax(-1, keepdim=True)
    return begin.gather(-1, end).squeeze(-1), end.squeeze(-1)


def head_mlm(
    x: Float[Tensor, "... n d"],
    W: Float[Tensor, "d d"],
    b: Float[Tensor, " d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    eps: float,
    E: Float[Tensor, "V d"],
    b_V: Float[Tensor, " V"],
    *,
    approximation: Literal["none", "tanh"] = "none",
) -> Float[Tensor, "... n V"]:
    """logits = layer_norm(gelu(x W + b)) Eᵀ + b_V, where E is the table of the embeddings. Statement: ``bert.head_mlm``.

    Give it the rows of the places that are asked, and no others: nothing else in BERT is as wide as V. ``approximation="tanh"``
    as in ``feedforward.gelu``. ValueError for shapes that do not fit, an ε that is not positive, and another approximation;
    TypeError unless all share one floating dtype. Source: Devlin et al. 2019, section 3.1, and its code.
    """
    _MLM.fit("bert.head_mlm", x=x, W=W, b=b, gamma=gamma, beta=beta, E=E, b_V=b_V)
    if not eps > 0:
        raise ValueError(f"bert.head_mlm: expected a positive eps; got eps {eps!r}")
    r = F.layer_norm(F.gelu(F.linear(x, W.mT, b), approximate=approximation), gamma.shape, gamma, beta, eps)
    return F.linear(r, E, b_V)


def _of_text(u: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """u W + b. The bias comes last: where u is a single row, BLAS begins with it and rounds at its size d times."""
    return F.linear(u, W.mT) + b
