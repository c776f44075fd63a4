import math

import pytest
import torch

from impl.attention import Attention, attend, scaled_dot_product
from impl.scores import SCORES, Additive, ScaledDot
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY

n, m, d, d_v = 5, 11, 7, 3

MADE = {
    "general": {"d_q": d, "d_k": d},
    "additive": {"d_q": d, "d_k": d, "a": 13},
    "location": {"d_q": d, "m": m},
}
NAMES = pytest.mark.parametrize("name", SCORES)


def made(name):
    """Attention with that score."""
    torch.manual_seed(3)
    return Attention(SCORES[name](**MADE.get(name, {})))


@NAMES
def test_attention_takes_any_score(name, normal, mask):
    """z is the values' mean under the weights, which sum to 1, or to 0 for the query without a key."""
    q, k, v = normal(2, n, d), normal(2, m, d), normal(m, d_v)
    z, a = made(name)(q, k, v, mask, return_weights=True)
    assert z.shape == (2, n, d_v)
    # Up to torch's default for float32: eleven weights are added up. Scores and weights have bounds of their own in their tests.
    torch.testing.assert_close(a.sum(-1), mask.any(-1).float().expand(2, n))
    torch.testing.assert_close(z, a @ v)
    torch.testing.assert_close(made(name)(q, k, v, mask), z)
    assert not a[:, ~mask].any()


def test_without_a_score_it_is_scaled_dot_product_attention(normal, mask):
    """The same kernel even."""
    q, k, v = normal(2, n, d), normal(2, m, d), normal(2, m, d_v)
    assert isinstance(Attention().score, ScaledDot)
    assert torch.equal(Attention()(q, k, v, mask), scaled_dot_product(q, k, v, mask))


@NAMES
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_stands_in_a_hidden_slot_reaches_nothing(name, bad, normal, mask):
    """NaN or Inf there gives the output and the gradients, of the parameters too, that 0 there gives."""
    attention = made(name)

    def results(fill):
        q, k, v = (x.clone() for x in inputs)
        q[HIDDEN_QUERY], k[HIDDEN_KEY], v[HIDDEN_KEY] = fill, fill, fill
        tensors = [x.requires_grad_() for x in (q, k, v)]
        z = attention(*tensors, mask)
        return [
            z,
            *torch.autograd.grad(z.square().sum(), [*tensors, *attention.parameters()], allow_unused=True),
        ]

    inputs = normal(n, d), normal(m, d), normal(m, d_v)
    for got, want in zip(results(bad), results(0.0), strict=True):
        assert (got is want is None) or torch.equal(got, want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_rounded_once(dtype, normal, mask):
    """The weights of attend are not rounded in between."""
    s, v = normal(n, m, dtype=dtype), normal(m, d_v, dtype=dtype)
    assert torch.equal(attend(s, v, mask), attend(s.float(), v.float(), mask).to(dtype))


def test_derivatives_of_every_order_and_mode_exist(normal, mask):
    """gradcheck and gradgradcheck of attend, the row without a key included."""
    s, v = normal(n, m, dtype=torch.float64, grad=True), normal(m, 2, dtype=torch.float64, grad=True)
    assert torch.autograd.gradcheck(lambda s, v: attend(s, v, mask), (s, v), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda s, v: attend(s, v, mask), (s, v))


@pytest.mark.compiled
def test_attention_compiles_as_one_graph(normal, mask):
    """With a score that has parameters, and NaN under the mask."""
    q, k, v = normal(n, d), normal(m, d), normal(m, d_v)
    k[HIDDEN_KEY] = math.nan
    attention = Attention(Additive(d, d, 13))
    z = torch.compile(attention, fullgraph=True, backend="aot_eager")(q, k, v, mask)
    torch.testing.assert_close(z, attention(q, k, v, mask))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(normal, mask):
    """With the shapes that were given."""
    with pytest.raises(
        ValueError, match=r"^attention.attend: expected s \(... n m\), v \(... m d_v\); got s \(5, 11\)"
    ):
        attend(normal(n, m), normal(n, d_v))
    with pytest.raises(TypeError, match=r"^attention.attend: expected one floating dtype"):
        attend(normal(n, m), normal(m, d_v).double())
    with pytest.raises(
        ValueError, match=r"^attention: expected a mask that broadcasts to \(... n m\) = \(... 5 11\)"
    ):
        made("dot")(normal(n, d), normal(m, d), normal(m, d_v), mask[:, :7])
