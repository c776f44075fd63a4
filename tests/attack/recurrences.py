"""Recurrences: what has no value at some step has none after it, though a state stays a name for itself."""

from spec.language import Formula, case, claim, data, define, indices, log, lt, sqrt, tensor
from spec.language.binders import Max
from tests.attack.board import T, category, x

false = category("recurrences")
U = {"undefined": True}
Q, R = tensor("Q", T + 1), tensor("R", T + 1)
t, u = indices(t=T, u=T)
keep = data("keep", T, domain="boolean")


def stepping(name, step, *more, inputs=(x,)):
    """The formula ``Q[0] = 1``, ``Q[t] = step(Q[t - 1], x[t - 1])``."""
    lines = (define(Q[0], 1), define(Q[t], step(Q[t - 1], x[t - 1]), (t, 1, T)), *more)
    outputs = (R, Q) if more else (Q,)
    return Formula(f"test.attack_{name}", name, inputs, lines, outputs, auxiliary=True)


divided = stepping("divided", lambda state, entry: state / entry)
by_state = stepping("by_state", lambda state, entry: entry / state)
logs = stepping("logs", lambda state, entry: log(state) + entry)
roots = stepping("roots", lambda state, entry: sqrt(state) - entry)
largest_kept = stepping(
    "largest_kept", lambda state, entry: state + entry + Max(x[u], u, where=keep[u]), inputs=(x, keep)
)
behind = stepping(
    "behind",
    lambda state, entry: state / entry,
    define(R[0], 0),
    define(R[t], R[t - 1] + Q[t], (t, 1, T)),
)
for name, formula, inputs in (
    ("a quotient by an entry", divided, (x,)),
    ("a quotient by the state", by_state, (x,)),
    ("a logarithm of the state", logs, (x,)),
    ("a root of the state", roots, (x,)),
    ("a maximum over nothing", largest_kept, (x, keep)),
    ("a quotient in another recurrence", behind, (x,)),
):
    state = formula(*inputs)
    false(f"{name}, times 0", lambda s=state: claim(0 * s[T], "=", 0), formula, **U)
    false(f"{name}, less itself", lambda s=state: claim(s[T] - s[T], "=", 0), formula, **U)
    false(f"{name}, squared", lambda s=state: claim(0, "<=", s[t + 1] ** 2), formula, **U)
false(
    "a quotient by an entry, in a case of another entry",
    lambda: claim(case(lt(0, x[0]), divided(x)[T], 1) * 0, "=", 0),
    divided,
    **U,
)
