"""What ``MultiHeadAttention`` takes beside a mask: a bias of the scores, causal, dropout, a cache."""

import copy

import pytest
import torch

from impl.attention import KeyValueCache, MultiHeadAttention, causal_mask, softmax
from impl.scores import scaled_dot


def paths(module, x, y=None, mask=None, **how):
    """The same by the fused kernel, in plain operations, and beside the weights."""
    yield module(x, y, mask, **how)
    yield module(x, y, mask, backend="math", **how)
    yield module(x, y, mask, return_weights=True, **how)[0]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 7), (7, 3)])
def test_a_bias_is_added_to_the_scores_and_causal_hides_what_comes_after(
    n, m, causal, masked, normal, allowed
):
    """Beside what the mask hides, in every path; of a query without a key z is the bias of the last layer."""
    module, x, y = MultiHeadAttention(14, 2), normal(2, n, 14), normal(2, m, 14)
    bias, mask = normal(2, n, m), torch.arange(m).expand(2, 1, m) != 1 if masked else None
    seen = causal_mask(n, m) if causal else torch.ones(n, m, dtype=torch.bool)
    seen = seen if mask is None else seen & mask

    def plain(dtype, bias=bias):
        it = copy.deepcopy(module).to(dtype)
        q, k, v = it.project(x.to(dtype), y.to(dtype))
        z = softmax(scaled_dot(q, k) + bias.to(dtype), seen.unsqueeze(-3) if seen.dim() > 2 else seen) @ v
        return it.out(z.transpose(-3, -2).flatten(-2))

    limit = allowed(plain, torch.float32)
    for z in paths(module, x, y, mask, bias=bias, causal=causal):
        assert (z - plain(torch.float32)).abs().max() <= limit
    for z in paths(module, x, y, mask, causal=causal):
        assert (z - plain(torch.float32, torch.zeros(n, m))).abs().max() <= limit


@pytest.mark.parametrize("backend", ["auto", "math"])
def test_a_bias_has_a_gradient(backend, normal):
    """As learned relative positions need."""
    module, x = MultiHeadAttention(14, 2, dtype=torch.float64), normal(5, 14, dtype=torch.float64)
    bias = normal(2, 5, 5, dtype=torch.float64, grad=True)
    assert torch.autograd.gradcheck(lambda bias: module(x, bias=bias, backend=backend), bias)


@pytest.mark.parametrize("backend", ["auto", "math"])
def test_dropout_drops_weights_in_training_and_scales_the_others(backend, normal):
    """Of a single key, whose weight is 1, a head gets nothing or twice the value; the weights that are returned are whole."""
    module, y = MultiHeadAttention(14, 2, d_y=3, bias=False, dropout=0.5), normal(1, 3)
    module.out.weight.data = torch.eye(14)
    torch.manual_seed(7)
    z, value = (
        module(normal(101, 14), y, backend=backend).view(101, 2, 7),
        module.eval()(normal(1, 14), y).view(2, 7),
    )
    share = (z / value).round(decimals=4)
    assert set(share.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(share.amin(-1), share.amax(-1))
    assert (module.train()(normal(11, 14), y, return_weights=True)[1] == 1).all()


def test_with_a_cache_pieces_of_a_sequence_give_what_the_whole_gives(normal, allowed):
    """Whatever pieces; with a mask over all keys so far; and after beams were picked anew."""
    module, x = MultiHeadAttention(14, 2, d_k=3, d_v=5), normal(3, 7, 14)
    mask = torch.arange(7) != torch.tensor([[[1]], [[0]], [[8]]])
    limit = allowed(
        lambda dtype: copy.deepcopy(module).to(dtype)(x.to(dtype), mask=mask, causal=True), torch.float32
    )
    whole, cache, found = module(x, mask=mask, causal=True), KeyValueCache(), []
    for begin, end in ((0, 3), (3, 4), (4, 7)):
        found.append(module(x[:, begin:end], mask=mask[..., :end], causal=True, cache=cache))
        assert len(cache) == end
    assert (torch.cat(found, 1) - whole).abs().max() <= limit
    rows, more = torch.tensor([2, 0, 2]), normal(3, 1, 14)
    longer = module(torch.cat((x[rows], more), 1), causal=True)[:, -1:]
    assert (module(more, causal=True, cache=cache.reorder(rows)) - longer).abs().max() <= limit


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_beside_a_mask_is_refused(normal):
    """A bias, a cache, a share of dropout."""
    module, x, cache = MultiHeadAttention(14, 2), normal(3, 5, 14), KeyValueCache()
    module(x, cache=cache)
    for how, kind, line in (
        ({"bias": torch.ones(5, 5, dtype=torch.int64)}, TypeError, "a floating bias; got bias int64"),
        ({"bias": torch.ones(2, 5, 3)}, ValueError, r"a bias that broadcasts to \(... n m\) = \(... 5 5\)"),
        ({"y": x, "cache": cache}, ValueError, "a cache where x attends to itself; got one beside a y"),
        ({"mask": torch.ones(5, 5).bool(), "cache": cache}, ValueError, r"a mask that .* = \(... 5 10\)"),
    ):
        with pytest.raises(kind, match=f"^attention.multi_head: expected {line}"):
            module(x, **how)
    with pytest.raises(ValueError, match=r"^attention.KeyValueCache: expected keys .* as many rows"):
        module(x[:2], cache=cache)
    assert len(cache) == 5
    with pytest.raises(ValueError, match=r"^attention.multi_head: expected 0 <= dropout < 1; got 1"):
        MultiHeadAttention(14, 2, dropout=1)
