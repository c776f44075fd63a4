"""Proofs that keep a formula as it is and cite what is proved of it."""

from __future__ import annotations

import pytest

from spec.language import (
    Assurance,
    Formula,
    Sum,
    Tensor,
    absolute,
    case,
    claim,
    data,
    define,
    each,
    exp,
    given,
    indices,
    lt,
    sizes,
    tanh,
    tensor,
)
from spec.language.proving.proof import check

n, m, rows, extra = sizes("n m rows extra")
i, j = indices(i=n, j=n)
x, y = data("x", n), tensor("y", n)
k, pi = given("k"), given("pi", n, domain="permutation")


def shares() -> Formula:
    """Each entry's share, with the theorems that are cited below."""
    made = Formula(
        "test.shares",
        "Shares",
        inputs=(x,),
        lines=(define(y[i], exp(x[i]) / Sum(exp(x[j]), j)),),
        outputs=(y,),
    )
    made.theorem(
        "shifted",
        "A shift changes nothing",
        claim(made(each(x[i] + k, i))[i], "=", y[i]).by_definition("eᵏ cancels"),
        given=k,
    )
    made.theorem(
        "permuted",
        "A permutation permutes",
        claim(made(each(x[pi[i]], i))[i], "=", y[pi[i]]).by_definition("the same terms"),
        given=pi,
    )
    made.theorem(
        "wrong",
        "Doubling changes nothing",
        claim(made(each(2 * x[i], i))[i], "=", y[i]).by_definition("it does"),
    )
    made.theorem(
        "cut",
        "Of a longer row",
        claim(made(x[:rows])[i], "<=", 1, (i, rows)).by_definition("a share"),
        sizes={n: rows + extra},
    )
    return made


def caller(callee: Formula) -> Formula:
    """The shares of shares."""
    z = tensor("z", n)
    return Formula(
        "test.twice", "Twice", inputs=(x,), lines=(define(y, callee(x)), define(z, callee(y))), outputs=(z,)
    )


def proved(formula: Formula, name: str) -> tuple[Assurance, str]:
    """How sure the prover alone is of a theorem, and why not surer."""
    found = check(formula.theorems[name], formula, guard=False)
    return found.assurance, found.refusal


def test_a_formula_that_is_kept_gives_equal_outputs_for_equal_inputs():
    """x + k − k is x, whatever the formula makes of it."""
    one = shares()
    twice = caller(one)
    twice.theorem(
        "same",
        "Adding and taking away",
        claim(twice(each(x[i] + k - k, i))[i], "=", twice(x)[i]).keeping(one).by_definition("k − k = 0"),
        given=k,
    )
    assert proved(twice, "same") == (Assurance.PROVED, "")


def test_of_a_formula_that_is_kept_nothing_else_is_used():
    """That a shift changes nothing needs a look into it, or the theorem."""
    one = shares()
    twice = caller(one)
    stated = claim(twice(each(x[i] + k, i))[i], "=", twice(x)[i]).keeping(one)
    twice.theorem("blind", "A shift", stated.by_definition("it is not seen"), given=k)
    twice.theorem(
        "cited",
        "A shift",
        stated.citing("shifted", one(x), k=k).by_definition("the first shares do not change"),
        given=k,
    )
    assert proved(twice, "blind")[0] == Assurance.REFUSED
    assert proved(twice, "cited") == (Assurance.PROVED, "")


def test_a_cited_theorem_is_used_where_another_has_led():
    """Permuted inputs give permuted shares, and these again: the second citation speaks of what the first one gives."""
    one = shares()
    twice = caller(one)
    twice.theorem(
        "permuted",
        "A permutation permutes",
        claim(twice(each(x[pi[i]], i))[i], "=", twice(x)[pi[i]])
        .citing("permuted", one(x), pi=pi)
        .citing("permuted", one(one(x).whole()), pi=pi)
        .by_definition("each of the two steps is equivariant"),
        given=pi,
    )
    assert proved(twice, "permuted") == (Assurance.PROVED, "")


def test_a_theorem_that_is_not_proved_cannot_be_cited():
    """A false theorem proves nothing, though the step would follow from it."""
    one = shares()
    twice = caller(one)
    twice.theorem(
        "doubled",
        "Doubling changes nothing",
        claim(twice(each(2 * x[i], i))[i], "=", twice(x)[i]).citing("wrong", one(x)).by_definition("cited"),
    )
    assurance, refusal = proved(twice, "doubled")
    assert assurance == Assurance.REFUSED
    assert "it cites test.shares, wrong, which is refused" in refusal


def test_a_theorem_that_is_shown_at_listed_sizes_only_cannot_be_cited():
    """It may hold at all others, too; that is not known."""
    one = shares()
    one.theorem("listed", "At most 1", claim(y[i], "<=", 1).by_definition("a share").only_at({n: 2}))
    one.theorem("all", "At most 1", claim(one(x)[i], "<=", 1).citing("listed", one(x)).by_definition("cited"))
    assurance, refusal = proved(one, "all")
    assert assurance == Assurance.REFUSED
    assert "it cites test.shares, listed, which is" in refusal


def test_a_theorem_says_nothing_of_other_sizes():
    """A theorem for n = rows + extra is cited with sizes that add up to n, or not at all."""
    one = shares()
    twice = caller(one)
    twice.theorem(
        "cut",
        "Of a longer row",
        claim(one(x)[i], "=", one(x)[i]).citing("cut", one(x), rows=rows, extra=m).by_definition("trivial"),
        sizes={n: rows + extra},
    )
    assert "is cited for another n" in proved(twice, "cut")[1]


def test_what_is_cited_has_to_exist_and_to_be_given_what_it_asks_for():
    """Refused where it is written."""
    one = shares()
    with pytest.raises(LookupError, match="has no theorem 'shift'"):
        claim(one(x)[i], "=", 1).citing("shift", one(x))
    with pytest.raises(LookupError, match=r"is given \(k\); it was cited with \(\)"):
        claim(one(x)[i], "=", 1).citing("shifted", one(x))


def test_a_kept_formula_is_split_by_a_condition_on_its_whole_input():
    """f(x where k > 0, else −x) is f(x) where k > 0, and f(−x) elsewhere."""
    one = shares()
    twice = caller(one)
    chosen = each(case(lt(0, k), x[i], -x[i]), i)
    twice.theorem(
        "chosen",
        "By a condition",
        claim(one(chosen)[i], "=", case(lt(0, k), one(x)[i], one(each(-x[i], i))[i]))
        .keeping(one)
        .by_definition("it is one or the other"),
        given=k,
    )
    twice.theorem(
        "mixed",
        "By another",
        claim(one(chosen)[i], "=", one(x)[i]).keeping(one).by_definition("it is not"),
        given=k,
    )
    assert proved(twice, "chosen") == (Assurance.PROVED, "")
    assert proved(twice, "mixed")[0] == Assurance.REFUSED


def mass() -> Formula:
    """The sum of exponentials, which is positive, times a positive constant."""
    scale = Tensor("scale", (), "positive", "constant")
    total = tensor("total")
    made = Formula(
        "test.mass",
        "Mass",
        inputs=(x,),
        lines=(define(total, scale * Sum(exp(x[i]), i)),),
        outputs=(total,),
        constants={scale: 2},
    )
    made.theorem("positive", "It is positive", claim(0, "<", total).by_definition("exponentials are"))
    return made


def test_a_theorem_is_cited_of_a_part_that_is_not_empty():
    """The first i entries may be none; the first i + 1 are at least one."""
    one = mass()
    for length, assurance in ((i, Assurance.REFUSED), (i + 1, Assurance.PROVED)):
        part = one(each(x[j], (j, length)))
        name = f"to_{length}".replace(" + ", "_")
        one.theorem(name, "A part", claim(0, "<", part).citing("positive", part).by_definition("cited"))
        assert proved(one, name)[0] == assurance
    assert "n is not known to be at least 1" in proved(one, "to_i")[1]


def test_a_theorem_says_nothing_where_a_constant_is_fixed_to_another_value():
    """It may be the edge of what the constant can be: twice the mass is positive, and 0 times the mass is not."""
    one = mass()
    (scale,) = one.constants
    stated = claim(0, "<", one(x)).citing("positive", one(x)).by_definition("cited")
    one.theorem("at_0", "Nothing of it", stated, at={scale: 0})
    assert "a constant is fixed to another value" in proved(one, "at_0")[1]


def bent(function) -> Formula:
    """A function of each entry."""
    line = define(y[i], function(x[i]))
    return Formula("test.bent", "Bent", inputs=(x,), lines=(line,), outputs=(y,))


def running(function) -> Formula:
    """A recurrence by a function of its state."""
    state = tensor("state", n + 1)
    lines = (define(state[0], 0), define(state[i], function(state[i - 1]) + x[i - 1], (i, 1, n)))
    return Formula("test.bent_steps", "Bent steps", inputs=(x,), lines=lines, outputs=(state,))


@pytest.mark.parametrize(("function", "assurance"), [(tanh, Assurance.PROVED), (absolute, Assurance.REFUSED)])
@pytest.mark.parametrize(("build", "size"), [(bent, n), (running, n + 1)])
def test_the_derivative_of_what_stays_a_name_needs_one_everywhere(build, size, function, assurance):
    """Be it a formula that is kept, or the state of a recurrence: tanh has a derivative at 0, and |x| has none."""
    one, g = build(function), given("g", size)
    slope = one(x).pullback(g, x)[i]
    one.theorem("same", "It", claim(slope, "=", slope).keeping(one).by_definition("it is itself"), given=g)
    one.theorem("seen", "It", claim(slope, "=", slope).by_definition("it is itself"), given=g)
    assert [proved(one, name)[0] for name in ("same", "seen")] == [assurance] * 2
