"""What a BERT is made of, its relatives included: sizes, and the few choices in which they differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from impl._checkpoints import read_json
from impl._config import check_fields, expect, look_up

__all__ = ["BertConfig", "Family"]

Family = Literal["bert", "roberta", "xlm-roberta", "albert", "distilbert"]

SIZES = ("vocabulary", "d_model", "layers", "heads", "d_ff", "max_length", "d_embedding", "groups")
SHARES = ("dropout", "attention_dropout", "classifier_dropout")
FAMILIES = get_args(Family)

KEYS = {
    "vocabulary": "vocab_size",
    "d_model": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "max_length": "max_position_embeddings",
    "segments": "type_vocab_size",
    "eps": "layer_norm_eps",
    "activation": "hidden_act",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "classifier_dropout": "classifier_dropout",
    "padding_id": "pad_token_id",
    "std": "initializer_range",
}
"""Our field, and its key in a ``config.json``; of ``max_length``, less those positions of ``offset``."""
KEYS_OF = {
    "albert": {
        **KEYS,
        "classifier_dropout": "classifier_dropout_prob",
        "d_embedding": "embedding_size",
        "groups": "num_hidden_groups",
    },
    "distilbert": {
        **{ours: key for ours, key in KEYS.items() if ours not in ("segments", "eps")},
        "d_model": "dim",
        "layers": "n_layers",
        "heads": "n_heads",
        "d_ff": "hidden_dim",
        "activation": "activation",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "classifier_dropout": "seq_classif_dropout",
    },
}
NEEDED = ("vocabulary", "d_model", "layers", "heads", "d_ff", "max_length")
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
REFUSED = {
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "inner_group_num": (1,),
    "tie_word_embeddings": (True,),
}
"""Keys that change what is computed, and the values with which it is what is computed here."""


@dataclass(frozen=True)
class BertConfig:
    """Sizes and choices of a ``BertEncoder``. Those that are not given are those of BERT BASE (uncased).

    ======================  =================================================================================================
    ``family``              whose names the parameters have in a checkpoint, and where positions begin (``offset``)
    ``max_length``          the largest number of tokens; the table of positions has so many rows, and those of ``offset``
    ``segments``            rows of the table of segments; 0: there is none
    ``d_embedding``         width of the tables; where it is another than ``d_model``, a linear layer leads from one to the other
    ``groups``              so many layers have parameters of their own, which equally many layers share; None: every layer has
    ``activation``          "gelu" is x Φ(x), "gelu_tanh" its approximation by tanh
    ``dropout``             on embeddings, and on what a sub-layer adds; ``attention_dropout`` on weights of attention,
                            ``classifier_dropout`` before the last layer of a head (None: ``dropout``)
    ``padding_id``          the word that fills rows up
    ``std``                 of the normal distribution that weights are drawn from
    ======================  =================================================================================================

    ValueError, in one line, for what cannot be built.
    """

    vocabulary: int = 30_522
    d_model: int = 768
    layers: int = 12
    heads: int = 12
    d_ff: int = 3072
    max_length: int = 512
    segments: int = 2
    d_embedding: int | None = None
    groups: int | None = None
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    eps: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1
    classifier_dropout: float | None = None
    padding_id: int = 0
    std: float = 0.02
    family: Family = "bert"

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.segments >= 0, "segments >= 0", "segments")
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        for name in SHARES:
            share = getattr(self, name)
            expect(self, share is None or 0 <= share < 1, f"0 <= {name} < 1", name)
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, self.std >= 0, "std >= 0", "std")
        within = 0 <= self.padding_id < self.vocabulary
        expect(self, within, "a padding_id of the vocabulary", "padding_id", "vocabulary")
        expect(self, self.layers % self.own_layers == 0, "groups that divide layers", "groups", "layers")
        if self.family != "albert":
            expect(
                self, self.width == self.d_model, "d_embedding only where family is 'albert'", "d_embedding"
            )
            expect(self, self.groups is None, "groups only where family is 'albert'", "groups")
        if self.family == "distilbert":
            expect(self, self.segments == 0, "no segments where family is 'distilbert'", "segments")

    @property
    def offset(self) -> int:
        """The row of the first token's position. RoBERTa's are counted from ``padding_id`` + 1: padding has a row of its own."""
        return _offset(self.family, self.padding_id)

    @property
    def position_rows(self) -> int:
        """Rows of the table of positions."""
        return self.offset + self.max_length

    @property
    def width(self) -> int:
        """Of the tables: ``d_embedding``, and what None stands for."""
        return self.d_model if self.d_embedding is None else self.d_embedding

    @property
    def own_layers(self) -> int:
        """The number of layers that have parameters of their own."""
        return self.layers if self.groups is None else self.groups

    @property
    def pools(self) -> bool:
        """Whether the family's encoder has a pooler. DistilBERT's has none."""
        return self.family != "distilbert"

    @classmethod
    def base(cls, **changes: Any) -> "BertConfig":
        """BERT BASE of Devlin et al. 2019, section 3: 12 layers of 768 with 12 heads; 109,482,240 parameters."""
        return cls(**changes)

    @classmethod
    def large(cls, **changes: Any) -> "BertConfig":
        """BERT LARGE of the same section: 24 layers of 1024 with 16 heads; 335,141,888 parameters."""
        return cls(**{"d_model": 1024, "layers": 24, "heads": 16, "d_ff": 4096, **changes})

    @classmethod
    def roberta(cls, **changes: Any) -> "BertConfig":
        """RoBERTa base of Liu et al. 2019: no segments (a table of one row, added to every token), positions from 2."""
        own = {"family": "roberta", "vocabulary": 50_265, "segments": 1}
        return cls(**{**own, "padding_id": 1, "eps": 1e-5, **changes})

    @classmethod
    def albert(cls, **changes: Any) -> "BertConfig":
        """ALBERT base (version 2) of Lan et al. 2020: tables of width 128, one layer's parameters for all twelve."""
        own = {"family": "albert", "vocabulary": 30_000, "d_embedding": 128, "groups": 1}
        rest = {
            "activation": "gelu_tanh",
            "dropout": 0.0,
            "attention_dropout": 0.0,
            "classifier_dropout": 0.1,
        }
        return cls(**{**own, **rest, **changes})

    @classmethod
    def distilbert(cls, **changes: Any) -> "BertConfig":
        """DistilBERT base of Sanh et al. 2019: half of BERT's layers, neither segments nor a pooler."""
        return cls(
            **{"family": "distilbert", "layers": 6, "segments": 0, "classifier_dropout": 0.2, **changes}
        )

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | str | Path) -> "BertConfig":
        """From a ``config.json`` as Hugging Face writes it, or from what stands in one.

        ValueError for a model of another kind, for sizes that are missing, and for what is computed otherwise there.
        """
        stored: Mapping[str, Any]
        stored = given if isinstance(given, Mapping) else read_json(Path(given))
        family = stored.get("model_type", "bert")
        if family not in FAMILIES:
            raise ValueError(
                f"BertConfig: expected model_type to be one of {', '.join(FAMILIES)}; got {family!r}"
            )
        keys = KEYS_OF.get(family, KEYS)
        for key, values in REFUSED.items():
            if stored.get(key, values[0]) not in values:
                raise ValueError(f"BertConfig: expected {key} {values[0]!r}; got {stored[key]!r}")
        if missing := [keys[name] for name in NEEDED if keys[name] not in stored]:
            raise ValueError(f"BertConfig: expected {', '.join(missing)} in the configuration")
        fields = {name: stored[key] for name, key in keys.items() if key in stored}
        if "activation" in fields:
            bend = look_up("BertConfig", keys["activation"], ACTIVATIONS, fields["activation"])
            fields["activation"] = bend
        if fields.get("padding_id", 0) is None:
            del fields["padding_id"]
        rows, left_out = fields["max_length"], _offset(family, fields.get("padding_id", 0))
        if type(rows) is type(left_out) is int:
            fields["max_length"] = rows - left_out
        start = {"albert": cls.albert, "distilbert": cls.distilbert}.get(family, cls)
        return start(**{"family": family, **fields})

    def to_dict(self) -> dict[str, Any]:
        """What Hugging Face writes into a ``config.json``."""
        theirs = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
        values = {**vars(self), "activation": theirs[self.activation], "d_embedding": self.width}
        values |= {"groups": self.own_layers, "max_length": self.position_rows}
        if self.classifier_dropout is None and self.family in KEYS_OF:
            values["classifier_dropout"] = self.dropout
        keys = KEYS_OF.get(self.family, KEYS)
        return {"model_type": self.family, **{key: values[name] for name, key in keys.items()}}


def _offset(family: str, padding_id: int) -> int:
    return padding_id + 1 if family in ("roberta", "xlm-roberta") else 0
