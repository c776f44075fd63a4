"""What public functions and modules refuse before they begin: what is no tensor, no integer, no number."""

import inspect
import pickle
from contextlib import nullcontext
from types import FunctionType

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import impl
from impl import attention, decoding, embedding, normalization, objectives, positional, similarity
from impl._arguments import INTEGER, NUMBER, Kind, _kind

pytestmark = pytest.mark.usefixtures("unchecked")

PUBLIC = {
    f"{subject}.{name}": getattr(getattr(impl, subject), name)
    for subject in impl.__all__
    for name in getattr(impl, subject).__all__
}
CALLS = {name: public for name, public in PUBLIC.items() if isinstance(public, FunctionType)} | {
    f"{name}.{method}": vars(public)[method]
    for name, public in PUBLIC.items()
    if isinstance(public, type) and issubclass(public, nn.Module)
    for method in ("__init__", "forward")
    if method in vars(public)
}
"""Every public function, and of every public module what builds it and what calls it."""


def asked(kind: Kind):
    """Every argument of every call that is of this kind."""
    for told, call in CALLS.items():
        for name, parameter in inspect.signature(call).parameters.items():
            found = _kind(parameter.annotation)
            if found is not None and found.words.removesuffix(" or None") == kind.words:
                yield pytest.param(call, ".".join(told.split(".")[:2]), name, id=f"{told} {name}")


TENSOR = _kind(Tensor)


@pytest.mark.parametrize(("call", "told", "name"), list(asked(TENSOR)))
def test_what_is_no_tensor_is_refused_in_one_line(call, told, name):
    """NumPy's arrays and lists, at every place where a tensor is taken."""
    for given, words in ((np.ones(3), "ndarray"), ([1.0, 2.0], "list")):
        with pytest.raises(
            TypeError, match=rf"^{told}: expected a tensor( or None)? as {name}; got {words}$"
        ):
            call(**{name: given})


@pytest.mark.parametrize(("call", "told", "name"), list(asked(INTEGER)))
def test_a_float_is_no_integer(call, told, name):
    """Neither a whole one nor any other; truth values are none either, NumPy's integers are."""
    for given in (2.0, 2.5, True, "2"):
        line = rf"^{told}: expected an integer( or None)? as {name}; got {given!r}$"
        with pytest.raises(TypeError, match=line):
            call(**{name: given})
    others = (each.default for key, each in inspect.signature(call).parameters.items() if key != name)
    enough = inspect.Parameter.empty not in others
    with nullcontext() if enough else pytest.raises(TypeError, match="missing"):
        call(**{name: np.int64(2)})


@pytest.mark.parametrize(("call", "told", "name"), list(asked(NUMBER)))
def test_a_text_is_no_number(call, told, name):
    """Of a tensor, its ``item()`` is one."""
    for given, words in (("0.1", "'0.1'"), (torch.tensor(0.1), "Tensor")):
        with pytest.raises(
            TypeError, match=rf"^{told}: expected a number( or None)? as {name}; got {words}$"
        ):
            call(**{name: given})


def test_integers_that_torch_does_not_take_are_refused_in_one_line():
    """Of more than 63 bits, at every place of an integer or a number; also such as Python itself does not print."""
    for kind in (INTEGER, NUMBER):
        for place in asked(kind):
            call, told, name = place.values
            for given in (1 << 63, -(10**400), 10**5000):
                line = rf"^{told}: expected {kind.words}( or None)? of 63 bits at most as {name}; "
                with pytest.raises(ValueError, match=rf"{line}got an integer of {given.bit_length()} bits$"):
                    call(**{name: given})


ROW, TWO, THREE, WORDS = torch.ones(5), torch.ones(2, 5), torch.ones(3, 5), torch.tensor([1, -100, 5])
UNFIT = {
    "rows of other batches": (
        lambda: normalization.add_norm(TWO, THREE, ROW, ROW, 0.1),
        "normalization.add_norm: expected leading dimensions that broadcast; got x (2, 5), r (3, 5)",
    ),
    "complex queries": (
        lambda: attention.additive_weights(
            TWO * 1j, THREE, torch.ones(7, 10), torch.ones(7), torch.ones(2, 3, dtype=torch.bool)
        ),
        "attention.additive_weights: expected one floating dtype; got q complex64, k float32, W float32, v float32",
    ),
    "places of other batches": (
        lambda: embedding.bert(*(torch.ones(b, 3).long() for b in (2, 2, 3)), *[THREE] * 3, ROW, ROW, 0.1),
        "embedding.bert: expected shapes that broadcast; got ids (2, 3), seg (2, 3), pos (3, 3)",
    ),
    "a table of integers": (
        lambda: embedding.token(WORDS, THREE.long()),
        "embedding.token: expected a floating E; got E int64",
    ),
    "a label that is no word": (
        lambda: objectives.cross_entropy(THREE, WORDS, 0.1),
        "objectives.cross_entropy: expected y in 0..4, below 5, or -100; got y[2] = 5",
    ),
    "rows of 8 bits": (
        lambda: positional.turned(TWO[:, :4].to(torch.float8_e4m3fn), TWO[:, :2]),
        "positional.turned: expected a floating x of 16 bits or more; got x float8_e4m3fn",
    ),
    "weights of 8 bits, of a module": (
        lambda: impl.gpt.GPT(impl.gpt.GPTConfig(5, 4, 1, 2, 8)).to(torch.float8_e4m3fn)(WORDS[:1]),
        "gpt.GPT: expected a floating E of 16 bits or more; got E float8_e4m3fn",
    ),
    "a sparse operand": (
        lambda: similarity.cosine(ROW, ROW.to_sparse()),
        "similarity.cosine: expected a dense tensor as y; got torch.sparse_coo",
    ),
    "a long integer": (
        lambda: attention.multi_head(10**5000, *[THREE] * 5),
        f"attention.multi_head: expected a tensor as x; got an integer of {(10**5000).bit_length()} bits",
    ),
    "a table without rows": (
        lambda: embedding.token(WORDS, THREE[:0]),
        "embedding.token: expected E (V d) with a row at least; got E (0, 5)",
    ),
    "no words": (
        lambda: objectives.cross_entropy(THREE[:, :0], WORDS - 500, 0.1),
        "objectives.cross_entropy: expected V >= 1; got V 0",
    ),
    "an argument that there is not": (
        lambda: attention.MultiHeadAttention(4, h=2),
        "attention.MultiHeadAttention: expected no argument 'h'; "
        "it has d_model, heads, d_k, d_v, d_y, bias, dropout, device, dtype",
    ),
}


@pytest.mark.parametrize("unfit", UNFIT)
def test_what_does_not_fit_is_refused_with_what_was_given(unfit):
    """In one line that begins with the formula and names the letters that were passed, and no part of what they became."""
    call, line = UNFIT[unfit]
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call()
    assert str(caught.value) == line


def test_all_kinds_are_asked():
    """Of hundreds of arguments."""
    counts = [len(list(asked(kind))) for kind in (TENSOR, INTEGER, NUMBER)]
    assert counts[0] > 200
    assert counts[1] > 30
    assert counts[2] > 10


def test_other_kinds_are_named():
    """A generator, a dtype, a configuration; and an argument that there is not, of a constructor that takes device and dtype."""
    with pytest.raises(TypeError, match=r"^decoding.sample: expected a torch.Generator as generator; got 7$"):
        decoding.sample(torch.ones(3), 1.0, 1, 1.0, 7)
    with pytest.raises(
        TypeError, match=r"^positional.sinusoidal: expected a torch.dtype or None as dtype; got 'float32'$"
    ):
        positional.sinusoidal(2, 3, dtype="float32")
    with pytest.raises(
        TypeError, match=r"^transformer.Encoder: expected a TransformerConfig as config; got dict$"
    ):
        impl.transformer.Encoder({})
    with pytest.raises(
        TypeError, match=r"^scores.General: expected no argument 'devise'; it has .*d_k, device, dtype$"
    ):
        impl.scores.General(2, 3, devise="cpu")


def test_a_function_stays_what_it_is():
    """Its signature and source, and to pickle; each has code of its own, which the compiler counts its compilations by."""
    assert pickle.loads(pickle.dumps(attention.causal)) is attention.causal
    assert list(inspect.signature(similarity.dot).parameters) == ["x", "y"]
    assert "Σ_c x[c] y[c]" in inspect.getsource(similarity.dot)
    assert similarity.dot.__code__ is not similarity.cosine.__code__
