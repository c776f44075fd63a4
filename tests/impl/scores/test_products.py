import math

import pytest
import torch

from impl import scores

BOTH = pytest.mark.parametrize("score", [scores.dot, scores.scaled_dot])
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def general(q, k):
    """``scores.general`` with a fixed matrix, whole numbers in it."""
    d = q.shape[-1]
    return scores.general(q, k, (torch.arange(d * d, dtype=q.dtype) % 5 - 2).reshape(d, d))


ALL = pytest.mark.parametrize("score", [scores.dot, scores.scaled_dot, general, scores.cosine])


@ALL
@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_pair_every_query_with_every_key(score, dtype, normal):
    """The result has a row for each query and a column for each key, in the inputs' dtype."""
    s = score(normal(2, 3, 5, 7, dtype=dtype), normal(2, 3, 11, 7, dtype=dtype))
    assert s.shape == (2, 3, 5, 11)
    assert s.dtype == dtype


@BOTH
def test_leading_dimensions_broadcast(score, normal):
    """One set of keys serves a batch of queries (whole numbers: their scores are exact, whichever kernel adds them)."""
    q, k = normal(2, 3, 5, 7).round(), normal(11, 7).round()
    assert torch.equal(score(q, k), score(q, k.expand(2, 3, 11, 7)))


def test_the_scale_is_the_square_root_of_the_width():
    """The deck's worked numbers: 112/8 = 14 and 96/8 = 12 at d_k = 64."""
    q, k = torch.ones(1, 64), torch.stack((torch.full((64,), 1.75), torch.full((64,), 1.5)))
    assert scores.dot(q, k).tolist() == [[112.0, 96.0]]
    assert scores.scaled_dot(q, k).tolist() == [[14.0, 12.0]]


@pytest.mark.parametrize("score", [scores.scaled_dot, general, scores.cosine])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_16_bit_score_is_rounded_once(score, dtype, normal):
    """It equals the float32 score of the same inputs, rounded to 16 bits."""
    q, k = normal(5, 7, dtype=dtype), normal(11, 7, dtype=dtype)
    assert torch.equal(score(q, k), score(q.float(), k.float()).to(dtype))


@ALL
@pytest.mark.parametrize(("n", "m"), [(0, 11), (5, 0), (0, 0)])
def test_no_queries_or_no_keys_give_an_empty_matrix(score, n, m, normal):
    """Sizes of zero are sizes like others."""
    assert score(normal(n, 7), normal(m, 7)).shape == (n, m)


@BOTH
def test_inputs_may_be_non_contiguous_and_are_left_as_they_were(score, normal):
    """Transposed views score as their copies do."""
    q, k = normal(7, 5).round().mT, normal(7, 11).round().mT
    before = q.clone(), k.clone()
    assert torch.equal(score(q, k), score(*before))
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


@BOTH
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("q", "k", "error", "line"),
    [
        (
            torch.ones(5, 7),
            torch.ones(11, 6),
            ValueError,
            "expected q (... n d_k), k (... m d_k); got q (5, 7), k (11, 6)",
        ),
        (torch.ones(7), torch.ones(11, 7), ValueError, "got q (7,), k (11, 7)"),
        (torch.ones(2, 5, 7), torch.ones(3, 11, 7), ValueError, "expected leading dimensions that broadcast"),
        (
            torch.ones(5, 7),
            torch.ones(11, 7).double(),
            TypeError,
            "expected one floating dtype; got q float32, k float64",
        ),
        (torch.ones(5, 7).long(), torch.ones(11, 7).long(), TypeError, "got q int64, k int64"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(score, q, k, error, line):
    """The line names the formula, what was expected, and what was given."""
    with pytest.raises(error) as caught:
        score(q, k)
    assert str(caught.value).startswith(f"scores.{score.__name__}: ")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@ALL
def test_torch_func_transforms_scores(score, normal):
    """vmap equals the batch, and gradient, vjp and second derivatives exist."""
    q, k = normal(2, 5, 7, dtype=torch.float64), normal(2, 11, 7, dtype=torch.float64)
    assert torch.func.vmap(score)(q, k).shape == (2, 5, 11)
    assert torch.autograd.gradcheck(score, (q[0].requires_grad_(), k[0].requires_grad_()))
    assert torch.autograd.gradgradcheck(
        score, (q[0].detach().requires_grad_(), k[0].detach().requires_grad_())
    )


def test_queries_and_keys_of_different_widths_meet_through_the_matrix(normal):
    """W = 0 but for one entry: the score is one query entry times one key entry."""
    q, k, W = normal(5, 7), normal(11, 3), torch.zeros(7, 3)
    W[2, 1] = 1.0
    assert torch.equal(scores.general(q, k, W), q[:, 2, None] * k[:, 1])


@pytest.mark.usefixtures("unchecked")
def test_a_matrix_that_does_not_fit_is_refused(normal):
    """One line with all three shapes."""
    line = r"^scores.general: expected .*W \(d_q d_k\); got q \(5, 7\), k \(11, 3\), W \(3, 7\)$"
    with pytest.raises(ValueError, match=line):
        scores.general(normal(5, 7), normal(11, 3), normal(3, 7))


class TestCosine:
    """scores.cosine."""

    @pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
    def test_the_length_of_a_vector_does_not_count(self, scale, normal):
        """Squares of such entries are beyond float32; a power of two changes no digit."""
        q, k = normal(5, 7), normal(11, 7)
        scale = 2.0 ** round(math.log2(scale))
        assert torch.equal(scores.cosine(q * scale, k), scores.cosine(q, k))

    def test_a_zero_vector_is_like_nothing(self, normal):
        """Its scores are 0; it gets and gives no gradient, of any order."""
        q, k = normal(5, 7, dtype=torch.float64), normal(11, 7, dtype=torch.float64, grad=True)
        q[3] = 0.0
        q.requires_grad_()
        s = scores.cosine(q, k)
        assert not s[3].any()
        grad_q, grad_k = torch.autograd.grad(s.sum() + s[3].sum(), (q, k), create_graph=True)
        assert not grad_q[3].any()
        second = torch.autograd.grad(grad_q.square().sum() + grad_k.square().sum(), (q, k))
        assert all(x.isfinite().all() for x in second)
        assert not second[0][3].any()


@pytest.mark.compiled
def test_scaled_dot_compiles_as_one_graph(normal):
    """torch.compile takes the function whole."""
    q, k = normal(5, 7), normal(11, 7)
    assert torch.compile(scores.scaled_dot, fullgraph=True, backend="aot_eager")(q, k).shape == (5, 11)
