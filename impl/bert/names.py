"""The names that Hugging Face gives to the parameters of a BERT and its relatives, and ours."""

import re

from impl.bert.config import BertConfig

__all__ = ["ARCHITECTURES", "DECODERS", "HEADS", "PREFIXES", "stored_names"]

Names = dict[str, tuple[str, ...]]

EMBEDDINGS = {
    "embeddings.E": ("embeddings.word_embeddings.weight",),
    "embeddings.P": ("embeddings.position_embeddings.weight",),
    "embeddings.S": ("embeddings.token_type_embeddings.weight",),
    "embeddings.norm": ("embeddings.LayerNorm",),
}
TOP = {"classifier": ("classifier",), "span": ("qa_outputs",)}

BERT: Names = {
    **EMBEDDINGS,
    "layers.#.qkv": tuple(f"encoder.layer.#.attention.self.{part}" for part in ("query", "key", "value")),
    "layers.#.out": ("encoder.layer.#.attention.output.dense",),
    "layers.#.norm_attention": ("encoder.layer.#.attention.output.LayerNorm",),
    "layers.#.expand": ("encoder.layer.#.intermediate.dense",),
    "layers.#.contract": ("encoder.layer.#.output.dense",),
    "layers.#.norm_output": ("encoder.layer.#.output.LayerNorm",),
    "pooler.dense": ("pooler.dense",),
    "words.dense": ("cls.predictions.transform.dense",),
    "words.norm": ("cls.predictions.transform.LayerNorm",),
    "words.bias": ("cls.predictions.bias",),
    "next": ("cls.seq_relationship",),
    **TOP,
}
ROBERTA: Names = {
    **BERT,
    "words.dense": ("lm_head.dense",),
    "words.norm": ("lm_head.layer_norm",),
    "words.bias": ("lm_head.bias",),
}
SHARED = "encoder.albert_layer_groups.#.albert_layers.0"
ALBERT: Names = {
    **EMBEDDINGS,
    "embeddings.widen": ("encoder.embedding_hidden_mapping_in",),
    "layers.#.qkv": tuple(f"{SHARED}.attention.{part}" for part in ("query", "key", "value")),
    "layers.#.out": (f"{SHARED}.attention.dense",),
    "layers.#.norm_attention": (f"{SHARED}.attention.LayerNorm",),
    "layers.#.expand": (f"{SHARED}.ffn",),
    "layers.#.contract": (f"{SHARED}.ffn_output",),
    "layers.#.norm_output": (f"{SHARED}.full_layer_layer_norm",),
    "pooler.dense": ("pooler",),
    "words.dense": ("predictions.dense",),
    "words.norm": ("predictions.LayerNorm",),
    "words.bias": ("predictions.bias",),
    "next": ("sop_classifier.classifier",),
    **TOP,
}
DISTILBERT: Names = {
    **EMBEDDINGS,
    "layers.#.qkv": tuple(f"transformer.layer.#.attention.{part}_lin" for part in "qkv"),
    "layers.#.out": ("transformer.layer.#.attention.out_lin",),
    "layers.#.norm_attention": ("transformer.layer.#.sa_layer_norm",),
    "layers.#.expand": ("transformer.layer.#.ffn.lin1",),
    "layers.#.contract": ("transformer.layer.#.ffn.lin2",),
    "layers.#.norm_output": ("transformer.layer.#.output_layer_norm",),
    "pooler.dense": ("pre_classifier",),
    "words.dense": ("vocab_transform",),
    "words.norm": ("vocab_layer_norm",),
    "words.bias": ("vocab_projector.bias",),
    **TOP,
}
NAMES = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "albert": ALBERT,
    "distilbert": DISTILBERT,
}
ROBERTA_SEQUENCE: Names = {"pooler.dense": ("classifier.dense",), "classifier": ("classifier.out_proj",)}
"""What RoBERTa's classifier of sequences has as its own is a pooler with a classifier behind it."""

PREFIXES = {
    "bert": "bert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "albert": "albert.",
    "distilbert": "distilbert.",
}
"""What stands before the encoder's names where there is a head."""
ARCHITECTURES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "albert": "Albert",
    "distilbert": "DistilBert",
}
"""How the names of transformers' classes begin."""
DECODERS = {
    "bert": "cls.predictions.decoder",
    "roberta": "lm_head.decoder",
    "xlm-roberta": "lm_head.decoder",
    "albert": "predictions.decoder",
    "distilbert": "vocab_projector",
}
"""The layer behind the head for words: its weight is the table of words, its bias the head's."""
HEADS = (
    "cls.",
    "lm_head.",
    "predictions.",
    "sop_classifier.",
    "classifier.",
    "pre_classifier.",
    "vocab_transform.",
    "vocab_layer_norm.",
    "vocab_projector.",
    "qa_outputs.",
    "pooler.",
)
"""How names of heads begin: a checkpoint may have others than are asked for."""


def stored_names(config: BertConfig, name: str, task: str) -> tuple[str, ...]:
    """The stored names of one of our parameters: one, or three where ours holds queries, keys and values one beside the other.

    ``task`` is the name of the class. What stands before the encoder's names is left out.
    """
    name = name.removeprefix("encoder.")
    table = NAMES[config.family]
    if task == "BertForSequenceClassification" and config.family in ("roberta", "xlm-roberta"):
        table = {**table, **ROBERTA_SEQUENCE}
    number = re.match(r"layers\.(\d+)\.", name)
    general = re.sub(r"^layers\.\d+\.", "layers.#.", name)
    if general in table:
        found, kind = table[general], ""
    else:
        part, _, kind = general.rpartition(".")
        found, kind = table[part], f".{kind}"
    return tuple(each.replace("#", number[1] if number else "") + kind for each in found)
