"""Implementations that are held to a checkpoint's statement: ours, transformers', a user's.

Each is built from the folder in one type, and then gives for a batch what stands at each token before the first layer and after
every one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from verify.faults import Unusable, complaint

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Run: TypeAlias = "Callable[[Tensor, Tensor | None, Tensor], Any]"
"""From ids (b n), segments where a model reads them, and the mask (b n), False at padding, to the layers (L+1 b n d_model)."""


@dataclass(frozen=True)
class Subject:
    """An implementation: its name, and how it is built from a folder in a type."""

    name: str
    build: Callable[[Path, torch.dtype], Run]


def list_built_in(kind: str) -> list[Subject]:
    """Ours, and transformers' where it is installed, with both of its ways to attend: of ``bert``, or of ``gpt2``."""
    name, build, theirs = {
        "bert": ("impl.bert.BertEncoder", _our_bert, "BertModel"),
        "gpt2": ("impl.gpt.GPT", _our_gpt, "GPT2Model"),
    }[kind]
    found = [Subject(name, build)]
    if find_spec("transformers") is not None:
        found += [
            Subject(f"transformers {theirs}({way})", partial(_transformers, theirs, way))
            for way in ("eager", "sdpa")
        ]
    return found


def _our_bert(folder: Path, dtype: torch.dtype) -> Run:
    from impl.bert import BertEncoder

    model = BertEncoder.from_pretrained(folder, dtype=dtype)
    return lambda ids, segments, mask: model(ids, segments, mask, all_layers=True).layers


def _our_gpt(folder: Path, dtype: torch.dtype) -> Run:
    from impl.gpt import GPT

    model = GPT.from_pretrained(folder, dtype=dtype)

    def run(ids: Tensor, segments: Tensor | None, mask: Tensor) -> list[Tensor]:
        seen: list[Tensor] = []
        hooks = [
            layer.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
            for layer in model.layers
        ]
        last = model.hidden(ids, mask)
        for hook in hooks:
            hook.remove()
        return [*seen, last]

    return run


def _transformers(theirs: str, way: str, folder: Path, dtype: torch.dtype) -> Run:
    import transformers

    quiet: Any = transformers.utils.logging  # not annotated
    quiet.set_verbosity_error()
    quiet.disable_progress_bar()
    kind: Any = getattr(transformers, theirs)
    more = {"add_pooling_layer": False} if theirs == "BertModel" else {}
    model = kind.from_pretrained(folder, dtype=dtype, attn_implementation=way, **more)
    return partial(call_transformers, model.eval())


def of_user(where: str) -> Subject:
    """A callable of the user's, ``module:callable``: called with the folder, it gives the model.

    The model is called as transformers' are (``input_ids``, ``token_type_ids``, ``attention_mask``, ``output_hidden_states``) and
    returns what has ``hidden_states``, or these themselves: L + 1 tensors (b n d_model).

    Raises:
        Unloadable: the callable cannot be had.
    """
    from verify.subject.loading import callable_at

    made = callable_at(where)

    def build(folder: Path, dtype: torch.dtype) -> Run:
        import torch

        try:
            model = made(folder)
        except (Exception, SystemExit) as error:  # a user's code
            raise Unusable(f"{where}: called with the folder it raised {complaint(error)}") from None
        if isinstance(model, torch.nn.Module):
            model = model.to(dtype).eval()
        if not callable(model):
            raise Unusable(f"{where}: called with the folder it gives the model; got {type(model).__name__}")
        return partial(call_transformers, model)

    return Subject(where, build)


def call_transformers(model: Callable[..., Any], ids: Tensor, segments: Tensor | None, mask: Tensor) -> Any:
    """What a model of transformers' makes of a batch: its hidden states."""
    segmented = {} if segments is None else {"token_type_ids": segments}
    out = model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True, **segmented)
    return getattr(out, "hidden_states", out)


def layers_of(found: Any, shape: Sequence[int], name: str) -> Any:
    """What a run gave, as one tensor (L+1 b n d_model).

    Raises:
        Unusable: it is something else; the line says what.
    """
    import torch

    if isinstance(found, (tuple, list)) and found and all(isinstance(each, torch.Tensor) for each in found):
        shapes = {tuple(each.shape) for each in found}
        if len(shapes) == 1:
            found = torch.stack(list(found))
    expected = f"expected {shape[0]} hidden states of shape {tuple(shape[1:])} (the embeddings, and after each layer)"
    if not isinstance(found, torch.Tensor):
        raise Unusable(f"{name}: {expected}; got {type(found).__name__}")
    if tuple(found.shape) != tuple(shape):
        raise Unusable(f"{name}: {expected}; got {tuple(found.shape)}")
    return found
