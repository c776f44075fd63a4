"""What is verified: implementations of ours and of peers, each adapted to its formula's declared input order.

This package imports no peer, nor torch; its adapters do, when a target is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from verify.targets.listed import TARGETS
from verify.targets.target import EXTRAS, PACKAGES, Target

# The adapters need no model and no tokenizer of a hub, and what a peer warns of does not stand before a verdict.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def choose_targets(formula_ids: Iterable[str] = (), peers: Iterable[str] = ()) -> list[Target]:
    """The targets of some formulas and peers; of all where none is named. A peer's name or a target's label will do."""
    ids, names = set(formula_ids), {name.lower() for name in peers}
    return [
        t
        for t in TARGETS
        if (not ids or t.formula_id in ids)
        and (not names or t.peer in names or t.label.lower() in names or t.name.lower() in names)
    ]


def peer_version(peer: str) -> str | None:
    """A peer's version, without importing it; None where it is absent, "" where it is not known."""
    if find_spec(PACKAGES[peer]) is None:
        return None
    try:
        return version("attnspec" if peer == "impl" else PACKAGES[peer])
    except PackageNotFoundError:
        return ""


__all__ = ["EXTRAS", "PACKAGES", "TARGETS", "Target", "choose_targets", "peer_version"]
