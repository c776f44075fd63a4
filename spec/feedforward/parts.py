"""What the feed-forward networks have in common: two layers with a function of one number between them."""

from spec.vocabulary import *

d, f = sizes("d f")
c, e, u, one = indices(c=d, e=d, u=f, one=1)

x = data("x", d, meaning="one row: what a position holds")
W_1 = parameter("W_1", d, f, meaning="column u says what inner unit u looks for in a row")
b_1 = parameter("b_1", f, meaning="the level from which each inner unit counts")
W_2 = parameter("W_2", f, d, meaning="row u is what inner unit u adds where it is active")
b_2 = parameter("b_2", d, meaning="what is added in any case")
a = tensor("a", f, meaning="what reaches each inner unit")
h = tensor("h", f, meaning="how active each inner unit is")
y = tensor("y", d, meaning="what the network makes of the row")

SIZES = {d: "width of a row", f: "inner units: four times the width in the Transformer"}
REACHED = define(a[u], Sum(x[c] * W_1[c, u], c) + b_1[u])
JOINED = define(y[e], Sum(h[u] * W_2[u, e], u) + b_2[e])


def unit(network: Formula, u: Index) -> Applied:
    """What the network makes of the row with one inner unit alone, and without an outer bias."""
    return network(x, each(W_1[c, u], c, one), each(b_1[u], one), each(W_2[u, e], one, e), each(0, e))


def prove_sums(network: Formula, activity: Node) -> None:
    """Theorems about the sum over the inner units; ``activity`` is what unit u does with ``a[u]``."""
    sigma = given("sigma", f, domain="permutation")
    network.theorem(
        "units",
        "It is a sum over its inner units, each a network with a single unit of its own, and the outer bias",
        claim(y[e], "=", Sum(unit(network, u)[e], u) + b_2[e])
        .step(Sum(activity * W_2[u, e], u) + b_2[e], "the definition")
        .because("with unit u alone there is one term, and no bias"),
    )
    network.theorem(
        "unit_permutation",
        "Permuting the inner units, with their columns of W_1 and rows of W_2, changes nothing",
        claim(
            network(
                x,
                each(W_1[c, sigma[u]], c, u),
                each(b_1[sigma[u]], u),
                each(W_2[sigma[u], e], u, e),
                b_2,
            )[e],
            "=",
            y[e],
        )
        .step(Sum(h[sigma[u]] * W_2[sigma[u], e], u) + b_2[e], "number u is now unit σ(u), with its row")
        .because("σ reaches every unit once: the same terms in another order"),
        given=sigma,
    )
