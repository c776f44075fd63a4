"""What attention's formulas share: how a mask says which keys a query may attend to, and what a query without one gets."""

from spec.vocabulary import *

POLARITY = Convention(
    "polarity",
    {
        "true_attends": "True marks the keys a query may attend to",
        "true_drops": "True marks the keys it may not",
    },
    default="true_attends",
    absent={"true_drops": False},
)
FULLY_MASKED = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key gets weights 0",
        "mean": "such a query weighs all keys alike (the mask was filled with the smallest number there is)",
        "unspecified": "nothing is said about such a query (0/0 and NaN included)",
        "filled_1e4": "no key is left out: a masked one has the score −10⁴, so that scores of that size let it in, and a query "
        "without a permitted key weighs all alike",
        "filled_1e6": "the same with −10⁶",
        "filled_1e9": "the same with −10⁹",
        "added_1e4": "no key is left out: the score of a masked one is 10⁴ less, as in the original BERT, and a query without a "
        "permitted key attends as if all were permitted",
    },
    default="zero",
)
OURS = {"polarity": "true_attends", "fully_masked": "zero"}
"""The conventions under which most theorems about attention are stated."""
FILLS = {"filled_1e4": 10**4, "filled_1e6": 10**6, "filled_1e9": 10**9}
"""What a masked key's score is, with a minus, where it is not left out."""


def permitted(mask: Tensor, *at: Index) -> Node:
    """The condition that a mask lets a query attend to a key: ``permitted(mask, i, j)``."""
    return by_convention("polarity", true_attends=mask[at], true_drops=~mask[at])


def let_in(s: Node, seen: Node) -> dict[str, Node]:
    """A score where masked keys are not left out, by the options of the convention that say what becomes of it."""
    filled = {option: case(seen, s, -fill) for option, fill in FILLS.items()}
    return {**filled, "added_1e4": case(seen, s, s - 10**4)}


def mix(a: Tensor, v: Tensor, mask: Tensor, i: Index, j: Index, l: Index, e: Index) -> Node:
    """Entry e of the values that query i has gathered from the keys j by its weights, and what one without a key gets."""
    mixed = Sum(a[i, j] * v[j, e], j, where=permitted(mask, i, j))
    has_key = Some(permitted(mask, i, l), l)
    return by_convention(
        "fully_masked",
        zero=mixed,
        mean=case(has_key, mixed, Sum(v[j, e], j) / v.shape[0]),
        unspecified=case(has_key, mixed, Undefined()),
        **dict.fromkeys((*FILLS, "added_1e4"), Sum(a[i, j] * v[j, e], j)),
    )
