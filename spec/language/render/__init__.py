"""Statements as text: LaTeX for pages, plain Unicode for the terminal, and Python that does the same. One printer for all."""

# How each node is printed is registered where these are imported.
from spec.language.render import nodes as nodes
from spec.language.render.statements import Line as Line
from spec.language.render.statements import claim_text as claim_text
from spec.language.render.statements import describe_abbreviations as describe_abbreviations
from spec.language.render.statements import hypotheses as hypotheses
from spec.language.render.statements import latex as latex
from spec.language.render.statements import number_lines as number_lines
from spec.language.render.statements import statement as statement
from spec.language.render.statements import unicode as unicode
