import itertools
import math
from functools import partial

import pytest
import torch

from impl.scores import additive, additive_of_halves, blocks, location

n, m, d_q, d_k, a = 5, 11, 7, 3, 13

LEADS = pytest.mark.parametrize(
    ("of_q", "of_k"),
    [((), ()), ((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((2,), (3, 1))],
    ids=str,
)
BLOCKS = pytest.mark.parametrize("block", [1, 1000, 5000, 2**30])  # in bytes; one pair is 13 numbers


@pytest.fixture
def inputs(normal):
    """Random queries, keys and parameters."""

    def draw(of_q=(), of_k=(), **options):
        shapes = (*of_q, n, d_q), (*of_k, m, d_k), (a, d_q + d_k), (a,)
        return [normal(*shape, **options) for shape in shapes]

    return draw


class TestAdditive:
    """scores.additive."""

    @BLOCKS
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_in_blocks_of_any_size_it_is_the_statement(self, block, dtype, inputs, normal, stated, within):
        """Values and gradients are within the statement's bounds, as those of the plain form are."""
        given, g = inputs(dtype=dtype, grad=True), normal(n, m, dtype=dtype)
        for options in ({"block": block}, {"backend": "math"}):
            s = additive(*given, **options)
            assert within([s, *torch.autograd.grad(s, given, g)], stated("scores.additive", given, g))

    @LEADS
    @BLOCKS
    def test_leading_dimensions_broadcast(self, of_q, of_k, block, inputs, stated, within):
        """Each member of the batch gets the scores it gets alone."""
        q, k, W, v = inputs(of_q, of_k)
        s = additive(q, k, W, v, block=block)
        lead = torch.broadcast_shapes(of_q, of_k)
        assert s.shape == (*lead, n, m)
        q, k = q.expand(*lead, n, d_q), k.expand(*lead, m, d_k)
        for at in itertools.product(*map(range, lead)):
            assert within([s[at]], stated("scores.additive", [q[at], k[at], W, v]))

    @LEADS
    def test_in_blocks_it_passes_gradcheck(self, of_q, of_k, normal):
        """Gradients of first and second order, also of what is shared by a batch; a second takes the plain form by itself."""
        shapes = (*of_q, 2, 2), (*of_k, 3, 1), (2, 3), (2,)
        given = [normal(*shape, dtype=torch.float64, grad=True) for shape in shapes]
        f = partial(additive, block=50)
        assert torch.autograd.gradcheck(f, given, fast_mode=bool(of_q or of_k))
        assert torch.autograd.gradgradcheck(f, given, fast_mode=bool(of_q or of_k))

    @LEADS
    @pytest.mark.parametrize("block", [1, 1000, 5000])
    def test_no_more_than_a_block_is_ever_held(self, of_q, of_k, block, normal):
        """The tiles cover every pair once; the hidden layers of all of them lie in the same memory, of that size at most."""
        x, y = normal(*of_q, n, a), normal(*of_k, m, a)
        dims = max(x.dim(), y.dim())
        x, y = x[(None,) * (dims - x.dim())], y[(None,) * (dims - y.dim())]
        covered = torch.zeros(*torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), n, m)
        memory = set()
        for tile, hidden in blocks._hidden_layers(x, y, block):
            covered[tile] += 1
            memory.add(hidden.untyped_storage().data_ptr())
            assert hidden.untyped_storage().nbytes() <= max(
                block, 2 * 4 * a
            )  # one pair at least, and its exponentials
        assert (covered == 1).all()
        assert len(memory) == 1

    def test_what_fits_into_a_block_is_kept_for_the_backward_pass(self, inputs):
        """A small hidden layer is not computed twice."""
        given = inputs(grad=True)
        assert "attnspec" not in additive(*given).grad_fn.name()
        assert "attnspec" in additive(*given, block=1000).grad_fn.name()

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_16_bits_are_rounded_once(self, dtype, inputs):
        """Its scores are the float32 scores of the same inputs, rounded."""
        given = inputs(dtype=dtype)
        for block in (1000, 2**30):
            want = additive(*(x.float() for x in given), block=block).to(dtype)
            assert torch.equal(additive(*given, block=block), want)

    def test_saturated_and_infinite_units_are_as_tanh_has_them(self):
        """tanh of ±30 and ±∞ is ±1, and NaN stays NaN, in blocks too."""
        query = torch.tensor([[30.0], [math.inf], [-math.inf], [-1e30], [math.nan]])
        s = additive_of_halves(query, torch.zeros(2, 1), torch.ones(1), block=1)
        assert torch.equal(s[:4], torch.tensor([1.0, 1.0, -1.0, -1.0])[:, None].expand(4, 2))
        assert s[4].isnan().all()

    @pytest.mark.parametrize("block", [1000, 2**30])
    @pytest.mark.parametrize(("queries", "keys"), [(0, 11), (5, 0), (0, 0)])
    def test_no_queries_or_no_keys(self, block, queries, keys, normal):
        """Sizes of zero are sizes like others, also in a batch, and have gradients."""
        given = [normal(*shape, grad=True) for shape in ((2, queries, 7), (2, keys, 3), (13, 10), (13,))]
        s = additive(*given, block=block)
        assert s.shape == (2, queries, keys)
        assert not any(
            x.any() for x in torch.autograd.grad(s.sum(), given, allow_unused=True) if x is not None
        )

    def test_halves_taken_beforehand_give_the_same(self, inputs, normal, stated, within):
        """A decoder projects its keys once and asks them at every step."""
        q, k, W, v = inputs()
        s = additive_of_halves(q @ W[:, :d_q].mT, k @ W[:, d_q:].mT, v, block=1000)
        assert within([s], stated("scores.additive", [q, k, W, v]))

    def test_torch_func_transforms_it(self, inputs):
        """grad, vmap, jvp and their compositions, where blocks would have been used."""
        given = inputs()

        def score(*given):
            return additive(*given, block=1000)

        def loss(*given):
            return score(*given).square().sum()

        func = torch.func
        batch = given[0].expand(2, n, d_q)
        assert func.grad(loss, argnums=2)(*given).shape == given[2].shape
        assert func.vmap(score, in_dims=(0, None, None, None))(batch, *given[1:]).shape == (2, n, m)
        assert func.jvp(score, tuple(given), tuple(given))[1].shape == (n, m)
        assert func.vmap(func.grad(loss), in_dims=(0, None, None, None))(batch, *given[1:]).shape == (
            2,
            n,
            d_q,
        )

    def test_forward_mode_and_autocast_are_followed(self, inputs):
        """A dual number has its tangent; under autocast the result has its dtype."""
        q, *others = inputs()
        with torch.autograd.forward_ad.dual_level():
            s = additive(torch.autograd.forward_ad.make_dual(q, q), *others, block=1000)
            assert torch.autograd.forward_ad.unpack_dual(s).tangent.shape == (n, m)
        with torch.autocast("cpu", torch.bfloat16):
            q.requires_grad_()
            s = additive(q, *others, block=1000)
            assert s.dtype == torch.bfloat16
            s.sum().backward()
        assert q.grad.isfinite().all()

    @pytest.mark.compiled
    def test_it_is_a_custom_operation_to_torch(self, normal):
        """torch's own checks: schema, autograd registration, shapes of fake tensors, tracing with gradients."""
        x, y, v = (normal(*shape, grad=True) for shape in ((1, n, a), (2, m, a), (a,)))
        torch.library.opcheck(blocks._additive, (x, y, v, 1000))

    @pytest.mark.compiled
    def test_it_compiles_as_one_graph(self, inputs, normal, stated, within):
        """With its blocks and its gradients, which stay the statement's."""
        given, g = inputs(grad=True), normal(n, m)
        s = torch.compile(partial(additive, block=1000), fullgraph=True, backend="aot_eager")(*given)
        assert within([s, *torch.autograd.grad(s, given, g)], stated("scores.additive", given, g))


class TestLocation:
    """scores.location."""

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_it_is_the_statement(self, dtype, normal, stated, within):
        """Values and gradients are within the statement's bounds; each row sums to 1."""
        given = [normal(*shape, dtype=dtype, grad=True) for shape in ((n, d_q), (m, d_q))]
        g, weights = normal(n, m, dtype=dtype), location(*given)
        assert within([weights, *torch.autograd.grad(weights, given, g)], stated("scores.location", given, g))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_16_bits_are_rounded_once(self, dtype, normal):
        """Its weights are the float32 weights of the same inputs, rounded."""
        q, W = normal(2, n, d_q, dtype=dtype), normal(m, d_q, dtype=dtype)
        assert torch.equal(location(q, W), location(q.float(), W.float()).to(dtype))


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    @pytest.mark.parametrize(
        ("shapes", "line"),
        [
            (
                ((5, 7), (11, 3), (13, 11), (13,)),
                "expected q (... n d_q), k (... m d_k), W (a d_q+d_k), v (a); got",
            ),
            (((5, 7), (11, 3), (13, 10), (12,)), "v (12,)"),
            (((7,), (11, 3), (13, 10), (13,)), "got q (7,)"),
            (((2, 5, 7), (3, 11, 3), (13, 10), (13,)), "expected leading dimensions that broadcast"),
        ],
    )
    def test_shapes_of_additive(self, shapes, line, normal):
        """With the four shapes."""
        with pytest.raises(ValueError, match=r"^scores.additive: ") as caught:
            additive(*(normal(*shape) for shape in shapes))
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_halves_of_different_widths(self, normal):
        """The hidden layer has one width."""
        with pytest.raises(ValueError, match=r"expected query \(... n a\), key \(... m a\), v \(a\); got"):
            additive_of_halves(normal(5, 7), normal(11, 3), normal(7))

    def test_dtypes(self, inputs, normal):
        """All share one floating dtype."""
        q, k, W, v = inputs()
        with pytest.raises(
            TypeError, match=r"^scores.additive: expected one floating dtype; got q float32, k float64"
        ):
            additive(q, k.double(), W, v)
        with pytest.raises(
            TypeError, match=r"^scores.location: expected one floating dtype; got q int64, W int64"
        ):
            location(normal(5, 7).long(), normal(11, 7).long())

    def test_choices(self, inputs, normal):
        """A misspelt backend, a block that holds nothing, places of another width."""
        with pytest.raises(ValueError, match="backend is 'auto', 'math' or 'triton'; got 'flash'"):
            additive(*inputs(), backend="flash")
        with pytest.raises(ValueError, match=r"expected block >= 1 \(bytes\); got 0"):
            additive(*inputs(), block=0)
        with pytest.raises(
            ValueError, match=r"^scores.location: expected q .*; got q \(5, 7\), W \(11, 6\)$"
        ):
            location(normal(5, 7), normal(11, 6))
