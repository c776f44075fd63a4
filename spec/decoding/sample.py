"""Drawing the next token: temperature, then the k likeliest, then the nucleus."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

n, V, k = sizes("n V k")
i, j, l = indices(i=n, j=V, l=V)

x = data("x", n, V, meaning="logits: the model's unnormalised log-probabilities of the next token")
T = number("T", domain="positive", meaning="temperature: below 1 sharpens, above 1 flattens")
p = number(
    "p",
    domain="positive",
    below=1,
    meaning="probability that the nucleus has to reach; 1 leaves all tokens in",
)
generator = Tensor("generator", (), "generator", "generator", meaning="where the draws come from")
z = tensor("z", n, V, meaning="logits at the temperature")
r = tensor("r", n, V, meaning="rank: how many tokens are likelier, or alike and earlier in the vocabulary")
b = tensor("b", n, V, meaning="probability of each token among the k likeliest")
c = tensor("c", n, V, meaning="probability of all tokens that are ranked before a token")
P = tensor("P", n, V, meaning="probability that a token is drawn")
token = tensor("token", n, domain="integer", meaning="the token that was drawn at each position")


def ahead(one: Index, other: Index) -> Node:
    """The condition that a token is ranked before another."""
    return lt(x[i, other], x[i, one]) | eq(x[i, one], x[i, other]) & lt(one, other)


def top(at: Index) -> Node:
    """The condition that a token is one of the k likeliest: r < k, with room for the rounding that a sum is granted."""
    return lt(r[i, at] + Rational(1, 2), k)


def inside(at: Index) -> Node:
    """The condition that a token belongs to the nucleus: those before it do not reach p."""
    return top(at) & lt(c[i, at], p)


sample = Formula(
    "decoding.sample",
    "Sampling with temperature, top-k and nucleus",
    why="The likeliest continuation is seldom a good text: it is short, and it repeats itself. Drawing from the model's own "
    "distribution varies, but a vocabulary has tens of thousands of unlikely words which together are drawn often. So the "
    "distribution is sharpened by a temperature, and its tail is cut off: all but the k likeliest words, or all but the "
    "smallest set of words that holds a share p of the probability.",
    sizes={n: "positions", V: "size of the vocabulary", k: "how many tokens may be drawn at most"},
    inputs=(x, T, k, p, generator),
    lines=(
        define(z[i, j], x[i, j] / T),
        define(r[i, j], Sum(case(ahead(l, j), 1), l)),
        define(b[i, j], softmax(z, each(top(j), i, j))[i, j]),
        define(c[i, j], Sum(b[i, l], l, where=ahead(l, j))),
        define(P[i, j], softmax(z, each(inside(j), i, j))[i, j]),
    ),
    outputs=(P,),
    law=Law(
        probability=P,
        returns=(token,),
        outcome=(token[i],),
        over=((i, n),),
        axioms=(
            Axiom(
                "the token is one of the vocabulary",
                "what is drawn is the number of a token",
                le(0, token[i]) & lt(token[i], V),
            ),
        ),
    ),
    pitfalls=(
        pitfall(
            "the nucleus cut before its last member: less than p is left, and at a small p nothing",
            mutant="cut_before_last",
        ),
        pitfall(
            "the temperature applied after top-k and nucleus, which then are those of T = 1",
            mutant="temperature_last",
        ),
        pitfall("k + 1 tokens kept, or k − 1", mutant="one_more"),
    ),
    sources=(
        deck(0, "GPT-2: top-k sampling"),
        paper("holtzman2020", "section 3.1, nucleus sampling"),
        paper("fan2018", "top-k random sampling"),
    ),
    worked=(
        Worked(
            "Logits 3, 2, 1 and 1, the three likeliest: 0.665, 0.245, 0.090, of which two reach 0.8; the first takes 1/(1 + e⁻¹)",
            {"x": [[3, 2, 1, 1]], "T": 1, "k": 3, "p": "4/5"},
            [["0.7311", "0.2689", "0.0000", "0.0000"]],
            4,
        ),
        Worked(
            "The same at temperature 1/2: 0.867, 0.117 and 0.016; now the first alone reaches 0.8",
            {"x": [[3, 2, 1, 1]], "T": "1/2", "k": 3, "p": "4/5"},
            [["1.0000", "0.0000", "0.0000", "0.0000"]],
            4,
        ),
        Worked(
            "The same at temperature 2, and no more than two tokens: 1/(1 + e^(−1/2))",
            {"x": [[3, 2, 1, 1]], "T": 2, "k": 2, "p": 1},
            [["0.6225", "0.3775", "0.0000", "0.0000"]],
            4,
        ),
    ),
    notes="P[i, j] is the probability that position i draws token j. The k likeliest are taken at the temperature, the nucleus "
    "among them; k ≥ V and p = 1 leave all tokens in. The token that is ranked first always is among them, so that P[i, ·] sums "
    "to 1. A rank is an integer: r + ½ < k says r < k, whatever the rounding of a sum. Positions, and calls, draw independently "
    "of each other.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

a, f = given("a", n), given("f", domain="positive")
shift = each(a[i] / T, i)
scaled = sample(each(f * x[i, j], i, j), f * T, k, p, generator)
shifted = sample(each(x[i, j] + a[i], i, j), T, k, p, generator)
likeliest = softmax(z, each(top(j), i, j))
drawn = softmax(z, each(inside(j), i, j))

sample.theorem(
    "scales",
    "All logits and the temperature times f: nothing changes, so that f times the logits is 1/f of the temperature",
    claim(scaled[i, j], "=", P[i, j])
    .keeping(softmax)
    .by_definition("f cancels in every quotient by the temperature, and a positive factor leaves every rank"),
    given=f,
)

sample.theorem(
    "shift_invariant",
    "Adding a number to all logits of a position changes nothing",
    claim(shifted[i, j], "=", P[i, j])
    .citing("shift_invariant", likeliest, t=shift)
    .citing("shift_invariant", drawn, t=shift)
    .by_definition(
        "it adds a/T to all that a softmax is given, and cancels wherever two logits are compared"
    ),
    given=a,
)

sample.theorem(
    "probabilities",
    "What is drawn by lies between 0 and 1, and does not sum to more than 1",
    claim(0, "<=", P[i, j]).citing("between_0_and_1", drawn).by_definition("it is a softmax"),
    claim(P[i, j], "<=", 1).citing("between_0_and_1", drawn).by_definition("it is a softmax"),
    claim(Sum(P[i, j], j), "<=", 1).citing("sums_to_at_most_one", drawn).by_definition("it is a softmax"),
)

sample.theorem(
    "cut_off",
    "No token is drawn that is not among the k likeliest, or that is ranked behind a share p of the probability",
    *(
        claim(P[i, j], "=", 0, where=~kept)
        .citing("masked", drawn)
        .by_definition("the softmax is taken over the other tokens")
        for kept in (top(j), lt(c[i, j], p))
    ),
)

sample.theorem(
    "ordered",
    "A token that is left in is at least as likely as every token of a smaller logit",
    claim(P[i, l], "<=", P[i, j], where=inside(j) & le(x[i, l], x[i, j]))
    .citing("ordered", drawn)
    .by_definition("the larger logit is larger at the temperature too, and softmax keeps their order"),
)
