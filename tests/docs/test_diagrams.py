"""Diagrams that no single statement draws."""

from __future__ import annotations

import re

from generate import diagrams

from spec.language.registry import find


def test_berts_input_adds_rows_of_the_statement_s_tables_for_every_token() -> None:
    """The second text has the other segment, from its first token to its own [SEP]."""
    drawn = diagrams.bert_input()
    cells = re.findall(r'<text class="middle letter"[^>]*>([^<]+)<tspan[^>]*>([^<]*)', drawn)
    tables = {str(item) for item in find("embedding.bert").inputs}
    assert {"E", "S", "P"} <= tables
    read = [index for letter, index in cells if letter == "E"]
    assert read == ["[CLS]", *diagrams.TEXTS[0], "[SEP]", *diagrams.TEXTS[1], "[SEP]"]
    first = len(diagrams.TEXTS[0]) + 2
    assert [index for letter, index in cells if letter == "S"] == ["0"] * first + ["1"] * (len(read) - first)
    assert [index for letter, index in cells if letter == "P"] == [str(place) for place in range(len(read))]
