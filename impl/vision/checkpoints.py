"""Checkpoints of a Vision Transformer in the form that Hugging Face gives them."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from impl._checkpoints import choose_dtype, read_tensors, refuse, save_folder
from impl.vision.config import ViTConfig

__all__ = ["load", "save"]

Model = TypeVar("Model", bound=nn.Module)

NAMES = {
    "patches": ("vit.embeddings.patch_embeddings.projection",),
    "cls": ("vit.embeddings.cls_token",),
    "P": ("vit.embeddings.position_embeddings",),
    "#.residual_self.norm": ("#.layernorm_before",),
    "#.self_attention.qkv": tuple(f"#.attention.attention.{part}" for part in ("query", "key", "value")),
    "#.self_attention.out": ("#.attention.output.dense",),
    "#.residual_feed_forward.norm": ("#.layernorm_after",),
    "#.feed_forward.expand": ("#.intermediate.dense",),
    "#.feed_forward.contract": ("#.output.dense",),
    "encoder.norm": ("vit.layernorm",),
    "head": ("classifier",),
}
"""Our parts, and theirs: three where ours holds queries, keys and values one below the other. # stands for a layer."""
OURS, THEIRS = "encoder.layers.", "vit.encoder.layer."
WITHOUT = "vit."
"""What the names of a ``ViTModel`` lack."""
LEFT_OUT = ("vit.pooler.",)


def load(
    build: Callable[[ViTConfig], Model], folder: str | Path, head: bool | None, dtype: torch.dtype | None
) -> Model:
    """The model of a folder, built and filled; see ``ViT.from_pretrained``."""
    folder = Path(folder)
    config = ViTConfig.from_json(folder / "config.json")
    tensors = read_tensors(
        folder, lambda name: name if name.startswith((WITHOUT, "classifier.")) else WITHOUT + name
    )
    if not ("classifier.weight" in tensors if head is None else head):
        config = replace(config, classes=None)
    with torch.device("meta"):
        model = build(config)
    stored = (each for name, _ in model.named_parameters() for each in _stored_names(name))
    model.to(choose_dtype("vision.ViT", dtype, tensors, stored)).to_empty(device="cpu")
    wrong, asked = list[str](), set[str]()
    for name, parameter in model.named_parameters():
        names, shape = _stored_names(name), _stored_shape(name, config, parameter)
        asked.update(names)
        if any(each not in tensors for each in names):
            continue
        x = torch.cat([tensors[each]() for each in names])
        if x.shape != shape:
            wrong.append(f"{' with '.join(names)} is {tuple(x.shape)} where {shape} is expected")
            continue
        with torch.no_grad():
            parameter.copy_(x.reshape(parameter.shape))
    present = {name for name in tensors if not name.startswith(LEFT_OUT)}
    if head is False:
        present = {name for name in present if not name.startswith("classifier.")}
    refuse(f"ViT of {folder}", asked - present, present - asked, wrong)
    return model.eval()


def save(model: nn.Module, config: ViTConfig, folder: str | Path) -> None:
    """``config.json`` and ``model.safetensors``, of a ``ViTForImageClassification``, or of a ``ViTModel`` without a head."""
    tensors = dict[str, Tensor]()
    for name, x in model.state_dict().items():
        names = _stored_names(name)
        whole = x.detach().cpu().reshape(_stored_shape(name, config, x))
        for each, part in zip(names, whole.chunk(len(names)), strict=True):
            tensors[each if config.classes else each.removeprefix(WITHOUT)] = part.contiguous()
    kind = "ViTForImageClassification" if config.classes else "ViTModel"
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    save_folder(folder, tensors, {"architectures": [kind], "dtype": dtype, **config.to_dict()})


def _stored_names(name: str) -> tuple[str, ...]:
    """The names that one of our parameters has in a file."""
    general = re.sub(rf"^{re.escape(OURS)}\d+\.", "#.", name)
    layer = name.removeprefix(OURS).partition(".")[0]
    part, _, kind = (general, "", "") if general in NAMES else general.rpartition(".")
    found = [each.replace("#", THEIRS + layer) for each in NAMES[part]]
    return tuple(f"{each}.{kind}" if kind else each for each in found)


def _stored_shape(name: str, config: ViTConfig, x: Tensor) -> tuple[int, ...]:
    """The shape that a parameter has in a file: positions as a batch of one, patches as the kernel of a convolution."""
    if name == "cls":
        return (1, 1, *x.shape)
    if name == "P":
        return (1, *x.shape)
    if name == "patches.weight":
        return (config.d_model, config.channels, config.patch, config.patch)
    return tuple(x.shape)
