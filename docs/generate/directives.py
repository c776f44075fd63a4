"""What ``{{ name arguments }}`` stands for in the prose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module

from spec.language.formula import Formula
from spec.language.procedure import ASSURANCE, Procedure
from spec.language.registry import formulas, procedures, statement_ids
from spec.language.registry import statement as one
from spec.language.render import statement as lines_of
from spec.language.theorem import Assurance

from . import (
    accuracy,
    bert_training,
    bibliography,
    book,
    dataflow,
    digits,
    elmo,
    evidence,
    figures,
    gpt,
    landscape,
    law,
    lengths,
    peers,
    real_weights,
    refusals,
    rules,
    samples,
    scaling,
    segments,
    seq2seq,
    source,
    steps,
    theorems,
    translate,
    widgets,
    world,
)
from .markup import Line, badge, code, statement, table

CALL = re.compile(r"\{\{ *([a-z_]+)((?: +[^ {}]+)*) *\}\}")


def fill(markdown: str) -> str:
    """Markdown with every directive replaced by what it stands for, as far to the right as the directive stands."""

    def put(found: re.Match[str]) -> str:
        text = DIRECTIVES[found[1]](*found[2].split())
        before = markdown[markdown.rfind("\n", 0, found.start()) + 1 : found.start()]
        return text.replace("\n", f"\n{before}") if before.isspace() else text

    return CALL.sub(put, markdown)


def statements() -> dict[str, list[Formula | Procedure]]:
    """Formulas and procedures by subject."""
    found: dict[str, list[Formula | Procedure]] = {}
    for statement_id in statement_ids():
        stated = one(statement_id)
        found.setdefault(stated.module, []).append(stated)
    return found


def title_of(subject: str) -> str:
    """A subject's name on a page."""
    return subject.capitalize()


def catalogue() -> str:
    """Every formula: its title, how many theorems it has at which assurance, and who is held to it."""
    parts = []
    for subject, members in statements().items():
        said = (import_module(f"spec.{subject}").__doc__ or "").strip()
        rows = []
        for f in members:
            held = sorted({t.peer for t in peers.targets_of(f)})
            rows.append(
                (
                    f'<a href="{f.id}.html">{f.title}</a><br>{code(f.id)}',
                    f"{len(f.requirements)} requirements, {ASSURANCE}"
                    if isinstance(f, Procedure)
                    else theorems.summary(f) or "–",
                    ", ".join(held) or badge("stated", "stated", "no implementation is held to it yet"),
                )
            )
        parts.append(
            f"## {title_of(subject)}\n\n{said}\n\n{table(('Formula', 'Theorems', 'Held to it'), rows, 'catalogue')}"
        )
    return "\n\n".join(parts)


def shown(formula_id: str, *conventions: str) -> str:
    """A formula's lines."""
    options = dict(pair.split("=") for pair in conventions)
    return statement(
        Line(str(x.number), x.equation, x.ranges) for x in lines_of(formulas()[formula_id], options, "latex")
    )


def reference(module: str, *names: str) -> str:
    """A module's public names, or some of them."""
    return source.reference(module, names)


def counted(what: str) -> str:
    """A count: of formulas, procedures, theorems, or proved theorems; for the last alone all are proved."""
    if what == "proved":
        every = Counter[Assurance]()
        for formula_id in formulas():
            every.update(theorems.counts(formula_id))
        return str(every[Assurance.PROVED])
    return str(
        {
            "formulas": len(formulas()),
            "procedures": len(procedures()),
            "theorems": sum(len(formula.theorems) for formula in formulas().values()),
        }[what]
    )


DIRECTIVES: dict[str, Callable[..., str]] = {
    "bibliography": bibliography.entries,
    "catalogue": catalogue,
    "statement": shown,
    "matrix": book.matrix_form,
    "code": book.written_as_code,
    "implementation": book.implementation,
    "worked": book.worked_example,
    "theorem": book.theorem,
    "places": book.places,
    "flow": dataflow.drawn,
    "steps": steps.shown,
    "widget": widgets.shown,
    "tokens": steps.tokens,
    "token": steps.token,
    "reference": reference,
    "count": counted,
    "conventions": peers.every_convention,
    "differences": peers.differences,
    "known_deviations": peers.known_deviations,
    "figure": lambda formula_id: figures.FIGURES[formula_id](),
    "world": world.shown,
    "evidence": lambda formula_id: evidence.section(formulas()[formula_id]),
    "refused": refusals.shown,
    "theorems": theorems.shown,
    "assurances": theorems.assurances,
    "theorem_index": theorems.index,
    "rules": rules.shown,
    "trusted": theorems.trusted,
    "checked_file": samples.source_of,
    "checked_output": samples.output_of,
    "profiles": samples.profiles,
    "ordinary_rows": samples.ordinary,
    "bounds": samples.bounds,
    **{name: partial(accuracy.measured, name) for name in accuracy.MEASURED},
    "largest_grades": evidence.largest,
    "formats": samples.formats,
    "scale_error": samples.scale_error,
    "digits": digits.part,
    "elmo": elmo.part,
    "landscape": landscape.part,
    "lengths": lengths.part,
    "scaling": scaling.part,
    "segments": segments.part,
    "reversing": seq2seq.part,
    "translate": translate.part,
    "gpt": gpt.part,
    "real_weights": real_weights.part,
    "bert": bert_training.part,
    "mlm_readings": law.readings_table,
    "mlm_observed": law.observed_table,
    "mlm_half": law.conditional,
    "mlm_tokens": lambda: f"{law.TOKENS:,}".replace(",", " "),
    "mlm_constant": lambda name: law._percent(law.constants()[name]),
}
