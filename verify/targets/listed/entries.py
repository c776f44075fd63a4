"""How entries of the lists are written, and what several of them say."""

from __future__ import annotations

from typing import Any

from verify.targets.target import Target


def ours(formula_id: str, conventions: dict[str, str] | None = None, **keywords: str | float) -> Target:
    """What ``impl`` has for a formula, called with these keywords."""
    said = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    shown = f"impl.{formula_id}" + (f"({said})" if said else "")
    given = {"formula_id": formula_id, **keywords}
    return Target("impl", shown, formula_id, "ours:implementation", conventions or {}, keywords=given)


def torch(
    shown: str,
    formula_id: str,
    adapter: str,
    conventions: dict[str, str] | None = None,
    differs: str = "",
    sizes: dict[str, str] | None = None,
    **keywords: Any,
) -> Target:
    """A function or module of PyTorch, under an adapter that is called with these keywords."""
    return Target("torch", shown, formula_id, adapter, conventions or {}, differs, sizes or {}, keywords)


UNSPECIFIED = {"fully_masked": "unspecified"}
NAN = "a fully masked row is NaN"
ADDED_MIN = "adds finfo.min to masked scores, so that a fully masked row is the mean"
ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}
"""The sizes of modules that divide d_model among the heads."""
SHORT = {**ONE_WIDTH, "N": "n*any"}
"""Those of models of texts that are not longer than their tables of positions."""
NO_FEWER_KEYS = {"m": "n + any - 1"}
"""As many keys as queries, or more, as with a cache."""
BIGBIRD_SIZES = {"B": "5..", "d_v": "d_k"}
"""A window of three blocks between two global ones."""
EVEN = {"d": "4|6|14|26|62|134"}
"""Widths that hold sines and cosines alike, and more than a pair of them."""
XLNET = {**ONE_WIDTH, "d_k": "even"}
"""Those of XLNet's model, which holds as many sines as cosines of distances."""
FIRST_SEES_ALL = "takes 1e30 from hidden scores, so that an order's first token is predicted from the mean of all, itself too"
NO_BIAS = "its biases are 0"
POLARITY = "its mask says what to drop, and is passed inverted"

BETAS = {"beta_1": 0.9, "beta_2": 0.999}
"""Those of Adam, which torch's optimizers keep below 1."""
LLAMA = {"d_v": "2*p", "d_model": "g*r*2*p"}
"""Sizes of models that divide d_model among the heads, whose values are as wide as their keys."""
IN_SINGLE = "computes its shares in float32, whatever it is given"
OWN_ANGLES = "given cosines and sines, which it computes in float32 itself"

NONE_ASKED = {"none_asked": "unspecified"}
ONE_MEAN = "one mean for a batch: called for each member; without a target it is NaN"
CLAMPED = "norms below 1e-8 count as 1e-8, going forward"

GPT1 = {"norm": "post", "fully_masked": "filled_1e4"}
GPT1_SIZES = {**ONE_WIDTH, "d_ff": "4*d_model"}
GPT1_MASK = "what comes later has a score of -10000; its mask of padding is another matter, and left out"
PACKED = "always given a mask: without one it takes texts for packed where positions jump"
BEAMS = {"finished": "aside", "penalty": "power"}
