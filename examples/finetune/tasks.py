"""Four small tasks, one for each head of BERT. Sentences are drawn from patterns; what a test asks about is named in words that
training never saw, so that only who knows what words mean, and reads how they stand together, can answer.

============  ================================================================================================================
``sequence``  what kind of thing is it that a sentence speaks of, and not the one that it says it does not speak of?
``pair``      does the second sentence follow from the first? It names the kind of the thing, another kind, or another deed
``token``     which word is a person, the place that is left, the place that is reached, the thing?
``span``      a question about a journey, however it is told: the words of the answer
============  ================================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from examples.finetune.words import ADJECTIVES, KINDS, NAMES, PLACES, some

__all__ = ["TASKS", "Example", "Task"]


class Example(NamedTuple):
    """A text in words, a second one where the task has one, and the labels: one; one for each word; or the answer's first word
    in the second text and its last one.
    """

    text: tuple[str, ...]
    second: tuple[str, ...] | None
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A task: its head, the names of its labels, and what draws an example, of words that are held out or not."""

    name: str
    labels: tuple[str, ...]
    draw: Callable[[Random, bool], Example]

    def examples(self, count: int, seed: int, *, held_out: bool) -> list[Example]:
        """So many, none twice."""
        draw, found = Random(f"{self.name} {seed} {held_out}"), dict[Example, None]()
        while len(found) < count:
            found[self.draw(draw, held_out)] = None
        return list(found)


ABOUT = (
    "we talked about the {thing} all evening .",
    "there was a picture of a {thing} on the wall .",
    "she had never dreamed of a {thing} before .",
    "they talked about the {thing} , not about the {other} .",
    "not the {other} but the {thing} was what we had in mind .",
    "he forgot the {other} and thought only of the {thing} .",
    "nobody mentioned the {other} ; the {thing} was on every page .",
    "instead of the {other} she drew a {thing} .",
)


def _sequence(draw: Random, held_out: bool) -> Example:
    kind, other = draw.sample(sorted(KINDS), 2)
    thing, another = (draw.choice(some(KINDS[each], held_out)) for each in (kind, other))
    text = draw.choice(ABOUT).format(thing=thing, other=another)
    return Example(tuple(text.split()), None, (sorted(KINDS).index(kind),))


NAMED = {
    "animal": "an animal",
    "food": "something to eat",
    "vehicle": "a vehicle",
    "instrument": "a musical instrument",
    "garment": "a piece of clothing",
    "building": "a building",
}
DEEDS = (
    ("bought", "sold"),
    ("found", "lost"),
    ("remembered", "forgot"),
    ("loved", "hated"),
    ("won", "stole"),
)


def _pair(draw: Random, held_out: bool) -> Example:
    kind, other = draw.sample(sorted(KINDS), 2)
    name, thing = draw.choice(some(NAMES, held_out)), draw.choice(some(KINDS[kind], held_out))
    deed, opposite = draw.sample(draw.choice(DEEDS), 2)
    follows, slip = draw.random() < 0.5, draw.choice(("kind", "deed"))
    if not follows:
        kind, said = (other, deed) if slip == "kind" else (kind, opposite)
    else:
        said = deed
    second = f"{name} {said} {NAMED[kind]} ."
    return Example(tuple(f"{name} {deed} the {thing} .".split()), tuple(second.split()), (int(follows),))


MOVED = [kind for kind in sorted(KINDS) if kind != "building"]
TAGS = ("other", "person", "left", "reached", "thing")
JOURNEYS = (
    "{person} flew from {left} to {reached} with a {thing} .",
    "to {reached} came {person} from {left} .",
    "from {left} , {person} sent the {thing} to {reached} .",
    "{person} left {left} for {reached} .",
    "{reached} was where {person} went after {left} .",
    "the {thing} that {person} brought to {reached} was made in {left} .",
    "before {reached} , {person} had lived in {left} .",
    "out of {left} and into {reached} went {person} with the {thing} .",
)


def _token(draw: Random, held_out: bool) -> Example:
    left, reached = draw.sample(some(PLACES, held_out), 2)
    thing = draw.choice(some(KINDS[draw.choice(MOVED)], held_out))
    slots = {"person": draw.choice(some(NAMES, held_out)), "left": left, "reached": reached, "thing": thing}
    pattern = draw.choice(JOURNEYS).split()
    labels = tuple(TAGS.index(word.strip("{}")) if word.startswith("{") else 0 for word in pattern)
    return Example(tuple(" ".join(pattern).format(**slots).split()), None, labels)


OPENINGS = (
    "",
    "yesterday",
    "last week",
    "early one morning",
    "we heard that yesterday",
    "a neighbour told me that",
    "nobody would have believed it but",
    "in the year of the great storm",
)
QUESTIONS = (
    ("who was on the way ?", "person"),
    ("who was seen in {reached} ?", "person"),
    ("where did the journey begin ?", "left"),
    ("where was {person} at first ?", "left"),
    ("where did the journey end ?", "reached"),
    ("where was {person} at last ?", "reached"),
    ("what was taken along ?", "thing"),
    ("what did {person} own ?", "thing"),
)


def _span(draw: Random, held_out: bool) -> Example:
    left, reached = draw.sample(some(PLACES, held_out), 2)
    thing = draw.choice(some(KINDS[draw.choice(MOVED)], held_out))
    described = f"{draw.choice(some(ADJECTIVES, held_out))} {thing}"
    person = draw.choice(some(NAMES, held_out))
    slots = {"person": person, "left": left, "reached": reached, "thing": described}
    text: list[str] = []
    answers = {}
    for word in f"{draw.choice(OPENINGS)} {draw.choice(JOURNEYS)}".split():
        begins = len(text)
        text += word.format(**slots).split()
        answers[word.strip("{}")] = begins, len(text) - 1
    question, asked = draw.choice([each for each in QUESTIONS if each[1] in answers])
    return Example(tuple(question.format(**slots).split()), tuple(text), answers[asked])


TASKS = {
    task.name: task
    for task in (
        Task("sequence", tuple(sorted(KINDS)), _sequence),
        Task("pair", ("does not follow", "follows"), _pair),
        Task("token", TAGS, _token),
        Task("span", (), _span),
    )
}
