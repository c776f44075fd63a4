"""What a target is: a callable of a library, adapted to a formula's declared inputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verify.edges import STRICT

PACKAGES = {
    "impl": "impl",
    "torch": "torch",
    "transformers": "transformers",
    "x-transformers": "x_transformers",
    "linformer": "linformer",
    "linformer-pytorch": "linformer_pytorch",
    "pytorch-transformers": "pytorch_transformers",
}
"""Each peer and the package it needs."""
EXTRAS = {"linformer": "more-peers", "linformer-pytorch": "more-peers", "pytorch-transformers": "old-peers"}
"""The extra of ours that installs a peer, where it is not ``peers``."""


@dataclass(frozen=True)
class Target:
    """An implementation to verify.

    Attributes:
        peer: whose it is; a key of :data:`PACKAGES`.
        name: the callable, as its users know it.
        formula_id: the statement it is held to.
        adapter: ``module:function``; calling the function with ``keywords`` gives the adapted callable.
        conventions: what it does by its own convention; ours where not given.
        differs: what is legitimately different, in a sentence.
        sizes: the sizes it supports, where not all, as rules by name (see :mod:`verify.inputs.size_rules`).
        fixed: numbers of the statement that are what they are, by name.
        needs: what of its package not every version has, in the module whose source names it, as
            ``nn.functional.linear_cross_entropy``.
        cpu_only: whether it works on the CPU alone.
    """

    peer: str
    name: str
    formula_id: str
    adapter: str
    conventions: dict[str, str] = field(default_factory=dict)
    differs: str = ""
    sizes: dict[str, str] = field(default_factory=dict)
    keywords: dict[str, Any] = field(default_factory=dict)
    needs: str = ""
    cpu_only: bool = False
    fixed: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Peer and callable."""
        return self.name if self.name.startswith(self.peer) else f"{self.peer} {self.name}"

    @property
    def present(self) -> bool:
        """Whether its package is installed."""
        return find_spec(PACKAGES[self.peer]) is not None

    @property
    def installed(self) -> bool:
        """Whether its package is installed in a version that has what it needs, read off the source: nothing is imported."""
        found = find_spec(PACKAGES[self.peer])
        if found is None or not self.needs:
            return found is not None
        *modules, name = self.needs.split(".")
        folders = [Path(folder).joinpath(*modules) for folder in found.submodule_search_locations or ()]
        sources = [source for at in folders for source in (at.with_suffix(".py"), at / "__init__.py")]
        return any(re.search(rf"\b{name}\b", each.read_text("utf-8")) for each in sources if each.is_file())

    def explain_absence(self, device: str = "cpu") -> str:
        """Why there is nothing to verify on a device, where its package is installed; empty where there is."""
        if self.cpu_only and device.partition(":")[0] != "cpu":
            return "it works on the CPU alone"
        at: Any = import_module(PACKAGES[self.peer]) if self.needs else None
        for name in self.needs.split(".") if self.needs else ():
            if not hasattr(at, name):
                version = import_module(PACKAGES[self.peer]).__version__
                return f"{self.peer} {version} has no {self.needs}"
            at = getattr(at, name)
        return ""

    @property
    def all_conventions(self) -> dict[str, str]:
        """Its conventions; those of the check, too, where it is ours: what peers do at the edge of their contract is reported."""
        return {**(STRICT if self.peer == "impl" else {}), **self.conventions}

    def load(self) -> Callable[..., Any]:
        """The adapted callable."""
        module, function = self.adapter.split(":")
        made: Callable[..., Any] = getattr(import_module(f"verify.targets.{module}"), function)(
            **self.keywords
        )
        return made
