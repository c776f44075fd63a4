"""Parts of ranges, blocks, floors, maxima, what is squeezed to 0, sigmoids: next to what is true, what is not."""

from sympy import ceiling, floor

from spec.language import (
    Sum,
    absolute,
    case,
    claim,
    delta,
    exp,
    given,
    indices,
    le,
    lift,
    log,
    lt,
    sigmoid,
    sizes,
    sqrt,
    tanh,
)
from spec.language.binders import Max
from spec.language.expr import Node
from tests.attack.board import category

false = category("rearranged")
U = {"undefined": True}

n, m, m_1, m_2, g, p, d = sizes("n m m_1 m_2 g p d")
i, k, l, u, w, j = indices(i=n, k=n, l=n, u=m_1, w=m_2, j=m_1 + m_2)
t, r, e, c, whole = indices(t=g, r=p, e=d, c=g * p, whole=g * p * d)
s, v, s_1, s_2 = given("s", m_1 + m_2), given("v", m_1 + m_2), given("s_1", m_1), given("s_2", m_2)
B, z, pi = given("B", g * p * d), given("z", n), given("pi", n, domain="permutation")
a, b, q = given("a"), given("b"), given("q", domain="nonnegative")
ok = given("ok", n, domain="boolean")
Z, Z_1, Z_2 = Sum(exp(s[j]), j), Sum(exp(s[u]), u), Sum(exp(s[m_1 + w]), w)
first, second = Sum(exp(s[u]) * v[u], u) / Z_1, Sum(exp(s[m_1 + w]) * v[m_1 + w], w) / Z_2
both = Sum(exp(s[j]) * v[j], j) / Z
L_1, L_2 = log(Z_1), log(Z_2)
joined = case(lt(j, m_1), s_1[j], s_2[j - m_1])
minus = lift(-1)


def relu(value: Node) -> Node:
    """The value where it is positive, else 0."""
    return case(lt(0, value), value)


def is_first(index: object) -> Node:
    """The condition that an index is 0."""
    return le(index, 0)


# Parts of a range -----------------------------------------------------------------------------------------------------------

false("a denominator of one part", lambda: claim(1 / Z, "=", 1 / Z_1))
false("a denominator of parts, one of them twice", lambda: claim(1 / Z, "=", 1 / (Z_1 + Z_2 + Z_2)))
false("two blocks by their mean", lambda: claim(both, "=", (first + second) / 2))
false("two blocks without weights", lambda: claim(both, "=", first + second))
false(
    "two blocks, weights exchanged",
    lambda: claim(both, "=", sigmoid(L_2 - L_1) * first + sigmoid(L_1 - L_2) * second),
)
false("a logarithm of two parts is the sum of theirs", lambda: claim(log(Z), "=", L_1 + L_2))
false("a root of two parts is the sum of theirs", lambda: claim(sqrt(Z), "=", sqrt(Z_1) + sqrt(Z_2)))
false("a part one longer", lambda: claim(Sum(s[j], j), "=", Sum(s[j], (j, 0, m_1)) + Sum(s[m_1 + w], w)))
false("a part one shorter", lambda: claim(Sum(s[j], j), "=", Sum(s[u], u) + Sum(s[m_1 + w], (w, 1, m_2 - 1))))
false("parts of another term", lambda: claim(Sum(s[j] ** 2, j), "=", Sum(s[u] ** 2, u) + Sum(s[m_1 + w], w)))
false("a concatenation of one part", lambda: claim(Sum(joined, j), "=", Sum(s_1[u], u)))
false(
    "a concatenation the other way round",
    lambda: claim(Sum(joined * v[j], j), "=", Sum(s_1[u] * v[m_2 + u], u) + Sum(s_2[w] * v[w], w)),
)
false(
    "the length of a concatenation",
    lambda: claim(sqrt(Sum(joined**2, j)), "=", sqrt(Sum(s_1[u] ** 2, u)) + sqrt(Sum(s_2[w] ** 2, w))),
)
false(
    "conditions that both hold",
    lambda: claim(Sum(z[i], i, where=ok[i]) + Sum(z[i], i, where=le(0, z[i])), "=", Sum(z[i], i)),
)
false(
    "conditions that neither hold",
    lambda: claim(Sum(z[i], i, where=lt(1, z[i])) + Sum(z[i], i, where=lt(z[i], 0)), "=", Sum(z[i], i)),
)
false(
    "what is left out is not 0",
    lambda: claim(
        Sum(exp(z[i]), i, where=lt(0, z[i])) + Sum(exp(z[i]), i, where=lt(z[i], 0)), "=", Sum(exp(z[i]), i)
    ),
)

# Blocks ---------------------------------------------------------------------------------------------------------------------

false("blocks that overlap", lambda: claim(Sum(B[whole], whole), "=", Sum(B[t * p + r], t, r)))
false(
    "blocks counted by their places",
    lambda: claim(Sum(B[t * d + e], t, e), "=", Sum(B[e * g + t], t, e) + B[0]),
)
false(
    "blocks, the last left out",
    lambda: claim(Sum(B[whole], whole), "=", Sum(B[c * d + e], (c, 0, g * p - 2), e)),
)
false(
    "places, the first left out",
    lambda: claim(Sum(B[whole], whole), "=", Sum(Sum(B[c * d + e], (e, 1, d - 1)), c)),
)
false(
    "it matters in which block", lambda: claim(Sum(c * B[c * d + e], c, e), "=", Sum(B[whole] * whole, whole))
)

# Floors and signs -----------------------------------------------------------------------------------------------------------

false("two halves down", lambda: claim(lift(2 * floor(i / 2)), "=", lift(i)))
false("halves of a sum", lambda: claim(lift(floor((i + k) / 2)), "=", lift(floor(i / 2) + floor(k / 2))))
false("halves up and up", lambda: claim(lift(2 * ceiling(i / 2)), "=", lift(i)))
false("a third of a half is a fifth", lambda: claim(lift(floor(floor(i / 2) / 3)), "=", lift(floor(i / 5))))
false("a half of one more", lambda: claim(lift(floor(floor((i + 1) / 2) / 2)), "=", lift(floor((i + 2) / 4))))
false("a half, moved by a half", lambda: claim(lift(floor((i + 1) / 2)), "=", lift(floor(i / 2) + 1)))
false("a half below 0", lambda: claim(lift(floor(-i / 2)), "=", lift(-floor(i / 2))))
false("the sign of a sum is the sum", lambda: claim(minus**i + minus**k, "=", minus ** (i + k)))
false("the next sign but one", lambda: claim(minus ** (i + 2), "=", -(minus**i)))
false("the sign of a product", lambda: claim(minus ** (i * k), "=", minus**i * minus**k))
false("signs in turn, one more", lambda: claim(Sum(minus**i, (i, 0, 2 * n)), "=", 0))
false("even is the half", lambda: claim(Sum(minus**i, (i, 0, n - 1)), "=", 0))

# Maxima ---------------------------------------------------------------------------------------------------------------------

false("a maximum of negatives", lambda: claim(Max(-z[i], i), "=", -Max(z[i], i)))
false("a factor of either sign", lambda: claim(Max(a * z[i], i), "=", a * Max(z[i], i)))
false("a factor that depends on the index", lambda: claim(Max(i * z[i], i), "=", i * Max(z[i], i), i))
false("a shift that depends on the index", lambda: claim(Max(z[i] + i, i), "=", Max(z[i], i) + n - 1))
false("a maximum of a sum", lambda: claim(Max(z[i] + z[n - 1 - i], i), "=", 2 * Max(z[i], i)))
false("a permutation of a part", lambda: claim(Max(z[pi[i]], (i, 0, 0)), "=", Max(z[i], i)))
false("a permutation that stays beside", lambda: claim(Max(z[pi[i]] + z[i], i), "=", 2 * Max(z[i], i)))
false(
    "a permutation under a condition",
    lambda: claim(Max(z[pi[i]], i, where=is_first(i)), "=", Max(z[i], i, where=is_first(i))),
)
false("a maximum of none", lambda: claim(Max(a + 0 * z[i], i, where=ok[i]), "=", a), **U)
false("a maximum of its square", lambda: claim(Max(z[i] ** 2, i), "=", Max(z[i], i) ** 2))
false("a maximum below its members", lambda: claim(Max(z[i], i), "<=", z[k]))
false(
    "a maximum of absolute values below that of values",
    lambda: claim(Max(absolute(z[i]), i), "<=", Max(z[i], i)),
)
false("a maximum below a bound of one member", lambda: claim(Max(z[i], i), "<=", absolute(z[0])))
false("a factor that may be 0, divided out", lambda: claim(Max(q * z[i], i) / q, "=", Max(z[i], i)), **U)

# Squeezed -------------------------------------------------------------------------------------------------------------------

false("a unit and its mirror image", lambda: claim(relu(a) + relu(-a), "=", a))
false("with the edge moved", lambda: claim(case(le(-1, a), a), "=", relu(a)))
false("with another value at the edge", lambda: claim(case(le(0, a), a + 1), "=", case(lt(0, a), a + 1)))
false("squeezed from one side", lambda: claim(a, "=", 0), assuming=(le(a, 0),))
false("squeezed between two", lambda: claim(a, "=", 0), assuming=(le(a, 1), le(0, a)))
false("squeezed, and its neighbour", lambda: claim(b, "=", 0), assuming=(le(a, 0), le(0, a)))
false("squeezed to each other is not 0", lambda: claim(a, "=", 0), assuming=(le(a, b), le(b, a)))
false("squeezed without an end", lambda: claim(a, "=", b), assuming=(lt(a, b + 1), lt(b, a + 1)))

# Sigmoids -------------------------------------------------------------------------------------------------------------------

false("a sigmoid with the other sign", lambda: claim(sigmoid(a), "=", 1 / (1 + exp(a))))
false("a sigmoid is odd", lambda: claim(sigmoid(-a), "=", -sigmoid(a)))
false("a sigmoid of a sum", lambda: claim(sigmoid(a + b), "=", sigmoid(a) * sigmoid(b)))
false("a tangent without the 2", lambda: claim(tanh(a), "=", 2 * sigmoid(a) - 1))
false("a logarithm with the other sign", lambda: claim(log(sigmoid(a)), "=", -log(1 + exp(a))))
false("the logarithm of what is left", lambda: claim(log(1 - sigmoid(a)), "=", -log(1 + exp(-a))))
false(
    "a logarithm of a fraction is that of its top",
    lambda: claim(log(1 - sigmoid(a)), "=", log(1 - exp(a))),
    **U,
)
false("a logarithm of a sum of exponentials", lambda: claim(log(exp(a) + exp(b)), "=", a + b))
false(
    "a logarithm of a sum, shifted by one of two",
    lambda: claim(log(exp(a) + exp(b)), "=", a + log(1 + exp(a - b))),
)
false("sigmoids sum to one", lambda: claim(Sum(sigmoid(z[i]), i), "=", 1))
false("a delta in a part", lambda: claim(Sum(s[j] * delta(j, m_1), j), "=", Sum(s[u] * delta(u, 0), u)))
