"""A Llama in the form that Hugging Face gives it: a folder with ``config.json`` and the parameters under their names.

Its matrices stand transposed there, heads side by side, and each layer by itself.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from impl._checkpoints import choose_dtype, read_tensors, refuse, save_folder
from impl.llama.config import LlamaConfig

__all__ = ["fill", "save"]

Module = TypeVar("Module", bound=nn.Module)

PARTS = {
    "W_q": "self_attn.q_proj",
    "W_k": "self_attn.k_proj",
    "W_v": "self_attn.v_proj",
    "W_o": "self_attn.o_proj",
    "gamma_1": "input_layernorm",
    "W_g": "mlp.gate_proj",
    "W_u": "mlp.up_proj",
    "W_d": "mlp.down_proj",
    "gamma_2": "post_attention_layernorm",
}
"""Our letter of a layer, and their part."""
BESIDE = {"E": "model.embed_tokens.weight", "gamma_f": "model.norm.weight", "U": "lm_head.weight"}
"""Our parameters beside the layers, and theirs."""
BUFFERS = re.compile(r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq")
"""What older checkpoints hold beside parameters: the frequencies."""


def fill(model: Module, config: LlamaConfig, folder: Path, dtype: torch.dtype | None) -> Module:
    """A model without memory, with the parameters that a folder holds, in evaluation."""
    stored = read_tensors(folder)
    asked, misshapen = set[str](), list[str]()
    names = [theirs for name, _ in model.named_parameters() for theirs in _stored_names(config, name)]
    model.to(choose_dtype("llama.Llama", dtype, stored, names)).to_empty(device="cpu")
    for theirs, letter, place in _places(model, config):
        asked.add(theirs)
        if theirs not in stored:
            continue
        x, expected = stored[theirs](), tuple(_outward(letter, place).shape)
        if tuple(x.shape) == expected:
            place.copy_(_inward(letter, x, place.shape))
        else:
            misshapen.append(f"{theirs} is {tuple(x.shape)} where {expected} is expected")
    head, table = BESIDE["U"], BESIDE["E"]
    if config.tied and {head, table} <= stored.keys() and not torch.equal(stored[head](), stored[table]()):
        misshapen.append(f"{head} is not the table of tokens, to which it is tied")
    beside = {head} if config.tied else set()
    unknown = {name for name in stored.keys() - asked - beside if not BUFFERS.fullmatch(name)}
    refuse(f"Llama of {folder}", asked - stored.keys(), unknown, misshapen)
    return model.eval()


def save(model: nn.Module, config: LlamaConfig, folder: str | Path) -> None:
    """``config.json`` and ``model.safetensors``."""
    tensors = {
        theirs: _outward(letter, place.cpu()).clone(memory_format=torch.contiguous_format)
        for theirs, letter, place in _places(model, config)
    }
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    save_folder(folder, tensors, {"architectures": ["LlamaForCausalLM"], "dtype": dtype, **config.to_dict()})


def _places(model: nn.Module, config: LlamaConfig) -> Iterator[tuple[str, str, Tensor]]:
    """Their name, our letter and our tensor of every parameter, those of the layers one by one."""
    for name, parameter in model.named_parameters():
        letter = name.removeprefix("layers.")
        own = [parameter.detach()] if letter in BESIDE else list(parameter.detach())
        yield from (
            (theirs, letter, place) for theirs, place in zip(_stored_names(config, name), own, strict=True)
        )


def _stored_names(config: LlamaConfig, name: str) -> list[str]:
    """Their names of one of our parameters: one for each layer."""
    if name in BESIDE:
        return [BESIDE[name]]
    part = PARTS[name.removeprefix("layers.")]
    return [f"model.layers.{number}.{part}.weight" for number in range(config.layers)]


def _outward(letter: str, x: Tensor) -> Tensor:
    """A parameter of ours as theirs: heads side by side, matrices transposed; the table, the head and gains as they are."""
    if letter in ("W_q", "W_k", "W_v"):
        return x.mT.flatten(0, 1)
    if letter == "W_o":
        return x.flatten(0, 1).mT
    return x.mT if letter in PARTS and x.dim() > 1 else x


def _inward(letter: str, x: Tensor, shape: torch.Size) -> Tensor:
    """A parameter of theirs as ours, of this shape."""
    if letter in ("W_q", "W_k", "W_v"):
        heads: Tensor = x.unflatten(0, (shape[0], shape[2]))
        return heads.mT
    if letter == "W_o":
        joined: Tensor = x.mT.unflatten(0, tuple(shape[:2]))
        return joined
    return x.mT if letter in PARTS and x.dim() > 1 else x
