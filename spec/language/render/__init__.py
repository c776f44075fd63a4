"""Statements as text: LaTeX for pages, plain Unicode for the terminal. One printer, two vocabularies."""

# How each node is printed is registered where these are imported.
from spec.language.render import nodes as nodes
from spec.language.render.statements import (
    Line,
    claim_text,
    hypotheses,
    latex,
    numbered,
    statement,
    unicode,
    written_for,
)

__all__ = ["Line", "claim_text", "hypotheses", "latex", "numbered", "statement", "unicode", "written_for"]
