"""Parts of a formula's page that are for reference, each under a line that opens and closes it.

They are open where there is room. On a phone the script of the pages closes them: what is read from front to back comes first.
"""

from __future__ import annotations

import re

PARTS = {
    "symbols": "What every letter means",
    "conventions": "Every option, and who follows it",
    "theorems": "What is claimed, and how each claim is derived",
    "what-every-result-satisfies": "Every requirement",
    "error-model": "The bound, beside errors that were measured",
    "implementation": "The source",
    "evidence": "Who was held to it, and with what verdict",
}
"""What is folded: headings, by their targets, and what is said of the part below."""
PART = re.compile(rf'(<h2 id="({"|".join(PARTS)})".*?</h2>)(.*?)(?=<h2 |\Z)', re.DOTALL)


def fold(html: str) -> str:
    """A page whose parts for reference can be closed."""
    return PART.sub(
        lambda found: (
            f'{found[1]}<details class="reference" open><summary>{PARTS[found[2]]}</summary>{found[3]}</details>'
        ),
        html,
    )
