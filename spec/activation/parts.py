"""What activations share: a row, each entry of which becomes something by itself."""

from spec.vocabulary import *

(d,) = sizes("d")
(i,) = indices(i=d)

x = data("x", d, meaning="one row: what reaches each unit")
y = tensor("y", d, meaning="how active each unit is")
g = given("g", d)

SIZES = {d: "units: the entries of a row"}


def prove_bounds(activation: Formula, share: Node) -> None:
    """Theorems of an activation that lets through a ``share`` of each entry, between 0 and 1: y = x·share(x), where the shares
    of x and of −x are together 1.
    """
    opposite = activation(each(-x[i], i))
    activation.theorem(
        "mirrored",
        "What it makes of a number less what it makes of the opposite one is the number itself",
        claim(y[i] - opposite[i], "=", x[i])
        .step(x[i] * share + x[i] * (1 - share), "the shares of x and of −x are together 1")
        .because("one share and the other are the whole"),
    )
    activation.theorem(
        "between",
        "It is never further from 0 than the number that it is made of",
        claim(absolute(y[i]), "<=", absolute(x[i]))
        .step(absolute(x[i]) * share, "a share is positive")
        .because("a share is less than 1", gap=absolute(x[i]) * (1 - share)),
        runs=False,
    )
    activation.theorem(
        "below_relu",
        "It is at most max(0, ·): a positive number is let through in part, and of a negative one comes nothing above 0",
        claim(y[i], "<=", case(lt(0, x[i]), x[i], 0)).by_definition(
            "a share lies between 0 and 1",
            gap=case(lt(0, x[i]), x[i] * (1 - share), (0 - x[i]) * share),
        ),
    )
