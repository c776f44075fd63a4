"""A GPT in the form that Hugging Face gives it: a folder with ``config.json`` and the parameters under their names.

Its matrices stand transposed there, a row for each entry that is read (``Conv1D``), but for the tables.
"""

import re
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from impl._checkpoints import choose_dtype, read_tensors, refuse, save_folder
from impl.gpt.config import GPTConfig

__all__ = ["fill", "save"]

Module = TypeVar("Module", bound=nn.Module)

PARTS = {
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "residual_attention.norm": "ln_1",
    "feed_forward.expand": "mlp.c_fc",
    "feed_forward.contract": "mlp.c_proj",
    "residual_feed_forward.norm": "ln_2",
}
"""Our part of a layer, and theirs."""
TABLES = {"pre": ("wte.weight", "wpe.weight"), "post": ("tokens_embed.weight", "positions_embed.weight")}
"""What GPT-2 and GPT-1 call the tables of words and of positions."""
BUFFERS = re.compile(r"h\.\d+\.attn\.(masked_)?bias|position_ids")
"""What older checkpoints hold beside parameters: masks, and positions."""
PREFIX, HEAD = "transformer.", "lm_head.weight"


def fill(model: Module, config: GPTConfig, folder: Path, dtype: torch.dtype | None) -> Module:
    """A model without memory, with the parameters that a folder holds, in evaluation."""
    stored = read_tensors(folder, lambda name: name.removeprefix(PREFIX))
    words, names = (
        TABLES[config.norm][0],
        (_stored_name(config, name) for name, _ in model.named_parameters()),
    )
    model.to(choose_dtype("gpt.GPT", dtype, stored, names)).to_empty(device="cpu")
    asked, misshapen = set[str](), list[str]()
    for name, parameter in model.named_parameters():
        theirs = _stored_name(config, name)
        asked.add(theirs)
        if theirs not in stored:
            continue
        x = _turned(name, stored[theirs]())
        if x.shape == parameter.shape:
            with torch.no_grad():
                parameter.copy_(x)
        else:
            expected = tuple(_turned(name, parameter).shape)
            misshapen.append(f"{theirs} is {tuple(_turned(name, x).shape)} where {expected} is expected")
    if {HEAD, words} <= stored.keys() and not torch.equal(stored[HEAD](), stored[words]()):
        misshapen.append(f"{HEAD} is not the table of words")
    unknown = {name for name in stored.keys() - asked - {HEAD} if not BUFFERS.fullmatch(name)}
    refuse(f"GPT of {folder}", asked - stored.keys(), unknown, misshapen)
    return model.eval()


def save(model: nn.Module, config: GPTConfig, folder: str | Path) -> None:
    """``config.json`` and ``model.safetensors``."""
    tensors = {
        PREFIX + _stored_name(config, name): _turned(name, x.detach().cpu()).contiguous()
        for name, x in model.named_parameters()
    }
    kind = "GPT2LMHeadModel" if config.norm == "pre" else "OpenAIGPTLMHeadModel"
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    save_folder(folder, tensors, {"architectures": [kind], "dtype": dtype, **config.to_dict()})


def _stored_name(config: GPTConfig, name: str) -> str:
    """Their name of one of our parameters."""
    if name in ("E", "P"):
        return TABLES[config.norm]["EP".index(name)]
    part, _, kind = name.rpartition(".")
    if part == "norm":
        return f"ln_f.{kind}"
    _, number, own = part.split(".", 2)
    return f"h.{number}.{PARTS[own]}.{kind}"


def _turned(name: str, x: Tensor) -> Tensor:
    """A parameter as the other side has it: matrices transposed, tables, gains and biases as they are."""
    return x.mT if x.dim() == 2 and name not in ("E", "P") else x
