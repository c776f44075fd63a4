"""Components of libraries on a page: what ``python -m examples.world`` recorded, a file for each day; the newest entry counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from examples.world.component import adapters

from .markup import badge, code, folded, table

FOLDER = Path(__file__).parents[1] / "evidence" / "world"
VERDICTS = ("conforms", "imprecise", "falsified", "inconclusive")
MASKED = "attention."
"""What the IDs of statements with masks begin with."""

Entry = Mapping[str, Any]


@cache
def entries(folder: Path = FOLDER) -> tuple[Entry, ...]:
    """The newest entry of every component, those of one library together."""
    newest: dict[tuple[str, str, str], Entry] = {}
    for path in sorted(folder.glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            newest[entry["library"], entry["component"], entry.get("formula", "")] = entry
    return tuple(newest[key] for key in sorted(newest, key=lambda key: (key[0].lower(), key[1:])))


def checked(found: tuple[Entry, ...] | None = None) -> list[Entry]:
    """The entries of components that were checked."""
    return [each for each in (entries() if found is None else found) if each["verdict"] in VERDICTS]


def libraries() -> dict[str, list[Entry]]:
    """What was checked, by library."""
    found: dict[str, list[Entry]] = {}
    for entry in checked():
        found.setdefault(entry["library"], []).append(entry)
    return found


def summary() -> str:
    """For each library how many components there are, and how many of each verdict."""
    every, rows = Counter[str](), list[tuple[str, ...]]()
    for library, found in libraries().items():
        counts = Counter(entry["verdict"] for entry in found)
        every += counts
        where = f'<a href="world.html#{_anchor(library)}">{escape(library)}</a>'
        rows.append((where, escape(found[0]["version"]), str(len(found)), *_numbers(counts)))
    rows.append(("all", "", str(every.total()), *_numbers(every)))
    return table(("Library", "Version", "Components", *VERDICTS), rows, "world")


def _numbers(counts: Mapping[str, int]) -> Iterator[str]:
    return (str(counts.get(verdict, 0)) if counts.get(verdict) else "–" for verdict in VERDICTS)


def _anchor(library: str) -> str:
    return f"library-{library}"


def components() -> str:
    """A table for each library, and the adapters folded below it."""
    return "\n\n".join(_library(library, found) for library, found in libraries().items())


def _library(library: str, found: list[Entry]) -> str:
    head = ("Component", "Statement", "Verdict", "Conforms under", "Said of it")
    rows = [(escape(e["component"]), _formula(e["formula"]), _verdict(e), _under(e), _said(e)) for e in found]
    lines = adapters(library)
    written = "\n\n".join(
        f"{escape(e['component'])}: {escape(e['says'])}\n\n```python\n"
        + "\n".join(lines[e["component"], e["formula"]])
        + "\n```"
        for e in found
    )
    title = f"## {library} {found[0]['version']} {{: #{_anchor(library)} }}"
    return f"{title}\n\n{table(head, rows, 'world')}\n\n{folded('How they are adapted', written, 'example')}"


def _formula(formula: str) -> str:
    return code(formula) if "/" in formula else f'<a href="{formula}.html">{code(formula)}</a>'


def _verdict(entry: Entry) -> str:
    return badge(entry["verdict"], entry["verdict"], f"{entry['examples']} examples, {entry['seconds']:g} s")


def _under(entry: Entry) -> str:
    parts = [f"{name} = {option}" for name, option in entry["conventions"].items()]
    parts += [f"sizes: {entry['sizes']}"] if entry["sizes"] else []
    return "<br>".join(map(escape, parts)) or "ours"


def _said(entry: Entry) -> str:
    """The cause of a failure, where it conforms all the same, and a counterexample; else what it does at the edge."""
    if entry["verdict"] == "falsified":
        parts = [entry["cause"], entry["range"], entry["counterexample"]]
    else:
        parts = [each.partition(": ")[0].partition(" (")[0] for each in entry["properties"]]
    return "<br>".join(escape(part) for part in dict.fromkeys(parts) if part) or "–"


def falsified() -> str:
    """Those that no convention makes right: what is wrong, where they are right, and an example."""
    head = ("Component", "Statement", "What is wrong", "Where it conforms", "Smallest counterexample")
    rows = [
        (
            escape(f"{e['library']} {e['component']}"),
            _formula(e["formula"]),
            escape(e["cause"]) or "–",
            escape(e["range"].removeprefix("conforms where ").partition(";")[0]) or "–",
            code(e["counterexample"]),
        )
        for e in checked()
        if e["verdict"] == "falsified"
    ]
    return table(head, rows, "world") if rows else "None."


def left_out() -> str:
    """What could not be imported, or could not be called as it is adapted, with the reason."""
    rows = [
        (
            escape(e["library"]),
            escape(e.get("version", "")),
            escape(e["component"] or "all of it"),
            escape(e["cause"]),
        )
        for e in entries()
        if e["verdict"] not in VERDICTS
    ]
    return table(("Library", "Version", "Component", "Why"), rows, "world") if rows else "Nothing."


def counted(what: str) -> str:
    """A number for the prose: of libraries, components, masked attentions, and of these those that conform."""
    masked = [e for e in checked() if e["formula"].startswith(MASKED)]
    longest = max((len(lines) for library in libraries() for lines in adapters(library).values()), default=0)
    return str(
        {
            "libraries": len(libraries()),
            "number": len(checked()),
            "masked": len(masked),
            "sound": sum(e["verdict"] != "falsified" for e in masked),
            "lines": longest,
        }[what]
    )


def shown(what: str, *rest: str) -> str:
    """A part of the page."""
    parts = {"summary": summary, "components": components, "falsified": falsified, "left_out": left_out}
    return parts[what](*rest) if what in parts else counted(what)


__all__ = ["checked", "entries", "shown"]
