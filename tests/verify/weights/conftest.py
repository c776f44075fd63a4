"""A small BERT of random weights in a folder, as transformers writes it, with a vocabulary of a few words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

from transformers import BertConfig, BertModel

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "river",
    "bank",
    "was",
    "muddy",
    "money",
    "in",
    "a",
)
TEXTS = (("The river bank was muddy",), ("Money in the bank", "the bank was a river"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder: 3 layers of width 22 in 2 heads, 31 inner entries."""
    home = tmp_path_factory.mktemp("bert")
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=22,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=31,
        max_position_embeddings=17,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = BertModel(config)
        for name, parameter in model.named_parameters():
            # Biases begin as 0 and gains as 1: there would be nothing to lose.
            if name.endswith("bias") or "LayerNorm" in name:
                with torch.no_grad():
                    parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(home)
    (home / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return home
