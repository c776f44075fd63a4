"""Which mistake explains a layer that differs: the statement with one thing otherwise, at what the implementation itself handed
to that layer.

What is tried is what ports of BERT get wrong: a row, a bias, ε, the activation, a matrix that lies the other way. The one that
comes nearest is held to its own rigorous bound; only if it explains every entry of every sentence, it is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spec.language.evaluation.evaluate import evaluate
from verify.properties.judge import Reals
from verify.weights.checkpoint import Checkpoint, Step
from verify.weights.comparing import Sentence, beside_bound, flat_of, restrict_vocabulary, step

EPSILONS = (1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3)
"""Those that libraries have."""
MUCH = 0.5
"""A slip that leaves less than this of the error has something to do with it: others leave as much, or add to it."""
MEANINGS = {
    "b_q": "the bias of the queries",
    "b_k": "the bias of the keys",
    "b_v": "the bias of the values",
    "b_o": "the bias behind the heads",
    "b_1": "the first bias of the network",
    "b_2": "the second bias of the network",
    "beta": "the bias of the normalization",
    "gamma": "the gain of the normalization",
    "beta_f": "the bias of the last normalization",
    "gamma_f": "the gain of the last normalization",
    "beta_1": "the bias of the normalization after attention",
    "beta_2": "the bias of the normalization after the network",
    "gamma_1": "the gain of the normalization after attention",
    "gamma_2": "the gain of the normalization after the network",
    "W_q": "the matrix of the queries",
    "W_k": "the matrix of the keys",
    "W_v": "the matrix of the values",
    "W_o": "the matrix behind the heads",
}
ACTIVATIONS = {"tanh": "GELU is its form with tanh", "none": "GELU is the exact one, not its form with tanh"}


@dataclass(frozen=True)
class Slip:
    """One thing otherwise: what is said of it, and the letters and conventions that it changes."""

    says: str
    letters: Mapping[str, Any] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)


def cause(checkpoint: Checkpoint, sentences: Sequence[Sentence], seen: Sequence[Reals], layer: int) -> str:
    """What explains that a float64 implementation differs in a layer, 0 being the embedding; "" where nothing tried does.

    Args:
        checkpoint: the weights.
        sentences: what was read.
        seen: for each sentence the implementation's layers (L+1 n d_model).
        layer: the first that differs.
    """
    slips = _of_embedding(checkpoint) if layer == 0 else _of_layer(checkpoint, layer - 1)
    steps = [step(checkpoint, one, own, layer) for one, own in zip(sentences, seen, strict=True)]
    got = [each[layer] for each in seen]
    if not all(np.isfinite(each).all() for each in got):
        return "it is not finite there, though what it was made of is"
    differ = [beside_bound(checkpoint, own, each) > 1 for own, each in zip(steps, got, strict=True)]
    longest = max(len(one.ids) for one in sentences)
    padded = [len(one.ids) < longest for one in sentences]
    if layer and differ == padded:
        return "only texts that are padded differ: padding is attended to, as where the mask is not passed on or is another"
    best, least = None, np.inf
    for slip in slips:
        error = max(map(_error, got, _evaluate_slip(checkpoint, slip, steps)))
        if error < least:
            best, least = slip, error
    if best is None:
        return ""
    explained = all(
        beside_bound(_under(checkpoint, best), _with(own, best), each) <= 1
        for own, each in zip(steps, got, strict=True)
    )
    if explained:
        return best.says
    left = least / max(map(_error, got, _evaluate_slip(checkpoint, Slip(""), steps)))
    return f"not wholly, but all but {left:.0%} of it, explained if {best.says}" if left < MUCH else ""


def _error(got: Reals, value: Reals) -> float:
    return float(np.max(np.abs(got - value))) if np.isfinite(got).all() else float("inf")


def _evaluate_slip(checkpoint: Checkpoint, slip: Slip, steps: Sequence[Step]) -> Iterator[Reals]:
    flat = flat_of(steps[0].formula_id, _under(checkpoint, slip), steps[0].outputs)
    for own in steps:
        yield evaluate(flat, _with(own, slip).inputs)[0][own.entry]


def _under(checkpoint: Checkpoint, slip: Slip) -> Checkpoint:
    return replace(checkpoint, conventions={**checkpoint.conventions, **slip.conventions})


def _with(own: Step, slip: Slip) -> Step:
    """The step with the letters of a slip; in a model of one layer these have one axis more in front."""
    whole = own.inputs
    changed = {name: value(whole) if callable(value) else value for name, value in slip.letters.items()}
    changed = {
        name: value[None] if np.ndim(value) < np.ndim(whole[name]) else value
        for name, value in changed.items()
    }
    return own._replace(inputs=restrict_vocabulary({**whole, **changed}))


def _epsilons(eps: float) -> Iterator[Slip]:
    for other in EPSILONS:
        if other != eps:
            yield Slip(f"ε is {other:g} instead of {eps:g}", {"eps": other})


def _drop_letters(letters: Mapping[str, Reals]) -> Iterator[Slip]:
    for name, meaning in MEANINGS.items():
        if name in letters and not name.startswith("W"):
            plain = np.ones_like if name.startswith("gamma") else np.zeros_like
            yield Slip(f"{meaning} ({name}) is dropped", {name: plain(letters[name])})


def _of_embedding(checkpoint: Checkpoint) -> Iterator[Slip]:
    tables = checkpoint.embedding
    if "gamma" in tables:
        yield from _epsilons(checkpoint.eps)
        yield from _drop_letters(tables)
    if "S" in tables:
        yield Slip("the rows of the table of segments (S) are exchanged", {"S": tables["S"][::-1]})
        yield Slip(
            "every token is taken to be in the first segment",
            {"seg": lambda given: np.zeros_like(given["seg"])},
        )
        yield Slip("segments (S) are left out", {"S": np.zeros_like(tables["S"])})
    yield Slip("positions (P) are left out", {"P": np.zeros_like(tables["P"])})
    for start in (1, 2):
        yield Slip(f"positions are counted from {start}", {"P": np.roll(tables["P"], -start, axis=0)})
    width = tables["E"].shape[-1]
    yield Slip("the words' vectors are multiplied by √d", {"E": tables["E"] * np.sqrt(width)})


def _of_layer(checkpoint: Checkpoint, number: int) -> Iterator[Slip]:
    own = checkpoint.layer(number)
    yield from _epsilons(checkpoint.eps)
    last = number == checkpoint.depth - 1
    yield from _drop_letters(
        {**own, **{name: x for name, x in checkpoint.embedding.items() if last and name[-2:] == "_f"}}
    )
    for option, says in ACTIVATIONS.items():
        if checkpoint.conventions["approximation"] != option:
            yield Slip(says, conventions={"approximation": option})
    h, d, d_k = own["W_q"].shape
    for name in ("W_q", "W_k", "W_v"):
        whole = own[name].transpose(1, 0, 2).reshape(d, h * d_k)
        if whole.shape[0] == whole.shape[1]:
            turned = whole.T.reshape(d, h, d_k).transpose(1, 0, 2)
            yield Slip(f"{MEANINGS[name]} ({name}) lies the other way: it is transposed", {name: turned})
    if own["W_o"].shape[0] == own["W_o"].shape[1]:
        yield Slip(f"{MEANINGS['W_o']} (W_o) lies the other way: it is transposed", {"W_o": own["W_o"].T})
    for factor, says in (
        (np.sqrt(d_k), "not divided by √(d_k)"),
        (np.sqrt(d_k / d), "divided by √(d_model), not √(d_k)"),
    ):
        yield Slip(f"the scores are {says}", {"W_q": own["W_q"] * factor, "b_q": own["b_q"] * factor})
    for part, meaning in (("q", "queries"), ("k", "keys"), ("v", "values")):
        for changed in (_interleave_heads, _laid_otherwise):
            mixed = {f"{kind}_{part}": changed(own[f"{kind}_{part}"]) for kind in "Wb"}
            yield Slip(f"the heads of the {meaning} are interleaved: entries come before heads", mixed)
    for one, two in (("q", "k"), ("q", "v"), ("k", "v")):
        letters = {
            f"{kind}_{to}": own[f"{kind}_{of}"] for kind in "Wb" for to, of in ((one, two), (two, one))
        }
        yield Slip(f"{MEANINGS[f'W_{one}']} and {MEANINGS[f'W_{two}']} are exchanged", letters)
    norms = {
        f"{letter}_{to}": own[f"{letter}_{of}"] for letter in ("gamma", "beta") for to, of in ((1, 2), (2, 1))
    }
    yield Slip("the two normalizations are exchanged", norms)
    for other in range(checkpoint.depth):
        if other != number:
            yield Slip(f"the weights are those of layer {other + 1}", checkpoint.layer(other))


def _interleave_heads(letter: Reals) -> Reals:
    """A letter (h … d_k) whose last axis, all heads side by side, is read as (d_k h), not (h d_k)."""
    h, *middle, d_k = letter.shape
    whole = np.moveaxis(letter, 0, -2).reshape(*middle, h * d_k)
    return np.moveaxis(whole.reshape(*middle, d_k, h), -1, 0)


def _laid_otherwise(letter: Reals) -> Reals:
    """A letter (h … d_k) whose last axis, all heads side by side, lies as (d_k h), and is read as (h d_k)."""
    h, *middle, d_k = letter.shape
    whole = np.moveaxis(letter, 0, -1).reshape(*middle, d_k * h)
    return np.moveaxis(whole.reshape(*middle, h, d_k), -2, 0)
