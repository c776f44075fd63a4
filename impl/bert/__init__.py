"""BERT, as functions of its weights: ``layer``, ``pooler``, ``encoder``, each with the inputs of the statement of its name."""

from impl.bert.functions import encoder, layer, pooler

__all__ = ["layer", "pooler", "encoder"]
