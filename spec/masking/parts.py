"""What the two ways of hiding words have in common: their letters, what becomes of a token, and what every draw satisfies."""

from spec.vocabulary import *

n, V = sizes("n V")
i, l, w = indices(i=n, l=n, w=V)
(y,) = indices(y=2)

ids = data(
    "ids", n, domain="integer", below=V, meaning="the tokens of a text, by their number in the vocabulary"
)
special = data("special", n, domain="boolean", meaning="True where a token must stay: [CLS], [SEP], padding")
mask_id = number("mask_id", "integer", below=V, meaning="the number of [MASK]")
generator = Tensor("generator", (), "generator", "generator", meaning="where the draws come from")

rho = constant("rho", meaning="probability that an ordinary token is selected")
alpha = constant("alpha", meaning="share of the selected tokens that become [MASK]")
omega = constant("omega", meaning="share of the selected tokens that become a random word")
P = tensor(
    "P", n, V, 2, meaning="probability that position i becomes word w and is selected (y = 1) or not (y = 0)"
)
corrupted = tensor("corrupted", n, domain="integer", meaning="the tokens that the model reads")
labels = tensor("labels", n, domain="integer", meaning="the tokens to predict; −100 where nothing is asked")

SIZES = {n: "length of the text", V: "size of the vocabulary"}
NUMBERS = {rho: Rational(15, 100), alpha: Rational(8, 10), omega: Rational(1, 10)}
"""The constants, as BERT has them."""

same = delta(w, ids[i])
replaced = alpha * delta(w, mask_id) + omega / V + (1 - alpha - omega) * same
"""What a selected token becomes."""

OUTCOME = (corrupted[i], lift(1) - delta(labels[i], -100))
"""What is drawn at a position: the word that stands there afterwards, and whether it is asked for."""
EVERY_DRAW = (
    Axiom(
        "labels only where selected",
        "a label is −100 or the original id",
        eq(labels[i], -100) | eq(labels[i], ids[i]),
    ),
    Axiom(
        "special tokens are never selected",
        "a special token's label is −100",
        ~special[i] | eq(labels[i], -100),
    ),
    Axiom(
        "unselected tokens are untouched",
        "where the label is −100 the id stands",
        ~eq(labels[i], -100) | eq(corrupted[i], ids[i]),
    ),
)

drawn = Sum(P[i, w, 1], w)
"""The probability that a position is selected."""


def distribution(rate: Node | Tensor, becomes: Node = replaced) -> tuple[Definition, Definition]:
    """The lines of P where an ordinary token is selected with probability ``rate``."""
    return (
        define(P[i, w, 0], case(special[i], same, (1 - rate) * same)),
        define(P[i, w, 1], case(special[i], 0, rate * becomes)),
    )


def never_selected(formula: Formula) -> None:
    """The theorem that special tokens stay."""
    formula.theorem(
        "special_never_selected",
        "A special or padding token stays what it is, and is never selected",
        claim(P[i, w, 1], "=", 0, where=special[i]).by_definition("the definition, for a special token"),
        claim(P[i, w, 0], "=", same, where=special[i]).by_definition("the definition, for a special token"),
        runs=False,
    )


def not_negative(formula: Formula, conventions: dict[str, str]) -> None:
    """The theorem that no probability is negative."""
    formula.theorem(
        "not_negative",
        "No probability is negative",
        claim(0, "<=", P[i, w, y]).by_definition("each case is a sum of numbers that are at least 0"),
        conventions=conventions,
        at=NUMBERS,
        runs=False,
    )
