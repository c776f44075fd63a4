"""GPT's checkpoints in Hugging Face's form, both ways, and what is said where something does not fit."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2LMHeadModel, OpenAIGPTLMHeadModel

from impl.gpt import GPT, GPTConfig

THEIRS = {"pre": GPT2LMHeadModel, "post": OpenAIGPTLMHeadModel}


@pytest.fixture
def folder(gpt, tmp_path):
    """The checkpoint of a GPT."""
    gpt.save_pretrained(tmp_path)
    return tmp_path


def test_transformers_reads_what_is_written_and_says_the_same(gpt, folder, ids, lengths):
    """Layer by layer, in float64; with padding in front as well, given the positions, without which it says something else."""
    theirs = THEIRS[gpt.config.norm].from_pretrained(folder, dtype=torch.float64)
    ours = []
    hooks = [layer.register_forward_hook(lambda module, given, out: ours.append(out)) for layer in gpt.layers]
    with torch.no_grad():
        got, found = gpt(ids), theirs(ids, output_hidden_states=True)
    for hook in hooks:
        hook.remove()
    ours[-1] = gpt.norm(ours[-1])
    for own, other in zip(ours, found.hidden_states[1:], strict=True):
        assert (own - other).abs().max() < 1e-11
    assert (got - found.logits).abs().max() < 1e-11
    real = (torch.arange(17) < lengths[:, None]).flip(1)
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    given = theirs(ids, attention_mask=real.long(), position_ids=positions).logits
    assert (gpt(ids, real) - given)[real].abs().max() < 1e-11
    assert (gpt(ids, real) - theirs(ids, attention_mask=real.long()).logits)[real].abs().max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_there_and_back_changes_nothing(dtype, gpt, ids, tmp_path):
    """Ours, and what transformers has written."""
    gpt = gpt.to(dtype)
    gpt.save_pretrained(tmp_path / "ours")
    THEIRS[gpt.config.norm].from_pretrained(tmp_path / "ours", dtype=dtype).save_pretrained(
        tmp_path / "theirs"
    )
    for name in ("ours", "theirs"):
        again = GPT.from_pretrained(tmp_path / name)
        assert not again.training
        assert again.config == gpt.config
        assert all(torch.equal(a, b) for a, b in zip(again.parameters(), gpt.parameters(), strict=True))


def test_tensors_that_do_not_fit_are_named(folder):
    """One missing, one too many, one of another shape, a table of its own for the logits; older files' masks are passed over."""
    file = folder / "model.safetensors"
    state = load_file(file)
    words = next(name for name, x in state.items() if x.shape == (61, 12))
    del state["transformer.h.1.mlp.c_fc.bias"]
    state |= {
        "transformer.h.3.ln_1.weight": torch.ones(12),
        "transformer.h.0.attn.bias": torch.ones(1, 1, 31, 31),
    }
    state["transformer.h.2.attn.c_attn.weight"] = torch.zeros(36, 12)
    state["lm_head.weight"] = state[words] + 1
    save_file(state, file)
    with pytest.raises(ValueError, match=r"^GPT of ") as caught:
        GPT.from_pretrained(folder)
    assert str(caught.value).partition(": ")[2] == (
        "missing: h.1.mlp.c_fc.bias; not known: h.3.ln_1.weight; misshapen: h.2.attn.c_attn.weight is (36, 12) where "
        "(12, 36) is expected, lm_head.weight is not the table of words"
    )


def test_configurations_that_compute_something_else_are_refused(folder):
    """Other models, other scales, and what transformers cannot be told."""
    stored = json.loads((folder / "config.json").read_text())
    for change, said in (
        ({"model_type": "bert"}, "expected model_type to be one of gpt2, openai-gpt; got 'bert'"),
        (
            {"scale_attn_by_inverse_layer_idx": True},
            "expected scale_attn_by_inverse_layer_idx False; got True",
        ),
        (
            {"activation_function": "silu", "afn": "silu"},
            "expected (activation_function|afn) to be one of gelu_new, gelu_pytorch_tanh, gelu, relu",
        ),
    ):
        with pytest.raises(ValueError, match=f"^GPTConfig: {said}"):
            GPTConfig.from_json({**stored, **change})
    del stored["n_layer"]
    with pytest.raises(ValueError, match=r"^GPTConfig: expected n_layer in the configuration$"):
        GPTConfig.from_json(stored)
    with pytest.raises(
        ValueError, match=r"^GPTConfig: expected learned positions, as transformers has them; got positions"
    ):
        GPTConfig(positions="none").to_dict()
    with pytest.raises(
        ValueError, match=r"^GPTConfig: expected heads that divide d_model; got heads 5, d_model 768$"
    ):
        GPTConfig(heads=5)
