"""Whole-word masking: words are selected, with all their pieces."""

from spec.masking.mlm import mlm
from spec.masking.parts import (
    EVERY_DRAW,
    NUMBERS,
    OUTCOME,
    SIZES,
    P,
    V,
    corrupted,
    distribution,
    drawn,
    generator,
    i,
    ids,
    labels,
    mask_id,
    n,
    never_selected,
    not_negative,
    replaced,
    rho,
    same,
    special,
    w,
    y,
)
from spec.vocabulary import *

continues = data(
    "continues", n, domain="boolean", meaning="True where a token continues the word of the one before it"
)
joined = tensor(
    "joined", n, domain="boolean", meaning="whether a token is selected together with the one before it"
)

REPLACEMENT = Convention(
    "replacement",
    {
        "each_piece": "each piece of a selected word becomes [MASK], a random word or stays by itself, as in the original BERT",
        "always_mask": "every piece of a selected word becomes [MASK], as in Hugging Face transformers",
    },
    default="each_piece",
)
goes_on = lt(0, i) & continues[i] & ~special[i] & ~special[i - 1]
"""The condition that position i holds a further piece of a word."""
becomes = by_convention("replacement", each_piece=replaced, always_mask=delta(w, mask_id))

whole_words = Formula(
    "masking.whole_words",
    "Whole-word masking: corruption",
    why="A vocabulary of pieces cuts a rare word into several: “phil ##am ##mon”. What if only the middle one is hidden? Its "
    "neighbours all but spell it out, and the model learns to complete words where it should learn what a text speaks of. So "
    "words are drawn instead of tokens, and a word that is drawn is asked for with all its pieces; each token is asked for "
    "as often as before.",
    sizes=SIZES,
    inputs=(ids, continues, special, mask_id, V, generator),
    lines=(
        define(joined[i], goes_on),
        *distribution(rho, becomes),
    ),
    outputs=(P,),
    conventions=(REPLACEMENT,),
    constants=NUMBERS,
    law=Law(
        probability=P,
        returns=(corrupted, labels),
        outcome=OUTCOME,
        over=((i, n),),
        together=Together(joined, "word", "piece"),
        axioms=EVERY_DRAW,
    ),
    pitfalls=(
        pitfall("the pieces of a word are drawn one by one", mutant="piece_by_piece"),
        pitfall("only the first piece of a word is hidden", mutant="first_piece_only"),
        pitfall(
            "a word is drawn once for each of its pieces, so that long words are hidden more often",
            theorem="as_often_as_mlm",
        ),
        pitfall(
            "a word goes on behind [SEP], or from one row into the next: the original BERT's own code passes over special ones, "
            "which shows where a text was cut within a word",
            mutant="across_special_tokens",
        ),
        pitfall(
            "one draw says what becomes of a whole word: its pieces are all masked, all random or all kept",
            mutant="one_kind_for_a_word",
        ),
        pitfall(
            "transformers replaces by [MASK] alone, the original BERT piece by piece: both are in use",
            convention="replacement",
        ),
    ),
    sources=(
        paper("google2019", "whole word masking models"),
        paper("devlin2019", "section 3.1"),
    ),
    worked=(
        Worked(
            "Two pieces of one word, words 0 and 1 of a vocabulary of four in which [MASK] is word 3, and [SEP], word 2: each "
            "piece by itself has the probabilities of masking.mlm",
            {
                "ids": [0, 1, 2],
                "continues": [False, True, False],
                "special": [False, False, True],
                "mask_id": 3,
                "V": 4,
            },
            [
                [
                    ["0.85000", "0.01875"],
                    ["0.00000", "0.00375"],
                    ["0.00000", "0.00375"],
                    ["0.00000", "0.12375"],
                ],
                [
                    ["0.00000", "0.00375"],
                    ["0.85000", "0.01875"],
                    ["0.00000", "0.00375"],
                    ["0.00000", "0.12375"],
                ],
                [
                    ["0.00000", "0.00000"],
                    ["0.00000", "0.00000"],
                    ["1.00000", "0.00000"],
                    ["0.00000", "0.00000"],
                ],
            ],
            5,
        ),
        Worked(
            "A word of two pieces where selected ones always become [MASK]",
            {"ids": [0, 1], "continues": [False, True], "special": [False, False], "mask_id": 3, "V": 4},
            [
                [["0.85", "0.00"], ["0.00", "0.00"], ["0.00", "0.00"], ["0.00", "0.15"]],
                [["0.00", "0.00"], ["0.85", "0.00"], ["0.00", "0.00"], ["0.00", "0.15"]],
            ],
            2,
            conventions={"replacement": "always_mask"},
        ),
    ),
    notes="P[i, w, y] is the probability that position i becomes word w and is selected (y = 1) or not (y = 0). A position where "
    "joined holds is selected just where the one before it is; all others are selected independently of each other, and what "
    "becomes of a selected one is independent of all else. The first token of a row and one after a special token begin a word, "
    "whatever they look like. The original BERT selects a fixed number of tokens: words in random order, as long as they fit.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

EACH_PIECE, ALWAYS_MASK = ({"replacement": option} for option in REPLACEMENT.options)

whole_words.theorem(
    "as_often_as_mlm",
    "Each token by itself is drawn as if tokens were drawn one by one: what it becomes, and how often, is as in masking.mlm",
    claim(P[i, w, y], "=", mlm(ids, special, mask_id, V, generator)[i, w, y]).by_definition(
        "word by word only says which tokens are selected together"
    ),
    conventions=EACH_PIECE,
    runs=False,
)

whole_words.theorem(
    "sums_to_one",
    "At every position the probabilities of all words, selected or not, sum to 1",
    claim(Sum(P[i, w, y], y, w), "=", 1)
    .step(Sum(P[i, w, 0], w) + drawn, "not selected, and selected")
    .step(
        case(special[i], Sum(same, w), (1 - rho) * Sum(same, w) + rho * Sum(becomes, w)),
        "the definition: a special token stays what it is",
    )
    .because("what a token stays and what it becomes both sum to 1, and so do ρ and 1 − ρ"),
    runs=False,
)

never_selected(whole_words)
not_negative(whole_words, {})

whole_words.theorem(
    "selected",
    "An ordinary token is selected with probability 0.15, however many pieces its word has, and whatever becomes of them",
    claim(drawn, "=", Rational(15, 100), where=~special[i])
    .step(rho * Sum(becomes, w), "the definition, summed over all words")
    .because("what a selected token becomes sums to 1"),
    at=NUMBERS,
    runs=False,
)

whole_words.theorem(
    "expected_selected",
    "The expected number of selected tokens is ρ times the number of ordinary ones, that of selected words ρ times the number of "
    "words: where no token is joined to the one before it, a word begins",
    claim(Sum(drawn, i), "=", rho * Sum(1, i, where=~special[i]))
    .step(
        Sum(case(~special[i], rho), i),
        "an ordinary token is selected with probability ρ, a special one never",
    )
    .because("ρ does not depend on the token"),
    claim(Sum(drawn, i, where=~goes_on), "=", rho * Sum(1, i, where=~goes_on & ~special[i]))
    .step(
        Sum(case(~special[i], rho), i, where=~goes_on),
        "an ordinary token is selected with probability ρ, a special one never",
    )
    .because("ρ does not depend on the token"),
    runs=False,
)
