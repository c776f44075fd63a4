"""What a Transformer is made of: its sizes, and the few choices in which Transformers differ."""

from dataclasses import dataclass
from typing import Any, Literal

from impl._config import check_fields, expect

__all__ = ["TransformerConfig"]

SIZES = (
    "source_vocabulary",
    "target_vocabulary",
    "d_model",
    "heads",
    "d_ff",
    "encoder_layers",
    "decoder_layers",
    "max_length",
)


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of a ``Transformer``. Those that are not given are the base model's of Vaswani et al. 2017.

    ====================  ===================================================================================================
    ``norm``              "post": LayerNorm(x + f(x)) around each sub-layer f, as in the paper; "pre": x + f(LayerNorm(x))
    ``final_norm``        a LayerNorm behind the last layer of each stack. None: only where ``norm`` is "pre", whose sums nothing
                          else normalises. ``nn.Transformer`` has it in either case
    ``dropout``           where the paper has it: on what a sub-layer adds, and on words plus positions. torch's layers drop
                          attention weights and hidden units as well
    ``attention_bias``    biases in the projections of attention. The paper's formulas have none, ``nn.Transformer`` has them
    ``activation``        of the feed-forward layers; "gelu" is the exact one, x Φ(x)
    ``tied``              "output": the matrix before the softmax is the table of target words; "all": that of source words
                          too (one vocabulary), as in the paper, section 3.4
    ``scaled``            words' vectors are multiplied by √d_model before positions are added
    ``max_length``        no source or target may be longer; a learned table has so many rows
    ====================  ===================================================================================================

    ValueError, in one line, for what cannot be built.
    """

    source_vocabulary: int
    target_vocabulary: int
    d_model: int = 512
    heads: int = 8
    d_ff: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    final_norm: bool | None = None
    activation: Literal["relu", "gelu"] = "relu"
    eps: float = 1e-5
    attention_bias: bool = True
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 512
    tied: Literal["none", "output", "all"] = "none"
    scaled: bool = True

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        expect(self, 0 <= self.dropout < 1, "0 <= dropout < 1", "dropout")
        expect(self, self.eps > 0, "eps > 0", "eps")
        if self.tied == "all":
            names = "source_vocabulary", "target_vocabulary"
            expect(
                self,
                self.source_vocabulary == self.target_vocabulary,
                "one vocabulary where tied is 'all'",
                *names,
            )

    @property
    def ends_in_norm(self) -> bool:
        """Whether the stacks have a final LayerNorm: ``final_norm``, and what None stands for."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @classmethod
    def base(
        cls, source_vocabulary: int = 37_000, target_vocabulary: int = 37_000, **changes: Any
    ) -> "TransformerConfig":
        """The base model of Vaswani et al. 2017, table 3: 6 + 6 layers of 512 with 8 heads, 2048 hidden units; tables tied."""
        return cls(source_vocabulary, target_vocabulary, **{"tied": "all", **changes})

    @classmethod
    def big(
        cls, source_vocabulary: int = 37_000, target_vocabulary: int = 37_000, **changes: Any
    ) -> "TransformerConfig":
        """The big model of the same table: 6 + 6 layers of 1024 with 16 heads, 4096 hidden units, dropout 0.3; tables tied."""
        sizes = {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3}
        return cls.base(source_vocabulary, target_vocabulary, **{**sizes, **changes})
