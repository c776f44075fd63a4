"""A run as one self-contained HTML page: the table, what needs attention laid open, and every check in a fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from verify.output.table import HEADS, KINDS, SIGNS, ratio

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 85rem; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse } th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd }
td { vertical-align: top } .wide { overflow-x: auto } .short { white-space: nowrap }
.conforms { color: #167c2b } .falsified { color: #b00020; font-weight: 600 } .imprecise { color: #8b1a8b; font-weight: 600 }
.known, .inconclusive { color: #8a6100 } .none { color: #999 } summary { cursor: pointer; margin: .3rem 0 }
pre { background: #f5f5f5; padding: .8rem; overflow-x: auto } .target { margin: .8rem 0 1.6rem } a { color: inherit }
small { color: #666 }
"""
OPEN = ("falsified", "imprecise", "inconclusive")
"""What is not to be looked for: such a target is laid open, and stands before the others."""
HEAD = ("formula", "target", "verdict", *HEADS.values(), "examples", "worst error/bound", "in sigma")
NONE = SIGNS[""]
CHECKED = ("check", "verdict", "examples", "error/bound", "message")


def page(document: dict[str, Any]) -> str:
    """The document of a run (see :func:`verify.output.document.document`) as one self-contained HTML page."""
    items = list(enumerate(document["reports"]))
    facts = ", ".join(f"{k} {v}" for k, v in document["versions"].items())
    first = f"{document['max_examples']} examples, seed {document['seed']}, {document['device']}; {facts}"
    stopped = " Interrupted: what had been done by then." if document["interrupted"] else ""
    order = sorted(items, key=lambda numbered: numbered[1]["overall"] not in OPEN)
    passed = (
        f"{d['target']} against {d['formula']}: {d['check']} is listed as a deviation but conforms now"
        for d in document["unexpected_passes"]
    )
    known = (
        f"{d['target']} against {d['formula']}: {', '.join(d['checks'])}: {d['reason']} {d['report']}"
        for d in document["known_deviations"]
    )
    return "\n".join(
        part
        for part in (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>attnspec</title><style>{STYLE}</style>',
            f"<h1>attnspec {escape(document['command'])}</h1>",
            f"<p>{escape(first)}. Exit {document['exit']}.{stopped}</p>",
            _overview(items) if items else "",
            _list("Errors", document["errors"], "falsified"),
            _list("Deviations that are gone", passed, "falsified"),
            _list("Known deviations", known),
            _list("Absent", document["absent"]),
            "<h2>Target by target</h2>" if items else "",
            *(_target(place, item) for place, item in order),
            "</html>\n",
        )
        if part
    )


def _cell(text: Any, tag: str = "td", css: str = "") -> str:
    style = f' class="{css}"' if css else ""
    return f"<{tag}{style}>{escape(str(text))}</{tag}>"


def _table(head: Iterable[str], rows: Iterable[str], css: str = "") -> str:
    titles = "".join(_cell(name, "th") for name in head)
    return f'<div class="{css}"><table><tr>{titles}</tr>{"".join(rows)}</table></div>'


def _list(title: str, lines: Iterable[str], css: str = "") -> str:
    """Lines under a title; nothing where there are none."""
    made = "".join(_cell(line, "li", css) for line in lines)
    return f"<h2>{title}</h2><ul>{made}</ul>" if made else ""


def _overview(items: Sequence[tuple[int, dict[str, Any]]]) -> str:
    """The table, without columns in which nothing stands; a target's name leads to what is said of it."""
    kept = [name for place, name in enumerate(HEAD) if any(_row(item)[place][0] for _, item in items)]
    rows = []
    for number, item in items:
        cells = [
            _cell(text or NONE, css=css)
            for name, (text, css) in zip(HEAD, _row(item), strict=True)
            if name in kept
        ]
        under = f"<br><small>{escape(item['unlike'])}</small>" if item["unlike"] else ""
        link = f'<td><a href="#t{number}">{escape(item["target"])}</a>{under}</td>'
        rows.append(f"<tr>{cells[0]}{link}{''.join(cells[2:])}</tr>")
    return _table(kept, rows, "wide")


def _row(item: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the cells of a target's row in the table, each with its style."""
    overall, kinds = item["overall"], [item["kinds"][kind] for kind in KINDS]
    return [
        (item["formula_id"], ""),
        (item["target"], ""),
        (overall, f"{overall} short"),
        *((SIGNS[kind] if kind else "", kind or "none") for kind in kinds),
        *((text, "short") for text in (f"{item['examples']:,}", item["worst"], item["accuracy"])),
    ]


def _target(place: int, item: dict[str, Any]) -> str:
    """What is said of a target: in a fold where nothing is the matter."""
    title = f"{escape(item['target'])} against {escape(item['formula_id'])}"
    said = _cell(item["headline"], "p", item["overall"])
    if item["caught"]:
        said += _cell(f"{item['caught']}.", "p")
    counterexamples = [c for c in item["checks"] if c["counterexample_lines"]]
    wrong = [c for c in item["checks"] if c["verdict"] == item["overall"] in OPEN]
    for lead in (counterexamples or wrong)[:1]:
        said += _cell(f"{lead['name']}: {lead['message']}", "p") + _lines(lead["counterexample_lines"])
    told = [
        *(": ".join(filter(None, (p["name"], p["option"], p["says"]))) for p in item["properties"]),
        *item["notes"],
        *(f"theorem {name} was not run: {why}" for name, why in item["not_run"].items()),
    ]
    if told:
        said += (
            f"<p>Properties and notes, not judged:</p><ul>{''.join(_cell(line, 'li') for line in told)}</ul>"
        )
    said += _fold("every check", _table(CHECKED, map(_check, item["checks"]), "wide"))
    if counterexamples[1:]:
        others = (_lines([c["name"], *c["counterexample_lines"]]) for c in counterexamples[1:])
        said += _fold("the other counterexamples", "".join(others))
    if item["overall"] in OPEN:
        return f'<div class="target" id="t{place}"><h3>{title}</h3>{said}</div>'
    folded = _fold(f"{title}: {escape(item['overall'])}", said)
    return f'<div id="t{place}">{folded}</div>'


def _lines(lines: Iterable[str]) -> str:
    """Lines as they are."""
    text = "\n".join(lines)
    return _cell(text, "pre") if text else ""


def _fold(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>{text}</details>"


def _check(check: dict[str, Any]) -> str:
    """A row for a check."""
    worst = "" if check["worst_ratio"] is None else ratio(float(check["worst_ratio"]))
    cells = (
        _cell(check["name"]),
        _cell(check["verdict"], css=check["verdict"]),
        _cell(f"{check['examples']:,}"),
        _cell(worst),
        _cell(check["message"]),
    )
    return f"<tr>{''.join(cells)}</tr>"


__all__ = ["page"]
