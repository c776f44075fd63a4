from __future__ import annotations

from random import Random

import pytest
import torch

from examples.finetune.baselines import bag_of_words, fit, majority
from examples.finetune.tasks import TAGS, TASKS, Example
from examples.finetune.words import ADJECTIVES, KINDS, NAMES, PLACES, some

LISTS = [*KINDS.values(), NAMES, PLACES, ADJECTIVES]


def test_words_are_for_training_or_held_out_and_stand_in_one_list() -> None:
    """So that none is known from elsewhere."""
    for words in LISTS:
        assert set(some(words, True)) | set(some(words, False)) == set(words.split())
        assert not set(some(words, True)) & set(some(words, False))
    every = [word for words in LISTS for word in words.split()]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("name", TASKS)
def test_what_a_test_names_was_never_in_training(name: str) -> None:
    """Of the words that stand in the lists; patterns are the same. A seed gives the same examples, none twice."""
    task = TASKS[name]
    training, measured = (task.examples(67, 3, held_out=held_out) for held_out in (False, True))
    assert len(set(training)) == 67
    assert task.examples(67, 3, held_out=False) == training
    assert task.examples(67, 4, held_out=False) != training

    def words(examples: list[Example]) -> set[str]:
        return {word for each in examples for text in (each.text, each.second or ()) for word in text}

    named = {word for words in LISTS for word in words.split()}
    assert not words(training) & words(measured) & named
    assert words(measured) & named


def test_a_label_for_each_word_names_persons_places_and_things() -> None:
    """As many labels as words; every word of a list has the label of its list."""
    for each in TASKS["token"].examples(101, 0, held_out=False):
        assert len(each.labels) == len(each.text)
        for word, label in zip(each.text, each.labels, strict=True):
            listed = {"person": NAMES, "left": PLACES, "reached": PLACES}.get(TAGS[label])
            # "left" and the like stand in the patterns, too.
            assert listed is None or word in listed.split()
            assert TAGS[label] != "other" or word not in (NAMES + " " + PLACES).split()


def test_an_answer_is_what_is_asked_for_and_not_in_the_question() -> None:
    """A person to who, a place to where, a thing with what is said of it to what; wherever it stands."""
    people, places = set(NAMES.split()), set(PLACES.split())
    places_of_answers = set()
    for question, text, (first, last) in TASKS["span"].examples(101, 0, held_out=True):
        assert text is not None
        answer = text[first : last + 1]
        assert not set(answer) & set(question)
        if question[0] == "what":
            assert answer[0] in ADJECTIVES.split()
            assert any(answer[1] in words.split() for words in KINDS.values())
        else:
            assert len(answer) == 1
            assert answer[0] in (people if question[0] == "who" else places)
        places_of_answers.add(first)
    assert len(places_of_answers) > 5


def test_pairs_follow_or_not_in_halves_and_texts_are_of_every_kind() -> None:
    """No label is rare."""
    follows = [each.labels[0] for each in TASKS["pair"].examples(500, 0, held_out=False)]
    assert 200 < sum(follows) < 300
    kinds = torch.tensor([each.labels[0] for each in TASKS["sequence"].examples(500, 0, held_out=False)])
    assert kinds.bincount(minlength=len(KINDS)).min() > 40


def test_softmax_regression_finds_what_is_linear() -> None:
    """And says so of others."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(211, 7, generator=generator)
    labels = (x @ torch.randn(7, 3, generator=generator)).argmax(-1)
    W, b = fit(x[:150], labels[:150], 3)
    assert ((x[150:] @ W + b).argmax(-1) == labels[150:]).double().mean() > 0.9


def test_baselines_answer_by_frequency_and_by_words() -> None:
    """Where words decide, the bag of words is right, and the majority is right as often as its label."""
    draw = Random(0)

    def made(count: int) -> list[Example]:
        found = []
        for _ in range(count):
            label = draw.choice((0, 0, 0, 1))
            found.append(Example(("so", ("bad", "good")[label], draw.choice("abc")), None, (label,)))
        return found

    training, measured = made(101), made(67)
    share = sum(each.labels == (0,) for each in measured) / 67
    assert majority(TASKS["sequence"], training, measured) == share
    assert bag_of_words(TASKS["sequence"], training, measured) == 1.0


@pytest.mark.parametrize("name", TASKS)
def test_without_reading_the_tasks_are_not_solved(name: str) -> None:
    """Neither the most frequent label nor the words that occur do well where names are new."""
    training, measured = (TASKS[name].examples(101, 0, held_out=held_out) for held_out in (False, True))
    for baseline in (majority, bag_of_words):
        assert 0 <= baseline(TASKS[name], training, measured) < 0.8
