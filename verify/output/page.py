"""A run as one self-contained HTML page."""

from __future__ import annotations

import html
from typing import Any

from verify.output.table import KINDS, SIGNS

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd }
.conforms { color: #167c2b } .falsified { color: #b00020; font-weight: 600 } .known, .inconclusive { color: #8a6100 }
.none { color: #999 } pre { background: #f5f5f5; padding: .8rem; overflow-x: auto } details { margin: .5rem 0 }
"""


def _properties(item: dict[str, Any]) -> str:
    """What is reported of a target and not judged, as a list."""
    told = (": ".join(filter(None, (p["name"], p["option"], p["says"]))) for p in item["properties"])
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in told)
    return f"<p>Properties, reported and not judged:</p><ul>{lines}</ul>" if lines else ""


def _caught(item: dict[str, Any]) -> str:
    """Which kinds of check failed, and when that was first seen."""
    return f"<p>{html.escape(item['caught'])}.</p>" if item["caught"] else ""


def page(document: dict[str, Any]) -> str:
    """The document of a run (see :func:`verify.output.document.document`) as one self-contained HTML page."""

    def cell(text: Any, tag: str = "td", css: str = "") -> str:
        return f"<{tag}{f' class={css}' if css else ''}>{html.escape(str(text))}</{tag}>"

    rows = []
    for item in document["reports"]:
        cells = [cell(item["formula_id"]), cell(item["target"]), cell(item["unlike"])]
        cells += [cell(SIGNS[item["kinds"][kind]], css=item["kinds"][kind] or "none") for kind in KINDS]
        cells += [
            cell(f"{item['examples']:,}"),
            cell(item["worst"]),
            cell(item["accuracy"]),
            cell(item["overall"], css=item["overall"]),
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    details = []
    for item in document["reports"]:
        lines = "".join(
            f"<tr>{cell(c['name'])}{cell(c['verdict'], css=c['verdict'])}{cell(c['examples'])}"
            f"{cell('' if c['worst_ratio'] is None else c['worst_ratio'])}{cell(c['message'])}</tr>"
            for c in item["checks"]
        )
        found = "".join(
            f"<pre>{html.escape(c['name'])}\n{html.escape(chr(10).join(c['counterexample_lines']))}</pre>"
            for c in item["checks"]
            if c["counterexample_lines"]
        )
        details.append(
            f"<details><summary>{html.escape(item['target'])} against {html.escape(item['formula_id'])}</summary>"
            f"<p>{html.escape(item['headline'])}</p>{_caught(item)}{_properties(item)}"
            f"<table><tr>{''.join(cell(h, 'th') for h in ('check', 'verdict', 'examples', 'error/bound', 'message'))}</tr>"
            f"{lines}</table>{found}</details>"
        )
    listed = "".join(
        f"<li>{html.escape(': '.join((d['target'], ', '.join(d['checks']), d['reason'])))} {html.escape(d['report'])}</li>"
        for d in document["known_deviations"]
    )
    absent = "".join(f"<li>{html.escape(line)}</li>" for line in document["absent"])
    head = "".join(
        cell(h, "th")
        for h in (
            "formula",
            "target",
            "conventions",
            *KINDS,
            "examples",
            "worst error/bound",
            "in sigma",
            "verdict",
        )
    )
    facts = ", ".join(f"{k} {v}" for k, v in document["versions"].items())
    first = f"{document['max_examples']} examples, seed {document['seed']}, {document['device']}; {facts}"
    return "\n".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>attnspec</title><style>{STYLE}</style>',
            f"<h1>attnspec {html.escape(document['command'])}</h1>",
            f"<p>{html.escape(first)}. Exit {document['exit']}.</p>",
            f"<table><tr>{head}</tr>{''.join(rows)}</table>",
            f"<h2>Known deviations</h2><ul>{listed}</ul>" if listed else "",
            f"<h2>Absent</h2><ul>{absent}</ul>" if absent else "",
            f"<h2>Every check</h2>{''.join(details)}</html>\n",
        )
    )
