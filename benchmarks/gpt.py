"""GPT-2 beside transformers' with the same weights: a step of training, and greedy decoding with a cache.

Nothing is dropped out, so that both compute the same: equal losses, gradients and tokens are asserted in float64 before
anything is timed.
"""

import tempfile
from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GenerationConfig, GPT2LMHeadModel

from benchmarks.harness import Comparison, seeded
from impl.gpt import GPT, GPTConfig

STILL = {"dropout": 0.0, "embedding_dropout": 0.0, "attention_dropout": 0.0}
CONFIG = GPTConfig(8192, 384, 6, 6, max_length=256, **STILL)
NEW = 128


def entries(quick: bool) -> Iterator[Comparison]:
    """A small model's step, and what it writes."""
    ours, theirs = models()
    generator = seeded(1)
    assert_same(ours, theirs, torch.randint(CONFIG.vocabulary, (3, 17), generator=generator))
    b, n = (2, 32) if quick else (8, 128)
    ids = torch.randint(CONFIG.vocabulary, (b, n), generator=generator)
    yield Comparison(
        "GPT-2, loss, both passes",
        f"{b}×{n}",
        partial(our_step, ours, ids),
        {"transformers": partial(their_step, theirs, ids)},
        None if quick else 1.0,
    )
    new = NEW // 4 if quick else NEW
    for rows in (1, 8):
        prompts = torch.randint(CONFIG.vocabulary, (rows, 32), generator=generator)
        yield Comparison(
            f"GPT-2, greedy decoding, {new} tokens",
            f"{rows}×32",
            partial(written, ours.eval(), prompts, new),
            {"transformers": partial(generated, theirs.eval(), prompts, new)},
            None if quick else 1.5,
        )
        if prompts.is_cuda:  # graphs have not run: their target is 2
            yield Comparison(
                f"GPT-2, greedy decoding in CUDA graphs, {new} tokens",
                f"{rows}×32",
                partial(written, ours.eval(), prompts, new, graphs=True),
                {
                    "transformers": partial(generated, theirs.eval(), prompts, new),
                    "ours, without graphs": partial(written, ours.eval(), prompts, new),
                },
                None if quick else {"transformers": 2.0},
            )


def models() -> tuple[GPT, GPT2LMHeadModel]:
    """Ours, and transformers' with the same weights."""
    ours = GPT(CONFIG, generator=seeded(0))
    with tempfile.TemporaryDirectory() as folder:
        ours.save_pretrained(folder)
        return ours, GPT2LMHeadModel.from_pretrained(folder).to(ours.E)


def our_step(model: GPT, ids: Tensor) -> Tensor:
    """The loss, and all gradients for a moment."""
    with torch.enable_grad():
        loss = model.loss(ids)
        loss.backward()
    model.zero_grad()
    return loss.detach()


def their_step(model: GPT2LMHeadModel, ids: Tensor) -> Tensor:
    """The same."""
    with torch.enable_grad():
        loss = model(ids, labels=ids, use_cache=False).loss
        loss.backward()
    model.zero_grad()
    return loss.detach()


def written(model: GPT, prompts: Tensor, new: int, graphs: bool = False) -> Tensor:
    """The tokens that ours writes greedily."""
    return model.generate(prompts, max_length=new, graphs=graphs).tokens


def generated(model: GPT2LMHeadModel, prompts: Tensor, new: int) -> Tensor:
    """The same of transformers'."""
    options = GenerationConfig(
        max_new_tokens=new, min_new_tokens=new, do_sample=False, pad_token_id=0, eos_token_id=None
    )
    found: Tensor = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), generation_config=options
    )
    return found[:, prompts.shape[1] :]


def assert_same(ours: GPT, theirs: GPT2LMHeadModel, ids: Tensor) -> None:
    """Equal losses and gradients of the table of words, and the same tokens, in float64."""
    one, other = deepcopy(ours).double(), deepcopy(theirs).double()
    with torch.enable_grad():
        # Its own loss is computed in float32.
        loss, logits = one.loss(ids), other(ids).logits
        said = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        said.backward()
    # Some thousand roundings of 1e-16 each, which layers with norms leave as they are: far below 1e-10.
    assert abs(loss.item() - said.item()) < 1e-10
    wanted = other.transformer.wte.weight.grad
    assert (one.E.grad - wanted).abs().max() < 1e-10 * wanted.abs().max()
    for graphs in (False, True):
        assert torch.equal(written(one.eval(), ids, 9, graphs), generated(other.eval(), ids, 9))
