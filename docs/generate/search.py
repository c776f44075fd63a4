"""What a search finds: which parts of a page are in the index, and which pages come first."""

from __future__ import annotations

import re
from typing import Any

PARTS = "symbols|worked-examples|theorems|gradient|error-model|implementation|evidence|sources"
SAID = r"(?:For|Under) .*:</p>|The lines read the same|It applies |(?:\(\d+\).*)?At once|Where implementations legitimately"
UNSOUGHT = re.compile(
    r'<(?=details class="(?:abstract|proof|record)|div class="[^"]*highlight|p class="places"'
    rf'|h2 id="(?:{PARTS})"|p>(?:{SAID})|td>(?:wrong variant|convention|theorem) <)(\w+)'
)
"""Folded parts, code, hypotheses, why a line follows at once, what shows a mistake, where a formula is used, and what a page has
for reference: nobody looks for these words.
"""
LISTS = re.compile(r"reference/|(?:conventions|deviations|world|theorems|bibliography|formulas|glossary)\.md")
"""Pages that name everything, and are rarely the one that is meant."""
TABLES = re.compile(r"(?:conventions|theorems)\.md")
"""Pages whose tables and sections are those of the formulas' pages."""
ASKED = {
    "chapter_03_attention.md": ["why divide by sqrt(d_k)"],
    "masking.mlm.md": ["masking"],
    "attention.multi_head.md": ["multi head"],
    "normalization.layer_norm.md": ["layer norm"],
}
"""Words by which one asks for a page that has others in its title, or shares its title's words with its variants."""


def leave_out(html: str, page: str) -> str:
    """HTML in which the parts that nobody looks for are marked as left out of the index."""
    html = UNSOUGHT.sub(r"<\1 data-search-exclude", html)
    if page.startswith("reference/"):  # of a docstring, what it begins with
        html = re.sub(r"(</p>\s*)<(p|ul)>", r"\1<\2 data-search-exclude>", html)
    return re.sub(r"<(h[23]|table)\b", r"<\1 data-search-exclude", html) if TABLES.fullmatch(page) else html


def weight(page: str) -> dict[str, Any]:
    """The front matter that tells the index how much a page is worth: chapters first, then formulas, lists last."""
    if page.startswith("chapter_"):
        boost = 3.0
    elif LISTS.match(page):
        boost = 0.25
    else:
        boost = 2.0 if page.count(".") == 2 else 1.0
    return {"search": {"boost": boost}, **({"tags": ASKED[page]} if page in ASKED else {})}
