"""At sizes of which a statement says nothing where nothing is hidden a callable is not called; at all others it is."""

import pytest
import torch

from spec.language.registry import find
from tests.mutants.objectives import at as entries
from tests.mutants.objectives import log_law, mean, smoothed
from verify import check
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.properties.judge import Judge
from verify.properties.unsaid_sizes import restrict_to_stated

LOSS = "objectives.cross_entropy"


def among_the_others(s, y, epsilon):
    """Divides by V − 1."""
    law, each = log_law(s, y), epsilon / (s.shape[-1] - 1)
    return mean(-(1 - epsilon - each) * entries(law, y) - each * law.sum(-1), y)


def some_words_only(s, y, epsilon):
    """Right, and refuses a single word."""
    if s.shape[-1] == 1:
        raise ValueError("two words at least")
    return mean(smoothed(log_law(s, y), y, epsilon), y)


@pytest.mark.parametrize(
    ("formula", "conventions", "rules"),
    [
        (LOSS, {"smoothing": "others"}, "V = 2.."),
        (LOSS, {"smoothing": "others", "none_asked": "unspecified"}, "V = 2.."),
        (LOSS, {"none_asked": "unspecified"}, ""),  # of a single place nothing is said without a label only
        ("positional.sinusoidal", {"frequencies": "closed"}, "d = 4.."),
        ("attention.softmax", {"fully_masked": "unspecified"}, ""),
        ("attention.softmax", {}, ""),
    ],
)
def test_sizes_of_which_nothing_is_said_are_found_in_the_statement(formula, conventions, rules):
    """Not those of which nothing is said for some masks and labels."""
    assert str(restrict_to_stated(Judge(find(formula), conventions), EVERY_SIZE)) == rules


def test_what_a_user_says_of_a_size_stays():
    """Their own rule is not replaced by one that allows more."""
    formula = find(LOSS)
    own = Supported.of(formula, {"V": "even"})
    assert restrict_to_stated(Judge(formula, {"smoothing": "others"}), own) == own


def test_a_size_that_others_are_to_equal_is_no_rule_of_its_own():
    """What is said of T there leaves V free."""
    formula = find(LOSS)
    found = restrict_to_stated(Judge(formula, {"smoothing": "others"}), Supported.of(formula, {"T": "V"}))
    assert str(found) == "V = 2.., T = V"
    assert {s.name: v for s, v in found.adjust_sizes(dict.fromkeys(formula.sizes, 1)).items()} == {
        "T": 2,
        "V": 2,
    }


def test_sizes_that_other_conventions_leave_out_speak_against_none():
    """Right where a share is spread over the others, NaN at a single word: no other convention is named beside it."""

    def multiplied(s, y, epsilon):
        asked, law = (y >= 0).to(s.dtype), log_law(s, y)
        each = epsilon / torch.tensor(s.shape[-1] - 1.0, dtype=s.dtype)
        cost = (-(1 - epsilon) * entries(law, y) - each * (law.sum(-1) - entries(law, y))) * asked
        return cost.sum(-1) / asked.sum(-1).clamp(min=1)

    assert check(multiplied, LOSS, conventions="auto", max_examples=30).found == {"smoothing": "others"}


def test_who_is_undefined_where_the_statement_is_conforms():
    """A division by 0 at a single word is no fault under the convention that says nothing of it."""
    report = check(among_the_others, LOSS, conventions={"smoothing": "others"}, max_examples=20)
    assert report.verdict == "conforms"
    assert report.sizes == "V = 2.."


def test_who_refuses_what_is_stated_is_falsified():
    """Under the other convention a single word costs 0."""
    report = check(some_words_only, LOSS, conventions={"smoothing": "all"}, max_examples=20, causes=False)
    assert report.falsified
    assert "two words at least" in report.falsified[0].message
