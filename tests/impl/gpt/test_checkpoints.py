"""GPT's checkpoints in Hugging Face's form, both ways, and what is said where something does not fit."""

import json
from dataclasses import replace

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


WTE = "transformer.wte.weight"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The checkpoint of a small GPT-2 in float32, and its tensors."""
    folder = tmp_path_factory.mktemp("written")
    GPT(GPTConfig(11, 6, 1, 2, max_length=7)).save_pretrained(folder)
    return folder, load_file(folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda x: {"wte.weight": x[WTE] * 0}, "expected one tensor for wte.weight; got two, which differ"),
        (
            lambda x: {WTE: x[WTE].to(torch.complex64)},
            f"expected {WTE} in float16, bfloat16, .*; got complex64",
        ),
        (lambda x: {WTE: x[WTE].to(torch.int8)}, f"expected {WTE} in float16, bfloat16, .*; got int8"),
        (
            lambda x: {"transformer.h.0.ln_1.bias": torch.ones(6, dtype=torch.bool)},
            "expected transformer.h.0.ln_1.bias in float16, .*; got bool",
        ),
    ],
)
def test_tensors_that_leave_open_what_is_meant_are_refused(change, line, written, tmp_path):
    """Two under one name, and numbers of a type that no parameter has: none is taken for another."""
    folder, tensors = written
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    save_file({**tensors, **change(tensors)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=f"^{tmp_path}/model.safetensors: {line}$"):
        GPT.from_pretrained(tmp_path)


@pytest.mark.usefixtures("unchecked")
def test_no_stored_number_is_rounded(written, tmp_path):
    """Where types are mixed, all parameters have the one that holds them; a tensor under both names is one."""
    folder, tensors = written
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    half = tensors[WTE].half()
    save_file({**tensors, WTE: half, "wte.weight": half.clone()}, tmp_path / "model.safetensors")
    model = GPT.from_pretrained(tmp_path)
    assert torch.equal(model.E, half.float())
    assert torch.equal(model.P, tensors["transformer.wpe.weight"])
    for dtype in ("float32", torch.int8):
        with pytest.raises(TypeError, match=rf"^gpt.GPT: expected float16, .* as dtype; got {dtype!r}$"):
            GPT.from_pretrained(tmp_path, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "held", "line"),
    [
        *(
            (
                "model.safetensors.index.json",
                json.dumps({"weight_map": given}),
                "expected the name of a file for each tensor",
            )
            for given in ([WTE], "model.safetensors", {WTE: 3}, {WTE: None}, None)
        ),
        ("pytorch_model.bin", torch.ones(3), "expected tensors by name; got Tensor$"),
        ("pytorch_model.bin", [1], "expected tensors by name; got list$"),
        ("pytorch_model.bin", None, "expected tensors by name; got NoneType$"),
        (
            "pytorch_model.bin",
            {"model": {WTE: torch.ones(3)}},
            "expected tensors by name; got dict as 'model'$",
        ),
        ("pytorch_model.bin", {WTE: 3.0}, "expected tensors by name; got float as 'transformer.wte.weight'$"),
        ("pytorch_model.bin", {3: torch.ones(3)}, "expected tensors by name; got Tensor as 3$"),
        ("pytorch_model.bin", "hello, a text", "the tensors cannot be read; is the file whole?"),
        ("model.safetensors", "a folder", "the tensors cannot be read; is the file whole?"),
    ],
)
def test_a_file_that_holds_something_else_is_named(name, held, line, written, tmp_path):
    """In one line: an index that names no files, what torch has pickled that is no table of tensors, a folder."""
    (tmp_path / "config.json").write_bytes((written[0] / "config.json").read_bytes())
    if held == "a folder":
        (tmp_path / name).mkdir()
    elif isinstance(held, str):
        (tmp_path / name).write_text(held)
    else:
        torch.save(held, tmp_path / name)
    with pytest.raises(ValueError, match=f"^{tmp_path}/{name}: {line}") as refused:
        GPT.from_pretrained(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_width_that_transformers_passes_over_is_passed_over(config):
    """GPT-1's is no choice: ``n_inner`` beside it is not read. GPT-2's is."""
    given = {**config.to_dict(), "n_inner": 13}
    assert GPTConfig.from_json(given) == (replace(config, d_ff=13) if config.norm == "pre" else config)


@pytest.mark.usefixtures("unchecked")
def test_configurations_that_compute_something_else_are_refused(folder):
    """Other models, other scales, and what transformers cannot be told."""
    stored = json.loads((folder / "config.json").read_text())
    for change, said in (
        ({"model_type": "bert"}, "expected model_type to be one of gpt2, openai-gpt; got 'bert'"),
        ({"model_type": ["gpt2"]}, r"expected model_type to be one of gpt2, openai-gpt; got \['gpt2'\]"),
        (
            {"activation_function": {}, "afn": {}},
            r"expected (activation_function|afn) to be one of .*; got {}",
        ),
        ({"initializer_range": -1.0}, "expected std >= 0; got std -1.0"),
        ({"initializer_range": float("nan")}, "expected a finite number for std; got std nan"),
        ({"layer_norm_epsilon": float("inf")}, "expected a finite number for eps; got eps inf"),
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
    with pytest.raises(
        ValueError, match=r"^GPTConfig.gpt2: size is 'small', 'medium', 'large' or 'xl'; got 'tiny'$"
    ):
        GPTConfig.gpt2("tiny")
