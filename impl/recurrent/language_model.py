"""ELMo: what a language model that reads in both directions is trained for, and the vectors mixed from its layers.

Letters are the statements': T words of a vocabulary of V; layer j of L + 1 gives a word a vector h[j] of d entries. A float16 or
bfloat16 result is computed in float32 and rounded once. The model itself is ``BiLM``.
"""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._broadcasting import broadcast_shapes
from impl.recurrent._checks import Axes, check_lengths, lead_with_lengths
from impl.recurrent.cells import wide

__all__ = ["bilm_objective", "elmo_mix"]

_MIX = Axes("h (... L+1 d), w (L+1), gamma ()")
_LOGITS = Axes("s_f (... T V), s_b (... T V)")


def elmo_mix(
    h: Float[Tensor, "... K d"], w: Float[Tensor, "K"], gamma: Float[Tensor, ""]
) -> Float[Tensor, "... d"]:
    """γ Σ_j softmax(w)[j] h[j]: the layers of one word, weighted. Statement: ``recurrent.elmo_mix``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype, which is also the result's.
    Source: Peters et al. 2018, "Deep Contextualized Word Representations", equation 1.
    """
    _MIX.fit("recurrent.elmo_mix", h=h, w=w, gamma=gamma)
    h, w, gamma = (each.to(wide(dtype := h.dtype)) for each in (h, w, gamma))
    return (gamma * (torch.softmax(w, -1) @ h)).to(dtype)


def bilm_objective(
    ids: Integer[Tensor, "... T"],
    s_f: Float[Tensor, "... T V"],
    s_b: Float[Tensor, "... T V"],
    *,
    lengths: Integer[Tensor, "..."] | None = None,
) -> Float[Tensor, "..."]:
    """Σ_k log p(x_k given x_<k) + log p(x_k given x_>k), to be maximised, where x_k is ids[k] and the two laws are the softmax
    of the logits s_f[k] and s_b[k]. Statement: ``recurrent.bilm_objective``.

    Leading dimensions broadcast, those of lengths too: what stands beyond a sequence's length, ids and logits, does not count.
    IndexError for an id below 0 or not below V: at once on the CPU, as torch's device-side assertion on CUDA. ValueError for
    shapes that do not fit and for lengths outside 1..T, TypeError unless ids and lengths are integers and the logits of one
    floating dtype, which is also the result's. Source: Peters et al. 2018, "Deep Contextualized Word Representations",
    section 3.1.
    """
    sizes = _LOGITS.fit("recurrent.bilm_objective", s_f=s_f, s_b=s_b)
    T, V = sizes["T"], sizes["V"]
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise _refuse.dtypes("recurrent.bilm_objective", "integer ids", ids=ids)
    if ids.shape[-1:] != s_f.shape[-2:-1]:
        raise _refuse.shapes(
            "recurrent.bilm_objective", f"ids (... T), {_LOGITS.text}", ids=ids, s_f=s_f, s_b=s_b
        )
    lead = _refuse.check_lead("recurrent.bilm_objective", {"ids": ids}, s_f=s_f, s_b=s_b)
    ids, inside = ids.long(), None
    if lengths is not None:
        lead_with_lengths("recurrent.bilm_objective", lead, lengths)
        check_lengths("recurrent.bilm_objective", lengths, T)
        inside = torch.arange(T, device=ids.device) < lengths.to(ids.device)[..., None]
        ids = torch.where(inside, ids, 0)
    if ids.is_cpu and not torch.compiler.is_compiling() and ((ids < 0) | (ids >= V)).any():
        raise _refuse.out_of_range("recurrent.bilm_objective", "ids", ids, V)
    return (_log_likelihood(ids, s_f, inside) + _log_likelihood(ids, s_b, inside)).to(s_f.dtype)


def _log_likelihood(ids: Tensor, s: Tensor, inside: Tensor | None) -> Tensor:
    """Σ_k log softmax(s[k])[ids[k]]; s is never exponentiated without its largest entry taken off first."""
    if inside is not None:
        s = torch.where(inside[..., None], s, 0.0)
    law = torch.log_softmax(s.to(wide(s.dtype)), -1)
    places = broadcast_shapes(ids.shape, law.shape[:-1])
    taken = law.expand(*places, law.shape[-1]).gather(-1, ids.expand(places)[..., None]).squeeze(-1)
    return (taken if inside is None else torch.where(inside, taken, 0.0)).sum(-1)
