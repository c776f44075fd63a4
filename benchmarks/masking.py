"""MLM corruption of one batch, beside transformers' collator."""

from collections.abc import Iterator
from functools import partial

import torch
from transformers import DataCollatorForLanguageModeling

from benchmarks.harness import Comparison
from impl.masking import mlm

ROWS, N, V, MASK = 64, 512, 30_522, 103


class _Tokenizer:
    """All that the corruption asks of a tokenizer, answered at no cost."""

    mask_token = "[MASK]"
    pad_token = "[PAD]"

    def __len__(self) -> int:
        return V

    def convert_tokens_to_ids(self, token: str) -> int:
        return MASK


def entries(quick: bool) -> Iterator[Comparison]:
    """Only the corruption: padding, stacking and the special tokens' mask are given to both."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(V, (ROWS, N), generator=generator)
    special = torch.zeros(ROWS, N, dtype=torch.bool)
    special[:, 0] = special[:, -1] = True
    special[ROWS // 2 :, -N // 8 :] = True  # half the rows are padded
    collator = DataCollatorForLanguageModeling(_Tokenizer(), mlm_probability=0.15)
    collator.generator = torch.Generator().manual_seed(0)
    # It corrupts in place: it works on a copy of its own, over and over, which is the same work every time.
    peer = {"transformers collator": partial(collator.torch_mask_tokens, ids.clone(), special)}
    for selection in ("bernoulli", "exact_count"):
        ours = partial(mlm, ids, special, MASK, V, generator, selection=selection)
        target = 3.5 if selection == "bernoulli" else None  # no peer selects an exact count
        yield Comparison(f"MLM corruption, {selection}", f"{ROWS}×{N}", ours, peer, target)
