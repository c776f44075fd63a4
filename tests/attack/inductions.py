"""Inductions: where they begin and end, what they assume, which letters they bind."""

from spec.language import (
    claim,
    derive,
    eq,
    indices,
    le,
    lift,
    lt,
)
from spec.language.binders import Every, Some, Sum
from tests.attack.board import T, a, category, running, t, u, w, x

false = category("inductions")
k, v = indices(k=T + 1, v=T + 1)
run = running(x, w)
sized = {"last": T}
(free,) = indices("free")
W = running

false("the running sum is at least 0", lambda: claim(0, "<=", run[k]).by_induction(k), W)
false(
    "the running sum is at least 0 where w is",
    lambda: claim(0, "<=", run[k]).by_induction(k),
    W,
    assuming=(le(0, w),),
)
false(
    "the running sum is at least 0 where x is",
    lambda: claim(0, "<=", run[k]).by_induction(k),
    W,
    assuming=(Every(le(0, x[t]), t),),
)
false(
    "the running sum is at least 0 where the first is",
    lambda: claim(0, "<=", run[k]).by_induction(k),
    W,
    assuming=(le(0, x[0]), le(0, w)),
)
false(
    "the running sum is at least 0 where some is",
    lambda: claim(0, "<=", run[k]).by_induction(k),
    W,
    assuming=(Some(le(0, x[t]), t), le(0, w)),
)
false(
    "the running sum is positive",
    lambda: claim(0, "<", run[k]).by_induction(k),
    W,
    assuming=(Every(lt(0, x[t]), t), lt(0, w)),
)
false("the running sum is 0", lambda: claim(run[k], "=", 0).by_induction(k), W)
false("the running sum is 0 at w = 0", lambda: claim(run[k], "=", 0).by_induction(k), W, at={w: 0})
false("the running sum is the sum", lambda: claim(run[k], "=", Sum(x[t], (t, 0, k - 1))).by_induction(k), W)
false(
    "the running sum at w = 1 is the sum to it",
    lambda: claim(run[k], "=", Sum(x[t], (t, 0, k))).by_induction(k),
    W,
    at={w: 1},
    undefined=True,
)
false(
    "the running sum at w = 1 of ones",
    lambda: claim(run[k], "=", lift(k + 1)).by_induction(k),
    W,
    at={w: 1, x: 1},
)
false(
    "the running sum at w = 1 of ones, doubled",
    lambda: claim(run[k], "=", lift(2 * k)).by_induction(k),
    W,
    at={w: 1, x: 1},
)
false(
    "the running sum at w = 2 of ones",
    lambda: claim(run[k], "=", lift(2) ** k).by_induction(k),
    W,
    at={w: 2, x: 1},
)
false(
    "the running sum at w = −1 of ones is positive",
    lambda: claim(0, "<", run[k]).by_induction(k),
    W,
    at={w: -1, x: 1},
)
false(
    "the running sum is bounded by one",
    lambda: claim(run[k], "<=", 1).by_induction(k),
    W,
    assuming=(Every(le(x[t], 1), t),),
)
false(
    "the running sum is bounded by its length less one",
    lambda: claim(run[k], "<=", lift(k - 1)).by_induction(k),
    W,
    at={w: 1},
    assuming=(Every(le(x[t], 1), t),),
)
false(
    "the running sum is below its length",
    lambda: claim(run[k], "<", lift(k)).by_induction(k),
    W,
    at={w: 1},
    assuming=(Every(lt(x[t], 1), t),),
)
false("the running sum grows", lambda: claim(run[t], "<=", run[t + 1], t), W)
false(
    "the running sum grows strictly",
    lambda: claim(run[t], "<", run[t + 1], t),
    W,
    assuming=(Every(le(0, x[u]), u), le(1, w)),
)
false("the running sum is its last input", lambda: claim(run[t + 1], "=", x[t], t), W)
false("one step with the wrong weight", lambda: claim(run[t + 1], "=", run[t] + w * x[t], t), W)
false("one step with the wrong input", lambda: claim(run[t + 1], "=", w * run[t] + x[0], t), W)
false("a base that does not hold", lambda: claim(run[k], "=", a).by_induction(k), W, at={w: 1, x: 0})
false(
    "a step that does not hold",
    lambda: claim(run[k], "=", 0).by_induction(k, step=derive().because("so")),
    W,
    at={w: 1},
)
false(
    "an induction to one before the last",
    lambda: claim(run[k], "<=", 0).by_induction(free, claim(run[free], "<=", lift(free)), last=T - 1),
    W,
    at={w: 1, x: 1},
)
false(
    "an induction from one on says nothing of the first",
    lambda: claim(0, "<", run[k]).by_induction(free, claim(0, "<", run[free]), first=1, last=T),
    W,
    at={w: 1, x: 1},
)
false(
    "an induction past the last",
    lambda: claim(run[k + 1], "=", lift(k + 1), (k, T + 1)).by_induction(
        free, claim(run[free], "=", lift(free)), last=T + 1
    ),
    W,
    at={w: 1, x: 1},
    undefined=True,
)
false(
    "an induction with first after last",
    lambda: claim(0, "=", 1).by_induction(free, claim(run[free], "=", 1), first=T, last=T - 1),
    W,
    at={w: 1, x: 1},
)
false(
    "an induction over nothing shows anything",
    lambda: claim(run[k], "=", 5).by_induction(free, claim(run[free], "=", 5), first=T + 1, last=T),
    W,
    at={w: 1, x: 1},
    undefined=True,
)
false(
    "an induction used for another index",
    lambda: claim(run[k], "=", lift(v)).by_induction(free, claim(run[free], "=", lift(free)), last=T),
    W,
    at={w: 1, x: 1},
)
false("a hypothesis for the value itself", lambda: claim(run[k], "=", run[v]).by_induction(k), W)
false("a hypothesis for all values", lambda: claim(run[k], "=", run[0]).by_induction(k), W, at={w: 1})
false("two states are equal", lambda: claim(run[k], "=", run[v], k, v).by_induction(k), W, at={w: 1})

for name, letter in (("the symbol of the induction", t), ("another index", u), ("an index of the claim", k)):
    entry = x[letter] if letter in (t, u) else run[letter]
    false(
        f"an assumption with {name} free",
        lambda letter=letter: claim(0, "<=", run[k]).by_induction(t, claim(0, "<=", run[t]), last=T),
        W,
        assuming=(le(0, entry), le(0, w)),
        one=True,
        made=True,
    )
    false(
        f"an assumption with {name} free, shown at the claim's own index",
        lambda letter=letter: claim(0, "<=", x[t]),
        W,
        assuming=(le(0, entry),),
        one=True,
        made=True,
    )
    false(
        f"a strict assumption with {name} free",
        lambda letter=letter: claim(0, "<", x[t]).step(x[t] - x[t], "so") if False else claim(0, "<", x[t]),
        W,
        assuming=(lt(0, entry),),
        one=True,
        made=True,
    )
false(
    "an assumption with the induction's symbol free, equal to 0",
    lambda: claim(run[k], "=", 0).by_induction(t, claim(run[t], "=", 0), last=T),
    W,
    assuming=(eq(x[t], 0),),
    one=True,
    made=True,
)
false(
    "an assumption with the induction's symbol free, growing",
    lambda: claim(lift(k), "<=", run[k]).by_induction(t, claim(lift(t), "<=", run[t]), last=T),
    W,
    at={w: 1},
    assuming=(le(1, x[t]),),
    one=True,
    made=True,
)
once = derive().only_at({T: 1})
false(
    "a step checked at one size, of an index",
    lambda: claim(lift(k), "<=", lift(1)).by_induction(k, step=once),
    W,
)
false(
    "a step checked at one size, of a state",
    lambda: claim(run[k], "<=", lift(1)).by_induction(k, step=once),
    W,
    at={w: 1},
    assuming=(Every(le(x[t], 1), t),),
)
false(
    "a step checked at one size, used in the next",
    lambda: claim(lift(k), "<=", 1 + 0 * run[k]).by_induction(t, claim(lift(t), "<=", 1), last=T, step=once),
    W,
)
false(
    "a step within a step checked at one size",
    lambda: claim(lift(k), "<=", lift(1)).by_induction(
        k, step=derive().by_induction(t, claim(lift(t), "<=", 1), last=T, step=once)
    ),
    W,
)
false(
    "a beginning checked at one size",
    lambda: claim(lift(T), "<=", k + 1).by_induction(k, base=once),
    W,
)
