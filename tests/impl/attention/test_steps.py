import math
from functools import partial

import pytest
import torch

from impl.attention import bahdanau_step, luong_step

D, P, E, M, A, V = 7, 5, 3, 11, 2, 13
FORMULA = {bahdanau_step: "attention.bahdanau_step", luong_step: "attention.luong_step"}
STEPS = pytest.mark.parametrize("step", FORMULA, ids=lambda step: step.__name__)
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
BAD = pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
ONE = 4
"""An annotation."""


def given(step, normal, lead_s=(), lead_y=(), lead_h=(), **options):
    """Random inputs of a step, the mask left out; each of s, y and h with leading dimensions of its own."""
    e = E if step is bahdanau_step else D
    data = (*lead_s, D), (*lead_y, P), (*lead_h, M, e)
    alignment = ((A, D + e), (A,)) if step is bahdanau_step else ()
    last = ((D, e),) if step is bahdanau_step else ((D, 2 * D), (V, D))
    return [normal(*shape, **options) for shape in (*data, *alignment, (D, D), (D, P), *last)]


def holed():
    """A mask with annotation ONE and some others hidden."""
    return torch.arange(M) % ONE != 0


@STEPS
@DTYPES
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=str)
def test_results_have_the_shapes_of_the_statement(step, dtype, lead, normal):
    """Any leading dimensions, any floating dtype; weights are positive where allowed, 0 elsewhere."""
    results = step(*given(step, normal, lead, lead, lead, dtype=dtype), holed())
    widths = (D, E, M) if step is bahdanau_step else (D, D, V, M)
    assert [x.shape for x in results] == [(*lead, width) for width in widths]
    assert {x.dtype for x in results} == {dtype}
    assert torch.equal(results[-1] > 0, holed().expand(*lead, M))


@STEPS
@pytest.mark.parametrize("where", ["s", "y", "h"])
def test_leading_dimensions_may_come_with_any_input(step, where, normal):
    """A batch of words, of states or of annotations alone is a batch of steps, in all results."""
    leads = {f"lead_{name}": (2, 3) if where == name else () for name in "syh"}
    assert {x.shape[:-1] for x in step(*given(step, normal, **leads))} == {(2, 3)}


@STEPS
def test_no_mask_allows_all(step, normal):
    """No mask, an all-True mask and one that broadcasts say the same."""
    inputs = given(step, normal, (2,), (2,), (2,))
    for mask in (torch.ones(M), torch.ones(1), torch.ones(2, 1)):
        assert all(map(torch.equal, step(*inputs), step(*inputs, mask.bool())))


def test_the_only_permitted_annotation_is_the_context(normal):
    """Its weight is 1 and the context is that annotation, exactly."""
    inputs = given(bahdanau_step, normal, (2,), (2,), (2,))
    _, c, alpha = bahdanau_step(*inputs, torch.arange(M) == ONE)
    assert torch.equal(c, inputs[2][:, ONE])
    assert torch.equal(alpha, (torch.arange(M) == ONE).float().expand(2, M))


@STEPS
def test_with_nothing_to_attend_to_weights_and_context_are_zero(step, normal):
    """The new state and the word are then made without a context, and no gradient reaches an annotation."""
    inputs = given(step, normal, (2,), (2,), (2,), grad=True)
    results = step(*inputs, torch.tensor([[False], [True]]).expand(2, M))
    sum(x.square().sum() for x in results).backward()
    assert not results[-1][0].any()
    assert results[-1][1].all()
    if step is bahdanau_step:
        assert not results[1][0].any()
    assert all(torch.isfinite(x.grad).all() for x in inputs)
    assert not inputs[2].grad[0].any()
    assert inputs[2].grad[1].any()


@STEPS
@BAD
@pytest.mark.parametrize("whole", [True, False], ids=["whole annotation", "one entry"])
def test_what_stands_in_a_masked_annotation_reaches_nothing(step, bad, whole, normal):
    """NaN or Inf there gives the results and the gradients that 0 there gives."""
    inputs = given(step, normal, (2,), (2,), (2,))

    def results(fill):
        tensors = [x.clone() for x in inputs]
        hidden = (~holed()).nonzero().squeeze(1)
        tensors[2][:, hidden, slice(None) if whole else 1] = fill
        for x in tensors:
            x.requires_grad_()
        out = step(*tensors, holed())
        return [*out, *torch.autograd.grad(sum(x.square().sum() for x in out), tensors)]

    assert all(map(torch.equal, results(bad), results(0.0)))


@STEPS
def test_no_annotations_are_like_none_permitted(step, normal):
    """m = 0 is a size like others."""
    s, y, h, *parameters = given(step, normal)
    none = step(s, y, h[:0], *parameters)
    hidden = step(s, y, h, *parameters, torch.zeros(M, dtype=torch.bool))
    assert all(map(torch.equal, none[:-1], hidden[:-1]))
    assert none[-1].shape == (0,)


@STEPS
def test_derivatives_of_every_order_and_mode_exist(step, normal):
    """In all inputs, a batch without a permitted annotation included."""
    mask = torch.stack([holed(), torch.zeros(M, dtype=torch.bool)])
    inputs = given(step, normal, (2,), (2,), (2,), dtype=torch.float64, grad=True)
    f = partial(step, mask=mask)
    assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(f, inputs, fast_mode=True)


@STEPS
def test_vmap_runs_over_any_input(step, normal):
    """torch.func sees plain operations."""
    s, y, h, *parameters = given(step, normal, (2,), (2,), (2,))
    results = torch.func.vmap(lambda *data: step(*data, *parameters))(s, y, h)
    assert {x.shape[0] for x in results} == {2}


@STEPS
def test_inputs_are_left_as_they_were(step, normal):
    """Masked annotations are blanked in a copy."""
    inputs = [*given(step, normal), holed()]
    before = [x.clone() for x in inputs]
    step(*inputs)
    assert all(map(torch.equal, inputs, before))


@pytest.mark.compiled
@STEPS
def test_a_step_compiles_as_one_graph(step, normal):
    """torch.compile takes the function whole."""
    results = torch.compile(step, fullgraph=True, backend="aot_eager")(
        *given(step, normal, (2,), (2,), (2,)), holed()
    )
    assert results[-1].shape == (2, M)


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    @STEPS
    def test_every_input_of_a_wrong_shape(self, step, normal):
        """One entry too many anywhere but in a batch, a vocabulary's or an annotation's count."""
        good = given(step, normal)
        step(*good)
        for k in range(len(good)):
            inputs = list(good)
            inputs[k] = normal(*good[k].shape[:-1], good[k].shape[-1] + 1)
            with pytest.raises(ValueError, match=f"^{FORMULA[step]}: expected s .* got s ") as caught:
                step(*inputs)
            assert "\n" not in str(caught.value)

    @STEPS
    def test_mixed_and_integer_types(self, step, normal):
        """All inputs share one floating dtype."""
        s, *rest = given(step, normal)
        with pytest.raises(TypeError, match="expected one floating dtype; got s float64, y float32"):
            step(s.double(), *rest)
        with pytest.raises(TypeError, match="one floating dtype"):
            step(*(x.long() for x in (s, *rest)))

    @STEPS
    def test_masks_that_do_not_fit(self, step, normal):
        """A mask is boolean and broadcasts to the annotations."""
        inputs = given(step, normal)
        with pytest.raises(TypeError, match="expected a boolean mask, True = may attend; got mask float32"):
            step(*inputs, torch.ones(M))
        with pytest.raises(ValueError, match=r"expected a mask that broadcasts to \(... m\) = \(... 11\)"):
            step(*inputs, torch.ones(M - 1, dtype=torch.bool))

    @STEPS
    def test_leading_dimensions_that_do_not_broadcast(self, step, normal):
        """Two states cannot read three sources."""
        with pytest.raises(ValueError, match="expected leading dimensions that broadcast"):
            step(*given(step, normal, (2,), (2,), (3,)))
