"""What the heads have in common: a linear layer from a row of BERT's width to one logit for each class."""

from typing import Any

from spec.vocabulary import *

n, d, K = sizes("n d K")
i, j, c, e, k, q, one = indices(i=n, j=n, c=d, e=d, k=K, q=K, one=1)

W = parameter("W", d, K, meaning="for each class a column: what speaks for it in a row")
b = parameter("b", K, meaning="what speaks for each class in any case")


def linear(row: Any) -> Node:
    """The logit of class k for a row."""
    return Sum(row[c] * W[c, k], c) + b[k]
