"""To what shape several shapes broadcast."""

from collections.abc import Sequence

import torch


def broadcast_shapes(*shapes: Sequence[int]) -> torch.Size:
    """The shape that all of these broadcast to; RuntimeError if there is none.

    What ``torch.broadcast_shapes`` says: its first call imports the compiler's symbols, which takes 40 ms, and each takes longer
    than a small product. A compiler, to which sizes may be such symbols, is left to it.
    """
    if torch.compiler.is_compiling():
        found: torch.Size = torch.broadcast_shapes(*shapes)
        return found
    whole = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place, size in enumerate(shape, len(whole) - len(shape)):
            if size != 1:
                if whole[place] not in (1, size):
                    raise RuntimeError(
                        f"expected shapes that broadcast; got {', '.join(map(str, map(tuple, shapes)))}"
                    )
                whole[place] = size
    return torch.Size(whole)
