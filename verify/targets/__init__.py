"""What is verified: implementations of ours and of peers, each adapted to its formula's declared input order.

This module is data and imports no peer, nor torch; the adapters beside it do, when a target is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

PACKAGES = {"impl": "impl", "torch": "torch", "transformers": "transformers"}
"""Each peer and the package it needs."""


@dataclass(frozen=True)
class Target:
    """An implementation to verify.

    Attributes:
        peer: whose it is; a key of :data:`PACKAGES`.
        name: the callable, as its users know it.
        formula_id: the statement it is held to.
        adapter: ``module:function``; calling the function gives the adapted callable.
        conventions: what it does by its own convention; ours where not given.
        differs: what is legitimately different, in a sentence.
        sizes: the sizes it supports, where not all, as rules by name (see :mod:`verify.supporting`).
    """

    peer: str
    name: str
    formula_id: str
    adapter: str
    conventions: dict[str, str] = field(default_factory=dict)
    differs: str = ""
    sizes: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Peer and callable."""
        return self.name if self.name.startswith(self.peer) else f"{self.peer} {self.name}"

    @property
    def present(self) -> bool:
        """Whether its package is installed."""
        return find_spec(PACKAGES[self.peer]) is not None

    def load(self) -> Callable[..., Any]:
        """The adapted callable."""
        module, function = self.adapter.split(":")
        return import_module(f"verify.targets.{module}").__dict__[function]()  # type: ignore[no-any-return]


def _ours(
    formula_id: str, function: str, conventions: dict[str, str] | None = None, said: str = ""
) -> Target:
    module, name = formula_id.split(".")
    shown = f"impl.{module}.{name}" + (f"({said})" if said else "")
    return Target("impl", shown, formula_id, f"ours:{function}", conventions or {})


UNSPECIFIED = {"fully_masked": "unspecified"}
NAN = "a fully masked row is NaN"

TARGETS: tuple[Target, ...] = (
    _ours("scores.dot", "dot"),
    _ours("scores.scaled_dot", "scaled_dot"),
    _ours("attention.softmax", "softmax"),
    _ours("attention.scaled_dot_product", "scaled_dot_product"),
    _ours("attention.scaled_dot_product", "scaled_dot_product_math", said="backend='math'"),
    _ours("attention.causal", "causal"),
    _ours("attention.causal", "causal_upper_left", {"alignment": "upper_left"}, "alignment='upper_left'"),
    _ours("positional.sinusoidal", "sinusoidal"),
    _ours(
        "positional.sinusoidal",
        "sinusoidal_concatenated",
        {"layout": "concatenated"},
        "layout='concatenated'",
    ),
    _ours("positional.learned", "learned"),
    _ours("normalization.layer_norm", "layer_norm"),
    _ours("masking.mlm", "mlm"),
    _ours("masking.mlm", "mlm_exact_count", {"selection": "exact_count"}, "selection='exact_count'"),
    Target("torch", "torch.matmul", "scores.dot", "pytorch:matmul"),
    Target(
        "torch",
        "torch.baddbmm",
        "scores.scaled_dot",
        "pytorch:baddbmm",
        differs="called with the factor 1/√d_k",
    ),
    Target(
        "torch", "torch.softmax", "attention.softmax", "pytorch:softmax", UNSPECIFIED, f"masked by −∞; {NAN}"
    ),
    Target("torch", "F.scaled_dot_product_attention", "attention.scaled_dot_product", "pytorch:attention"),
    Target(
        "torch",
        "F.scaled_dot_product_attention(is_causal)",
        "attention.causal",
        "pytorch:causal",
        {"alignment": "upper_left"},
        "the first query sees the first key",
    ),
    Target("torch", "F.embedding", "positional.learned", "pytorch:embedding"),
    Target("torch", "F.layer_norm", "normalization.layer_norm", "pytorch:layer_norm"),
    Target("torch", "nn.LayerNorm", "normalization.layer_norm", "pytorch:layer_norm_module"),
    Target(
        "transformers",
        "sdpa_attention_forward",
        "attention.scaled_dot_product",
        "huggingface:sdpa",
        differs="takes (batch, heads, n, d); returns heads last",
    ),
    Target(
        "transformers",
        "bert eager_attention_forward",
        "attention.scaled_dot_product",
        "huggingface:eager",
        {"fully_masked": "mean"},
        "adds finfo.min to masked scores, so that a fully masked row is the mean",
    ),
    Target(
        "transformers",
        "MarianSinusoidalPositionalEmbedding",
        "positional.sinusoidal",
        "huggingface:marian",
        {"layout": "concatenated"},
        "sines, then cosines; float32",
    ),
    Target(
        "transformers",
        "ConvNextLayerNorm(channels_first)",
        "normalization.layer_norm",
        "huggingface:convnext",
        differs="normalises over channels of an image; here one pixel",
    ),
    Target(
        "transformers",
        "DataCollatorForLanguageModeling",
        "masking.mlm",
        "huggingface:collator",
        differs="its generator attribute is set to the generator passed",
    ),
)


def chosen(formula_ids: Iterable[str] = (), peers: Iterable[str] = ()) -> list[Target]:
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
