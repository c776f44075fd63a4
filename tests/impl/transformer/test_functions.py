import pytest
import torch

from impl.transformer import (
    biased_decoder_layer,
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    model,
    output,
)
from impl.transformer.functions import BiasedDecoderLayerWeights, DecoderLayerWeights, EncoderLayerWeights
from spec.language.evaluation.evaluate import bound
from spec.language.registry import find

D, H, K, V, F, L, N, M, WORDS = 3, 2, 5, 7, 11, 2, 4, 3, 13
EPS = 1e-3


def attention(*lead):
    """Shapes of the weights of one attention."""
    return ((*lead, H, D, K), (*lead, H, D, K), (*lead, H, D, V), (*lead, H * V, D))


def biased():
    """The same with a bias behind each."""
    biases = (H, K), (H, K), (H, V), (D,)
    return [shape for pair in zip(attention(), biases, strict=True) for shape in pair]


def network(*lead):
    """Shapes of the weights of one network."""
    return ((*lead, D, F), (*lead, F), (*lead, F, D), (*lead, D))


def norm(*lead):
    """Shapes of a gain and a bias."""
    return ((*lead, D), (*lead, D))


def in_encoder(*lead):
    """Shapes of an encoder layer's weights."""
    return (*attention(*lead), *norm(*lead), *network(*lead), *norm(*lead))


def in_decoder(*lead):
    """Shapes of a decoder layer's weights."""
    return (*attention(*lead), *norm(*lead), *attention(*lead), *norm(*lead), *network(*lead), *norm(*lead))


@pytest.fixture
def drawn(normal):
    """Tensors of these shapes, in float64."""
    return lambda *shapes: [normal(*shape, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("which", ["post", "pre"])
def test_layers_are_those_stated_under_either_convention(which, drawn, stated, within):
    """Within the statement's bound, masked, wherever the normalization stands."""
    (x, *W), mask = drawn((N, D), *in_encoder()), torch.ones(N, N, dtype=torch.bool).tril()
    said = stated("transformer.encoder_layer", [x, *W, EPS, mask], None, {"norm": which})
    assert within([encoder_layer(x, EncoderLayerWeights(*W), EPS, mask, norm=which)], said)
    (y, x, *W), mask = drawn((M, D), (N, D), *in_decoder()), torch.ones(M, N, dtype=torch.bool).tril()
    said = stated("transformer.decoder_layer", [y, x, *W, EPS, mask], None, {"norm": which})
    assert within([decoder_layer(y, x, DecoderLayerWeights(*W), EPS, mask, norm=which)], said)


@pytest.mark.parametrize(
    ("which", "activation", "approximation"),
    [("post", "relu", "none"), ("pre", "gelu", "none"), ("pre", "gelu", "tanh")],
)
def test_the_layer_with_biases_is_the_one_stated(which, activation, approximation, drawn, stated, within):
    """Within the statement's bound, masked, wherever the normalization stands and whatever the network bends by."""
    (y, x), mask = drawn((M, D), (N, D)), torch.ones(M, N, dtype=torch.bool).tril()
    weights = BiasedDecoderLayerWeights(*drawn(*biased(), *norm(), *biased(), *norm(), *network(), *norm()))
    said = {"norm": which, "activation": activation, "approximation": approximation}
    found = biased_decoder_layer(y, x, weights, EPS, mask, **said)
    assert within(
        [found], stated("transformer.biased_decoder_layer", [y, x, *weights, EPS, mask], None, said)
    )


def test_the_model_is_the_one_stated(drawn):
    """Within the statement's bound, a token of the source hidden; weights are small, so that the bound stays so."""
    s, t = torch.tensor([1, 12, 0, 5]), torch.tensor([2, 2, 9])
    mask = torch.tensor([True, True, False, True])
    E, *weights = [W / 4 for W in drawn((WORDS, D), *in_encoder(1), *in_decoder(1))]
    inputs = [s, t, E, *weights, 1.0, mask]
    arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs]
    ((value, limit),) = bound(find("transformer.model"), arrays, None, "float64")
    assert (limit < value / 1000).all()
    own, others = EncoderLayerWeights(*weights[:12]), DecoderLayerWeights(*weights[12:])
    assert (abs(model(s, t, E, own, others, 1.0, mask).numpy() - value) <= limit).all()


def test_a_stack_is_its_layers_one_after_another(drawn):
    """Each with weights of its own, the decoder's all asking the same source."""
    x, y = drawn((N, D), (M, D))
    first, second = EncoderLayerWeights(*drawn(*in_encoder(L))), DecoderLayerWeights(*drawn(*in_decoder(L)))
    by_hand, of_target = x, y
    for layer in range(L):
        by_hand = encoder_layer(by_hand, EncoderLayerWeights(*(W[layer] for W in first)), EPS)
        one = DecoderLayerWeights(*(W[layer] for W in second))
        of_target = decoder_layer(of_target, x, one, EPS)
    assert torch.equal(encoder(x, first, EPS), by_hand)
    assert torch.equal(decoder(y, x, second, EPS), of_target)


def test_leading_dimensions_are_batches(drawn):
    """A batch of sequences with masks of their own gives what each gives by itself."""
    x, *parts = drawn((2, N, D), *in_encoder())
    W = EncoderLayerWeights(*parts)
    mask = torch.tensor([[True] * N, [True] * (N - 1) + [False]])[:, None, :]
    y = encoder_layer(x, W, EPS, mask)
    for member in range(2):
        torch.testing.assert_close(y[member], encoder_layer(x[member], W, EPS, mask[member]))


def test_what_does_not_fit_is_refused_in_one_line(drawn, unchecked):
    """Stacks of different heights, and conventions that do not exist."""
    x, *W = drawn((N, D), *in_encoder(L))
    with pytest.raises(ValueError, match=r"transformer\.encoder: expected parameters of as many layers each"):
        encoder(x, EncoderLayerWeights(*W[:-1], W[-1][:1]), EPS)
    with pytest.raises(ValueError, match=r"norm is 'post' or 'pre'; got 'both'"):
        encoder_layer(x, EncoderLayerWeights(*(part[0] for part in W)), EPS, norm="both")
    with pytest.raises(ValueError, match=r"expected x \(... m d_model\), W_vocab \(d_model V\)"):
        output(*drawn((M, D), (WORDS, D)))
