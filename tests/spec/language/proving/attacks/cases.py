"""Cases: what holds in one case, one place or for one index is not known in another."""

from __future__ import annotations

from spec.language import (
    Formula,
    Sum,
    absolute,
    case,
    define,
    exp,
    le,
    lift,
    log,
    lt,
    sqrt,
    tensor,
)
from tests.spec.language.proving.attacks.attack import Attack, related
from tests.spec.language.proving.claims import B, a, anything, f, i, l, m, n, p, z

DIFFER = "differ"

# A certificate in a case and after it ---------------------------------------------------------------------------------------

SWITCH = case(lt(0, a), 1, 2)
SOFT = SWITCH / (1 + absolute(a))
SPLIT = case(lt(0, a), 1 / (1 + a), 2 / (1 + absolute(a)))
WRONG = case(lt(-1, a), 0, 1)  # 0 wherever the certificate "1 + a > 0" held; 1 for a below −1

state = tensor("h", n + 1)
steps = Formula(
    "test.attacks.steps", "Steps added up", (f,),
    (define(state[0], lift(0)), define(state[i], state[i - 1] + f[i - 1], (i, 1, n))), (state,), auxiliary=True,
)  # fmt: skip
walked = steps(f)
AHEAD = walked[i] + f[i]


CERTIFIED = (
    Attack(
        "the sign of 1 + |a| where a is positive, used where it is not",
        anything,
        lambda: related(SOFT, "=", SPLIT + WRONG, given=(a,)),
        DIFFER,
    ),
    Attack(
        "the same, with the sides exchanged",
        anything,
        lambda: related(SPLIT + WRONG, "=", SOFT, given=(a,)),
        DIFFER,
    ),
    Attack(
        "the same under a root",
        anything,
        lambda: related(
            SWITCH / sqrt(1 + absolute(a)),
            "=",
            case(lt(0, a), 1 / sqrt(1 + a), 2 / sqrt(1 + absolute(a))) + WRONG,
            given=(a,),
        ),
        DIFFER,
    ),
    Attack(
        "the same under a logarithm",
        anything,
        lambda: related(
            SWITCH * log(1 + absolute(a)),
            "=",
            case(lt(0, a), log(1 + a), 2 * log(1 + absolute(a))) + WRONG,
            given=(a,),
        ),
        DIFFER,
    ),
    Attack(
        "the same with an exponential",
        anything,
        lambda: related(
            SWITCH / (exp(z) + absolute(a)),
            "=",
            case(lt(0, a), 1 / (exp(z) + a), 2 / (exp(z) + absolute(a))) + case(lt(0, exp(z) + a), 0, 1),
            given=(a, z),
        ),
        DIFFER,
    ),
    Attack(
        "the same for every entry of a row",
        anything,
        lambda: related(
            case(lt(0, f[i]), 1, 2) / (1 + absolute(f[i])),
            "=",
            case(lt(0, f[i]), 1 / (1 + f[i]), 2 / (1 + absolute(f[i]))) + case(lt(-1, f[i]), 0, 1),
            (i, n),
        ),
        DIFFER,
    ),
    Attack(
        "the same within a sum",
        anything,
        lambda: related(
            Sum(case(lt(0, f[i]), 1, 2) / (1 + absolute(f[i])), (i, n)),
            "=",
            Sum(
                case(lt(0, f[i]), 1 / (1 + f[i]), 2 / (1 + absolute(f[i]))) + case(lt(-1, f[i]), 0, 1), (i, n)
            ),
        ),
        DIFFER,
    ),
    Attack(
        "a sign through the unfolding of a state in a case",
        steps,
        lambda: related(
            case(lt(0, AHEAD), 1, 2) / (1 + absolute(walked[i + 1])),
            "=",
            case(lt(0, AHEAD), 1 / (1 + AHEAD), 2 / (1 + absolute(AHEAD))) + case(lt(-1, AHEAD), 0, 1),
            (i, n),
        ),
        DIFFER,
    ),
    Attack(
        "a root's sign through the unfolding of a state in a case",
        steps,
        lambda: related(
            case(lt(0, AHEAD), 1, 2) / sqrt(1 + absolute(walked[i + 1])),
            "=",
            case(lt(0, AHEAD), 1 / sqrt(1 + AHEAD), 2 / sqrt(1 + absolute(AHEAD)))
            + case(lt(-1, AHEAD), 0, 1),
            (i, n),
        ),
        DIFFER,
    ),
    Attack(
        "a state's sign by its first step",
        steps,
        lambda: related(
            case(lt(0, f[0]), 1, 2) / (1 + absolute(walked[1])),
            "=",
            case(lt(0, f[0]), 1 / (1 + f[0]), 2 / (1 + absolute(f[0]))) + case(lt(-1, f[0]), 0, 1),
        ),
        DIFFER,
    ),
    Attack(
        "the sign of a difference of two absolute values in a case",
        anything,
        lambda: related(
            SWITCH / (1 + absolute(a) + absolute(z)),
            "=",
            case(lt(0, a), 1 / (1 + a + absolute(z)), 2 / (1 + absolute(a) + absolute(z)))
            + case(lt(-1, a + absolute(z)), 0, 1),
            given=(a, z),
        ),
        DIFFER,
    ),
)

# A certificate that forgets what it rests on ----------------------------------------------------------------------------------

INSIDE = le(i, l) & lt(l, m)
LEFT = Sum(1 / case(INSIDE, lift(m - i), 1), (l, 0, m - 1), where=le(i, l))
NARROWED = (
    Attack(
        "i < m by an index that lies between, used where there is none",
        anything,
        lambda: related(LEFT, "=", LEFT + case(lt(0, (m - i) * p[i]), 0, 1), (i, n), given=(p,)),
        DIFFER,
    ),
    Attack(
        "the same beside a root",
        anything,
        lambda: related(
            Sum(sqrt(case(INSIDE, lift(m - i), 1)), (l, 0, m - 1), where=le(i, l)),
            "=",
            Sum(sqrt(case(INSIDE, lift(m - i), 1)), (l, 0, m - 1), where=le(i, l))
            + case(lt(0, (m - i) * p[i]), 0, 1),
            (i, n),
            given=(p,),
        ),
        DIFFER,
    ),
    Attack(
        "the same, used in a division",
        anything,
        lambda: related(LEFT + (m - i) * p[i] / ((m - i) * p[i]), "=", LEFT + 1, (i, n), given=(p,)),
        "≠ 0",
    ),
    Attack(
        "the same with a mask",
        anything,
        lambda: related(
            Sum(1 / case(B[i, l] & INSIDE, lift(m - i), 1), (l, 0, m - 1), where=B[i, l] & le(i, l)),
            "=",
            Sum(1 / case(B[i, l] & INSIDE, lift(m - i), 1), (l, 0, m - 1), where=B[i, l] & le(i, l))
            + case(lt(0, (m - i) * p[i]), 0, 1),
            (i, n),
            given=(p, B),
        ),
        DIFFER,
    ),
    Attack(
        "the same beneath two sums",
        anything,
        lambda: related(
            Sum(LEFT, (i, n)), "=", Sum(LEFT + case(lt(0, (m - i) * p[i]), 0, 1), (i, n)), given=(p,)
        ),
        DIFFER,
    ),
    Attack(
        "the same with a strict comparison",
        anything,
        lambda: related(
            Sum(1 / case(lt(i, l) & lt(l, m), lift(m - i - 1), 1), (l, 0, m - 1), where=lt(i, l)),
            "=",
            Sum(1 / case(lt(i, l) & lt(l, m), lift(m - i - 1), 1), (l, 0, m - 1), where=lt(i, l))
            + case(lt(0, (m - i - 1) * p[i]), 0, 1),
            (i, n),
            given=(p,),
        ),
        DIFFER,
    ),
)

CASES = CERTIFIED + NARROWED
