"""impl.vision's functions: as they are stated, and what they refuse."""

import pytest
import torch

from impl.vision import classifier, encoder, patches, positions_of_size
from impl.vision.adapters import to_classifier


def stated_inputs(model):
    """A model's weights, in the order of the statement."""
    found = to_classifier(model)
    before, behind = ("W", "b", "cls", "P"), ("gamma_0", "beta_0", "W_h", "b_h")
    return [found[name] for name in before] + list(found["weights"]) + [found[name] for name in behind]


@pytest.mark.parametrize(("epsilon", "eps"), [("original", 1e-6), ("transformers", 1e-12)])
def test_the_classifier_is_the_one_stated_with_either_epsilon(epsilon, eps, model, images, stated, within):
    """Within the statement's bound; with the other ε it is not."""
    inputs = stated_inputs(model)
    said = stated("vision.classifier", [images[0] / 100, *inputs], None, {"epsilon": epsilon})
    weights = to_classifier(model)
    assert within([classifier(images[0] / 100, **weights, eps=eps)], said)
    assert not within([classifier(images[0] / 100, **weights, eps=1e-18 / eps)], said)


@pytest.mark.usefixtures("unchecked")
def test_an_image_that_cannot_be_cut_is_refused(normal):
    """Another number of channels, sides that are no multiples, no image at all; patches that are not square."""
    W, b = normal(3, 2, 2, 5), normal(5)
    for shape in ((2, 4, 4), (3, 4, 5), (3, 3, 4), (4, 4)):
        with pytest.raises(
            ValueError, match=r"^vision.patches: expected an image \(... 3 height width\) whose"
        ):
            patches(normal(*shape), W, b)
    with pytest.raises(
        ValueError, match=r"^vision.patches: expected W \(C p p d\), b \(d\); got W \(3, 2, 7, 5\)"
    ):
        patches(normal(3, 4, 4), normal(3, 2, 7, 5), b)


@pytest.mark.usefixtures("unchecked")
def test_positions_and_weights_that_do_not_fit_are_refused(model, normal):
    """One row for each patch and one more; a square of them to interpolate; and weights without names."""
    weights = to_classifier(model)
    rest = [weights[name] for name in ("weights", "gamma_0", "beta_0")]
    with pytest.raises(ValueError, match=r"^vision.encoder: expected z \(... n d_model\)"):
        encoder(normal(4, 14, dtype=torch.float64), weights["cls"], weights["P"], *rest)
    with pytest.raises(TypeError, match=r"^vision.encoder: expected LayerWeights as weights; got tuple$"):
        encoder(normal(9, 14, dtype=torch.float64), weights["cls"], weights["P"], tuple(rest[0]), *rest[1:])
    with pytest.raises(ValueError, match=r"^vision.positions_of_size: expected P \(n·n\+1 d\)"):
        positions_of_size(weights["P"][:-1], 2, 2)
