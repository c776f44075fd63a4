"""Checkpoints in the form that Hugging Face gives them: a folder with ``config.json`` and the parameters under their names."""

import re
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from impl._checkpoints import choose_dtype, read_json, read_tensors, refuse, save_folder
from impl.bert.config import BertConfig
from impl.bert.names import ARCHITECTURES, DECODERS, HEADS, PREFIXES, stored_names

__all__ = ["Checkpoint", "save"]

Module = TypeVar("Module", bound=nn.Module)


class Checkpoint:
    """What a folder holds: its configuration, and its tensors, each read when it is asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.settings = read_json(self.folder / "config.json")
        self.config = BertConfig.from_json(self.settings)
        prefix = PREFIXES[self.config.family]
        self._tensors = read_tensors(self.folder, lambda name: _modern(name.removeprefix(prefix)))

    def has(self, name: str, task: str = "BertEncoder") -> bool:
        """Whether one of our parameters is there."""
        return any(stored in self._tensors for stored in stored_names(self.config, name, task))

    def read(self, name: str, task: str) -> Tensor | None:
        """One of our parameters as it is stored; None where it is missing, whole or in part."""
        stored = [self._tensors.get(each) for each in stored_names(self.config, name, task)]
        if (
            stored == [None] and name == "words.bias"
        ):  # one tensor under two names, of which safetensors keeps one
            stored = [self._tensors.get(f"{DECODERS[self.config.family]}.bias")]
        found = [read() for read in stored if read is not None]
        if len(found) < len(stored):
            return None
        return found[0] if len(found) == 1 else torch.cat(found)

    def fill(self, module: Module, dtype: torch.dtype | None) -> Module:
        """A module without memory, with the stored parameters, in evaluation. ValueError for any that is not as it should be."""
        task, wrong = type(module).__name__, list[str]()
        stored = [
            each for name, _ in module.named_parameters() for each in stored_names(self.config, name, task)
        ]
        module.to(choose_dtype(f"bert.{task}", dtype, self._tensors, stored)).to_empty(device="cpu")
        asked = set[str]()
        for name, parameter in module.named_parameters():
            asked.update(stored_names(self.config, name, task))
            x = self.read(name, task)
            if x is None:
                continue
            if x.shape != parameter.shape:
                names = " with ".join(stored_names(self.config, name, task))
                wrong.append(f"{names} is {tuple(x.shape)} where {tuple(parameter.shape)} is expected")
                continue
            with torch.no_grad():
                parameter.copy_(x)
        self._check_tied(module, wrong)
        present, ignored = set(self._tensors), {"embeddings.position_ids"}
        if (
            "words.bias" in dict(module.named_parameters())
            and f"{DECODERS[self.config.family]}.bias" in present
        ):
            asked -= set(stored_names(self.config, "words.bias", task))
        unknown = [x for x in present - asked - ignored if not x.startswith(HEADS)]
        refuse(f"{task} of {self.folder}", asked - present, unknown, wrong)
        return module.eval()

    def _check_tied(self, module: nn.Module, wrong: list[str]) -> None:
        """The logits are products with the table of words: a checkpoint with a matrix of their own is another model."""
        own = self._tensors.get(name := f"{DECODERS[self.config.family]}.weight")
        words = self._tensors.get("embeddings.word_embeddings.weight")
        if hasattr(module, "words") and own and words and not torch.equal(own(), words()):
            wrong.append(f"{name} is not the table of words")


def save(module: nn.Module, folder: str | Path, settings: dict[str, Any] | None = None) -> None:
    """``config.json`` and ``model.safetensors``. Each is replaced once it is whole; the configuration comes last: a folder
    without one is not yet a checkpoint.
    """
    config, task = module.config, type(module).__name__
    if not isinstance(config, BertConfig):
        raise TypeError(f"{task}: expected a BertConfig; got {config!r}")
    prefix = "" if task == "BertEncoder" else PREFIXES[config.family]
    tensors = dict[str, Tensor]()
    for name, x in module.state_dict().items():
        stored = stored_names(config, name, task)
        for each, part in zip(stored, x.detach().cpu().chunk(len(stored)), strict=True):
            tensors[each if each.startswith(_outside(task)) else prefix + each] = part.contiguous()
    kind = task.removeprefix("Bert").replace("Encoder", "Model")
    own = {"architectures": [ARCHITECTURES[config.family] + kind], **(settings or {})}
    words = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    document = {**own, "dtype": words, **config.to_dict()}
    save_folder(folder, tensors, document)


def _outside(task: str) -> tuple[str, ...]:
    """How the names begin that stand beside the encoder's."""
    return tuple(each for each in HEADS if each != "pooler.") if task != "BertEncoder" else ()


def _modern(name: str) -> str:
    """The first checkpoints have gamma and beta in norms."""
    return re.sub(
        r"(LayerNorm)\.(gamma|beta)$", lambda m: f"{m[1]}.{'weight' if m[2] == 'gamma' else 'bias'}", name
    )
