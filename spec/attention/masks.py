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
        "mean": "such a query weighs all keys alike (the mask was filled with a large negative number)",
        "unspecified": "nothing is said about such a query (0/0 and NaN included)",
    },
    default="zero",
)
OURS = {"polarity": "true_attends", "fully_masked": "zero"}
"""The conventions under which most theorems about attention are stated."""


def permitted(mask: Tensor, *at: Index) -> Node:
    """The condition that a mask lets a query attend to a key: ``permitted(mask, i, j)``."""
    return by_convention("polarity", true_attends=mask[at], true_drops=~mask[at])
