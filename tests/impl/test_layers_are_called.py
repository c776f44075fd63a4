"""Every linear layer and every norm of a model is called as the module that it is, so that hooks, wrappers (LoRA), subclasses,
parametrizations and quantization take effect, in every way in which a model is used.
"""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from impl.attention import Attention, MultiHeadAttention, causal_mask
from impl.bert import (
    BertConfig,
    BertEncoder,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from impl.decoding import beam, greedy
from impl.scores import Additive
from impl.transformer import Conditioned, Transformer, TransformerConfig
from impl.vision import ViT, ViTConfig

IDS = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 0, 0]])
MASK = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
LABELS = torch.tensor([0, 1])
D = 8
VECTORS = torch.randn(2, 5, D, generator=torch.Generator().manual_seed(1))
OTHERS = torch.randn(2, 7, D, generator=torch.Generator().manual_seed(2))


class Use(NamedTuple):
    """A model, a way to use it, and the layers that this way does not need."""

    build: Callable[[], nn.Module]
    run: Callable[[Any], Tensor]
    spared: str = "nothing"


def transformer(**changes: Any) -> Callable[[], nn.Module]:
    """A small one."""
    sizes = {"d_model": D, "heads": 2, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 2, "max_length": 9}
    return lambda: Transformer(TransformerConfig(11, 11, **{**sizes, **changes}))


def bert(task: Callable[..., nn.Module], family: str = "bert", **given: Any) -> Callable[[], nn.Module]:
    """A small one with a head; the encoder itself where ``task`` is that."""
    config = BertConfig(
        11,
        D,
        2,
        2,
        12,
        9,
        **({"family": family, "d_embedding": 4} if family == "albert" else {"segments": 2}),
    )
    return lambda: task(config) if task is BertEncoder else task(BertEncoder(config, pooler=True), **given)


def decoded(model: Transformer) -> Tensor:
    """Logits of a prompt, of the word behind it, and of two beams' next words."""
    with torch.no_grad():
        cache = model.start(model.encode(IDS, MASK), MASK)
        first = model.decode_step(IDS[:, :2], cache)
        second = model.decode_word(IDS[:, 2], cache)
        cache.reorder(torch.tensor([0, 0, 1, 1]))
        return torch.cat((first, second, model.decode_word(torch.tensor([1, 2, 3, 4]), cache)))


def searched(search: Callable[..., Any], **options: Any) -> Callable[[Transformer], Tensor]:
    """What a search of ``impl.decoding`` writes."""

    def run(model: Transformer) -> Tensor:
        with torch.no_grad():
            search(Conditioned(model, IDS, MASK), IDS[:, :1], max_length=3, end=0, **options)
        return model(IDS, IDS, MASK)

    return run


USES = {
    "MultiHeadAttention, self": Use(lambda: MultiHeadAttention(D, 2), lambda it: it(VECTORS)),
    "MultiHeadAttention, masked": Use(
        lambda: MultiHeadAttention(D, 2), lambda it: it(VECTORS, mask=causal_mask(5, 5))
    ),
    "MultiHeadAttention, weights": Use(
        lambda: MultiHeadAttention(D, 2), lambda it: it(VECTORS, return_weights=True)[0]
    ),
    "MultiHeadAttention, of another": Use(lambda: MultiHeadAttention(D, 2), lambda it: it(VECTORS, OTHERS)),
    "MultiHeadAttention, apart": Use(lambda: MultiHeadAttention(D, 2, d_y=D), lambda it: it(VECTORS, OTHERS)),
    "Attention": Use(lambda: Attention(Additive(D, D, 3)), lambda it: it(VECTORS, VECTORS, VECTORS)),
    "Transformer": Use(transformer(), lambda it: it(IDS, IDS, MASK, MASK)),
    "Transformer, pre": Use(transformer(norm="pre", activation="gelu"), lambda it: it(IDS, IDS)),
    "Transformer, alignments": Use(
        transformer(),
        lambda it: it.alignments(IDS, IDS, MASK),
        r"decoder\.layers\.1\.(?!self|cross_attention\.[qk]|residual_self)",
    ),
    "Transformer, decoded": Use(transformer(), decoded),
    "Transformer, greedy": Use(transformer(norm="pre"), searched(greedy)),
    "Transformer, beams": Use(transformer(), searched(beam, width=2)),
    "ViT": Use(
        lambda: ViT(ViTConfig(4, 2, 2, D, 2, 2, 12, 3)),
        lambda it: it(VECTORS[:, :4].unflatten(-1, (2, 4)).transpose(1, 2)),
    ),
    "BertEncoder": Use(bert(BertEncoder), lambda it: it(IDS, mask=MASK).pooled),
    "BertEncoder, padded": Use(bert(BertEncoder), lambda it: it(IDS, mask=MASK, unpadded=False).pooled),
    "BertEncoder, whole": Use(bert(BertEncoder), lambda it: it(IDS).pooled),
    "BertEncoder, weights": Use(bert(BertEncoder), lambda it: it(IDS, mask=MASK, weights=True).pooled),
    "ALBERT": Use(bert(BertEncoder, "albert"), lambda it: it(IDS, mask=MASK).pooled),
    "BertForMaskedLM": Use(bert(BertForMaskedLM), lambda it: it(IDS, None, MASK), "encoder.pooler"),
    "BertForMaskedLM, loss": Use(
        bert(BertForMaskedLM), lambda it: it(IDS, None, MASK, labels=IDS), "encoder.pooler"
    ),
    "BertForPreTraining": Use(
        bert(BertForPreTraining),
        lambda it: sum(it(IDS, None, MASK, labels=IDS, next_labels=LABELS)),
    ),
    "BertForSequenceClassification": Use(
        bert(BertForSequenceClassification, labels=3), lambda it: it(IDS, None, MASK)
    ),
    "BertForTokenClassification": Use(
        bert(BertForTokenClassification, labels=3), lambda it: it(IDS, None, MASK), "encoder.pooler"
    ),
    "BertForQuestionAnswering": Use(
        bert(BertForQuestionAnswering), lambda it: it(IDS, None, MASK).start[:, :3], "encoder.pooler"
    ),
}
"""Every module of ``impl`` that holds layers, and the ways to use it. Those of scores, of ``seq2seq`` and of the recurrent
networks hold matrices of their statements, and no layers; one of them stands here for all.
"""


@pytest.fixture(params=USES)
def use(request, randomized) -> Use:
    """Every use in turn, with random parameters: a gain that is 1 would hide nothing, a bias that is 0 might."""
    found = USES[request.param]
    return found._replace(build=lambda: randomized(found.build()))


def layers(model: nn.Module, use: Use, *kinds: type[nn.Module]) -> Iterator[tuple[str, nn.Module]]:
    """The layers of these kinds that a use needs, by name."""
    for name, module in model.named_modules():
        if isinstance(module, kinds) and not re.match(use.spared, name):
            yield name, module


class Added(nn.Module):
    """A layer with something added to what it gives, as LoRA adds a product of two narrow matrices."""

    def __init__(self, layer: nn.Module, delta: float) -> None:
        super().__init__()
        self.layer, self.delta = layer, delta

    def forward(self, x: Tensor) -> Tensor:
        """The layer's result and a multiple of its first entry, which is no constant that a norm would take away."""
        y = self.layer(x)
        return y + self.delta * torch.linspace(1, 2, y.shape[-1]) * (1 + x[..., :1])


def replaced(model: nn.Module, name: str, by: Callable[[nn.Module], nn.Module]) -> nn.Module:
    """A copy of the model with another layer instead of one."""
    other = deepcopy(model)
    other.set_submodule(name, by(other.get_submodule(name)))
    return other


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_hooks_of_every_layer_fire(use: Use, training: bool) -> None:
    """Forward hooks of linear layers, norms and dropout, while gradients are wanted and while they are not."""
    model, fired = use.build().train(training), set()
    wanted = {name for name, _ in layers(model, use, nn.Linear, nn.LayerNorm, nn.Dropout)}
    for name, module in layers(model, use, nn.Linear, nn.LayerNorm, nn.Dropout):
        module.register_forward_hook(lambda *_, name=name: fired.add(name))
    for grad in (True, False):
        fired.clear()
        with torch.set_grad_enabled(grad):
            use.run(model)
        assert fired == wanted


def test_a_wrapper_of_any_linear_layer_takes_effect(use: Use) -> None:
    """One that adds nothing changes nothing; one that adds something changes the result."""
    model = use.build().eval()
    before = use.run(model)
    for name, _ in layers(model, use, nn.Linear):
        assert torch.equal(use.run(replaced(model, name, lambda layer: Added(layer, 0.0))), before), name
        assert not torch.allclose(use.run(replaced(model, name, lambda layer: Added(layer, 3.0))), before), (
            name
        )


class LoRA(nn.Linear):
    """x (W + B A)ᵀ + b, where W and B A are never added up."""

    A: Tensor
    B: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Both products."""
        return super().forward(x) + x @ self.A.mT @ self.B.mT


class Sum(nn.Module):
    """W + B A, as a parametrization."""

    def __init__(self, BA: Tensor) -> None:
        super().__init__()
        self.BA = BA

    def forward(self, W: Tensor) -> Tensor:
        """The sum, anew at each call."""
        return W + self.BA


def test_a_low_rank_update_takes_effect_in_each_of_its_forms(use: Use) -> None:
    """A subclass that adds a product of narrow matrices, and a parametrized weight, give what the sum of the weights gives."""
    model = use.build().eval()
    for name, layer in layers(model, use, nn.Linear):
        assert isinstance(layer, nn.Linear)
        A, B = torch.full((1, layer.in_features), 0.3), torch.linspace(0, 1, layer.out_features)[:, None]

        def narrow(layer: nn.Linear, A: Tensor = A, B: Tensor = B) -> nn.Linear:
            other = LoRA(layer.in_features, layer.out_features, layer.bias is not None)
            other.load_state_dict(layer.state_dict())
            other.A, other.B = A, B
            return other

        def parametrized(layer: nn.Linear, A: Tensor = A, B: Tensor = B) -> nn.Module:
            return nn.utils.parametrize.register_parametrization(layer, "weight", Sum(B @ A))

        def summed(layer: nn.Linear, A: Tensor = A, B: Tensor = B) -> nn.Linear:
            with torch.no_grad():
                layer.weight += B @ A
            return layer

        want = use.run(replaced(model, name, summed))
        for form in (narrow, parametrized):
            torch.testing.assert_close(use.run(replaced(model, name, form)), want, atol=1e-4, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_dynamic_quantization_takes_effect(use: Use) -> None:
    """Linear layers are those of 8 bits: the result is another, and near."""
    model = use.build().float().eval()
    if not any(isinstance(module, nn.Linear) for module in model.modules()):
        pytest.skip("it has no linear layers")
    with torch.no_grad():
        quantized = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
        assert not any(type(module) is nn.Linear for module in quantized.modules())
        found, exact = use.run(quantized), use.run(model)
    assert not torch.equal(found, exact)
    assert (found - exact).norm() < 0.5 * exact.norm()
