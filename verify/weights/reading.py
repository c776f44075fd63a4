"""A checkpoint's tensors as the letters of what states its model, ``bert.encoder`` or ``gpt.model``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spec.language.evaluation.precision import FORMATS
from verify.faults import Unusable, describe_error
from verify.properties.judge import Reals
from verify.weights.checkpoint import Checkpoint, Family
from verify.weights.families import FAMILIES

FILES = ("model.safetensors", "pytorch_model.bin")
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in a folder: ``config.json`` and ``model.safetensors`` (or ``pytorch_model.bin``).

    Raises:
        Unusable: there is none, it cannot be read, it is of no kind that is stated or not as that is, or a tensor is missing,
            not finite, or has another shape than the configuration says.
    """
    family, settings = _settings(folder)
    tensors = {_plain(name.removeprefix(family.prefix)): value for name, value in _tensors(folder)}
    h, depth = (int(settings[key]) for key in family.sizes[:2])

    def tensor(name: str) -> Reals:
        if name not in tensors:
            raise Unusable(f"{folder}: expected a tensor {name!r}; the checkpoint has none of this name")
        if not np.isfinite(tensors[name]).all():
            raise Unusable(f"{folder}: expected finite numbers in {name!r}; got some that are not")
        return tensors[name]

    layer = re.compile(rf"{re.escape(family.within)}\.(\d+)\.")
    if any(found and int(found[1]) >= depth for found in map(layer.match, tensors)):
        raise Unusable(
            f"{folder}: expected {depth} layers, as {family.sizes[1]!r} says; the checkpoint has more"
        )
    embedding = {letter: tensor(name) for letter, name in family.tables.items()}
    layers = {}
    for letter, (name, shaped) in family.layer.items():
        each = [tensor(f"{family.within}.{number}.{name}") for number in range(depth)]
        if len({value.shape for value in each}) > 1:
            raise Unusable(f"{folder}: expected {name} of one shape in every layer; got several")
        layers[letter] = np.stack([shaped(value, h) for value in each])
    _check(folder, family, settings, embedding, layers)
    conventions = {**family.conventions, "approximation": _activation(folder, family, settings)}
    return Checkpoint(
        family, folder, settings, embedding, layers, float(settings[family.eps[0]]), conventions
    )


def _settings(folder: Path) -> tuple[Family, dict[str, Any]]:
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except OSError:
        raise Unusable(f"--weights: expected a folder with a config.json; got {str(folder)!r}") from None
    except ValueError as error:
        raise Unusable(f"{folder / 'config.json'}: not JSON: {error}") from None
    kind = settings.get("model_type") if isinstance(settings, dict) else settings
    if not isinstance(kind, str) or kind not in FAMILIES:
        stated = ", or ".join(f"{each.kind!r}, which {each.stated_by} states" for each in FAMILIES.values())
        raise Unusable(f"{folder}: expected a checkpoint of the model type {stated}; got {kind!r}")
    family = FAMILIES[kind]
    _check_settings(folder / "config.json", family, settings)
    return family, settings


def _check_settings(file: Path, family: Family, settings: dict[str, Any]) -> None:
    """Refuse what is not stated, and write down what is understood where nothing is said."""
    heads, layers, width, inner = family.sizes
    for key in (heads, layers, width, inner):
        if key == "n_inner" and settings.get(key) is None:
            settings[key] = 4 * settings[width]
        if type(settings.get(key)) is not int or settings[key] < 1:
            raise Unusable(f"{file}: expected a whole number above 0 for {key!r}; got {settings.get(key)!r}")
    d, h = settings[width], settings[heads]
    if d % h:
        raise Unusable(f"{file}: expected heads that divide the width; got {h} heads and width {d}")
    key, usual = family.eps
    eps = settings.setdefault(key, usual)
    if type(eps) not in (int, float) or not eps > 0:
        raise Unusable(f"{file}: expected a number above 0 for {key!r}; got {eps!r}")
    for key, stated in family.stated.items():
        if settings.get(key, stated) != stated:
            raise Unusable(
                f"{file}: expected {key!r} to be {stated!r}, as {family.stated_by} states it; got {settings[key]!r}"
            )


def _activation(folder: Path, family: Family, settings: Mapping[str, Any]) -> str:
    key, usual = family.activation
    name = settings.get(key, usual)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise Unusable(f"{folder}: expected {key} to be one of {', '.join(ACTIVATIONS)}; got {name!r}")
    return ACTIVATIONS[name]


def _tensors(folder: Path) -> Iterator[tuple[str, Reals]]:
    """Every tensor of floating numbers, in float64."""
    import torch

    file = next((folder / name for name in FILES if (folder / name).exists()), None)
    if file is None:
        raise Unusable(f"{folder}: expected {' or '.join(FILES)}; there is neither")
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            found = load_file(file)
        else:
            found = torch.load(file, map_location="cpu", weights_only=True)
    except (
        Exception
    ) as error:  # either library has errors of its own for a file that is cut off, or no such file at all
        said = (describe_error(error) or type(error).__name__).partition(". ")[0]
        raise Unusable(f"{file}: the tensors cannot be read; is the file whole? {said}") from None
    if not isinstance(found, Mapping):
        raise Unusable(f"{file}: expected tensors by name; got {type(found).__name__}")
    for name, value in found.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield name, value.double().numpy()


def _plain(name: str) -> str:
    """A tensor's name with today's names of gain and bias."""
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def _check(
    folder: Path,
    family: Family,
    settings: Mapping[str, Any],
    embedding: Mapping[str, Reals],
    layers: Mapping[str, Reals],
) -> None:
    h, _, d, inner = (int(settings[key]) for key in family.sizes)
    expected = {
        **dict.fromkeys(("b_o", "gamma_1", "beta_1", "gamma_2", "beta_2", "b_2"), (d,)),
        **{f"W_{part}": (h, d, d // h) for part in "qkv"},
        **{f"b_{part}": (h, d // h) for part in "qkv"},
        "W_o": (d, d),
        "W_1": (d, inner),
        "b_1": (inner,),
        "W_2": (inner, d),
    }
    for letter, shape in expected.items():
        if layers[letter].shape[1:] != shape:
            got = layers[letter].shape[1:]
            raise Unusable(
                f"{folder}: expected {family.layer[letter][0]} to give {letter} of shape {shape}; got {got}"
            )
    for letter, name in family.tables.items():
        shape, vector = embedding[letter].shape, letter.startswith(("gamma", "beta"))
        if len(shape) != (1 if vector else 2) or shape[-1] != d:
            wanted = f"of shape ({d},)" if vector else f"a table whose rows are {d} wide"
            raise Unusable(f"{folder}: expected {name} to be {wanted}; got {shape}")
    for letter, key in family.rows.items():
        many = len(embedding[letter])
        if settings.get(key, many) != many:
            raise Unusable(
                f"{folder}: expected {settings[key]} rows of {family.tables[letter]}, as {key!r} says; got {many}"
            )


DTYPES = tuple(name for name in ("float64", "float32", "bfloat16") if name in FORMATS)
"""Types in which implementations are tried."""
