"""Next sentence prediction: how pairs are drawn."""

from typing import Any

from spec.vocabulary import *

n, N = sizes("n N")
k, c, e, l = indices(k=n, c=N, e=N, l=N)
(y,) = indices(y=2)

starts = data(
    "starts",
    N,
    domain="boolean",
    meaning="True where a document begins; the corpus is its sentences in their order",
)
first = data(
    "first", n, domain="integer", below=N, meaning="the sentence that each pair begins with, by its number"
)
generator = Tensor("generator", (), "generator", "generator", meaning="where the draws come from")

half = constant("half", meaning="probability that the sentence that follows is taken")
count = tensor("count", n, meaning="how many sentences may be drawn for each pair")
rate = tensor("rate", n, meaning="probability that a pair gets the sentence that follows")
P = tensor(
    "P",
    n,
    N,
    2,
    meaning="probability that pair k gets sentence c as the next one (y = 0) or as a random one (y = 1)",
)
second = tensor("second", n, domain="integer", meaning="the sentence that each pair ends with")
label = tensor(
    "label", n, domain="integer", meaning="0 where it is the one that follows, 1 where it was drawn"
)

NEGATIVES = Convention(
    "negatives",
    {
        "not_next": "a random sentence is any of the corpus but the one that follows",
        "other_document": "a random sentence is any of another document, as in the original BERT",
        "any": "a random sentence is any at all, the one that follows among them, which is then called random",
    },
    default="not_next",
)


def follows(sentence: Any) -> Node:
    """The condition that a sentence is the next one, in the same document, after the first of pair k."""
    return eq(sentence - 1, first[k]) & ~starts[sentence]


def elsewhere(sentence: Any) -> Node:
    """The condition that a sentence stands in another document: some document begins between."""
    after, before = lt(first[k], l) & le(l, sentence), lt(sentence, l) & le(l, first[k])
    return Some(starts[l] & (after | before), l)


def candidate(sentence: Any) -> Node:
    """The condition that a sentence may be drawn for pair k."""
    return by_convention(
        "negatives", not_next=~follows(sentence), other_document=elsewhere(sentence), any=TRUE
    )


some_next, some_candidate = Some(follows(e), e), Some(candidate(e), e)
is_sentence = le(0, second[k]) & lt(second[k], N)
none = eq(second[k], -1) & eq(label[k], -100)

nsp = Formula(
    "masking.nsp",
    "Next sentence prediction: pairs",
    why="How can a model be taught what two texts have to do with each other, without anyone saying so? The order of a text "
    "tells: half of the pairs are a sentence and the one that follows it, the other half a sentence and any other, and the model "
    "has to say which. Where a sentence is the last of its document nothing follows, so that its pair is always a random one. A "
    "random sentence that happens to be the next one would be called wrong though it is right; whether that may happen is a "
    "convention.",
    sizes={n: "pairs", N: "sentences of the corpus"},
    inputs=(starts, first, generator),
    lines=(
        define(count[k], Sum(1, c, where=candidate(c))),
        define(rate[k], case(some_next, case(some_candidate, half, 1), 0)),
        define(P[k, c, 0], case(follows(c), rate[k])),
        define(P[k, c, 1], case(candidate(c), (1 - rate[k]) / count[k])),
    ),
    outputs=(P,),
    conventions=(NEGATIVES,),
    constants={half: Rational(1, 2)},
    law=Law(
        probability=P,
        returns=(second, label),
        outcome=(second[k], label[k]),
        over=((k, n),),
        axioms=(
            Axiom(
                "a label of 0 is true",
                "where the label is 0, the second sentence is the one that follows",
                ~eq(label[k], 0) | (is_sentence & follows(second[k])),
            ),
            Axiom(
                "a label of 1 is a draw",
                "where the label is 1, the second sentence is one that may be drawn",
                ~eq(label[k], 1) | (is_sentence & candidate(second[k])),
            ),
            Axiom(
                "no pair without a sentence",
                "the second sentence is −1 and the label −100 just where nothing follows and nothing may be drawn",
                case(some_next | some_candidate, ~none, none),
            ),
        ),
    ),
    pitfalls=(
        pitfall("a random sentence is the true next one, and is called random", theorem="never_the_next"),
        pitfall(
            "random sentences from the same document or from another: both are in use", convention="negatives"
        ),
        pitfall("the next sentence taken across the end of a document", mutant="across_documents"),
        pitfall("one coin for the whole batch", mutant="one_coin"),
    ),
    sources=(
        deck(2, "training set composition: 50 % adjacent, 50 % random pairs"),
        deck(4, "next sentence prediction"),
        paper("devlin2019", "section 3.1, task 2"),
    ),
    worked=(
        Worked(
            "Four sentences in two documents of two; a pair that begins with the first: one half for the second, and a third of "
            "the other half for each of the others",
            {"starts": [True, False, True, False], "first": [0]},
            [[["0.0000", "0.1667"], ["0.5000", "0.0000"], ["0.0000", "0.1667"], ["0.0000", "0.1667"]]],
            4,
        ),
        Worked(
            "The same where it has to come from another document",
            {"starts": [True, False, True, False], "first": [0]},
            [[["0.00", "0.00"], ["0.50", "0.00"], ["0.00", "0.25"], ["0.00", "0.25"]]],
            2,
            conventions={"negatives": "other_document"},
        ),
        Worked(
            "A pair that begins with the last of a document: nothing follows, and it is a random one",
            {"starts": [True, False, True, False], "first": [1]},
            [[["0.00", "0.25"], ["0.00", "0.25"], ["0.00", "0.25"], ["0.00", "0.25"]]],
            2,
        ),
    ),
    notes="P[k, c, y] is the probability that pair k ends with sentence c and has the label y; pairs, and calls, draw "
    "independently of each other. The original BERT draws a document first and then a place in it, which weighs the sentences of "
    "short documents more.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

HALF = {half: Rational(1, 2)}
AS_OURS, FROM_OTHERS, FROM_ALL = ({"negatives": option} for option in NEGATIVES.options)
taken, drawn = Sum(P[k, c, 0], c), Sum(P[k, c, 1], c)

nsp.theorem(
    "sums_to_one",
    "The probabilities of all sentences and both labels sum to 1",
    claim(taken + drawn, "=", 1)
    .step(
        rate[k] + (1 - rate[k]) * (count[k] / count[k]),
        "one sentence follows at most; count many may be drawn",
    )
    .because("the first sentence itself may be drawn, so the count is positive"),
    conventions=AS_OURS,
    runs=False,
)

nsp.theorem(
    "labels",
    "Where a sentence follows, both labels have probability 1/2; where none does, the pair is a random one",
    claim(taken, "=", Rational(1, 2), where=some_next)
    .step(
        Sum(case(eq(c - 1, first[k]), rate[k]), c, where=~starts[c]),
        "only the sentence that follows is taken",
    )
    .because("there is just one, and its probability is 1/2"),
    claim(taken, "=", 0, where=~some_next).by_definition("no sentence follows"),
    conventions=AS_OURS,
    at=HALF,
    runs=False,
)

nsp.theorem(
    "never_the_next",
    "A pair that is called random is never a true one",
    claim(P[k, c, 1], "=", 0, where=follows(c)).by_definition("what follows is not drawn"),
    conventions=AS_OURS,
    runs=False,
)

nsp.theorem(
    "never_the_next_elsewhere",
    "Nor is it where random sentences come from another document: what follows stands in the same one",
    claim(P[k, c, 1], "=", 0, where=follows(c)).by_definition(
        "no document begins after the first sentence and up to the next"
    ),
    conventions=FROM_OTHERS,
    runs=False,
)

nsp.theorem(
    "sometimes_the_next",
    "Where any sentence may be drawn, one pair in 2N is a true one that is called random",
    claim(P[k, c, 1], "=", 1 / (2 * lift(N)), where=follows(c))
    .step((1 - rate[k]) / N, "all N sentences may be drawn")
    .because("a sentence follows, so the rate is 1/2"),
    conventions=FROM_ALL,
    at=HALF,
    runs=False,
)

nsp.theorem(
    "alike",
    "Where any sentence may be drawn, all are drawn with the same probability",
    claim(P[k, c, 1], "=", P[k, e, 1]).by_definition("it depends on their number alone"),
    conventions=FROM_ALL,
    runs=False,
)
