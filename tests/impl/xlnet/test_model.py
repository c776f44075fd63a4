"""XLNet as a module: its sizes, and what a token is predicted from."""

from itertools import permutations

import pytest
import torch

from impl.xlnet import XLNet, XLNetConfig, two_stream
from impl.xlnet.functions import distances

SMALL = XLNetConfig(vocabulary=11, d_model=6, layers=2, heads=3, d_ff=7, std=0.5)


@pytest.fixture
def xlnet() -> XLNet:
    """A small model, of drawn weights."""
    return XLNet(SMALL, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(
    ("config", "count"), [(XLNetConfig.base(), 116_750_336), (XLNetConfig.large(), 360_300_800)]
)
def test_the_published_models_have_as_many_parameters_as_transformers_counts(
    config: XLNetConfig, count: int
) -> None:
    """On the meta device, where nothing is allocated; with the bias of the logits, and without."""
    model = XLNet(config, device="meta")
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert count - model.b_V.numel() in (116_718_336, 360_268_800)


def test_no_gradient_of_a_token_s_logits_reaches_it_or_what_follows_it_in_the_order(xlnet: XLNet) -> None:
    """Through both layers: exactly zero, of the token itself and of all that follow it; those before it do count."""
    ids, order = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([2, 0, 3, 1, 4])
    for place, own in enumerate(order):
        rows = xlnet.E.detach()[ids].requires_grad_()
        g = xlnet.g_0.expand_as(rows)
        x, R = rows, distances(len(ids), rows)
        for weights in zip(*xlnet.weights, strict=True):
            x, g = two_stream(
                x, g, R, torch.zeros(5, dtype=torch.long), order, type(xlnet.weights)(*weights), 1e-12
            )
        (gradient,) = torch.autograd.grad(g[place].pow(2).sum() + 0 * x.sum(), rows)
        assert (gradient.abs().sum(-1) > 0).tolist() == (order < own).tolist()


def test_the_probabilities_of_all_texts_sum_to_1_in_every_order(xlnet: XLNet) -> None:
    """Each order is a chain of conditional laws."""
    texts = torch.cartesian_prod(*[torch.arange(11)] * 3)
    for order in permutations(range(3)):
        _, loss = xlnet(texts, torch.tensor(order).expand_as(texts))
        torch.testing.assert_close((-3 * loss).exp().sum(), torch.ones((), dtype=loss.dtype))


def test_only_tokens_behind_the_cut_are_predicted(xlnet: XLNet) -> None:
    """The last place of the order alone, where the cut leaves one."""
    ids, order = torch.tensor([7, 2, 9]), torch.tensor([1, 2, 0])
    logits, loss = xlnet(ids, order, c=2)
    torch.testing.assert_close(loss, -logits[1].log_softmax(-1)[2])


def test_several_orders_of_one_text_are_read_as_one_by_one(xlnet: XLNet) -> None:
    """Orders and texts broadcast with the tokens, whichever of them has the leading dimensions."""
    ids, seg = torch.tensor([3, 1, 4]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    orders = torch.tensor([[2, 0, 1], [0, 1, 2]])
    logits, _ = xlnet(ids, orders, seg)
    for place in range(2):
        torch.testing.assert_close(logits[place], xlnet(ids, orders[place], seg[place])[0])


def test_parameters_may_be_given_by_a_function(xlnet: XLNet) -> None:
    """As plain tensors, by ``torch.func.functional_call``."""
    plain = {name: parameter.detach() for name, parameter in xlnet.named_parameters()}
    ids, order = torch.tensor([3, 1, 4]), torch.tensor([2, 0, 1])
    logits, _ = torch.func.functional_call(xlnet, plain, (ids, order))
    torch.testing.assert_close(logits, xlnet(ids, order)[0])


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_a_line(xlnet: XLNet) -> None:
    """With the formula, what was expected and what was given."""
    with pytest.raises(
        ValueError, match=r"^xlnet.two_stream: expected seg \(... n\), order \(... n\) with n = 2"
    ):
        xlnet(torch.tensor([1, 2]), torch.tensor([0, 1, 2]))
    with pytest.raises(TypeError, match=r"^xlnet.two_stream: expected integer seg and order; got"):
        xlnet(torch.tensor([1, 2]), torch.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"2\*n-1"):
        xlnet(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(TypeError, match="expected LayerWeights as weights; got list"):
        two_stream(*torch.zeros(3, 1, 4), *torch.zeros(2, 1, dtype=torch.int64), list(xlnet.weights), 1.0)
    with pytest.raises(ValueError, match="heads that divide d_model"):
        XLNetConfig(d_model=7)
