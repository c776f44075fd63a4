"""How a comparison at a model's weights looks on a terminal: a line for each implementation and type, a column for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verify.output.table import SHORT, sigmas
from verify.weights.checkpoint import Checkpoint
from verify.weights.comparing import Comparison, Sentence, most

if TYPE_CHECKING:
    from rich.table import Table


def about(checkpoint: Checkpoint, sentences: Sequence[Sentence]) -> list[str]:
    """What is compared: the model in a line, and each text with its tokens."""
    h, d, _ = checkpoint.layers["W_q"].shape[1:]
    count = sum(value.size for part in (checkpoint.embedding, checkpoint.layers) for value in part.values())
    said = f"{checkpoint.folder}: {checkpoint.depth} layers, width {d}, {h} heads, {count:,} parameters"
    held = "compared: the hidden states, from the embedding to the last layer; no head, and no logits"
    return [said, *(f"{len(one.ids)} tokens: {' '.join(one.tokens)}" for one in sentences), held]


def table(checkpoint: Checkpoint, found: Sequence[Comparison]) -> Table:
    """The largest error of each layer: beside the bound in float64, in sigma of careful arithmetic in the other types."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("largest error of each layer")
    made.add_column("in")
    for layer in range(checkpoint.depth + 1):
        made.add_column("embedding" if layer == 0 else str(layer), justify="right")
    for before, one in zip((None, *found), found, strict=False):
        cells = []
        for ratio in one.ratios:
            bad = not ratio <= one.most
            said = f"{ratio:.0e}" if one.dtype == "float64" and ratio < 0.01 else sigmas(ratio)
            cells.append(Text(said + (" ✗" if bad else ""), style="bold red" if bad else ""))
        name = "" if before is not None and before.subject == one.subject else one.subject
        measure = "bound" if one.dtype == "float64" else "σ"
        made.add_row(name, f"{SHORT[one.dtype]} {measure}", *cells)
    return made


def verdicts(found: Sequence[Comparison]) -> list[tuple[str, bool]]:
    """A line for each implementation, and whether it conforms."""
    lines = []
    for name in dict.fromkeys(one.subject for one in found):
        own = [one for one in found if one.subject == name]
        wrong = [one for one in own if one.first is not None]
        if not wrong:
            lines.append((f"{name} conforms in every layer ({', '.join(one.dtype for one in own)})", True))
            continue
        one = wrong[0]
        assert one.first is not None
        where = "the embedding" if one.first == 0 else f"layer {one.first}"
        measure = (
            "the bound"
            if one.dtype == "float64"
            else f"the {most(one.dtype):g} sigma that careful arithmetic stays below"
        )
        times = one.ratios[one.first] / one.most
        if one.dtype == "float64":
            why = one.cause or "none of the mistakes tried explains it"
        elif own[0].dtype == "float64":
            why = "in float64 it conforms"
        else:
            why = "mistakes are looked for in float64 alone"
        lines.append(
            (f"{name} differs from {where} on, in {one.dtype} by {times:.3g} times {measure}: {why}", False)
        )
    return lines


def document(
    checkpoint: Checkpoint, sentences: Sequence[Sentence], found: Sequence[Comparison]
) -> dict[str, Any]:
    """Everything, for a file."""
    return {
        "formula_id": checkpoint.family.stated_by,
        "weights": {"layers": checkpoint.depth, "settings": dict(checkpoint.settings)},
        "texts": [{"text": one.text, "tokens": list(one.tokens), "ids": list(one.ids)} for one in sentences],
        "compared": [
            {
                "target": one.subject,
                "dtype": one.dtype,
                "measure": "error/bound" if one.dtype == "float64" else "sigma",
                "limit": one.most,
                "layers": one.ratios,
                "first_that_differs": one.first,
                "cause": one.cause,
            }
            for one in found
        ],
    }
