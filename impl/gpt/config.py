"""What a GPT is made of: sizes, and the few choices in which the models of the family differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from impl import _refuse
from impl._checkpoints import read_json
from impl._config import check_fields, expect, look_up

__all__ = ["GPTConfig"]

SIZES = ("vocabulary", "d_model", "layers", "heads", "d_ff", "max_length")
SHARES = ("dropout", "embedding_dropout", "attention_dropout")
KEYS = {
    "vocabulary": "vocab_size",
    "d_model": "n_embd",
    "layers": "n_layer",
    "heads": "n_head",
    "max_length": "n_positions",
    "eps": "layer_norm_epsilon",
    "dropout": "resid_pdrop",
    "embedding_dropout": "embd_pdrop",
    "attention_dropout": "attn_pdrop",
    "std": "initializer_range",
}
"""Our field, and its key in a ``config.json``; beside these stand the inner width and the activation, one otherwise than the
other in GPT-1's and GPT-2's.
"""
NEEDED = ("vocabulary", "d_model", "layers", "heads", "max_length")
ACTIVATIONS: dict[str, Literal["gelu_tanh", "gelu", "relu"]] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
NORMS: dict[str, Literal["pre", "post"]] = {"gpt2": "pre", "openai-gpt": "post"}
REFUSED = {
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
"""Keys that change what is computed, and the values with which it is what is computed here."""


@dataclass(frozen=True)
class GPTConfig:
    """Sizes and choices of a ``GPT``. Those that are not given are those of the smallest GPT-2.

    =====================  ==================================================================================================
    ``max_length``         the largest number of tokens; a learned table of positions has so many rows
    ``d_ff``               inner units of the feed-forward network; None: 4·d_model
    ``norm``               "pre": x + f(LayerNorm(x)) around each sub-layer f, and a LayerNorm behind the last layer (GPT-2,
                           GPT-3); "post": LayerNorm(x + f(x)), and none (GPT-1)
    ``positions``          what is added to a token's vector: a row of a learned table, sines and cosines, or nothing
    ``activation``         "gelu_tanh" is GELU by its approximation with tanh, "gelu" is x Φ(x)
    ``dropout``            on what a sub-layer adds; ``embedding_dropout`` on the embeddings, ``attention_dropout`` on weights of
                           attention
    ``std``                of the normal distribution that weights are drawn from; where ``norm`` is "pre" it is divided by √(2L)
                           in what ends each of the 2L sub-layers
    =====================  ==================================================================================================

    ValueError, in one line, for what cannot be built.
    """

    vocabulary: int = 50_257
    d_model: int = 768
    layers: int = 12
    heads: int = 12
    d_ff: int | None = None
    max_length: int = 1024
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    activation: Literal["gelu_tanh", "gelu", "relu"] = "gelu_tanh"
    eps: float = 1e-5
    dropout: float = 0.1
    embedding_dropout: float = 0.1
    attention_dropout: float = 0.1
    std: float = 0.02

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        for name in SHARES:
            expect(self, 0 <= getattr(self, name) < 1, f"0 <= {name} < 1", name)
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, self.std >= 0, "std >= 0", "std")

    @property
    def width(self) -> int:
        """Of the feed-forward network: ``d_ff``, and what None stands for."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff

    @classmethod
    def gpt1(cls, **changes: Any) -> "GPTConfig":
        """GPT of Radford et al. 2018, section 4.1: 12 layers of 768 with 12 heads, normalised after each sum; 512 positions, a
        vocabulary of 40,478; 116,534,784 parameters.
        """
        return cls(**{"vocabulary": 40_478, "max_length": 512, "norm": "post", **changes})

    @classmethod
    def gpt2(cls, size: Literal["small", "medium", "large", "xl"] = "small", **changes: Any) -> "GPTConfig":
        """The GPT-2s of Radford et al. 2019, table 2: 124,439,808, 354,823,168, 774,030,080 and 1,557,611,200 parameters."""
        sizes = {
            "small": (12, 768, 12),
            "medium": (24, 1024, 16),
            "large": (36, 1280, 20),
            "xl": (48, 1600, 25),
        }
        if size not in list(sizes):
            raise _refuse.option("GPTConfig.gpt2", "size", list(sizes), size)
        L, d, h = sizes[size]
        return cls(**{"d_model": d, "layers": L, "heads": h, **changes})

    @classmethod
    def gpt3(cls, **changes: Any) -> "GPTConfig":
        """The shape of GPT-3 175B of Brown et al. 2020, table 2.1: 174,604,259,328 parameters. That every other layer attends
        within a band of tokens is not among them, nor here.
        """
        sizes = {"d_model": 12_288, "layers": 96, "heads": 96, "max_length": 2048}
        return cls(**{**sizes, **changes})

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | str | Path) -> "GPTConfig":
        """From a ``config.json`` of a GPT-2 or a GPT-1 as Hugging Face writes it, or from what stands in one.

        ValueError for a model of another kind, for sizes that are missing, and for what is computed otherwise there.
        """
        stored: Mapping[str, Any]
        stored = given if isinstance(given, Mapping) else read_json(Path(given))
        norm = look_up("GPTConfig", "model_type", NORMS, stored.get("model_type"))
        for key, values in REFUSED.items():
            if stored.get(key, values[0]) not in values:
                raise ValueError(f"GPTConfig: expected {key} {values[0]!r}; got {stored[key]!r}")
        if missing := [KEYS[name] for name in NEEDED if KEYS[name] not in stored]:
            raise ValueError(f"GPTConfig: expected {', '.join(missing)} in the configuration")
        fields = {name: stored[key] for name, key in KEYS.items() if key in stored}
        if norm == "pre":
            bend = look_up(
                "GPTConfig", "activation_function", ACTIVATIONS, stored.get("activation_function", "gelu_new")
            )
            return cls(**fields, d_ff=stored.get("n_inner"), norm=norm, activation=bend)
        # GPT-1's "gelu" is the one by tanh, and its width no choice: transformers passes over ``n_inner``.
        bend = look_up("GPTConfig", "afn", {**ACTIVATIONS, "gelu": "gelu_tanh"}, stored.get("afn", "gelu"))
        return cls(**fields, norm=norm, activation=bend)

    def to_dict(self) -> dict[str, Any]:
        """What Hugging Face writes into a ``config.json``. ValueError for what its models cannot be told."""
        expect(self, self.positions == "learned", "learned positions, as transformers has them", "positions")
        values = {key: getattr(self, name) for name, key in KEYS.items()}
        if self.norm == "pre":
            theirs = {"gelu_tanh": "gelu_new", "gelu": "gelu", "relu": "relu"}
            # Unless told otherwise, transformers has the last word of GPT-2's vocabulary begin and end a text.
            outside = {} if self.vocabulary > 50_256 else {"bos_token_id": None, "eos_token_id": None}
            return {
                "model_type": "gpt2",
                **outside,
                **values,
                "n_inner": self.d_ff,
                "activation_function": theirs[self.activation],
            }
        names = "activation", "d_ff", "d_model"
        fits = self.activation != "gelu" and self.width == 4 * self.d_model
        expect(
            self,
            fits,
            "GELU by tanh or ReLU, and d_ff = 4 d_model, as transformers has them where norm is 'post'",
            *names,
        )
        return {"model_type": "openai-gpt", **values, "afn": self.activation.removesuffix("_tanh")}
