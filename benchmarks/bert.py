"""BERT beside transformers' with the same weights: a step of pre-training with and without padding, and the vectors of sentences.

The model has the sizes of MiniLM (6 layers of 384, a vocabulary of 30,522 words); nothing is dropped out, so that both compute
the same.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor
from transformers import BertConfig as TheirConfig
from transformers import BertForMaskedLM as TheirMaskedLM
from transformers import PreTrainedModel

from benchmarks.harness import Comparison, Memory, Work, seeded
from impl.bert import BertConfig, BertEncoder, BertForMaskedLM, Encoding, embed
from impl.bert.names import stored_names

CONFIG = BertConfig(d_model=384, layers=6, heads=12, d_ff=1536, dropout=0.0, attention_dropout=0.0)
B, N = 16, 128
SHARE = 0.15
SENTENCES, BATCH = 256, 32
WANTED = {"none": (1.8, 1 / 0.4), "half": (3.0, 1 / 0.35)}
"""Of time and of memory, by the share of padding."""


def entries(quick: bool) -> Iterator[Comparison | Memory]:
    """The cases of this subject."""
    ours, theirs = models()
    assert_same(ours, theirs)
    b, n = (4, 32) if quick else (B, N)
    for padding, (faster, leaner) in WANTED.items():
        given = batch(b, n, padding)
        size = f"{b}×{n}, {padding} padded" if padding != "none" else f"{b}×{n}"
        yield Comparison(
            "masked language model, both passes",
            size,
            partial(our_step, ours, *given),
            {"transformers": partial(their_step, theirs, *given)},
            None if quick else faster,
        )
        if not quick:
            yield Memory(
                "memory of the same",
                size,
                partial(our_work, b, n, padding),
                {"transformers": partial(their_work, b, n, padding)},
                leaner,
            )
    encodings = sentences(SENTENCES // 8 if quick else SENTENCES)
    yield Comparison(
        "vectors of sentences",
        f"{len(encodings)} of 4 to 80 words",
        partial(embed, ours.encoder.eval(), encodings),
        {"transformers": partial(in_batches, theirs.bert.eval(), encodings)},
        2.0,
    )


def models() -> tuple[BertForMaskedLM, TheirMaskedLM]:
    """Ours, and transformers' with the same weights."""
    ours = BertForMaskedLM(BertEncoder(CONFIG, pooler=False, generator=seeded(0)))
    theirs = TheirMaskedLM(TheirConfig(**CONFIG.to_dict()))
    state = {}
    for name, x in ours.state_dict().items():
        stored = stored_names(CONFIG, name, "BertForMaskedLM")
        for each, part in zip(stored, x.chunk(len(stored)), strict=True):
            state[each if each.startswith("cls.") else f"bert.{each}"] = part
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert all(".decoder." in name for name in missing), missing
    return ours, theirs


def batch(b: int, n: int, padding: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, which are real, and labels of 15 % of these."""
    generator = seeded(1)
    lengths = (
        torch.full((b,), n) if padding == "none" else torch.linspace(n // 16, n - n // 16, b).round().long()
    )
    mask = torch.arange(n) < lengths[:, None]
    ids = torch.randint(999, CONFIG.vocabulary, (b, n), generator=generator)
    chosen = mask & (torch.rand(b, n, generator=generator) < SHARE)
    return ids.masked_fill(~mask, 0), mask, ids.masked_fill(~chosen, -100)


def our_step(model: BertForMaskedLM, ids: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """The loss, and all gradients for a moment."""
    with torch.enable_grad():
        loss = model(ids, mask=mask, labels=labels)
        loss.backward()
    model.zero_grad()
    return loss.detach()


def their_step(model: TheirMaskedLM, ids: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """The same."""
    with torch.enable_grad():
        loss = model(ids, mask.long(), labels=labels).loss
        loss.backward()
    model.zero_grad()
    return loss.detach()


def our_work(b: int, n: int, padding: str) -> Work:
    """For a process of its own."""
    return partial(our_step, models()[0], *batch(b, n, padding))


def their_work(b: int, n: int, padding: str) -> Work:
    """For a process of its own."""
    return partial(their_step, models()[1], *batch(b, n, padding))


def sentences(count: int) -> list[Encoding]:
    """Random ids of lengths as sentences have them: about twenty words, few of them long."""
    generator = seeded(2)
    lengths = (torch.randn(count, generator=generator) * 0.6 + 3).exp().round().long().clamp(4, 80) + 2
    found = []
    for n in lengths.tolist():
        ids = torch.randint(999, CONFIG.vocabulary, (n,), generator=generator).tolist()
        found.append(Encoding(ids, [0] * n, [""] * n, [(0, 0)] * n, [None] * n))
    return found


@torch.no_grad()
def in_batches(encoder: PreTrainedModel, encodings: list[Encoding]) -> list[Tensor]:
    """The vectors of transformers' encoder, in padded batches in the order of the texts."""
    found, device = [], encoder.device
    for start in range(0, len(encodings), BATCH):
        own = encodings[start : start + BATCH]
        n = max(len(each.ids) for each in own)
        ids = torch.tensor([each.ids + [0] * (n - len(each.ids)) for each in own], device=device)
        lengths = torch.tensor([[len(each.ids)] for each in own], device=device)
        mask = torch.arange(n, device=device) < lengths
        last = encoder(ids, mask.long()).last_hidden_state
        found += [row[: len(each.ids)] for row, each in zip(last, own, strict=True)]
    return found


def assert_same(ours: BertForMaskedLM, theirs: TheirMaskedLM) -> None:
    """Equal losses, gradients of the table of words and vectors, in float64."""
    one, other = deepcopy(ours).double(), deepcopy(theirs).double()
    ids, mask, labels = batch(3, 17, "half")
    with torch.enable_grad():
        loss, said = one(ids, mask=mask, labels=labels), other(ids, mask.long(), labels=labels).loss
        loss.backward()
        said.backward()
    # Some thousand roundings of 1e-16 each, which layers with norms leave as they are: far below 1e-10.
    assert (loss - said).abs() < 1e-10
    own, his = one.encoder.embeddings.E.grad[1:], other.bert.embeddings.word_embeddings.weight.grad[1:]
    assert (own - his).abs().max() < 1e-10 * his.abs().max()
    found, wanted = embed(one.encoder.eval(), sentences(5)), in_batches(other.bert.eval(), sentences(5))
    assert all((a - b).abs().max() < 1e-10 for a, b in zip(found, wanted, strict=True))
