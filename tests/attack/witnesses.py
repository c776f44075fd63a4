"""Witnesses: an existential claim is shown by a point that meets every hypothesis and breaks the relation."""

from spec.attention.softmax import softmax
from spec.language import absolute, claim, delta, eq, erf, exp, le, lift, lt, sigmoid, sqrt, tanh
from spec.language.binders import Every, Max, Sum
from tests.attack.board import a, at, c, category, f, i, j, k, l, m, n, p, pi, s

false = category("witnesses")


def some(name, build, formula=None, **stated):
    """A false existential claim; evaluation finds no point at which it fails."""
    rest = {} if formula is None else {"formula": formula}
    false(name, build, exists=True, **rest, **stated)


S_, M_ = softmax.inputs[:2]
attended = softmax(S_, M_)
row = next(iter(S_.shape))
some(
    "some softmax weight exceeds 1",
    lambda: claim(attended[i_, j_], "<=", 1).by_witness(
        **{str(S_.shape[0]): 1, str(S_.shape[1]): 2, S_.name: [[0.0, 1.0]], M_.name: [[True, True]]}
    ),
    softmax,
)
some(
    "some softmax weight is negative",
    lambda: claim(0, "<=", attended[i_, j_]).by_witness(
        **{str(S_.shape[0]): 1, str(S_.shape[1]): 2, S_.name: [[0.0, 1.0]], M_.name: [[True, True]]}
    ),
    softmax,
)
some("some square is negative", lambda: claim(0, "<=", a**2).by_witness(a=2.0))
some("some square is below its tangent", lambda: claim(2 * a - 1, "<=", a**2).by_witness(a=3.0))
some("some maximum is below a member", lambda: claim(f[i], "<=", Max(f[l], l)).by_witness(n=2, f=[1.0, 2.0]))
some("some exponential is at most 0", lambda: claim(0, "<", exp(a)).by_witness(a=1.0))
some("some absolute value is below the number", lambda: claim(a, "<=", absolute(a)).by_witness(a=-1.0))
some(
    "some number under a bound exceeds it", lambda: claim(a, "<=", 3).by_witness(a=1.0), assuming=(le(a, 3),)
)
some("some number that is 0 is not", lambda: claim(a, "=", 0).by_witness(a=1.0), assuming=(eq(a, 0),))
some(
    "some nonnegative number is negative", lambda: claim(0, "<=", a).by_witness(a=-1.0), assuming=(le(0, a),)
)
some(
    "some entries in order are not",
    lambda: claim(f[0], "<=", f[n - 1]).by_witness(n=2, f=[2.0, 1.0]),
    assuming=(le(f[0], f[n - 1]),),
)
some(
    "some bounded entries have a larger sum",
    lambda: claim(Sum(f[l], l), "<=", n * a).by_witness(n=1, f=[2.0], a=1.0),
    assuming=(Every(le(f[l], a), l),),
)
some("some input fixed to 0 is not", lambda: claim(f[i], "=", 0).by_witness(n=1, f=[1.0]), at={f: 0})
some(
    "some input fixed to 1 sums to more",
    lambda: claim(Sum(f[l], l), "=", lift(n)).by_witness(n=1, f=[3.0]),
    at={f: 1},
)
some(
    "some even size is odd",
    lambda: claim(Sum(lift(1), (l, 0, n - 1)), "=", lift(2 * m)).by_witness(n=3, m=1, f=[0.0] * 3),
    sizes={n: 2 * m},
)
some(
    "some doubled size is not twice the other",
    lambda: claim(lift(n), "=", lift(2 * m)).by_witness(n=1, m=1),
    sizes={n: 2 * m},
)
some("some size fixed to 2 is 3", lambda: claim(lift(n), "=", 2).by_witness(n=3), sizes={n: 2})
some("some positive entry is negative", lambda: claim(0, "<", p[i]).by_witness(n=1, p=[-1.0]))
some(
    "some positive entry is not its absolute value",
    lambda: claim(absolute(p[i]), "=", p[i]).by_witness(n=1, p=[-1.0]),
)
some(
    "some nonnegative number is not its absolute value", lambda: claim(absolute(s), "=", s).by_witness(s=-2.0)
)
some("some positive number is 0", lambda: claim(0, "<", c).by_witness(c=0.0))
some(
    "some permutation does not preserve a sum",
    lambda: claim(Sum(f[pi[l]], l), "=", Sum(f[l], l)).by_witness(n=2, f=[1.0, 2.0], pi=[0, 0]),
)
some("some permutation repeats", lambda: claim(Sum(delta(pi[l], i), l), "=", 1).by_witness(n=2, pi=[1, 1]))
some(
    "some permutation leaves its range",
    lambda: claim(Sum(lift(pi[l]), l), "=", lift(n * (n - 1)) / 2).by_witness(n=2, pi=[0, 5]),
)
some("some look-up is past its range", lambda: claim(lift(at[j]), "<", lift(n)).by_witness(n=1, m=1, at=[4]))
some("some look-up is negative", lambda: claim(0, "<=", lift(at[j])).by_witness(n=1, m=1, at=[-1]))
some("some integer is past its range", lambda: claim(Sum(delta(l, k), l), "=", 1).by_witness(n=2, k=7))
some("some size is 0", lambda: claim(0, "<", lift(n)).by_witness(n=0))
some("some number differs from itself", lambda: claim(a, "=", a).by_witness(a=1.0))
some("some number is at least itself less one, strictly", lambda: claim(a - 1, "<", a).by_witness(a=1.0))
some("some strict claim fails where it holds", lambda: claim(a, "<", a + c).by_witness(a=1.0, c=1.0))
some(
    "some root of a square differs from the absolute value",
    lambda: claim(sqrt(a**2), "=", absolute(a)).by_witness(a=-3.0),
)
some(
    "where nothing is claimed",
    lambda: claim(f[i], "=", f[i], where=lt(n, i)).by_witness(n=2, f=[1.0, 2.0]),
    vacuous=True,
)
some("where the condition fails", lambda: claim(f[i], "<=", 0, where=lt(f[i], 0)).by_witness(n=1, f=[1.0]))
FAR = float("inf")
some("some exponential is 0 at infinity", lambda: claim(0, "<", exp(-a)).by_witness(a=FAR))
some("some entry's exponential is 0 at infinity", lambda: claim(0, "<", exp(f[0])).by_witness(n=1, f=[-FAR]))
some("some tanh is 1 at infinity", lambda: claim(tanh(a), "<", 1).by_witness(a=FAR))
some("some erf is 1 at infinity", lambda: claim(erf(a), "<", 1).by_witness(a=FAR))
some("some sigmoid is 1 at infinity", lambda: claim(sigmoid(a), "<", 1).by_witness(a=FAR))
some("some reciprocal is 0 at infinity", lambda: claim(0, "<", 1 / c).by_witness(c=FAR))
from spec.language import indices  # noqa: E402  (the letters of softmax's own sizes)

i_, j_ = indices(i=S_.shape[0], j=S_.shape[1])
