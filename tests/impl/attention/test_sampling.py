import math

import pytest
import torch

from impl.attention import hard, log_weight, softmax
from impl.scores import scaled_dot
from tests.impl.attention.inputs import DTYPES, HIDDEN_KEY, HIDDEN_QUERY

n, m, d_k, d_v = 5, 11, 7, 3


@pytest.fixture
def qkv(normal):
    """Random queries, keys and values."""

    def draw(*lead, **options):
        return tuple(normal(*lead, *shape, **options) for shape in ((n, d_k), (m, d_k), (m, d_v)))

    return draw


def seeded(seed=0):
    """A generator."""
    return torch.Generator().manual_seed(seed)


class TestHard:
    """attention.hard."""

    @DTYPES
    @pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
    def test_each_query_gets_the_value_of_a_permitted_key(self, dtype, lead, qkv, mask):
        """Bit for bit; the query without one gets index −1 and 0."""
        q, k, v = qkv(*lead, dtype=dtype)
        z, index = hard(q, k, v, seeded(), mask)
        assert z.dtype == dtype
        assert index.dtype == torch.int64
        assert index.shape == (*lead, n)
        assert (index[..., HIDDEN_QUERY] == -1).all()
        assert not z[..., HIDDEN_QUERY, :].any()
        rest = [i for i in range(n) if i != HIDDEN_QUERY]
        at = index[..., rest]
        assert mask[torch.tensor(rest), at].all()
        assert torch.equal(z[..., rest, :], v.gather(-2, at.unsqueeze(-1).expand(*at.shape, d_v)))

    def test_keys_are_drawn_as_often_as_their_weights_say(self, normal, mask):
        """In N draws no share is off by more than Hoeffding's √(ln(2/α)/2N), α a share of 1e-9."""
        N = 200_000
        q, k = normal(n, d_k), normal(m, d_k)
        _, index = hard(q.expand(N, n, d_k), k, normal(m, 1), seeded(), mask)
        shares = torch.stack([(index == j).double().mean(0) for j in range(m)], -1)
        off = (shares - softmax(scaled_dot(q, k).double(), mask)).abs()
        assert off.max() <= math.sqrt(math.log(2 * n * m / 1e-9) / (2 * N))

    def test_equal_seeds_give_equal_draws_and_others_others(self, qkv, mask):
        """And torch's global generator is left alone."""
        q, k, v = qkv(13)
        before = torch.get_rng_state()
        first, again, other = (hard(q, k, v, seeded(seed), mask)[1] for seed in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
        assert torch.equal(before, torch.get_rng_state())

    def test_members_of_a_broadcast_batch_draw_by_themselves(self, qkv):
        """The same query against the same keys, 13 times, whether q, k or v brings the batch."""
        q, k, v = qkv()
        for at in range(3):
            given = [q, k, v]
            given[at] = given[at].expand(13, *given[at].shape)
            _, index = hard(*given, seeded())
            assert index.shape == (13, n)
            assert len(index.unique(dim=0)) > 1

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_what_stands_in_a_hidden_slot_reaches_nothing(self, bad, qkv, mask):
        """Nor does the value of a key that was not drawn, which gets no gradient."""
        q, k, v = qkv()
        want = hard(q, k, v, seeded(), mask)
        q[HIDDEN_QUERY], k[HIDDEN_KEY], v[HIDDEN_KEY] = bad, bad, bad
        v.requires_grad_()
        z, index = hard(q, k, v, seeded(), mask)
        z.sum().backward()
        assert torch.equal(z, want[0])
        assert torch.equal(index, want[1])
        drawn = torch.zeros(m).index_add(0, index[index >= 0], torch.ones(n - 1))
        assert torch.equal(v.grad, drawn[:, None].expand(m, d_v))

    def test_nan_that_may_be_attended_to_shows(self, qkv):
        """Where the weights are NaN nothing can be drawn."""
        q, k, v = qkv()
        q[2, 0] = math.nan
        z, index = hard(q, k, v, seeded())
        assert z[2].isnan().all()
        assert index[2] == -1
        assert z.isfinite().all(-1).tolist() == [i != 2 for i in range(n)]

    @pytest.mark.parametrize(("queries", "keys"), [(0, 11), (5, 0), (0, 0)])
    def test_no_queries_or_no_keys(self, queries, keys, normal):
        """No key: index −1 and 0."""
        z, index = hard(normal(2, queries, d_k), normal(2, keys, d_k), normal(2, keys, d_v), seeded())
        assert torch.equal(z, torch.zeros(2, queries, d_v))
        assert (index == -1).all()
        assert index.shape == (2, queries)

    def test_autocast_does_not_coarsen_the_weights(self, qkv):
        """The draws are those without it."""
        q, k, v = qkv(13)
        want = hard(q, k, v, seeded())[1]
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(hard(q, k, v, seeded())[1], want)


class TestLogWeight:
    """log_weight."""

    def test_it_is_the_logarithm_of_the_weight_drawn(self, qkv, mask):
        """0 for a query that drew nothing, in any batch."""
        q, k, v = qkv(2)
        _, index = hard(q, k, v, seeded(), mask)
        a = softmax(scaled_dot(q, k), mask).gather(-1, index.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        want = torch.where(index < 0, 1.0, a).log()
        torch.testing.assert_close(log_weight(q, k, index, mask), want)
        assert not log_weight(q, k, index, mask)[:, HIDDEN_QUERY].any()

    def test_the_estimator_in_the_docstring_of_hard_is_unbiased(self, qkv, mask):
        """Its expectation, over every key that a query may draw, is the gradient of the expected loss: of q, k and v."""

        def loss(z):
            return (z * z).sum(-1) + z[..., 0]  # of each query

        q, k, v = qkv(dtype=torch.float64, grad=True)
        a = softmax(scaled_dot(q, k), mask)
        surrogate = 0
        for j in range(m):
            index = torch.where(mask[:, j], j, -1)
            each = loss(v[j]) + loss(v[j]).detach() * log_weight(q, k, index, mask)
            surrogate = surrogate + (a[:, j].detach() * each).sum()
        expected = torch.autograd.grad((a @ loss(v)).sum(), (q, k, v))
        for got, want in zip(torch.autograd.grad(surrogate, (q, k, v)), expected, strict=True):
            torch.testing.assert_close(got, want)

    def test_derivatives_of_every_order_and_mode_exist(self, normal, mask):
        """gradcheck and gradgradcheck, the row without a key included."""
        q, k = normal(n, 2, dtype=torch.float64, grad=True), normal(m, 2, dtype=torch.float64, grad=True)
        _, index = hard(q, k, k, seeded(), mask)

        def f(q, k):
            return log_weight(q, k, index, mask)

        assert torch.autograd.gradcheck(f, (q, k), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, (q, k))

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_what_stands_in_a_hidden_slot_reaches_nothing(self, bad, qkv, mask):
        """Neither the value nor the gradients."""
        q, k, v = qkv()
        _, index = hard(q, k, v, seeded(), mask)
        q[HIDDEN_QUERY], k[HIDDEN_KEY] = bad, bad
        grads = torch.autograd.grad(
            log_weight(q.requires_grad_(), k.requires_grad_(), index, mask).sum(), (q, k)
        )
        assert all(x.isfinite().all() for x in grads)
        assert not grads[0][HIDDEN_QUERY].any()
        assert not grads[1][HIDDEN_KEY].any()

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_16_bits_are_rounded_once(self, dtype, qkv):
        """It is the float32 value of the same inputs, rounded."""
        q, k, v = qkv(dtype=dtype)
        _, index = hard(q, k, v, seeded())
        assert torch.equal(log_weight(q, k, index), log_weight(q.float(), k.float(), index).to(dtype))

    @pytest.mark.compiled
    def test_it_compiles_as_one_graph(self, qkv, mask):
        """With a mask."""
        q, k, v = qkv()
        _, index = hard(q, k, v, seeded(), mask)
        got = torch.compile(log_weight, fullgraph=True, backend="aot_eager")(q, k, index, mask)
        torch.testing.assert_close(got, log_weight(q, k, index, mask))


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    def test_generator_and_mask(self, qkv, mask):
        """A mask in the generator's place is named as what it is not."""
        q, k, v = qkv()
        with pytest.raises(
            TypeError, match=r"^attention.hard: expected a torch.Generator as generator; got Tensor$"
        ):
            hard(q, k, v, mask)
        with pytest.raises(TypeError, match=r"^attention.hard: expected a boolean mask, True = may attend"):
            hard(q, k, v, seeded(), mask.float())

    def test_shapes_and_dtypes(self, qkv):
        """Of the vectors and of the index."""
        q, k, v = qkv()
        with pytest.raises(
            ValueError, match=r"^attention.hard: expected q \(... n d_k\), .* got q \(5, 7\), k \(11, 6\)"
        ):
            hard(q, k[:, :6], v, seeded())
        with pytest.raises(
            ValueError, match=r"^attention.hard: expected index \(... n\), q .*; got index \(4\,\)"
        ):
            log_weight(q, k, torch.zeros(4, dtype=torch.int64))
        with pytest.raises(TypeError, match=r"^attention.hard: expected an int64 index; got index float32$"):
            log_weight(q, k, torch.zeros(5))

    def test_leading_dimensions(self, normal):
        """Also those of the index."""
        q, k = normal(2, 5, 7), normal(2, 11, 7)
        with pytest.raises(
            ValueError, match=r"^attention.hard: expected leading .* got q \(2, 5, 7\), k \(3, 11, 7\)"
        ):
            hard(q, normal(3, 11, 7), normal(3, 11, 7), seeded())
        with pytest.raises(ValueError, match=r"^attention.hard: expected leading .* got index \(3, 5\), q"):
            log_weight(q, k, torch.zeros(3, 5, dtype=torch.int64))
