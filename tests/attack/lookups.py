"""Look-ups: integers as indices, permutations, entries of tables by number."""

from spec.language import (
    case,
    claim,
    delta,
    eq,
    given,
    indices,
    le,
    lift,
    lt,
    sin,
)
from spec.language.binders import Max, Sum
from spec.positional.sinusoidal import PE, sinusoidal
from tests.attack.board import (
    E,
    F,
    G,
    T,
    a,
    at,
    b,
    c,
    category,
    f,
    i,
    j,
    k,
    l,
    lookup,
    m,
    n,
    pi,
    t,
    tokens,
    u,
)

false = category("look-ups")
U = {"undefined": True}

d = PE.shape[1]
N = PE.shape[0]
(tt, cc) = indices(tt=N, cc=d)
kk = given("kk", domain="integer", below=d)
pos = given("pos", domain="integer", below=N)
col = given("col", N, domain="integer", below=d)
WAVES = {"conventions": {"layout": "interleaved"}}

false("a column by number is 0", lambda: claim(PE[tt, kk], "=", 0), sinusoidal, **WAVES)
false("a column by number is 0 for both layouts", lambda: claim(PE[tt, kk], "=", 0), sinusoidal)
false(
    "a column by number is a sine of its own",
    lambda: claim(PE[tt, kk], "=", sin(lift(tt))),
    sinusoidal,
    **WAVES,
)
false("a column by number of the first position is 0", lambda: claim(PE[0, kk], "=", 0), sinusoidal, **WAVES)
false("a column by number of the first position is 1", lambda: claim(PE[0, kk], "=", 1), sinusoidal, **WAVES)
false("a column looked up is 0", lambda: claim(PE[tt, col[tt]], "=", 0), sinusoidal, **WAVES)
false("a row by number is the first", lambda: claim(PE[pos, cc], "=", PE[0, cc]), sinusoidal, **WAVES)
false("a column by number is at most 0", lambda: claim(PE[tt, kk], "<=", 0), sinusoidal, **WAVES)
false("a column by number squared is 0", lambda: claim(PE[tt, kk] ** 2, "=", 0), sinusoidal, **WAVES)
false("columns by number, summed", lambda: claim(Sum(PE[tt, col[tt]], tt), "=", 0), sinusoidal, **WAVES)

false("an entry by number is the first", lambda: claim(f[k], "=", f[0]))
false("an entry by number is 0", lambda: claim(f[k], "=", 0))
false("a number is 0", lambda: claim(lift(k), "=", 0))
false("a number is below its bound less one", lambda: claim(lift(k), "<", lift(n - 1)))
false("a number is positive", lambda: claim(0, "<", lift(k)))
false("a number is even", lambda: claim(lift(k), "=", 2 * lift(k) - lift(k) + delta(k, 1)))
FREE = given("free", domain="integer")
ROW = given("row", n, domain="integer")
for name, value in (("a number without a range", FREE), ("a row of integers without a range", ROW[i])):
    false(f"{name} is 0", lambda v=value: claim(lift(v), "=", 0), made=True)
    false(f"{name} is at least 0", lambda v=value: claim(0, "<=", lift(v)), made=True)
    false(f"{name} is at most 0", lambda v=value: claim(lift(v), "<=", 0), made=True)
    false(f"{name} picks the first", lambda v=value: claim(f[v], "=", f[0]), made=True, **U)
    false(f"{name} is found in its range", lambda v=value: claim(Sum(delta(l, v), l), "=", 1), made=True)
    false(f"{name} is no other", lambda v=value: claim(delta(v, 1), "=", 0), made=True)
false("two look-ups are equal", lambda: claim(f[at[j]], "=", f[at[0]]))
false("look-ups are injective", lambda: claim(delta(at[j], at[r_]), "=", delta(j, r_)))
false("a look-up of a look-up", lambda: claim(f[pi[pi[i]]], "=", f[i]))
false("a permutation fixes its index", lambda: claim(f[pi[i]], "=", f[i]))
false("a permutation fixes the first", lambda: claim(lift(pi[0]), "=", 0))
false("a permutation grows", lambda: claim(lift(pi[i]), "<=", lift(pi[i + 1]), (i, n - 1)))
false("a permutation is at most its index", lambda: claim(lift(pi[i]), "<=", lift(i)))
false("a permutation keeps an order", lambda: claim(case(lt(pi[i], pi[l]), a, b), "=", case(lt(i, l), a, b)))
false(
    "a permutation keeps an order, weakly",
    lambda: claim(case(le(pi[i], pi[l]), a, b), "=", case(le(i, l), a, b)),
)
false("a shift of a permutation", lambda: claim(lift(pi[i + 1]), "=", lift(pi[i] + 1), (i, n - 1)))
false(
    "a permuted row of a matrix", lambda: claim(Sum(F[pi[l], j] * G[l, j], l), "=", Sum(F[l, j] * G[l, j], l))
)
false("permuted twice in a product", lambda: claim(Sum(f[pi[l]] * f[l], l), "=", Sum(f[l] ** 2, l)))
false("a permuted sum with a position", lambda: claim(Sum(f[pi[l]] * l, l), "=", Sum(f[l] * l, l)))
false(
    "a permuted case",
    lambda: claim(Sum(case(lt(l, i), f[pi[l]], 0), l), "=", Sum(case(lt(l, i), f[l], 0), l)),
)
false("a look-up past its range by one", lambda: claim(f[at[j] + 1], "=", f[at[j] + 1]), **U)
false("a look-up before its range by one", lambda: claim(f[at[j] - 1], "=", f[at[j] - 1]), **U)
false("a look-up of another size", lambda: claim(F[0, at[j]], "=", F[0, at[j]]), **U)
false("a word's row is the first's", lambda: claim(lookup(tokens, E)[t, j], "=", E[0, j]), lookup)
false(
    "a word's row is its position's",
    lambda: claim(lookup(tokens, E)[t, j], "=", lookup(tokens, E)[u, j]),
    lookup,
)
false(
    "words that differ have other rows", lambda: claim(lookup(tokens, E)[t, j], "=", E[tokens[0], j]), lookup
)
false(
    "the gradient of a table reaches the word's row",
    lambda: claim(lookup(tokens, E).pullback(gT, E)[i, j], "=", gT[0, j]),
    lookup,
)
false(
    "the gradient of a table counts each word once",
    lambda: claim(lookup(tokens, E).pullback(gT, E)[i, j], "=", Sum(gT[t, j], t)),
    lookup,
)
false(
    "a sum over words is one over rows",
    lambda: claim(Sum(lookup(tokens, E)[t, j], t), "=", Sum(E[i, j], i)),
    lookup,
)
false("a look-up counts once", lambda: claim(Sum(delta(at[j], i), i, j), "=", 1))
false("a look-up is found", lambda: claim(Sum(delta(at[j], i), j), "=", Max(delta(at[j], i), j)))
gT = given("gT", T, m)
(r_,) = indices(r=m)

# Tensors without entries at n = 1 ---------------------------------------------------------------------------------------

fewer, shuffled = (
    given("fewer", n - 1, domain="integer", below=n - 1),
    given("sigma", n - 1, domain="permutation"),
)
whole = c / (c + 1) + 1 / (c + 1)
single = case(eq(n, 1), 1, 0)
for name, number in (("an integer", fewer[0]), ("a permuted index", shuffled[0])):
    bounded = case(le(2, n), case(le(number, 3), whole, 0), 0)
    false(
        f"{name} of nothing bounds the size",
        lambda x=number, y=bounded: claim(case(le(2, n), case(le(x, 3), 1, 0), single), "=", y),
    )
    false(
        f"{name} of nothing bounds the size, in a sum",
        lambda x=number, y=bounded: claim(case(le(2, n), case(le(x, 3), 1, 0), Sum(delta(n, 1), l)), "=", y),
    )
