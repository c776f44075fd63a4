"""Theorems run on callables, and guarded by the statement itself."""

import dataclasses

import pytest
import torch

import impl.attention
import impl.normalization
from spec.attention.multi_head import multi_head
from spec.attention.softmax import i, j, l, m, mask, n, s, softmax
from spec.language import Sum, Theorem, claim, each, given, indices
from spec.language.proving.evaluating.points import evaluate_claims
from spec.language.registry import find
from spec.normalization.layer_norm import beta, d, eps, gamma, layer_norm, x
from spec.normalization.layer_norm import i as p
from spec.similarity.dot import dot
from tests.mutants.heads import packed_projections
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.properties.theorem_property import TheoremProperty
from verify.search.loop import Search
from verify.search.property import NotRunnable
from verify.subject.caller import Caller

(t,) = indices("t")
c = given("c", n)
offset = given("offset")
pi = given("pi", m, domain="permutation")
g = given("g", d)
weights, whole = softmax(s, mask), layer_norm(x, gamma, beta, eps)

SHIFT = Theorem(
    "shift",
    "Adding a constant to a row of scores changes nothing",
    (claim(softmax(each(s[i, j] + c[i], i, j), mask)[i, j], "=", weights[i, j]),),
    given=(c,),
)
PERMUTED = Theorem(
    "permutation",
    "Permuting the keys permutes the weights",
    (claim(softmax(each(s[i, pi[j]], i, j), each(mask[i, pi[j]], i, j))[i, j], "=", weights[i, pi[j]]),),
    given=(pi,),
)
AT_MOST_ONE = Theorem("at most one", "A row sums to at most 1", (claim(Sum(weights[i, j], j), "<=", 1),))
ALWAYS_ONE = Theorem("always one", "Every row sums to 1", (claim(Sum(weights[i, j], j), "=", 1),))
LOOPED = Theorem(
    "looped",
    "A row alone gives that row (the argument depends on the index around the call)",
    (claim(softmax(each(s[i, j], (t, 1), j), None)[0, l], "=", softmax(s, None)[i, l]),),
)
LN_SHIFT = Theorem(
    "shift",
    "Adding a constant to the row changes nothing",
    (claim(layer_norm(each(x[p] + offset, p), gamma, beta, eps)[p], "=", whole[p]),),
    given=(offset,),
)
BETA = Theorem(
    "bias gradient",
    "The gradient of the bias is the cotangent, that of the row sums to 0",
    (claim(whole.pullback(g, beta)[p], "=", g[p]), claim(Sum(whole.pullback(g, x)[p], p), "=", 0)),
    given=(g,),
)


def tried(setting, theorem, kinds):
    """The result of a theorem, or why it was not run."""
    prop = TheoremProperty(setting, theorem, kinds)
    if reason := prop.reason_against():
        return reason
    try:
        (result,) = Search(prop, setting.budget).run()
    except NotRunnable as said:
        return str(said)
    return result


def run(fn, formula, theorem, seed=0, **conventions):
    """The result of running a theorem on a callable."""
    setting = Setting.of(Judge(formula, conventions), Caller(fn, formula), seed=seed)
    return tried(setting, theorem, ["float64", "float32"])


CASES = [
    (dot, lambda x, y: (x * y).sum(-1), dot.theorems["symmetric"]),
    (dot, lambda x, y: (x * y).sum(-1), dot.theorems["cauchy_schwarz"]),
    (multi_head, packed_projections, multi_head.theorems["head_permutation"]),
    (softmax, impl.attention.softmax, SHIFT),
    (softmax, impl.attention.softmax, PERMUTED),
    (softmax, impl.attention.softmax, AT_MOST_ONE),
    (softmax, impl.attention.softmax, LOOPED),
    (layer_norm, impl.normalization.layer_norm, LN_SHIFT),
    (layer_norm, impl.normalization.layer_norm, BETA),
]


@pytest.mark.parametrize(("formula", "fn", "theorem"), CASES, ids=lambda x: getattr(x, "title", ""))
def test_a_true_theorem_holds_of_a_right_implementation(formula, fn, theorem):
    """Theorems hold of our implementations at several seeds, and some examples say something."""
    for seed in range(3):
        result = run(fn, formula, theorem, seed)
        assert result.verdict == "conforms", result.message
        assert result.effective > 0.3


@pytest.mark.parametrize(("formula", "fn", "theorem"), CASES, ids=lambda x: getattr(x, "title", ""))
def test_a_true_theorem_is_guarded(formula, fn, theorem):
    """The same theorems hold of the statement itself, under every convention, degenerate regimes included."""
    for found in evaluate_claims(theorem, formula):
        assert not found.refusal, found.refusal


def test_a_false_theorem_is_refused_by_its_guard():
    """A fully masked row does not sum to 1, and the guard finds one."""
    (found,) = evaluate_claims(ALWAYS_ONE, softmax)
    assert "0 against 1" in found.violation


def test_an_implementation_that_breaks_a_theorem_is_falsified():
    """Weights that depend on a score's place are not permutation equivariant; the message names both sides."""

    def placed(s, mask=None):
        return impl.attention.softmax(s + torch.arange(s.shape[-1]) * 1e-3, mask)

    result = run(placed, softmax, PERMUTED)
    assert result.verdict == "falsified"
    assert "not softmax" in result.message or "attention.softmax" in result.message
    assert result.counterexample.violates == PERMUTED.title
    assert result.counterexample.sizes


def test_a_wrong_gradient_breaks_a_theorem():
    """Detached statistics: the gradient of the row no longer sums to 0."""

    def detached(x, gamma, beta, eps):
        mu, var = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).detach()
        return gamma * (x - mu) / (var + eps).sqrt() + beta

    assert run(detached, layer_norm, BETA).verdict == "falsified"


class FailsOnce(torch.autograd.Function):
    """The identity, forward and backward; where ``due`` returns True in one of them, it raises."""

    @staticmethod
    def forward(ctx, x, due_forward, due_backward):
        """``x``."""
        ctx.due = due_backward
        if due_forward():
            raise RuntimeError("now and then")
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        """The cotangent."""
        if ctx.due():
            raise RuntimeError("now and then")
        return g, None, None


def counting(turn):
    """True at one turn only."""
    turns = iter(range(1, 10_000))
    return lambda: next(turns) == turn


# The first example is judged alone; those after it together, two calls or one gradient each at least.
@pytest.mark.parametrize(
    ("formula", "plain", "theorem", "backward"),
    [
        (dot, lambda x, y: (x * y).sum(-1), dot.theorems["symmetric"], False),
        (layer_norm, impl.normalization.layer_norm, BETA, True),
    ],
    ids=["forward", "backward"],
)
def test_a_callable_that_fails_a_single_time_is_found_wherever_that_is(formula, plain, theorem, backward):
    """A call is made once, for many examples together or for one, and what it raised is not forgotten in between."""
    for turn in range(1, 6):
        failing, never = counting(turn), counting(0)

        def fails_once(*arguments, failing=failing, never=never):
            return FailsOnce.apply(plain(*arguments), *((never, failing) if backward else (failing, never)))

        result = run(fails_once, formula, theorem)
        assert result.verdict == "falsified", turn
        assert "now and then" in result.message


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"runs": False}, "not a property"),
        ({"exists": True}, "existential"),
        ({"conventions": {"eps": "outside"}}, "eps=outside"),
    ],
)
def test_what_is_not_run_says_why(change, says):
    """Theorems that no callable can be asked are left out with a reason."""
    assert says in run(impl.normalization.layer_norm, layer_norm, dataclasses.replace(LN_SHIFT, **change))


def test_a_callable_without_mask_is_not_asked_about_masks():
    """A theorem that needs a mask is left out for a callable that takes none."""
    said = run(lambda s: torch.softmax(s, -1), find("attention.softmax"), PERMUTED)
    assert isinstance(said, str) or said.verdict == "conforms"


# Lines inside ---------------------------------------------------------------------------------------------------------------


def test_where_a_theorem_speaks_of_an_inner_line_the_statements_own_stands_there() -> None:
    """That keys outside the window have no influence asks where the window is, which a callable does not return."""
    from impl.attention import local
    from tests.mutants.windows import no_cut

    theorem = find("attention.local").theorems["outside_the_window"]
    judge = Judge(find("attention.local"))
    for callable_, verdict in ((local, "conforms"), (no_cut, "falsified")):
        setting = Setting.of(judge, Caller(callable_, judge.formula), max_examples=40)
        result = tried(setting, theorem, ["float64"])
        assert not isinstance(result, str)
        assert result.verdict == verdict


def test_a_theorem_about_inner_lines_alone_is_not_run() -> None:
    """Nothing of it could be false of a callable that does not return those lines; the report says so."""
    from impl.attention import local

    judge = Judge(find("attention.local"))
    setting = Setting.of(judge, Caller(local, judge.formula), max_examples=40)
    said = tried(setting, judge.formula.theorems["gaussian"], ["float64"])
    assert said == "about lines that a callable does not return"
