"""Diagrams of a statement's own data flow: an array in each box, with what makes it, and arrows from what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from spec.language.arrays import Tensor
from spec.language.calls import Call
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.registry import find
from spec.language.render import unicode

from .markup import escape

WIDE, HIGH, GAP, BETWEEN, LANE = 190, 46, 14, 34, 22
"""Width and height of a box, the gaps beside and below it, and the width that an arrow takes which passes a box."""
LETTERS = 30
"""Letters of a caption that fit into a box."""
READABLE = 0.7
"""How far a diagram may shrink to fit, so that its smallest letters, of 10.5 units, keep 7 pixels; beyond, it scrolls."""
LEAST, MOST = 3, 14
"""Arrays that the lines of a formula define for which a diagram of them is worth a look."""

TIP = (
    '<defs><marker id="flow-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z"/></marker></defs>'
)


@dataclass
class Box:
    """An array: its letter, what makes it, its rank from above, and where its middle stands; ``passing`` is an arrow's place."""

    name: str
    letter: str = ""
    caption: str = ""
    parameters: str = ""
    kind: str = "line"
    rank: int = 0
    x: float = 0.0
    passing: bool = False
    above: list[str] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Its width."""
        return LANE if self.passing else WIDE


def is_worth_drawing(formula: Formula) -> bool:
    """Whether there is more to see than a line or two, and not too much."""
    return LEAST <= len({line.name for line in own_lines(formula, formula.choose())}) <= MOST


def drawn(formula_id: str) -> str:
    """The diagram of a formula, with a caption."""
    formula = find(formula_id)
    boxes = _boxes(formula)
    caption = (
        f"{escape(formula.title.split(':')[0])}, drawn from its lines: every box is an array, with what makes it and the "
        "parameters that do; an arrow leads to what reads it."
    )
    listing = "; ".join(
        f"{b.letter}, {b.caption}"
        + (f", from {', '.join(boxes[a].letter for a in b.above)}" if b.above else "")
        for b in boxes.values()
    )
    return figure(f"{formula.title}: {listing}.", *_draw(_layers(boxes)), caption)


def figure(said: str, width: float, height: float, parts: str, caption: str) -> str:
    """A diagram of these parts in SVG, as wide as the page, but never so small that its letters cannot be read: then it scrolls.

    ``said`` is what it is to those who do not see it, ``caption`` HTML.
    """
    style = f"max-width: {width:.0f}px; min-width: {READABLE * width:.0f}px"
    picture = f'<svg role="img" aria-label="{escape(said)}" viewBox="0 0 {width:.0f} {height:.0f}" style="{style}">{parts}</svg>'
    drawing = f'<section class="drawings" data-search-exclude>{picture}</section>'
    return f'<figure class="drawn flow">{drawing}<figcaption>{caption}</figcaption></figure>'


def _boxes(formula: Formula) -> dict[str, Box]:
    """A box for every input that is data, and for every array that the lines define."""
    lines = own_lines(formula, formula.choose())
    defined = dict.fromkeys(line.name for line in lines)
    boxes = {
        item.name: Box(item.name, unicode(item), _short(item.meaning), kind="input")
        for item in formula.inputs
        if isinstance(item, Tensor) and item.role == "data"
    }
    outputs = {t.name for t in formula.outputs}
    for name in defined:
        own = [line for line in lines if line.name == name]
        read = list(dict.fromkeys(t.name for line in own for t in _read(line)))
        given = [
            unicode(item)
            for item in formula.inputs
            if isinstance(item, Tensor) and item.role == "parameter" and item.name in read
        ]
        boxes[name] = Box(
            name,
            unicode(own[0].left.tensor),
            _caption(own),
            _list(given),
            "output" if name in outputs else "line",
            above=[n for n in read if n != name and n in boxes],
        )
        if name in read:
            boxes[name].caption += ", step by step"
    used = {above for box in boxes.values() for above in box.above}
    boxes = {n: b for n, b in boxes.items() if b.kind != "input" or n in used}
    for box in boxes.values():
        box.rank = 1 + max((boxes[a].rank for a in box.above), default=-1)
    for box in boxes.values():  # an input stands just above what reads it first
        if box.kind == "input":
            box.rank = max(min(b.rank for b in boxes.values() if box.name in b.above) - 1, 0)
    return boxes


def _read(line: Definition) -> Iterable[Tensor]:
    return sorted(line.right.atoms(Tensor), key=lambda t: t.name) if line.right.args else []


def _caption(lines: list[Definition]) -> str:
    """What makes an array: the formula that its last line is an application of, or else what it is."""
    made = lines[-1].right
    return _short(
        get_formula(made.formula_id).title if isinstance(made, Call) else lines[0].left.tensor.meaning
    )


def _short(text: str) -> str:
    """The first words of a title or a meaning, as many as fit."""
    text = text.split(":")[0].split(",")[0]
    if len(text) <= LETTERS:
        return text
    cut = text[: LETTERS + 1].rsplit(" ", 1)[0]
    return f"{cut} …"


def _list(names: list[str]) -> str:
    return ", ".join(names) if len(", ".join(names)) <= LETTERS - 3 else f"{names[0]}, … {names[-1]}"


def _layers(boxes: dict[str, Box]) -> list[list[Box]]:
    """The boxes rank by rank, with a place for each arrow that passes a rank, set so that arrows are short."""
    depth = 1 + max(box.rank for box in boxes.values())
    layers: list[list[Box]] = [[] for _ in range(depth)]
    for box in list(boxes.values()):
        layers[box.rank].append(box)
        for place, name in enumerate(box.above):
            last = boxes[name]
            for rank in range(last.rank + 1, box.rank):
                lane = Box(f"{name}>{box.name}@{rank}", rank=rank, passing=True, above=[last.name])
                boxes[lane.name] = lane
                layers[rank].append(lane)
                last = lane
            box.above[place] = last.name
    below: dict[str, list[Box]] = {}
    for box in boxes.values():
        for name in box.above:
            below.setdefault(name, []).append(box)
    for layer in layers:
        _spread(layer)
    for turn in range(12):
        down = turn % 2 == 0
        for layer in layers if down else layers[::-1]:
            for box in layer:
                near = [boxes[n].x for n in box.above] if down else [b.x for b in below.get(box.name, [])]
                if near:
                    box.x = sum(near) / len(near)
            layer.sort(key=lambda box: box.x)
            _spread(layer)
    return layers


def _spread(layer: list[Box]) -> None:
    """Push boxes of a rank apart where they overlap, and keep their middle."""
    wanted = [box.x for box in layer]
    for before, box in pairwise(layer):
        box.x = max(box.x, before.x + (before.width + box.width) / 2 + GAP)
    shift = sum(w - box.x for w, box in zip(wanted, layer, strict=True)) / max(len(layer), 1)
    for box in layer:
        box.x += shift


def _draw(layers: list[list[Box]]) -> tuple[float, float, str]:
    """Width, height and parts of the diagram."""
    every = [box for layer in layers for box in layer]
    by_name = {box.name: box for box in every}
    left = min(box.x - box.width / 2 for box in every) - 4
    width = max(box.x + box.width / 2 for box in every) + 4 - left
    height = len(layers) * HIGH + (len(layers) - 1) * BETWEEN + 8

    def top(box: Box) -> float:
        return 4 + box.rank * (HIGH + BETWEEN)

    parts = []
    for box in every:
        for name in box.above:
            start = by_name[name]
            x1, y1 = start.x - left, top(start) + HIGH
            x2, y2 = box.x - left, top(box)
            bend = BETWEEN * 0.6
            tip = "" if box.passing else ' marker-end="url(#flow-tip)"'
            curve = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
            parts.append(f'<path class="arrow" d="{curve}"{tip}/>')
        if box.passing:
            x = box.x - left
            parts.append(f'<path class="arrow" d="M{x:.0f} {top(box):.0f}V{top(box) + HIGH:.0f}"/>')
    for box in every:
        if box.passing:
            continue
        x, y = box.x - left, top(box)
        parts.append(
            f'<rect class="{box.kind}" x="{x - WIDE / 2:.0f}" y="{y:.0f}" width="{WIDE}" height="{HIGH}" rx="6"/>'
            f'<text class="letter" x="{x - WIDE / 2 + 8:.0f}" y="{y + 18:.0f}">{letter(box.letter)}</text>'
            + (
                f'<text class="parameters" x="{x + WIDE / 2 - 8:.0f}" y="{y + 18:.0f}">{escape(box.parameters)}</text>'
                if box.parameters
                else ""
            )
            + f'<text class="caption" x="{x - WIDE / 2 + 8:.0f}" y="{y + 36:.0f}">{escape(box.caption)}</text>'
        )
    return width, height, TIP + "".join(parts)


def letter(name: str) -> str:
    """A name in SVG, what stands after its first underscore as an index."""
    base, _, subscript = name.partition("_")
    return (
        f'{escape(base)}<tspan dy="4" font-size="75%">{escape(subscript)}</tspan>'
        if subscript
        else escape(base)
    )
