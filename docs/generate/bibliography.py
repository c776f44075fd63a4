"""The bibliography on a page: every work that a statement cites, linked, with the statements that cite it."""

from __future__ import annotations

from html import escape

from spec.bibliography import DECKS, PAPERS
from spec.language.formula import Formula, Reference, Source
from spec.language.procedure import Procedure
from spec.language.registry import statement, statement_ids

from .markup import code


def cited(source: Source) -> str:
    """A source in a text: the work, linked to its entry, and the place in it."""
    work = source.reference
    name = f"Lecture deck {work.key}" if work in DECKS else work.short
    detail = f", {escape(source.detail)}" if source.detail else ""
    return f'<a href="bibliography.html#{work.key.lower()}">{escape(name)}</a>{detail}'


def citations(stated: Formula | Procedure) -> list[Source]:
    """What a statement's page cites: where it is taken from, and where its worked numbers are printed."""
    worked = stated.worked if isinstance(stated, Formula) else ()
    return [*stated.sources, *(example.source for example in worked if example.source)]


def entries(kind: str) -> str:
    """All entries of a kind, ``decks`` or ``papers``."""
    return "\n".join(_entry(work) for work in {"decks": DECKS, "papers": PAPERS}[kind])


def _entry(work: Reference) -> str:
    year = f" ({work.year})" if work.year else ""
    label = f"<b>{work.key}</b> " if work in DECKS else ""
    about = f"; {escape(work.about)}" if work.about else ""
    text = f"{label}{escape(work.authors)}{year}: <i>{escape(work.title)}</i>{about}."
    if work.link:
        text += f' <a href="{_address(work.link)}">{escape(work.link)}</a>.'
    uses = [i for i in statement_ids() if any(s.reference is work for s in citations(statement(i)))]
    links = ", ".join(f'<a href="{i}.html">{code(i)}</a>' for i in uses)
    return f'- <span id="{work.key.lower()}"></span>{text}' + (f" Cited by {links}." if uses else "")


def _address(link: str) -> str:
    if link.startswith("arXiv:"):
        return f"https://arxiv.org/abs/{link.removeprefix('arXiv:')}"
    return link if link.startswith("http") else f"https://doi.org/{link}"
