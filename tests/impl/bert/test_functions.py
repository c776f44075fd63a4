"""impl.bert's functions: a layer, the pooler and the encoder, as they are stated."""

import pytest
import torch

from impl.bert import encoder, layer, pooler
from impl.bert.functions import LayerWeights
from impl.embedding import bert
from spec.language.evaluation.evaluate import bound
from spec.language.registry import find

D, H, K, V, F, L, N, WORDS, SEGMENTS, PLACES = 3, 2, 5, 7, 11, 2, 4, 13, 17, 19
EPS = 1e-3


def in_layer(*lead):
    """Shapes of a layer's weights."""
    keys, values = ((*lead, H, D, K), (*lead, H, K)), ((*lead, H, D, V), (*lead, H, V))
    norm, width = ((*lead, D), (*lead, D)), (*lead, D)
    network = ((*lead, D, F), (*lead, F), (*lead, F, D), width)
    return (*keys, *keys, *values, (*lead, H * V, D), width, *norm, *network, *norm)


IN_EMBEDDING = ((WORDS, D), (SEGMENTS, D), (PLACES, D), (D,), (D,))


@pytest.fixture
def drawn(normal):
    """Tensors of these shapes, in float64."""
    return lambda *shapes: [normal(*shape, dtype=torch.float64) for shape in shapes]


@pytest.fixture
def text():
    """Tokens, segments and positions."""
    return [torch.tensor(row) for row in ([1, 12, 0, 5], [0, 16, 16, 0], [3, 0, 18, 7])]


@pytest.mark.parametrize("which", ["none", "tanh"])
def test_a_layer_is_the_one_stated_under_either_form_of_gelu(which, drawn, stated, within):
    """Within the statement's bound, masked."""
    (x, *W), mask = drawn((N, D), *in_layer()), torch.ones(N, N, dtype=torch.bool).tril()
    said = stated("bert.layer", [x, *W, EPS, mask], None, {"approximation": which})
    assert within([layer(x, LayerWeights(*W), EPS, mask, approximation=which)], said)


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_a_layer_normalised_before_its_sublayers_is_the_one_stated(activation, drawn, stated, within):
    """With either network; another order is refused."""
    (x, *W), mask = drawn((N, D), *in_layer()), torch.ones(N, N, dtype=torch.bool).tril()
    how = {"norm": "pre", "activation": activation}
    assert within(
        [layer(x, LayerWeights(*W), EPS, mask, **how)], stated("bert.layer", [x, *W, EPS, mask], None, how)
    )


def test_the_encoder_is_the_one_stated(drawn, text):
    """Within the statement's bound, a token hidden; weights are small and ε is large, so that the bound stays small."""
    mask = torch.tensor([True, True, False, True])
    tables, weights = ([W / 4 for W in drawn(*shapes)] for shapes in (IN_EMBEDDING, in_layer(L)))
    inputs = [*text, *tables, *weights, 1.0, mask]
    arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs]
    ((value, limit),) = bound(find("bert.encoder"), arrays, None, "float64")
    assert (limit < abs(value).max() / 1000).all()
    found = encoder(*text, *tables, LayerWeights(*weights), 1.0, mask)
    assert (abs(found.numpy() - value) <= limit).all()


def test_the_encoder_is_its_layers_over_the_embedding(drawn, text):
    """Each with weights of its own."""
    tables, weights = drawn(*IN_EMBEDDING), drawn(*in_layer(L))
    by_hand = bert(*text, *tables, EPS)
    for t in range(L):
        by_hand = layer(by_hand, LayerWeights(*(W[t] for W in weights)), EPS)
    assert torch.equal(encoder(*text, *tables, LayerWeights(*weights), EPS), by_hand)


def test_leading_dimensions_are_batches(drawn, text):
    """A batch of texts with padding of their own gives what each gives by itself; segments and positions may be shared."""
    ids, seg, pos = text
    weights = *drawn(*IN_EMBEDDING), LayerWeights(*drawn(*in_layer(L)))
    both, mask = torch.stack((ids, ids.flip(0))), torch.tensor([[True] * 4, [True, True, True, False]])
    y = encoder(both, seg, pos, *weights, EPS, mask)
    for one in range(2):
        torch.testing.assert_close(y[one], encoder(both[one], seg, pos, *weights, EPS, mask[one]))


def test_padding_reaches_no_word_even_where_it_is_not_a_number(drawn, text):
    """Its embedding is NaN; the words are what they are without it."""
    ids, seg, pos = text
    E, *rest = *drawn(*IN_EMBEDDING), LayerWeights(*drawn(*in_layer(L)))
    E[ids[-1]] = torch.nan
    mask = torch.tensor([True, True, True, False])
    padded, alone = (encoder(ids[:k], seg[:k], pos[:k], E, *rest, EPS, mask[:k]) for k in (4, 3))
    torch.testing.assert_close(padded[:3], alone)


def test_the_pooler_reads_the_first_token_alone(drawn, stated, within):
    """Within the statement's bound; NaN in other tokens does not matter."""
    x, W, b = drawn((N, D), (D, D), (D,))
    said = stated("bert.pooler", [x, W, b], None)
    x[1:] = torch.nan
    assert within([pooler(x, W, b)], said)


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(drawn, text):
    """Stacks of different heights; no token to pool; ids beyond their tables, by their letters."""
    tables, weights = drawn(*IN_EMBEDDING), LayerWeights(*drawn(*in_layer(L)))
    with pytest.raises(
        ValueError, match=r"^bert.encoder: expected parameters of as many layers each, L first"
    ):
        encoder(*text, *tables, weights._replace(beta_2=weights.beta_2[:1]), EPS)
    with pytest.raises(ValueError, match=r"^bert.pooler: expected at least one token; got x"):
        pooler(*drawn((0, D), (D, D), (D,)))
    ids, seg, pos = text
    with pytest.raises(
        IndexError, match=r"^embedding.bert: expected seg in 0..16, below 17; got seg\[0\] = 17$"
    ):
        encoder(ids, seg + 17, pos, *tables, weights, EPS)
    with pytest.raises(
        IndexError, match=r"^embedding.bert: expected pos in 0..18, below 19; got pos\[2\] = 19$"
    ):
        encoder(ids, seg, pos + 1, *tables, weights, EPS)
