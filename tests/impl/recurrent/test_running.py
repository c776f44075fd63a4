"""What holds of all six functions over sequences: they run by the same means."""

import math
from functools import partial

import pytest
import torch
from torch.autograd import forward_ad

from impl import recurrent

BACKENDS = pytest.mark.parametrize("backend", ["auto", "loop"])
LEADS = pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
T = 7
LENGTHS = torch.tensor([4, 7, 1])


def spoilt(x, lengths, fill=math.nan):
    """x (B T p) with other values in the padding."""
    return torch.where(torch.arange(x.shape[1])[:, None] < lengths[:, None, None], x, fill)


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_kernel_and_the_loop_are_both_the_statement(case, backend, dtype, within):
    """Values and gradients of either are within the statement's bounds, so the two are equal as far as it can say."""
    inputs = case.inputs(dtype=dtype)
    assert within(case.with_gradients(inputs, backend=backend), case.stated(inputs))


@BACKENDS
@LEADS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_batch_of_any_shape_in_any_floating_dtype(case, backend, lead, dtype):
    """Results have the data's batch axes and dtype; inputs are left as they were."""
    inputs = case.inputs(*lead, dtype=dtype)
    before = [each.clone() for each in inputs]
    alone = case(*case.inputs())
    for many, one in zip(case(*inputs, backend=backend), alone, strict=True):
        assert many.shape == (*lead, *one.shape)
        assert many.dtype == dtype
    assert all(map(torch.equal, inputs, before))


@BACKENDS
def test_a_batch_gives_what_its_sequences_give_alone(case, backend, within):
    """Two axes of batch, and one of a single sequence that broadcasts."""
    inputs = case.inputs(2, 3)
    inputs[0] = inputs[0][:, :1]
    results = case(*inputs, backend=backend)
    for i, j in [(0, 0), (0, 2), (1, 1)]:
        one = [inputs[0][i, 0], *(each[i, j] for each in inputs[1 : case.data]), *inputs[case.data :]]
        assert within([each[i, j] for each in results], case.stated(one)[: len(results)])


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e30])
def test_a_padded_sequence_gives_what_it_gives_alone(case, backend, dtype, bad, cotangent, within):
    """Its states, its last state at its own end, backward from there; NaN in the padding reaches no value and no gradient."""
    inputs = case.inputs(3, dtype=dtype)
    inputs[0] = spoilt(inputs[0], LENGTHS, bad)
    inputs = [each.detach().requires_grad_() for each in inputs]
    results = case(*inputs, lengths=LENGTHS, backend=backend)
    for i, length in enumerate(LENGTHS):
        alone = [inputs[0][i, :length], *(each[i] for each in inputs[1 : case.data]), *inputs[case.data :]]
        own = [each[i, :length] if each.shape[1] == T else each[i] for each in results]
        found = list(torch.autograd.grad(own, inputs, list(map(cotangent, own)), retain_graph=True))
        assert not found[0][i, length:].any()
        found = [
            found[0][i, :length],
            *(each[i] for each in found[1 : case.data]),
            *found[case.data :],
        ]
        assert within([*own, *found], case.stated(alone))


@BACKENDS
def test_beyond_a_sequence_there_are_zeros(case, backend):
    """Of what is per element: states, and an RNN's probabilities."""
    inputs = case.inputs(3)
    for each in case(spoilt(inputs[0], LENGTHS), *inputs[1:], lengths=LENGTHS, backend=backend):
        if each.shape[1] == T:
            assert not spoilt(each, LENGTHS, 0.0).sub(each).any()
            assert each.abs().sum((0, 2)).all()


@BACKENDS
def test_padding_gets_no_gradient(case, backend):
    """Exactly 0, also where every result is asked."""
    inputs = case.inputs(3, grad=True)
    total = sum(each.square().sum() for each in case(*inputs, lengths=LENGTHS, backend=backend))
    gradient = torch.autograd.grad(total, inputs[0])[0]
    assert torch.equal(gradient, spoilt(gradient, LENGTHS, 0.0))
    assert gradient.abs().sum((0, 2)).all()


def test_lengths_may_be_any_integers_and_broadcast(case):
    """One length for all; int32; full length is what no length is."""
    inputs = case.inputs(2, 3)
    whole, same = case(*inputs), case(*inputs, lengths=torch.tensor(7, dtype=torch.int32))
    for one, other in zip(whole, same, strict=True):
        torch.testing.assert_close(one, other)
    column = case(*inputs, lengths=torch.tensor([[4], [6]], dtype=torch.uint8))
    row = case(*inputs, lengths=torch.tensor([[4, 4, 4], [6, 6, 6]]))
    assert all(map(torch.equal, column, row))


def test_lengths_of_three_may_belong_to_a_batch_of_one(case):
    """One sequence, cut at three places."""
    results = case(*case.inputs(1), lengths=LENGTHS)
    assert all(each.shape[0] == 3 for each in results)


@BACKENDS
def test_an_empty_batch_and_no_elements(case, backend):
    """Sizes of zero are sizes like others; without elements the last state is the first."""
    assert all(each.shape[0] == 0 for each in case(*case.inputs(0), backend=backend))
    x, *others = case.inputs(3)
    states, *last = case(x[:, :0], *others, backend=backend)
    assert states.shape[:2] == (3, 0)
    first = {"stacked": others[:1], "lstm": others[1:2], "lstm_stacked": others[:2]}.get(case.name, [])
    assert all(map(torch.equal, last, first))


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_computed_in_32_and_rounded_once(case, backend, dtype):
    """The result is that of the same inputs in float32, rounded."""
    inputs = case.inputs(3, dtype=dtype)
    wide = case(*(each.float() for each in inputs), backend=backend)
    narrow = case(*inputs, backend=backend)
    assert all(torch.equal(each.to(dtype), got) for each, got in zip(wide, narrow, strict=True))


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
def test_the_loop_is_differentiable_to_any_order_in_either_mode(case, lengths):
    """gradcheck and gradgradcheck, forward mode included."""
    inputs = case.inputs(3, dtype=torch.float64)
    inputs[0] = inputs[0][:, :3]
    lengths = None if lengths is None else lengths.clamp(max=3)
    run = partial(case, lengths=lengths, backend="loop")
    inputs = [each.detach().requires_grad_() for each in inputs]
    assert torch.autograd.gradcheck(run, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
def test_the_kernel_has_a_second_derivative(case, lengths):
    """The gradient of a gradient's square is the loop's."""

    def twice(backend):
        inputs = [each.detach().requires_grad_() for each in first]
        total = sum(each.square().sum() for each in case(*inputs, lengths=lengths, backend=backend))
        gradients = torch.autograd.grad(total, inputs, create_graph=True)
        return torch.autograd.grad(sum(each.square().sum() for each in gradients), inputs)

    first = case.inputs(3, dtype=torch.float64)
    for one, other in zip(twice("auto"), twice("loop"), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
def test_torch_func_transforms_every_function(case, lengths):
    """grad by the kernel; vmap, jvp and a Hessian by the loop, without asking."""
    inputs = case.inputs(3, dtype=torch.float64)
    mapped = torch.func.vmap(case, in_dims=(0,) * case.data + (None,) * (len(inputs) - case.data))
    for one, other in zip(mapped(*inputs), case(*inputs), strict=True):
        torch.testing.assert_close(one, other)

    def total(x):
        return sum(each.square().sum() for each in case(x, *inputs[1:], lengths=lengths))

    x = inputs[0].clone().requires_grad_()
    gradient = torch.func.grad(total)(inputs[0])
    torch.testing.assert_close(gradient, torch.autograd.grad(total(x), x)[0])
    direction = torch.ones_like(gradient)
    slope = torch.func.jvp(total, (inputs[0],), (direction,))[1]
    torch.testing.assert_close(slope, (gradient * direction).sum())
    assert torch.func.hessian(total)(inputs[0]).isfinite().all()


@pytest.mark.parametrize("name", ["lstm", "lstm_stacked", "lstm_bidirectional"])
def test_forward_mode_that_the_kernel_lacks_is_refused_with_the_way_out(name, case_of):
    """float32 LSTMs have no forward-mode derivative in the kernel; the loop has."""
    case = case_of(name)
    x, *others = case.inputs(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(
            NotImplementedError, match=rf"^recurrent\.{name}: .* forward-mode .* pass backend='loop'$"
        ):
            case(dual, *others)
        tangent = forward_ad.unpack_dual(case(dual, *others, backend="loop")[0]).tangent
    assert tangent.shape == case(x, *others)[0].shape


@BACKENDS
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_autocast_computes_in_its_own_type_and_returns_that_of_x(case, backend, lengths, dtype):
    """To bfloat16's accuracy it is what it is without, whatever the processor; a 16-bit x beside float32 weights is taken."""
    inputs = case.inputs(3)
    exact = case(*inputs, lengths=lengths)
    with torch.autocast("cpu", dtype):
        cast = case(*inputs, lengths=lengths, backend=backend)
        mixed = case(inputs[0].to(dtype), *inputs[1:], lengths=lengths, backend=backend)
    for one, other, third in zip(cast, exact, mixed, strict=True):
        assert one.dtype == torch.float32
        assert third.dtype == dtype
        torch.testing.assert_close(
            one, other, atol=0.1, rtol=0
        )  # some roundings of 2⁻⁸: it only has to be sane
        torch.testing.assert_close(third.float(), other, atol=0.1, rtol=0)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_the_kernel_is_kept_from_autocast_on_the_cpu(case, lengths, dtype):
    """It would raise on some processors: with gradients, too, its states are those without autocast."""
    inputs = case.inputs(3, grad=True)
    plain = case(*inputs, lengths=lengths)
    with torch.autocast("cpu", dtype):
        cast = case(*inputs, lengths=lengths)
    torch.testing.assert_close(cast[0], plain[0], atol=0, rtol=0)


# torch's own: its compiler looks at .grad of whatever crosses a graph break.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["stacked", "lstm_bidirectional"])
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])
def test_a_compiled_function_calls_the_kernel(name, lengths, case_of):
    """A graph break, after which values and gradients are what they are without the compiler."""
    case = case_of(name)
    function, inputs = getattr(recurrent, name), case.inputs(3, grad=True)

    def results(run):
        out = run(*inputs, lengths=lengths)
        out = out if isinstance(out, tuple) else (out,)
        return [*out, *torch.autograd.grad(sum(each.square().sum() for each in out), inputs)]

    for one, other in zip(
        results(torch.compile(function, backend="aot_eager")), results(function), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.compiled
def test_the_loop_compiles_as_one_graph(case_of):
    """With lengths, too; and a wrong length is an error there."""
    case = case_of("rnn")
    x, h, W_xh, W_hh, W_hy = case.inputs(3)
    x = x[:, :3]
    compiled = torch.compile(partial(recurrent.rnn, backend="loop"), fullgraph=True, backend="aot_eager")
    lengths = torch.tensor([2, 3, 1])
    for one, other in zip(
        compiled(x, h, W_xh, W_hh, W_hy, lengths=lengths),
        recurrent.rnn(x, h, W_xh, W_hh, W_hy, lengths=lengths),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    with pytest.raises(RuntimeError, match=r"recurrent\.rnn: expected lengths in 1\.\.3"):
        compiled(x, h, W_xh, W_hh, W_hy, lengths=torch.tensor([2, 4, 1]))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(case):
    """The line names the formula, what was expected, and what was given."""

    def refused(error, inputs, **options):
        with pytest.raises(error) as caught:
            case(*inputs, **options)
        line = str(caught.value)
        assert line.startswith(f"recurrent.{case.name}: ")
        assert "\n" not in line
        return line

    inputs = case.inputs(3)
    x, *others = inputs
    assert "expected x (... T p), h (... " in refused(ValueError, [x[..., :2], *others])
    assert "got x (3,), h (" in refused(ValueError, [x[:, 0, 0], *others])
    assert refused(ValueError, [*inputs[:-1], inputs[-1][..., :-1]])
    line = refused(ValueError, [x[:2], *others])
    assert "leading dimensions of h" in line
    assert all(f"{n} {tuple(t.shape)}" in line for n, t in zip("h", others, strict=False))
    assert "one floating dtype; got x float64, h float32" in refused(TypeError, [x.double(), *others])
    assert "backend is 'auto' or 'loop'; got 'fast'" in refused(ValueError, inputs, backend="fast")
    for wrong, shown in (([4, 8, 1], 8), ([4, 7, 0], 0), ([-3, 7, 1], -3)):
        line = refused(ValueError, inputs, lengths=torch.tensor(wrong))
        assert line.endswith(f"expected lengths in 1..7, the number of elements; got {shown}")
    line = refused(ValueError, inputs, lengths=torch.tensor([1, 2]))
    assert line.endswith(
        "expected leading dimensions of lengths that broadcast to (3,), the data's; got lengths (2,)"
    )
    assert refused(TypeError, inputs, lengths=torch.ones(3)).endswith("integer lengths; got lengths float32")
