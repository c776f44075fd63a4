from copy import deepcopy

import pytest
import torch
from torch import nn

from impl.transformer import Transformer
from impl.transformer.adapters import from_torch, to_torch

pytestmark = [
    # nn.Transformer asks for nested tensors, then says that pre-norm does without, or that they are a prototype.
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning"),
]

m, n = 7, 5
MASK = torch.arange(m) < torch.tensor([[m], [4]])


@pytest.fixture
def torch_s(config, randomized):
    """An ``nn.Transformer`` of the sizes of ``config``, with random parameters."""

    def build(norm_first=False):
        c = config
        sizes = (c.d_model, c.heads, c.encoder_layers, c.decoder_layers, c.d_ff)
        with torch.random.fork_rng():
            whole = nn.Transformer(*sizes, batch_first=True, norm_first=norm_first)
        return randomized(whole)

    return build


def theirs_of(whole, x, y):
    """What an ``nn.Transformer`` says of vectors, with padding behind the second source."""
    ahead = nn.Transformer.generate_square_subsequent_mask(n).isinf()
    return whole(
        x, y, tgt_mask=ahead, src_key_padding_mask=~MASK, memory_key_padding_mask=~MASK, tgt_is_causal=True
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_a_model_of_torch_s_becomes_ours(dtype, norm, training, torch_s, model, normal, config, allowed):
    """And says the same of every real token; tables of words stay as they were."""
    whole, ours = torch_s(norm == "pre"), model(dtype, norm=norm, final_norm=True)
    before = {name: x.clone() for name, x in ours.state_dict().items()}
    missing, unexpected = ours.load_state_dict(from_torch(whole.state_dict()), strict=False)
    assert (set(missing), unexpected) == ({"source.E", "target.E", "W_o"}, [])
    assert all(torch.equal(ours.state_dict()[name], before[name]) for name in missing)
    x, y = normal(2, m, config.d_model), normal(2, n, config.d_model)
    for module in (*whole.modules(), *ours.modules()):
        module.train(training)
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0

    def wanted(dtype):
        with torch.set_grad_enabled(training):
            return theirs_of(deepcopy(whole).to(dtype), x.to(dtype), y.to(dtype)).double()

    with torch.set_grad_enabled(training):
        got = ours.decoder(y.to(dtype), ours.encoder(x.to(dtype), MASK), None, MASK)
    assert (got - wanted(torch.float64)).abs().max() <= allowed(wanted, dtype)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_ours_becomes_one_of_torch_s(norm, torch_s, model, normal, config, allowed):
    """And it says the same."""
    ours, whole = model(norm=norm, final_norm=True), torch_s(norm == "pre").double()
    whole.load_state_dict(to_torch(ours.state_dict()))
    x, y = normal(2, m, config.d_model), normal(2, n, config.d_model)

    def said(dtype):
        it = deepcopy(ours).to(dtype)
        return it.decoder(y.to(dtype), it.encoder(x.to(dtype), MASK), None, MASK).double()

    got = theirs_of(whole, x.double(), y.double())
    assert (got - said(torch.float64)).abs().max() <= allowed(said, torch.float64)


def test_there_and_back_changes_nothing(torch_s, model):
    """From torch's and from ours; a stack or a layer by itself is taken too."""
    whole, ours = torch_s(), model(final_norm=True)
    stack, layer = whole.encoder, whole.decoder.layers[1]
    for state in (each.state_dict() for each in (whole, stack, layer)):
        again = to_torch(from_torch(state))
        assert again.keys() == state.keys()
        assert all(torch.equal(again[name], x) for name, x in state.items())
    for part in (ours.encoder, ours.decoder, ours.decoder.layers[2]):
        state = part.state_dict()
        again = from_torch(to_torch(state))
        assert again.keys() == state.keys()
        assert all(torch.equal(again[name], x) for name, x in state.items())


def test_attention_without_biases_gets_biases_of_0(model):
    """torch has them everywhere or nowhere."""
    theirs = to_torch(model(attention_bias=False).encoder.layers[0].state_dict())
    assert not theirs["self_attn.in_proj_bias"].any()
    assert not theirs["self_attn.out_proj.bias"].any()
    assert theirs["linear1.bias"].any()


@pytest.mark.parametrize("convert", [from_torch, to_torch])
def test_a_name_of_something_else_is_refused(convert):
    """In one line that says which."""
    with pytest.raises(
        ValueError, match=r"^transformer: expected the parameters .* stacks; got wte\.weight$"
    ):
        convert({"wte.weight": torch.zeros(2, 3)})


def test_the_model_s_own_tables_are_left_out(model):
    """torch has none."""
    it: Transformer = model(positions="learned", final_norm=True)
    beside = {"source.E", "source.W_PE", "target.E", "target.W_PE", "W_o"}
    assert beside < it.state_dict().keys()
    assert from_torch(to_torch(it.state_dict())).keys() == it.state_dict().keys() - beside
