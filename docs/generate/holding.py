"""Mathematics and drawings set aside while Markdown is made into HTML: they are HTML already, and most of what a page holds.

:func:`hold` leaves a mark in the place of each. What stands in a line of words comes back before the page is indexed for the
search; displayed formulas and drawings, which are not searched, when the page is written.
"""

from __future__ import annotations

import re

LINE, BLOCK = "\ue000", "\ue001"
"""Characters that nobody types: what stands between two of them is the place of a part among those set aside."""
PART = re.compile(r'<math xmlns=[^>]*display="(inline|block)".*?</math>|<svg role="img".*?</svg>', re.DOTALL)


class Held:
    """The parts set aside in one build."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def hold(self, text: str) -> str:
        """A text with a mark in the place of every part."""
        return PART.sub(lambda found: self._mark(found[0], LINE if found[1] == "inline" else BLOCK), text)

    def _mark(self, part: str, kind: str) -> str:
        self._parts.append(part)
        return f"{kind}{len(self._parts) - 1}{kind}"

    def release(self, text: str, kind: str) -> str:
        """A text with the parts of a kind (``LINE`` or ``BLOCK``) back in their places."""
        return re.sub(f"{kind}(\\d+){kind}", lambda found: self._parts[int(found[1])], text)
