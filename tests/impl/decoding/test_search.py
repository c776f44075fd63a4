"""Greedy and beam search: ends, ties, empty places, types, refusals. What any result satisfies is checked in tests/verify."""

import math

import numpy as np
import pytest
import torch

from impl.decoding import Recomputed, beam, greedy, penalised

# Rows: logits after each of three tokens. Token 2 ends.
TABLE = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
END = 2


def model(table=TABLE):
    """The table as a step model."""
    return Recomputed(lambda tokens: table[tokens])


def test_greedy_takes_the_likeliest_until_the_end_and_counts_it():
    """From 0 to 1, from 1 to the end: two tokens, whose log-probabilities are summed; then nothing but the end."""
    found = greedy(model(), torch.tensor([[0], [1]]), max_length=5, end=END)
    log_p = TABLE.log_softmax(-1)
    assert found.tokens.tolist() == [[1, 2], [2, 2]]
    assert found.lengths.tolist() == [2, 1]
    torch.testing.assert_close(found.log_probability, torch.stack((log_p[0, 1] + log_p[1, 2], log_p[1, 2])))


def test_what_is_certain_has_the_log_probability_0():
    """Not −0, which prints as another number: of a vocabulary of one word nothing else can be said."""
    found = greedy(model(torch.zeros(1, 1)), torch.tensor([[0]]), max_length=3)
    assert str(found.log_probability.item()) == "0.0"


def test_without_an_end_every_row_has_the_greatest_length():
    """What looks like an end is a token like any other."""
    assert greedy(model(), torch.tensor([[0]]), max_length=5).tokens.shape == (1, 5)
    assert beam(model(), torch.tensor([[0]]), max_length=5, width=2).lengths.tolist() == [[5, 5]]


def test_of_equal_tokens_the_first_is_taken_whatever_their_number():
    """All tokens alike: greedily token 0, by beam search the first continuations in the order of the vocabulary."""
    alike = model(torch.zeros(7, 7))
    assert greedy(alike, torch.tensor([[3]]), max_length=2).tokens.tolist() == [[0, 0]]
    found = beam(alike, torch.tensor([[3]]), max_length=2, width=3, top=3)
    assert found.tokens.tolist() == [[[0, 0], [0, 1], [0, 2]]]


def test_places_that_nothing_takes_are_empty():
    """Two beams of one token each fill two of five places; the others have log-probability −∞, length 0 and hold the end."""
    found = beam(model(), torch.tensor([[0]]), max_length=1, width=5, top=2, end=END, alpha=0.6)
    assert found.lengths.tolist() == [[1, 1, 0, 0, 0]]
    assert found.score.isneginf().tolist() == [[False, False, True, True, True]]
    assert (found.tokens[0, 2:] == END).all()


def test_a_token_of_probability_0_is_never_taken():
    """Of three tokens one is excluded: two continuations of one token are left."""
    table = TABLE.clone()
    table[0, 1] = -math.inf
    found = beam(model(table), torch.tensor([[0]]), max_length=1, width=3)
    assert found.tokens[0, :2, 0].tolist() == [2, 0]
    assert found.log_probability[0, 2] == -math.inf


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_sums_are_in_float64_whatever_the_logits(dtype):
    """Logits that the type holds exactly give the sum that float64 gives, to float32's rounding of a log-softmax."""
    given = model(TABLE.to(dtype))
    found = beam(given, torch.tensor([[0]]), max_length=3, width=2, end=END)
    wanted = beam(model(), torch.tensor([[0]]), max_length=3, width=2, end=END)
    assert found.log_probability.dtype == torch.float64
    assert (found.tokens == wanted.tokens).all()
    # Three logarithms of sums near 2, each rounded some times.
    assert (found.log_probability - wanted.log_probability).abs().max() <= 16 * torch.finfo(torch.float32).eps


def test_the_penalty_is_that_of_the_paper_or_a_power():
    """log p / ((5 + 7)/6)^α = log p / 2^α, and log p / 4^α."""
    log_p = torch.tensor([-3.0], dtype=torch.float64)
    assert penalised(log_p, torch.tensor([7]), 1.0).item() == -1.5
    assert penalised(log_p, torch.tensor([4]), 0.5, "power").item() == -1.5
    assert penalised(log_p, torch.tensor([4]), 0.0) is log_p


@pytest.mark.parametrize(
    ("said", "prompts", "more"),
    [
        ("sizes >= 1", [[0]], {"max_length": 0, "width": 1}),
        ("sizes >= 1", [[0]], {"max_length": 1, "width": 0}),
        ("sizes >= 1", [[0]], {"max_length": 1, "width": 1, "top": 0}),
        ("lengths in 1..1", [[0]], {"max_length": 1, "width": 1, "lengths": torch.tensor([2])}),
        ("prompts .b n., lengths .b.", [[0]], {"max_length": 1, "width": 1, "lengths": torch.tensor([1, 1])}),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_a_line(said, prompts, more):
    """The procedure, what was expected, what was given."""
    with pytest.raises(ValueError, match=rf"decoding\.beam: expected {said}"):
        beam(model(), torch.tensor(prompts), **more)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"prompts": [[0]]}, TypeError, "a tensor as prompts; got list"),
        ({"prompts": torch.zeros(1, 1)}, TypeError, "integer prompts; got prompts float32"),
        ({"lengths": torch.tensor([True])}, TypeError, "integer lengths; got lengths bool"),
        ({"max_length": 2.0}, TypeError, "an integer as max_length; got 2.0"),
        ({"max_length": None}, TypeError, "an integer as max_length; got None"),
        ({"width": True}, TypeError, "an integer as width; got True"),
        ({"end": "2"}, TypeError, "an integer or None as end; got '2'"),
        ({"end": -1}, ValueError, "the id of a token as end; got -1"),
        ({"end": 3}, ValueError, "end in 0..2, a word of the vocabulary; got 3"),
        ({"alpha": None}, TypeError, "a number as alpha; got None"),
        ({"alpha": math.nan}, ValueError, "a finite alpha; got nan"),
        ({"penalty": "gnm"}, ValueError, "penalty is 'gnmt' or 'power'; got 'gnm'"),
        ({"model": lambda tokens: tokens}, TypeError, "the methods start and step, .* got function"),
        ({"model": Recomputed(lambda tokens: TABLE)}, ValueError, r"logits \(r n V\) of tokens \(r n\)"),
        ({"model": Recomputed(lambda tokens: TABLE.long()[tokens])}, TypeError, "floating logits of a model"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_is_of_another_kind_is_refused_by_its_name(changes, error, said):
    """One line for each argument, and for what a model gives."""
    given = {"model": model(), "prompts": torch.tensor([[0]]), "max_length": 2, "width": 1} | changes
    with pytest.raises(error, match=said) as caught:
        beam(given.pop("model"), given.pop("prompts"), **given)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_numpy_and_torch_are_integers_too():
    """As sizes, and as the end."""
    prompts = torch.tensor([[0]])
    plain = beam(model(), prompts, width=2, max_length=3, end=END)
    other = beam(
        model(),
        prompts,
        width=np.int64(2),
        max_length=torch.tensor(3),
        end=torch.tensor(END),
        alpha=np.float32(0),
    )
    assert torch.equal(plain.tokens, other.tokens)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_lengths_count_whatever_integers_they_are(dtype):
    """Bytes, too, by which torch masks where others pick."""
    prompts = torch.tensor([[0, 1], [1, 0]])
    plain = greedy(model(), prompts, torch.tensor([1, 2]), max_length=3)
    assert torch.equal(
        greedy(model(), prompts, torch.tensor([1, 2], dtype=dtype), max_length=3).tokens, plain.tokens
    )


def test_no_prompt_has_no_continuation():
    """In a batch of none, as from greedy decoding."""
    none = torch.zeros(0, 2, dtype=torch.int64)
    assert beam(model(), none, width=3, max_length=2).tokens.shape == (0, 3, 2)
    assert greedy(model(), none, max_length=2).tokens.shape == (0, 2)


class Answering:
    """A model that answers as it is told to, first from prompts, later to a word."""

    def __init__(self, first, later=None):
        self.first, self.later = first, later or first

    def start(self, prompts, lengths):
        return self.first(len(prompts))

    def step(self, state, tokens):
        return self.later(len(tokens))


class Rows:
    """A state that keeps nothing."""

    def reorder(self, index):
        return self


def answers(rows=0, value=None, state=None):
    """Answers with so many rows too many, with a value among the logits, with another state."""

    def answer(r):
        logits = torch.arange(7.0).expand(r + rows, 7).clone()
        if value is not None:
            logits[1, 2] = value
        return logits, Rows() if state is None else state

    return answer


def bare(r):
    """Logits alone."""
    return answers()(r)[0]


@pytest.mark.parametrize("search", [greedy, beam])
@pytest.mark.parametrize(
    ("first", "later", "kind", "line"),
    [
        (answers(value=math.nan), None, ValueError, "expected logits with a softmax; got NaN, .* in row 1"),
        (answers(), answers(value=math.nan), ValueError, "expected logits with a softmax; got NaN"),
        (answers(value=math.inf), None, ValueError, "expected logits with a softmax; got NaN, .Inf"),
        (
            answers(rows=1),
            None,
            ValueError,
            r"expected logits \(r V\) of a model for r = 3 rows; got logits \(4, 7\)",
        ),
        (answers(), answers(rows=-1), ValueError, r"expected logits \(r V\) of a model for r = "),
        (bare, None, TypeError, "expected logits and a state, a pair, as a model's answer; got Tensor"),
        (answers(), bare, TypeError, "expected logits and a state, a pair, as a model's answer; got Tensor"),
    ],
    ids=["nan", "nan later", "inf", "rows", "rows later", "no pair", "no pair later"],
)
@pytest.mark.usefixtures("unchecked")
def test_a_model_that_answers_amiss_is_refused_in_one_line(search, first, later, kind, line):
    """At the first step and at later ones."""
    model, prompts = Answering(first, later), torch.ones(3, 2, dtype=torch.int64)
    how = {"width": 2} if search is beam else {}
    with pytest.raises(kind, match=rf"^decoding.{search.__name__}: {line}"):
        search(model, prompts, max_length=3, **how)


@pytest.mark.usefixtures("unchecked")
def test_a_state_that_beams_cannot_reorder_is_refused_in_one_line():
    """A bare tensor among others; a search without beams needs no order."""
    model, prompts = Answering(answers(state=torch.ones(3, 5))), torch.ones(3, 2, dtype=torch.int64)
    line = "^decoding.beam: expected an object with the method reorder as a model's state; got Tensor$"
    with pytest.raises(TypeError, match=line):
        beam(model, prompts, max_length=3, width=2)
    assert greedy(model, prompts, max_length=3).tokens.shape == (3, 3)
