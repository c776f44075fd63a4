"""What several formulas of attention say alike: the widths, an array with one row replaced, why a mixture stays in the hull."""

from spec.vocabulary import *

d_model, d_k, d_v = sizes("d_model d_k d_v")
WIDTHS = {d_model: "width of a token", d_k: "width of queries and keys", d_v: "width of values"}


def replace_row(array: Tensor, r: Tensor, other: Tensor) -> Comprehension:
    """The array with another row at r."""
    j, c = indices(j=array.shape[0], c=array.shape[1])
    return each(case(eq(j, r), other[c], array[j, c]), j, c)


def in_the_hull(mixed: Node, share: Node, reach: Node, j: Index, seen: Node, some: Node) -> Claim:
    """The claim that a mixture of what is seen goes no farther in a direction than the farthest of it."""
    farthest = Max(reach, j, where=seen)
    return (
        claim(mixed, "<=", farthest, where=some)
        .step(Sum(share * reach, j, where=seen), "the definition of the mixture, and the sums exchanged")
        .at_most(
            Sum(share * farthest, j, where=seen),
            "no weight is negative, and nothing that is seen reaches farther than the farthest",
            gap=Sum(share * (farthest - reach), j, where=seen),
        )
        .because("the farthest does not depend on j, and the weights sum to 1")
    )
