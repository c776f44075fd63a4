"""What is HTML already, set aside while Markdown is made into HTML and the search index is written: it is most of a page.

:func:`Held.hold` leaves a mark instead of each part. Mathematics in a line of words comes back before the page is indexed.
Sections that are not searched (statements, derivations, drawings) come back when the page is written.
"""

from __future__ import annotations

import re

from .markup import letters

SECTION = re.compile(r"<section [^>]*data-search-exclude>.*?</section>", re.DOTALL)
MATHS = re.compile(r"<math xmlns=.*?</math>", re.DOTALL)
LINE = "\ue000"
"""A character that nobody types: between two of them stands the number of a part in a line of words."""


class Held:
    """The parts set aside in one build."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def hold(self, text: str) -> str:
        """A text with a mark instead of every part."""
        text = SECTION.sub(lambda found: f'<hr data-held="{self._kept(letters(found[0]))}">', text)
        return MATHS.sub(lambda found: f"{LINE}{self._kept(found[0])}{LINE}", text)

    def _kept(self, part: str) -> int:
        self._parts.append(part)
        return len(self._parts) - 1

    def release_maths(self, html: str) -> str:
        """HTML with the mathematics back in its lines."""
        return re.sub(f"{LINE}(\\d+){LINE}", lambda found: self._parts[int(found[1])], html)

    def release_sections(self, html: str) -> str:
        """HTML with the sections back in their places."""
        return re.sub(r'<hr data-held="(\d+)" ?/?>', lambda found: self._parts[int(found[1])], html)
