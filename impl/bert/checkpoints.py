"""Checkpoints in the form that Hugging Face gives them: a folder with ``config.json`` and the parameters under their names.

Leans on safetensors. What torch has pickled (``pytorch_model.bin``) is read with ``weights_only=True``: no code in it runs.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from impl.bert.config import BertConfig, read_json
from impl.bert.names import ARCHITECTURES, DECODERS, HEADS, PREFIXES, stored_names

__all__ = ["Checkpoint", "save", "write_whole"]

Module = TypeVar("Module", bound=nn.Module)

FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
MOST_NAMES = 8  # names in an error: with one layer too many there are hundreds


class Checkpoint:
    """What a folder holds: its configuration, and its tensors, each read when it is asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.settings = read_json(self.folder / "config.json")
        self.config = BertConfig.from_json(self.settings)
        prefix = PREFIXES[self.config.family]
        self._tensors = {_modern(name.removeprefix(prefix)): read for name, read in _tensors(self.folder)}

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
        if dtype is None:
            words = self._tensors.get("embeddings.word_embeddings.weight")
            dtype = torch.float32 if words is None else words().dtype
        module.to(dtype).to_empty(device="cpu")
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
        missing = sorted(asked - present)
        unknown = sorted(x for x in present - asked - ignored if not x.startswith(HEADS))
        told = [
            *_list_names("missing", missing),
            *_list_names("not known", unknown),
            *_list_names("misshapen", wrong),
        ]
        if told:
            raise ValueError(f"{task} of {self.folder}: {'; '.join(told)}")
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
    from safetensors.torch import save_file

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
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with write_whole(folder / "model.safetensors") as path:
        save_file(tensors, path, metadata={"format": "pt"})
    with write_whole(folder / "config.json") as path:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write into, which takes its place once it is whole and on the disk."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        yield Path(name)
        with Path(name).open("rb") as file:
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _outside(task: str) -> tuple[str, ...]:
    """How the names begin that stand beside the encoder's."""
    return tuple(each for each in HEADS if each != "pooler.") if task != "BertEncoder" else ()


def _list_names(what: str, names: list[str]) -> list[str]:
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return [f"{what}: {', '.join(names[:MOST_NAMES])}{more}"] if names else []


def _modern(name: str) -> str:
    """The first checkpoints have gamma and beta in norms."""
    return re.sub(
        r"(LayerNorm)\.(gamma|beta)$", lambda m: f"{m[1]}.{'weight' if m[2] == 'gamma' else 'bias'}", name
    )


def _tensors(folder: Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Each tensor's name and how to read it, from the first of ``FILES`` that is there."""
    found = next((name for name in FILES if (folder / name).exists()), None)
    if found is None:
        raise FileNotFoundError(f"{folder}: expected one of {', '.join(FILES)}")
    files = [found]
    if found.endswith(".json"):
        index = read_json(folder / found).get("weight_map") or {}
        files = sorted(set(index.values()))
        if missing := [name for name in files if Path(name).name != name or not (folder / name).exists()]:
            raise FileNotFoundError(f"{folder}: {found} names {', '.join(missing)}, which is not there")
    for name in files:
        yield from _in_file(folder / name)


def _in_file(path: Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    # Either library has errors of its own for a file that is cut off, or a pointer in the place of one that was not fetched.
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError, safe_open

        try:
            opened: Any = safe_open(path, "pt")
        except SafetensorError as error:
            raise ValueError(_unreadable(path, error)) from None
        for name in opened.keys():  # noqa: SIM118 (it has no iterator)
            yield name, partial(opened.get_tensor, name)
    else:
        try:
            held = torch.load(path, map_location="cpu", weights_only=True)
        except (UnpicklingError, EOFError, RuntimeError) as error:
            raise ValueError(_unreadable(path, error)) from None
        for name, x in held.items():
            yield name, x.detach


def _unreadable(path: Path, error: Exception) -> str:
    said = (str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0]
    return f"{path}: the tensors cannot be read; is the file whole? {said}"
