"""Llama as functions and as a module: what is stated, what transformers says, and checkpoints both ways."""

import json
from copy import deepcopy

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM

from impl.decoding import Recomputed, beam, greedy
from impl.llama import LayerWeights, Llama, LlamaConfig, layer, model
from spec.language.registry import find

SMALL = {"vocabulary": 37, "d_model": 24, "layers": 3, "heads": 6, "d_ff": 22, "base": 500.0}


@pytest.fixture(params=[(2, False), (6, True)], ids=["grouped", "tied"])
def llama(request, randomized):
    """A small Llama in float64."""
    groups, tied = request.param
    return randomized(Llama(LlamaConfig(**SMALL, groups=groups, tied=tied), dtype=torch.float64))


@pytest.fixture
def ids():
    """Two texts of eleven tokens."""
    return torch.randint(37, (2, 11), generator=torch.Generator().manual_seed(5))


def weights_of(normal, *layers, h=4, g=2, d_model=5, p=3, d_v=7, d_ff=11):
    """Random weights of a layer, or of a stack."""
    shapes = (
        (h, d_model, 2 * p), (g, d_model, 2 * p), (g, d_model, d_v), (h, d_v, d_model), (d_model,),
        (d_model, d_ff), (d_model, d_ff), (d_ff, d_model), (d_model,),
    )  # fmt: skip
    return LayerWeights(*(normal(*layers, *shape, dtype=torch.float64) for shape in shapes))


def test_a_layer_is_the_one_stated(normal, stated, within):
    """With padding in front, in float64."""
    x, pos, theta = normal(13, 5, dtype=torch.float64), torch.arange(13), normal(3, dtype=torch.float64)
    weights, mask = weights_of(normal), torch.arange(13) >= 2
    got = layer(x, pos, theta, weights, 1e-5, mask)
    assert within([got], stated("llama.layer", [x, pos, theta, *weights, 1e-5, mask]))


def test_batches_are_their_members(normal, allowed):
    """Leading dimensions of tokens, positions and masks."""
    ids, pos = torch.randint(17, (2, 3, 13)), torch.arange(13).expand(2, 3, 13) + torch.arange(3)[:, None]
    E, U, gamma, theta = (normal(*s, dtype=torch.float64) for s in ((17, 5), (17, 5), (5,), (3,)))
    stack, mask = weights_of(normal, 2), torch.rand(2, 3, 13) < 0.7

    def of(dtype, *member):
        held = LayerWeights(*(each.to(dtype) for each in stack))
        return model(
            ids[member], pos[member], theta.to(dtype), E.to(dtype), held, gamma.to(dtype), U.to(dtype), 1e-5, mask[member]
        ).double()[mask[member]]  # fmt: skip

    whole, limit = torch.zeros(2, 3, 13, 17, dtype=torch.float64), allowed(of, torch.float64)
    whole[mask] = of(torch.float64)
    for a in range(2):
        for b in range(3):
            assert (whole[a, b][mask[a, b]] - of(torch.float64, a, b)).abs().max() <= limit


def test_what_stands_in_padding_reaches_no_word(normal):
    """Not even NaN."""
    x, pos, theta = normal(13, 5, dtype=torch.float64), torch.arange(13), normal(3, dtype=torch.float64)
    mask = torch.arange(13) >= 2
    spoilt = x.masked_fill(~mask[:, None], float("nan"))
    weights = weights_of(normal)
    y = layer(spoilt, pos, theta, weights, 1e-5, mask)
    assert torch.equal(y[mask], layer(x, pos, theta, weights, 1e-5, mask)[mask])


@pytest.mark.parametrize(
    ("config", "counted"), [(LlamaConfig.llama2(), 6_738_415_616), (LlamaConfig.llama3(), 8_030_261_248)]
)
def test_a_model_of_published_size_has_as_many_parameters(config, counted):
    """On the meta device; the statement's theorem counts the same."""
    assert sum(x.numel() for x in Llama(config, device="meta").parameters()) == counted
    assert f"{counted:,}" in find("llama.model").theorems["published"].title


def test_transformers_reads_what_is_written_and_says_the_same(llama, ids, tmp_path, allowed):
    """In float64 but for its angles, which are float32, so as near as that; with padding in front as well."""
    limit = allowed(lambda dtype: deepcopy(llama).to(dtype)(ids).double(), torch.float32)
    llama.save_pretrained(tmp_path)
    theirs = LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert (llama(ids) - theirs(ids).logits).abs().max() <= limit
    real = torch.arange(11).expand(2, 11) >= torch.tensor([[4], [0]])
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    given = theirs(ids, attention_mask=real.long(), position_ids=positions).logits
    assert (llama(ids, real, positions) - given)[real].abs().max() <= limit
    assert (llama(ids, real) - given)[real].abs().max() <= limit  # positions count by their differences alone


def test_what_is_kept_changes_nothing_that_is_written(llama, ids):
    """Greedily and by beams: prompts padded in front go on as each does that is read anew at every step."""
    lengths = torch.tensor([7, 11])
    real = torch.arange(11) >= 11 - lengths[:, None]
    behind = ids.gather(-1, (~real).byte().argsort(stable=True))
    for search, options in ((greedy, {}), (beam, {"width": 3})):
        plain = search(Recomputed(llama), behind, lengths, max_length=13, **options)
        kept = llama.generate(ids, real, max_length=13, search=search, **options)
        assert torch.equal(kept.tokens, plain.tokens)


def test_transformers_writes_the_same(llama, ids, tmp_path):
    """Greedily, by its own cache."""
    llama.save_pretrained(tmp_path)
    theirs = LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float64)
    real, options = torch.ones_like(ids), {"max_new_tokens": 13, "do_sample": False, "eos_token_id": None}
    written = theirs.generate(ids, attention_mask=real, pad_token_id=0, **options)
    assert torch.equal(llama.generate(ids, max_length=13).tokens, written[:, 11:])


def test_only_a_cache_of_something_is_made(llama, ids, unchecked):
    """Rows, or none, and room for them; a text beyond the room is refused, and the trained length is no limit."""
    assert llama.generate(ids[:0], max_length=3).tokens.shape == (0, 3)
    with pytest.raises(
        TypeError, match=r"^llama.model: expected a boolean mask, True = a token; got mask int64"
    ):
        llama.generate(ids, torch.ones_like(ids), max_length=3)
    with pytest.raises(ValueError, match=r"expected rows >= 0 and capacity >= 1; got 2 and 0$"):
        llama.start(2, 0)
    with pytest.raises(ValueError, match="room for it in 7 slots"):
        llama.decode_step(ids, llama.start(2, 7))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_there_and_back_changes_nothing(dtype, llama, tmp_path):
    """Ours, and what transformers has written."""
    llama = llama.to(dtype)
    llama.save_pretrained(tmp_path / "ours")
    LlamaForCausalLM.from_pretrained(tmp_path / "ours", dtype=dtype).save_pretrained(tmp_path / "theirs")
    for name in ("ours", "theirs"):
        again = Llama.from_pretrained(tmp_path / name)
        assert not again.training
        assert all(torch.equal(a, b) for a, b in zip(again.parameters(), llama.parameters(), strict=True))


def test_tensors_that_do_not_fit_are_named(llama, tmp_path):
    """One missing, one too many, one of another shape."""
    llama.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    held = load_file(file)
    held["model.layers.3.mlp.up_proj.weight"] = held.pop("model.layers.1.mlp.up_proj.weight")
    held["model.norm.weight"] = held["model.norm.weight"][:5]
    save_file(held, file)
    with pytest.raises(
        ValueError, match=r"missing: model.layers.1.mlp.*not known: model.layers.3.*misshapen: model.norm"
    ):
        Llama.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "gpt2"}, "model_type to be one of llama"),
        ({"attention_bias": True}, "attention_bias False; got True"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope_type 'default'; got 'yarn'"),
        ({"num_key_value_heads": 4}, "groups that divide heads"),
    ],
)
def test_a_configuration_of_another_model_is_refused_in_one_line(changes, said, llama, tmp_path):
    """What would be computed otherwise, too."""
    llama.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    with pytest.raises(ValueError, match=said):
        LlamaConfig.from_json({**stored, **changes})


def test_weights_and_frequencies_that_do_not_fit_are_refused(normal, unchecked):
    """Frequencies for another width, a mask that is none."""
    x, pos, weights = normal(13, 5, dtype=torch.float64), torch.arange(13), weights_of(normal)
    with pytest.raises(ValueError, match=r"theta \(p\)"):
        layer(x, pos, normal(5, dtype=torch.float64), weights, 1e-5)
    with pytest.raises(TypeError, match="a boolean mask"):
        layer(x, pos, normal(3, dtype=torch.float64), weights, 1e-5, torch.ones(13))
    with pytest.raises(
        ValueError, match=r"^llama.attention: expected x .*, pos \(\.\.\. n\); got .* pos \(12,\)"
    ):
        layer(x, pos[1:], normal(3, dtype=torch.float64), weights, 1e-5)
