"""The cosine of the angle between two vectors."""

from spec.similarity.dot import dot
from spec.vocabulary import *

(d,) = sizes("d")
(j,) = indices(j=d)

x, y = data("x", d, meaning="one vector"), data("y", d, meaning="the vector to compare it with")
x_norm = tensor("x_norm", domain="nonnegative", meaning="length of x, by which its size is divided out")
y_norm = tensor("y_norm", domain="nonnegative", meaning="length of y")
s = tensor("s", meaning="cosine of the angle between them: 1 for one direction, −1 for opposite ones")

ZERO_VECTOR = Convention(
    "zero_vector",
    {
        "zero": "the cosine with a zero vector is 0; it jumps there, and nothing is said about its gradient",
        "unspecified": "nothing is said about the cosine with a zero vector (0/0 and NaN included)",
    },
    default="zero",
)
EPS = Convention(
    "eps",
    {
        "none": "the lengths as they are",
        "max_1e8": "a length below 10⁻⁸ counts as 10⁻⁸, as in PyTorch: the cosine with a zero vector is 0",
        "max_1e12": "a length below 10⁻¹² counts as 10⁻¹², as in vectors that are normalised first",
        "added_1e8": "10⁻⁸ is added to the product of the lengths: the cosine with a zero vector is 0",
    },
    default="none",
)
epsilon = constant("epsilon", meaning="ε: where there is one, what keeps the lengths away from 0")
tiny = constant("tiny", meaning="a smaller one")
neither_zero = lt(0, x_norm) & lt(0, y_norm)
quotient = dot(x, y) / (x_norm * y_norm)
zero, unspecified = case(neither_zero, quotient), case(neither_zero, quotient, Undefined())


def floored(floor: Tensor) -> Node:
    """The quotient, where a length below a floor counts as that."""
    first, second = (case(lt(length, floor), floor, length) for length in (x_norm, y_norm))
    return dot(x, y) / (first * second)


scoring = deck(2, "attention scoring: cosine similarity")

cosine = Formula(
    "similarity.cosine",
    "Cosine similarity",
    why="How alike are two vectors if only their directions count? An inner product is large already where one vector is "
    "long, so that a frequent word with a long vector seems to be like everything. Divided by both lengths it is the cosine "
    "of the angle between them: a number from −1 to 1 that no positive factor changes.",
    sizes={d: "width: the entries of a vector"},
    inputs=(x, y),
    lines=(
        define(x_norm, sqrt(Sum(x[j] ** 2, j))),
        define(y_norm, sqrt(Sum(y[j] ** 2, j))),
        define(
            s,
            by_convention(
                "eps",
                none=by_convention("zero_vector", zero=zero, unspecified=unspecified),
                max_1e8=floored(epsilon),
                max_1e12=floored(tiny),
                added_1e8=dot(x, y) / (x_norm * y_norm + epsilon),
            ),
        ),
    ),
    outputs=(s,),
    conventions=(ZERO_VECTOR, EPS),
    constants={epsilon: Rational(1, 10**8), tiny: Rational(1, 10**12)},
    pitfalls=(
        pitfall("0/0 for a vector of zeros, such as padding", convention="zero_vector"),
        pitfall("an ε added to the lengths: short vectors look less alike", convention="eps"),
        pitfall("lengths held constant in the backward pass: ∂x points along y", mutant="lengths_detached"),
    ),
    sources=(deck(1, "inner product, possibly scaled"), scoring, paper("graves2014", "eq. 6")),
    worked=(
        Worked("At 60°: lengths 1 and 2", {"x": [1, 0], "y": [1, "sqrt(3)"]}, "0.5", 1, scoring),
        Worked("Two of the three tokens: 2/(√2·2)", {"x": [1, 0, 1, 0], "y": [1, 1, 1, 1]}, "0.7071", 4),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"zero_vector": "zero", "eps": "none"}
a, b = given("a", domain="positive"), given("b", domain="positive")

xhat, yhat = tensor("xhat", d, meaning="x, at length 1"), tensor("yhat", d, meaning="y, at length 1")
cosine.let(xhat[j], x[j] / x_norm)
cosine.let(yhat[j], y[j] / y_norm)


def claim_bounds(value: Node, a: Node, b: Node, j: Index, where: Node) -> tuple[Claim, Claim]:
    """−1 ≤ value ≤ 1 for a value that is Σⱼ a·b, both of length 1."""
    product, squares = Sum(a * b, j), Sum(a**2 + b**2, j) / 2
    return (
        claim(value, "<=", 1, where=where)
        .step(product, f"the lengths do not depend on {j}")
        .at_most(squares, "2·a·b ≤ a² + b², for (a − b)² ≥ 0", gap=Sum((a - b) ** 2, j) / 2)
        .because("both have length 1: (1 + 1)/2"),
        claim(-1, "<=", value, where=where)
        .step(-squares, "both have length 1: (1 + 1)/2")
        .at_most(product, "−2·a·b ≤ a² + b², for (a + b)² ≥ 0", gap=Sum((a + b) ** 2, j) / 2)
        .because(f"the lengths do not depend on {j}"),
    )


cosine.theorem(
    "bounded",
    "The cosine of two vectors, neither of them zero, lies between -1 and 1",
    *claim_bounds(lift(cosine(x, y)), xhat[j], yhat[j], j, neither_zero),
    conventions={"eps": "none"},
)

cosine.theorem(
    "symmetric",
    "The cosine does not depend on the order of its vectors",
    claim(cosine(x, y), "=", cosine(y, x))
    .step(case(neither_zero, dot(y, x) / (y_norm * x_norm)), "inner products and products commute")
    .because("the definition, with y first"),
    conventions=OURS,
)

cosine.theorem(
    "scale_invariant",
    "Positive factors do not change the cosine; the opposite vector changes its sign",
    claim(cosine(each(a * x[j], j), each(b * y[j], j)), "=", cosine(x, y))
    .step(case(neither_zero, a * b * dot(x, y) / (a * x_norm * (b * y_norm))), "√(a²·‖x‖²) = a·‖x‖ for a > 0")
    .because("a and b are not 0, so they cancel"),
    claim(cosine(each(-x[j], j), y), "=", -cosine(x, y))
    .step(case(neither_zero, -dot(x, y) / (x_norm * y_norm)), "(−xⱼ)² = xⱼ², so −x is as long as x")
    .because("the sign taken out"),
    given=(a, b),
    conventions=OURS,
)

cosine.theorem(
    "of_itself",
    "The cosine of a vector that is not zero with itself is 1; with a zero vector it is 0",
    claim(cosine(x, x), "=", case(lt(0, x_norm), 1))
    .step(case(lt(0, x_norm), dot(x, x) / x_norm**2), "both lengths are that of x")
    .because("its square is the inner product of x with itself, and cancels"),
    claim(cosine(each(0, j), y), "=", 0).by_definition("a vector of zeros has length 0"),
    conventions=OURS,
)
