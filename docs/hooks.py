"""MkDocs hooks: generate the pages, fill the directives in the prose, and turn LaTeX into MathML; nothing runs in the browser.

Mathematical layout needs a font that carries a table for it (STIX Two Math). The package ziamath brings one, of which the pages
get what they show, with the larger forms of brackets, roots and sums.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from mkdocs.structure.files import File

sys.path.insert(
    0, str(Path(__file__).parents[1])
)  # spec, impl and verify, where the distribution is not installed
from generate import book, directives, folding, glossary, notebooks, pages, printing, procedure_page, search
from generate.caching import Cache
from generate.holding import Held
from generate.markup import letters, maths

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# What pymdownx.arithmatex (generic) leaves of a formula: \( inline \) in a span, \[ display \] in a div.
MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


MATHS = re.compile(r"<math.*?</math>", re.DOTALL)
DRAWN = "√()[]{}|‖⌈⌉⌊⌋⟨⟩∑∏∫¯ˆ˜‾_→←⏞⏟ℎ⊤"
"""What a browser draws though no page names it: roots, brackets, bars."""

CACHE, HELD = Cache(), Held()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put formulas and procedures into the navigation, subject by subject."""
    # MkDocs takes back what a hook adds to the path while it is loaded; the processes that make the pages inherit this.
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    assert config.nav is not None
    (formulas,) = (part["Formulas"] for part in config.nav if isinstance(part, dict) and "Formulas" in part)
    for subject, members in directives.statements().items():
        formulas.append({directives.title_of(subject): [{f.title: f"{f.id}.md"} for f in members]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of every formula and procedure; its address is its ID."""
    for formula_id, page in (pages.all_pages(CACHE) | procedure_page.all_pages()).items():
        files.append(File.generated(config, f"{formula_id}.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill the directives, add the glossary's tooltips, and set aside what Markdown has nothing to do with."""
    page.meta.update(search.weight(page.file.src_uri))
    filled = directives.fill(markdown)
    if page.file.src_uri in book.chapters():
        name = Path(page.file.src_uri).with_suffix(".ipynb")
        filled += f'\n\n<a href="notebooks/{name}" download>This chapter as a notebook</a>\n'
    if page.file.src_uri != glossary.FILE.name:
        filled += f"\n\n{glossary.tooltips()}\n"
    return HELD.hold(filled)


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Set formulas and letters of statements that stand in prose; mark what the search leaves out."""
    html = search.leave_out(folding.fold(html), page.file.src_uri)
    html = html.replace("<th></th>", "<td></td>")  # a table's corner is no heading
    html = MARKED.sub(_set, html)
    return letters(HELD.release_maths(html))


def _set(found: re.Match[str]) -> str:
    """A formula of the prose; one that is displayed scrolls where the page is too narrow."""
    latex = unescape(found[3])
    return maths(latex) if found[2] == "(" else f'<div class="displayed">{maths(latex, block=True)}</div>'


def on_post_page(output: str, **_: Any) -> str:
    """Put statements, derivations and drawings into the page that is written."""
    output = output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    return HELD.release_sections(output)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the book on one page, the notebooks, and the font with what the pages show; drop what no page was made from."""
    printing.write(Path(config.site_dir))
    package = find_spec("ziamath")
    assert package is not None
    assert package.submodule_search_locations
    font = TTFont(Path(package.submodule_search_locations[0], "fonts", "STIXTwoMath-Regular.ttf"))
    shown = set(map(ord, DRAWN))
    for page in Path(config.site_dir).glob("*.html"):
        shown.update(
            ord(letter) for text in MATHS.findall(page.read_text("utf-8")) for letter in unescape(text)
        )
    subsetter = Subsetter(Options(layout_features=["*"], notdef_outline=True))
    # A letter of mathematics is drawn by its italic form, which no page names.
    subsetter.populate(unicodes=shown | {*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)})
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(Path(config.site_dir, "assets", "stix-two-math.woff"))
    notebooks.write(Path(config.site_dir, "notebooks"))
    CACHE.sweep()
