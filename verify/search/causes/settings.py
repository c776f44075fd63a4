"""What torch is set to: products in float32 whose factors it may round to fewer digits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter

import torch

from verify.search.evidence import MOST, Evidence
from verify.subject.sandbox import PRECISIONS

BACKENDS = {"cuda": ("cuda.", "cudnn."), "cpu": ("mkldnn.",)}
"""By the kind of device, what of ``torch.backends`` multiplies."""
ROUNDED = {"tf32": "TF32", "bf16": "bfloat16"}
"""Precisions that round, and what factors are rounded to."""
EXACT = "ieee"
TRIED = 5
"""Examples that are called again."""


def rounded_factors(evidence: Evidence) -> str:
    """Values that are right once torch is told to round no factors."""
    failing = [w for w in evidence.drawn if w.fails and w.got is not None and w.kind == "float32"][:TRIED]
    backends = BACKENDS.get(evidence.caller.device.partition(":")[0], ())
    for name in (each for each in PRECISIONS if each.startswith(backends)):
        set_to = attrgetter(name)(torch.backends).fp32_precision
        if not failing or set_to not in ROUNDED:
            continue
        with _exactly(name):
            right = [w for w in failing if not evidence.called(w.example).fails]
        if len(right) > MOST * len(failing):
            return (
                f"products in float32 are of factors rounded to {ROUNDED[set_to]}, as torch is set to: conforms there with "
                f'torch.backends.{name}.fp32_precision = "{EXACT}"'
            )
    return ""


@contextmanager
def _exactly(name: str) -> Iterator[None]:
    place = attrgetter(name)(torch.backends)
    before = place.fp32_precision
    place.fp32_precision = EXACT
    try:
        yield
    finally:
        place.fp32_precision = before


__all__ = ["rounded_factors"]
