"""What was proved when this was last written: each theorem as the pages show it, with a digest of what it was proved from.

A proof is found here as long as its statement, the prover and the libraries it computes with are those of the digest
(:mod:`generate.origins`). Any other is made again when the pages are built; the tests prove every theorem in any case, and hold
what is found here to what they see. ``python -m docs.generate.proofs`` proves what has changed, and writes the file anew.
"""

from __future__ import annotations

import json
import lzma
import sys
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


def write() -> int:
    """Prove what has changed, and keep all theorems; how many had to be proved."""
    from .caching import Cache
    from .origins import Origins
    from .pages import make_pieces

    origins = Origins()
    wanted = [piece for piece in origins.pieces if piece[0] == "theorem"]
    before = read()
    kept = {
        name: {"digest": origins.digest((kind, name)), "made": made}
        for (kind, name), made in make_pieces(Cache(), wanted)
    }
    text = json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))
    return sum(before.get(name, {}).get("digest") != each["digest"] for name, each in kept.items())


if __name__ == "__main__":
    sys.path.insert(
        0, str(ROOT / "docs")
    )  # as MkDocs does for its hooks: figures know the package by that name
    sys.stdout.write(f"{write()} theorems proved anew; {FILE.name}: {FILE.stat().st_size // 1000} kB\n")
