"""A BERT checkpoint's tensors as the letters of ``bert.encoder``.

The names are Hugging Face's; how a tensor of theirs becomes one of the statement's is said once for each. ``impl`` has
its own way to read checkpoints: their agreement is to mean something.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spec.language.evaluation.precision import FORMATS
from verify.faults import Unusable, describe_error
from verify.properties.judge import Reals

TABLES = {
    "E": "embeddings.word_embeddings.weight",
    "S": "embeddings.token_type_embeddings.weight",
    "P": "embeddings.position_embeddings.weight",
    "gamma": "embeddings.LayerNorm.weight",
    "beta": "embeddings.LayerNorm.bias",
}
"""What the embedding is made of, taken as it is."""

Shaping = Callable[[Reals, int], Reals]


def _heads(weight: Reals, h: int) -> Reals:
    """From (h·d_k d_model), for products from the left, to a matrix for each head (h d_model d_k)."""
    return weight.reshape(h, -1, weight.shape[-1]).transpose(0, 2, 1)


def _head_bias(bias: Reals, h: int) -> Reals:
    return bias.reshape(h, -1)


def _transpose(weight: Reals, h: int) -> Reals:
    return weight.T


def _same(vector: Reals, h: int) -> Reals:
    return vector


LAYER: dict[str, tuple[str, Shaping]] = {
    "W_q": ("attention.self.query.weight", _heads),
    "b_q": ("attention.self.query.bias", _head_bias),
    "W_k": ("attention.self.key.weight", _heads),
    "b_k": ("attention.self.key.bias", _head_bias),
    "W_v": ("attention.self.value.weight", _heads),
    "b_v": ("attention.self.value.bias", _head_bias),
    "W_o": ("attention.output.dense.weight", _transpose),
    "b_o": ("attention.output.dense.bias", _same),
    "gamma_1": ("attention.output.LayerNorm.weight", _same),
    "beta_1": ("attention.output.LayerNorm.bias", _same),
    "W_1": ("intermediate.dense.weight", _transpose),
    "b_1": ("intermediate.dense.bias", _same),
    "W_2": ("output.dense.weight", _transpose),
    "b_2": ("output.dense.bias", _same),
    "gamma_2": ("output.LayerNorm.weight", _same),
    "beta_2": ("output.LayerNorm.bias", _same),
}
"""What a layer is made of: the name behind ``encoder.layer.#.``, and how it becomes the letter."""
FILES = ("model.safetensors", "pytorch_model.bin")
STATED = {"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"}
"""Settings that change what is computed, and the values with which it is what is stated."""
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


@dataclass(frozen=True)
class Checkpoint:
    """A model's weights by letter, in float64, and its configuration.

    ``embedding`` are those of ``embedding.bert``, ``layers`` those of ``bert.layer`` with one axis more in front, the layer.
    """

    folder: Path
    settings: Mapping[str, Any]
    embedding: Mapping[str, Reals]
    layers: Mapping[str, Reals]
    eps: float
    conventions: Mapping[str, str]

    def round_to(self, dtype: str) -> Checkpoint:
        """The checkpoint as a model holds it that was loaded in this type: statements are asked at these weights."""
        if dtype == "float64":
            return self
        parts = (
            {name: round_values(value, dtype) for name, value in part.items()}
            for part in (self.embedding, self.layers)
        )
        embedding, layers = parts
        return Checkpoint(self.folder, self.settings, embedding, layers, self.eps, self.conventions)

    def layer(self, number: int) -> dict[str, Reals]:
        """The letters of one layer, counted from 0."""
        return {name: value[number] for name, value in self.layers.items()}

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(next(iter(self.layers.values())))


def round_values(values: Reals, dtype: str) -> Reals:
    """The values as a type holds them."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(getattr(torch, dtype)).double().numpy()


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in a folder: ``config.json`` and ``model.safetensors`` (or ``pytorch_model.bin``).

    Raises:
        Unusable: there is none, it cannot be read, it is no BERT's or not as ``bert.encoder`` states it, or a tensor is missing,
            not finite, or has another shape than the configuration says.
    """
    settings = _settings(folder)
    tensors = {_plain(name): value for name, value in _tensors(folder)}
    h, depth = int(settings["num_attention_heads"]), int(settings["num_hidden_layers"])

    def tensor(name: str) -> Reals:
        if name not in tensors:
            raise Unusable(f"{folder}: expected a tensor {name!r}; the checkpoint has none of this name")
        if not np.isfinite(tensors[name]).all():
            raise Unusable(f"{folder}: expected finite numbers in {name!r}; got some that are not")
        return tensors[name]

    embedding = {letter: tensor(name) for letter, name in TABLES.items()}
    layers = {}
    for letter, (name, shaped) in LAYER.items():
        each = [tensor(f"encoder.layer.{number}.{name}") for number in range(depth)]
        if len({value.shape for value in each}) > 1:
            raise Unusable(f"{folder}: expected {name} of one shape in every layer; got several")
        layers[letter] = np.stack([shaped(value, h) for value in each])
    _check(folder, settings, embedding, layers)
    conventions = {"approximation": _activation(folder, settings)}
    return Checkpoint(
        folder, settings, embedding, layers, float(settings.get("layer_norm_eps", 1e-12)), conventions
    )


def _settings(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except OSError:
        raise Unusable(f"--weights: expected a folder with a config.json; got {str(folder)!r}") from None
    except ValueError as error:
        raise Unusable(f"{folder / 'config.json'}: not JSON: {error}") from None
    if not isinstance(settings, dict) or settings.get("model_type") != "bert":
        kind = settings.get("model_type") if isinstance(settings, dict) else settings
        raise Unusable(
            f"{folder}: expected a checkpoint of the model type 'bert', which bert.encoder states; got {kind!r}"
        )
    _check_settings(folder / "config.json", settings)
    return settings


def _check_settings(file: Path, settings: Mapping[str, Any]) -> None:
    for key in ("num_attention_heads", "num_hidden_layers", "hidden_size", "intermediate_size"):
        if type(settings.get(key)) is not int or settings[key] < 1:
            raise Unusable(f"{file}: expected a whole number above 0 for {key!r}; got {settings.get(key)!r}")
    d, h = settings["hidden_size"], settings["num_attention_heads"]
    if d % h:
        raise Unusable(f"{file}: expected heads that divide the width; got {h} heads and width {d}")
    eps = settings.get("layer_norm_eps", 1e-12)
    if type(eps) not in (int, float) or not eps > 0:
        raise Unusable(f"{file}: expected a number above 0 for 'layer_norm_eps'; got {eps!r}")
    for key, stated in STATED.items():
        if settings.get(key, stated) != stated:
            raise Unusable(
                f"{file}: expected {key!r} to be {stated!r}, as bert.encoder states it; got {settings[key]!r}"
            )


def _activation(folder: Path, settings: Mapping[str, Any]) -> str:
    name = settings.get("hidden_act", "gelu")
    if name not in ACTIVATIONS:
        raise Unusable(f"{folder}: expected hidden_act to be one of {', '.join(ACTIVATIONS)}; got {name!r}")
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
    """A tensor's name without what stands before it where there is a head, and with today's names of gain and bias."""
    name = name.removeprefix("bert.")
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def _check(
    folder: Path, settings: Mapping[str, Any], embedding: Mapping[str, Reals], layers: Mapping[str, Reals]
) -> None:
    d, inner, h = (int(settings[key]) for key in ("hidden_size", "intermediate_size", "num_attention_heads"))
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
                f"{folder}: expected {LAYER[letter][0]} to give {letter} of shape {shape}; got {got}"
            )
    for letter, name in TABLES.items():
        shape, vector = embedding[letter].shape, letter in ("gamma", "beta")
        if len(shape) != (1 if vector else 2) or shape[-1] != d:
            wanted = f"of shape ({d},)" if vector else f"a table whose rows are {d} wide"
            raise Unusable(f"{folder}: expected {name} to be {wanted}; got {shape}")


DTYPES = tuple(name for name in ("float64", "float32", "bfloat16") if name in FORMATS)
"""Types in which implementations are tried."""
