"""Diagrams of data flow: every array once, arrows from what it reads, and nothing overlaps."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from generate import dataflow

from spec.language.flatten import own_lines
from spec.language.registry import formulas


@pytest.mark.parametrize("formula", [f for f in formulas().values() if f.law is None], ids=lambda f: f.id)
def test_every_array_has_one_box_and_no_two_boxes_overlap(formula) -> None:
    """Whatever the statement."""
    boxes = dataflow._boxes(formula)
    assert {line.name for line in own_lines(formula, formula.choose())} <= set(boxes)
    layers = dataflow._layers(boxes)
    for layer in layers:
        for before, box in pairwise(layer):
            assert box.x - before.x >= (before.width + box.width) / 2


def test_an_arrow_leads_from_each_array_that_a_line_reads() -> None:
    """The residual of an encoder layer passes attention by."""
    text = dataflow.drawn("transformer.encoder_layer")
    assert "z, Multi-head attention, from x" in text
    assert "s, Add &amp; norm, from x, z" in text
    assert text.count("<rect") == 5
    assert len(re.findall("marker-end", text)) == 6


def test_a_state_that_reads_itself_says_so() -> None:
    """A recurrence is a box, not an endless chain."""
    assert "step by step" in dataflow.drawn("recurrent.rnn")
