"""Folders of checkpoints as Hugging Face writes them: ``config.json``, and tensors under their names in one file or several.

Leans on safetensors. What torch has pickled (``pytorch_model.bin``) is read with ``weights_only=True``: no code in it runs.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "Stored",
    "choose_dtype",
    "read_json",
    "read_tensors",
    "read_text",
    "refuse",
    "save_folder",
    "write_whole",
]

Stored = Mapping[str, Callable[[], Tensor]]
"""Tensors by name, each read when it is asked for."""

FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What parameters may be stored as. Other types need scales, which stand elsewhere."""
MOST_NAMES = 8  # names in an error: with one layer too many there are hundreds


def read_json(path: Path) -> dict[str, Any]:
    """What a file holds by name. ValueError, in one line that names the file, for one that holds something else."""
    text = read_text(path)
    try:
        held = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(held, dict):
        raise ValueError(f"{path}: expected values by name; got {type(held).__name__}")
    return held


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark. ValueError, in one line that names the file, where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from None


def refuse(whose: str, missing: Iterable[str], unknown: Iterable[str], misshapen: list[str]) -> None:
    """ValueError, in one line, that names the tensors that are missing, not known or of another shape, if there are any."""
    told = [
        *_list_names("missing", sorted(missing)),
        *_list_names("not known", sorted(unknown)),
        *_list_names("misshapen", misshapen),
    ]
    if told:
        raise ValueError(f"{whose}: {'; '.join(told)}")


def save_folder(folder: str | Path, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
    """``model.safetensors`` and ``config.json``. Each is replaced once it is whole; the configuration comes last: a folder
    without one is not yet a checkpoint.
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with write_whole(folder / "model.safetensors") as path:
        save_file(dict(tensors), path, metadata={"format": "pt"})
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


def read_tensors(folder: Path, rename: Callable[[str], str] = str) -> Stored:
    """Each tensor's name, as ``rename`` writes it, and how to read it, from the first of ``FILES`` that is there.

    ValueError, in one line that names the file, for one that holds something else, for a tensor that is not of floating numbers,
    once it is read, and for two of one name that differ.
    """
    found = next((name for name in FILES if (folder / name).exists()), None)
    if found is None:
        raise FileNotFoundError(f"{folder}: expected one of {', '.join(FILES)}")
    files = [found]
    if found.endswith(".json"):
        index = read_json(folder / found).get("weight_map")
        if not isinstance(index, dict) or not all(isinstance(name, str) for name in index.values()):
            raise ValueError(f"{folder / found}: expected the name of a file for each tensor in weight_map")
        files = sorted(set(index.values()))
        if missing := [name for name in files if Path(name).name != name or not (folder / name).exists()]:
            raise FileNotFoundError(f"{folder}: {found} names {', '.join(missing)}, which is not there")
    stored: dict[str, Callable[[], Tensor]] = {}
    for path in (folder / name for name in files):
        for given, held in _in_file(path):
            name, read = rename(given), partial(_read_floating, path, given, held)
            if name in stored and not torch.equal(stored[name](), read()):
                raise ValueError(f"{path}: expected one tensor for {name}; got two, which differ")
            stored[name] = read
    return stored


def choose_dtype(whose: str, given: torch.dtype | None, stored: Stored, names: Iterable[str]) -> torch.dtype:
    """The type of a model's parameters: the one given, or the narrowest that holds every stored number of these ``names``.
    TypeError for one that is not a floating type.
    """
    if given is not None and (not isinstance(given, torch.dtype) or given not in FLOATING):
        raise TypeError(
            f"{whose}: expected float16, bfloat16, float32 or float64 of torch as dtype; got {given!r}"
        )
    found = {stored[name]().dtype for name in names if name in stored}
    return given or reduce(torch.promote_types, found or {torch.float32})


def _in_file(path: Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    # Either library has errors of its own for a file that is cut off, or a pointer instead of one that was not fetched; what
    # unpickles stumbles over anything in a file that is no pickle.
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError, safe_open

        try:
            opened: Any = safe_open(path, "pt")
        except (SafetensorError, OSError) as error:
            raise ValueError(_unreadable(path, error)) from None
        for name in opened.keys():  # noqa: SIM118 (it has no iterator)
            yield name, partial(opened.get_tensor, name)
    else:
        try:
            held = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise ValueError(_unreadable(path, error)) from None
        if not isinstance(held, dict):
            raise ValueError(f"{path}: expected tensors by name; got {type(held).__name__}")
        for name, x in held.items():
            if not (isinstance(name, str) and isinstance(x, Tensor)):
                raise ValueError(f"{path}: expected tensors by name; got {type(x).__name__} as {name!r}")
            yield name, x.detach


def _read_floating(path: Path, name: str, read: Callable[[], Tensor]) -> Tensor:
    x = read()
    if x.dtype not in FLOATING:
        kind = str(x.dtype).removeprefix("torch.")
        raise ValueError(f"{path}: expected {name} in float16, bfloat16, float32 or float64; got {kind}")
    return x


def _unreadable(path: Path, error: Exception) -> str:
    said = (str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0]
    return f"{path}: the tensors cannot be read; is the file whole? {said}"


def _list_names(what: str, names: list[str]) -> list[str]:
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return [f"{what}: {', '.join(names[:MOST_NAMES])}{more}"] if names else []
