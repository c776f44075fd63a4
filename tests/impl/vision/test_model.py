"""The Vision Transformer as a module: as its function and as transformers', at other sizes, and what it attends to."""

import re
from dataclasses import replace

import pytest
import torch

from impl.vision import ViT, ViTConfig, classifier
from impl.vision.adapters import to_classifier


def test_a_module_its_function_and_transformers_are_within_the_bound_of_the_statement(
    model, images, theirs, stated, within
):
    """Logits of one image, in float64."""
    weights = to_classifier(model)
    inputs = [weights[name] for name in ("W", "b", "cls", "P")] + list(weights["weights"])
    inputs += [weights[name] for name in ("gamma_0", "beta_0", "W_h", "b_h")]
    said = stated("vision.classifier", [images[0], *inputs])
    for logits in (
        model(images)[0],
        classifier(images[0], **weights),
        theirs(model, "ViTForImageClassification")(images).logits[0],
    ):
        assert within([logits], said)


def test_features_come_out_where_there_is_no_head(model, images, theirs):
    """Those that a head reads, layer for layer as transformers' attention weighs them."""
    bare = ViT(replace(model.config, classes=None), dtype=torch.float64).eval()
    bare.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("head")})
    assert torch.equal(bare(images), model.features(images))
    assert torch.equal(model.head(bare(images)[:, 0]), model(images))
    peer = theirs(bare, "ViTModel", add_pooling_layer=False, attn_implementation="eager")
    found = peer(images, output_attentions=True)
    torch.testing.assert_close(
        bare(images), found.last_hidden_state, rtol=0, atol=1e-6
    )  # its softmax is float32
    torch.testing.assert_close(model.attention(images), torch.stack(found.attentions), rtol=0, atol=1e-6)


def test_images_of_other_sizes_have_interpolated_positions(model, images, normal, theirs):
    """As in transformers, where it is asked for; else they are refused. Images of the usual size are as without."""
    larger = normal(2, 5, 8, 10, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"^ViT: expected images of 6 × 6 pixels, .*; got 8 × 10$"):
        model(larger)
    peer = theirs(model, "ViTForImageClassification")
    found = peer(larger, interpolate_pos_encoding=True).logits
    torch.testing.assert_close(model(larger, interpolate=True), found)
    assert torch.equal(model(images, interpolate=True), model(images))


def test_without_positions_the_order_of_patches_tells_the_class_token_nothing(model, images):
    """Patches exchanged: the features of patches are exchanged, and that of the class token stays as it is."""
    with torch.no_grad():
        model.P.zero_()
    before, after = model.features(images), model.features(images.roll(2, -1))
    turned = before[:, 1:].unflatten(1, (3, 3)).roll(1, 2).flatten(1, 2)
    torch.testing.assert_close(after, torch.cat((before[:, :1], turned), 1))


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (ViTConfig.base(), 86_567_656),
        (ViTConfig.large(), 304_326_632),
        (ViTConfig.huge(), 632_045_800),
        (ViTConfig.base(classes=None), 85_798_656),
    ],
)
def test_the_models_have_as_many_parameters_as_is_said(config, count):
    """On the meta device, where nothing is made."""
    assert sum(x.numel() for x in ViT(config, device="meta").parameters()) == count


def test_dropout_is_where_it_is_asked_for_and_equal_seeds_give_equal_weights(config, images):
    """In training only; on weights of attention, too."""
    for name in ("dropout", "attention_dropout"):
        made = ViT(replace(config, **{name: 0.5}), generator=torch.Generator().manual_seed(3)).double()
        assert not torch.equal(made(images), made(images)), name
        assert torch.equal(made.eval()(images), made(images))
    one, other = (ViT(config, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"patch": 4}, "a patch that divides image; got image 6, patch 4"),
        ({"heads": 3}, "heads that divide d_model; got heads 3, d_model 14"),
        ({"classes": 0}, "classes >= 1; got classes 0"),
        ({"eps": 0.0}, "eps > 0; got eps 0.0"),
        ({"eps": float("inf")}, "a finite number for eps; got eps inf"),
        ({"std": -1.0}, "std >= 0; got std -1.0"),
        ({"dropout": 1.0}, "0 <= dropout < 1; got dropout 1.0"),
        ({"std": float("nan")}, "a finite number for std; got std nan"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(change, said, config):
    """With what was expected and what was given."""
    with pytest.raises(ValueError, match=f"^ViTConfig: expected {re.escape(said)}$"):
        replace(config, **change)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_images_of_another_dtype_than_the_weights_are_refused_in_one_line(dtype, model, images):
    """Both are named."""
    with pytest.raises(
        TypeError, match=r"^ViT: expected one floating dtype; got image \w+, weights float64$"
    ):
        model(images.to(dtype))
