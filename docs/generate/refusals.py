"""False theorems, and what the proof checker says of them while the pages are built."""

from __future__ import annotations

from collections.abc import Callable

from spec.language import Sum, Theorem, claim, indices, sizes
from spec.language.formula import Formula
from spec.language.proving.proof import check
from spec.language.registry import find
from spec.language.render import claim_text
from spec.language.theorem import Assurance

from . import theorems
from .derivations import over
from .markup import Line, sentence, statement


def _sums_to_one() -> tuple[Theorem, Formula]:
    softmax = find("attention.softmax")
    s, mask = softmax.tensors
    n, m = sizes("n m")
    i, j = indices(i=n, j=m)
    stated = claim(Sum(softmax(s, mask)[i, j], j), "=", 1).because(
        "a sum of quotients over the sum of their numerators"
    )
    title = "the weights of every row sum to 1, whatever the mask"
    return Theorem("sums_to_one_always", title, (stated,)), softmax


def _norm_is_d() -> tuple[Theorem, Formula]:
    norm = find("normalization.layer_norm")
    x, gamma, beta, eps = norm.tensors
    (d,) = sizes("d")
    (i,) = indices(i=d)
    stated = claim(Sum(norm(x, gamma, beta, eps)[i] ** 2, i), "=", d).because(
        "d times the variance over itself"
    )
    title = "at ε = 0 the normalised row has squared norm d, whatever the row"
    return Theorem("norm_is_d_always", title, (stated,), at={gamma: 1, beta: 0, eps: 0}), norm


FALSE: dict[str, Callable[[], tuple[Theorem, Formula]]] = {"softmax": _sums_to_one, "layer_norm": _norm_is_d}


def message(name: str) -> str:
    """Why the checker refuses a false theorem.

    Raises:
        RuntimeError: it did not refuse it.
    """
    theorem, formula = FALSE[name]()
    result = check(theorem, formula)
    if result.assurance is not Assurance.REFUSED:
        raise RuntimeError(f"the false theorem {theorem.name} was not refused: {result.assurance}")
    return result.refusal


def shown(name: str) -> str:
    """A false theorem and the checker's own words on it."""
    theorem, _ = FALSE[name]()
    lines = statement(Line("", claim_text(c, "latex"), over(c.over)) for c in theorem.claims)
    said = f"``` {{ .text .said }}\n{message(name)}\n```"
    return f"**{sentence(theorem.title)}.**\n\n{lines}\n\n{theorems.mark(Assurance.REFUSED)}\n\n{said}"
