"""What is said of pairs that are drawn wrongly: the mistake in words, or the axiom that is violated."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from spec.masking.nsp import nsp
from tests.mutants import pairs as drawn
from tests.mutants.pairs import any_but, following, paired, plain, uniform
from verify import check
from verify.laws.checking import check_law

Pair = tuple[Tensor, Tensor]

TENTH = 0.1


def with_coin(starts: Tensor, first: Tensor, generator: Generator, shape: Any) -> Pair:
    """Pairs of which several share a coin."""
    follows = following(starts, first)
    true = follows & (torch.rand(shape, generator=generator) < 0.5)
    return paired(first, true, any_but(first + 1, follows, starts.shape[-1], generator))


def one_coin(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """A coin for a whole call."""
    return with_coin(starts, first, generator, ())


def one_coin_for_all_members(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """A coin for each pair, the same in all members of a batch."""
    return with_coin(starts, first, generator, first.shape[-1:])


def always_next(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """The sentence that follows, wherever one does."""
    return plain(starts, first, generator, 2.0)


def sixty(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """60 % of what follows."""
    return plain(starts, first, generator, 0.6)


def reversed_labels(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """1 for what follows."""
    second, label = plain(starts, first, generator)
    return second, 1 - label


def from_the_same_document(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """Random sentences of the same document, if it has any but the one that follows."""
    N = starts.shape[-1]
    document = starts.expand(*first.shape[:-1], N).long().cumsum(-1)
    mine = document[..., None, :] == document.gather(-1, first)[..., None]
    follows = following(starts, first)
    usable = mine & ~(follows[..., None] & (torch.arange(N) == first[..., None] + 1))
    share = usable.double().reshape(-1, N)
    second = torch.multinomial(share, 1, generator=generator).reshape(first.shape)
    return paired(first, follows & (uniform(first, generator) < 0.5), second)


def sometimes_the_one_before(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
    """Every pair by itself is right, but one in ten takes the coin of the pair four before."""
    follows, coin = following(starts, first), uniform(first, generator)
    again = torch.rand(coin.shape, generator=generator)[..., 4:] < 0.1
    coin[..., 4:] = torch.where(again, coin[..., :-4], coin[..., 4:])
    return paired(first, follows & (coin < 0.5), any_but(first + 1, follows, starts.shape[-1], generator))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (one_coin, "the pairs are not drawn independently of each other: neighbouring pairs of a call have the same label"),
        (one_coin_for_all_members, "pairs of two members of a batch have the same label in 100.0 %, by chance they would in 50"),
        (drawn.one_for_all, "neighbouring pairs of a call have the same second in 100.0 %"),
        (drawn.alternating, "neighbouring pairs of a call have the same label in 0.0 %"),
        (sometimes_the_one_before, "the pairs are not drawn independently of each other: main: positions"),
        (always_next, "the share of label 0 is off: 100.0 %, stated 50.0 %"),
        (sixty, "the share of label 0 is off: "),
        (reversed_labels, "label 0 and label 1 are exchanged: with each in the other's place every result is possible"),
        (from_the_same_document, "never drawn, stated 37.5 %: second 2, label 1; second 3, label 1; second 4, label 1"),
        (drawn.last_never_drawn, "never drawn, stated 12.5 %: second 4, label 1, main: position 0 (starts True at 0, 2"),
        (drawn.across_documents, "violated: where the label is 0, the second sentence is the one that follows"),
        (drawn.neighbours, "second 0, label 1: "),
    ],
)  # fmt: skip
def test_the_mistake_is_named(wrong: Any, says: str) -> None:
    """Every check that fails says what is wrong with the pairs; a tenth of the usual draws tells."""
    failed = [c for c in check_law(wrong, nsp, asked=TENTH) if c.verdict == "falsified"]
    assert failed
    assert all(says in c.details["cause"] for c in failed)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (one_coin, "falsified: the pairs are not drawn independently of each other: neighbouring pairs"),
        (drawn.true_next_drawn, "falsified: conforms under convention negatives=any"),
    ],
)
def test_the_first_line_of_a_report_says_it(wrong: Any, says: str) -> None:
    """What is wrong, or the convention under which nothing is."""
    assert says in str(check(wrong, "masking.nsp")).splitlines()[0]


def test_an_axiom_that_fails_is_said_to_be_violated() -> None:
    """With the place, what was given there, and what was returned."""
    checks = {c.name: c for c in check_law(reversed_labels, nsp, asked=TENTH)}
    first, other = checks["law: a label of 0 is true"], checks["law: possible outcomes"]
    assert first.message.startswith(
        "violated: where the label is 0, the second sentence is the one that follows; main: "
    )
    assert "starts True at 0, 2 and first 2) drew second " in other.message


@pytest.mark.parametrize("seed", range(3))
def test_what_members_of_a_batch_share_is_seen_at_every_seed(seed: int) -> None:
    """At any seed there are members in which the same pair is left to chance."""
    checks = check_law(one_coin_for_all_members, nsp, None, seed, asked=TENTH)
    assert [c.name for c in checks if c.verdict == "falsified"] == ["law: independence"]
