"""Prove what has changed, and write all proofs to the file that is shipped: ``python -m docs.generate.proofs``."""

from __future__ import annotations

import json
import lzma
import sys

from .dependencies import ROOT
from .shipped import FILE, read


def write() -> int:
    """Keep all theorems, as they are now; how many had changed."""
    sys.path.insert(
        0, str(ROOT / "docs")
    )  # as MkDocs does for its hooks: figures know the package by that name
    from .caching import Cache
    from .origins import Origins
    from .pages import make_pieces

    origins, before = Origins(), read()
    wanted = [piece for piece in origins.pieces if piece[0] == "theorem"]
    kept = {
        name: {"digest": origins.digest((kind, name)), "made": made}
        for (kind, name), made in make_pieces(Cache(), wanted)
    }
    text = json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))
    return sum(before.get(name, {}).get("digest") != each["digest"] for name, each in kept.items())


if __name__ == "__main__":
    sys.stdout.write(f"{write()} theorems had changed; {FILE.name}: {FILE.stat().st_size // 1000} kB\n")
