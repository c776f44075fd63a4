"""Objectives: what a model is trained for, and how fast.

Letters are the statements': T places, V words, logits s, targets y. A target of −100 asks nothing: what stands at such a place,
NaN included, reaches neither loss nor gradient. Leading dimensions are batches, and each member has a loss of its own: the
mean over its own targets. A 16-bit result is computed in float32 and rounded once.
"""

from impl._arguments import check_arguments
from impl.objectives.linear import linear_cross_entropy
from impl.objectives.losses import autoregressive, cross_entropy, distillation
from impl.objectives.pretraining import bert, mlm, nsp
from impl.objectives.schedules import warmup

__all__ = [
    "cross_entropy",
    "linear_cross_entropy",
    "autoregressive",
    "distillation",
    "warmup",
    "mlm",
    "nsp",
    "bert",
]

check_arguments(__name__)
