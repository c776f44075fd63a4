"""What was proved when this was last written: each theorem as the pages show it, with a digest of what it was proved from.

A proof is found here as long as its statement, the prover and the libraries it computes with are those of the digest
(:mod:`generate.origins`). Any other is made again when the pages are built; the tests prove every theorem in any case, and hold
what is found here to what they see. :mod:`generate.proofs` writes it anew.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any

from .dependencies import ROOT

FILE = ROOT / "docs" / "proofs.json.xz"


@cache
def read() -> dict[str, dict[str, Any]]:
    """Digests and what was made of each theorem, by ``formula.theorem``; nothing where there is no file that can be read."""
    try:
        found: dict[str, dict[str, Any]] = json.loads(lzma.decompress(FILE.read_bytes()))
    except (OSError, ValueError, lzma.LZMAError):
        return {}
    return found


def find(name: str, digest: str) -> Any:
    """What was made of a theorem, if it was proved from just this; None otherwise."""
    kept = read().get(name, {})
    return kept["made"] if kept.get("digest") == digest else None
