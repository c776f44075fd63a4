"""One call of a layer norm on a small row: what the tests of calling share."""

import numpy as np
import torch.nn.functional as F

from spec.language.registry import find
from verify.subject.caller import Caller

LN = find("normalization.layer_norm")
ROW = {"x": np.array([1.0, 2.0, 4.0]), "gamma": np.ones(3), "beta": np.zeros(3), "eps": 1e-5}
SIZES = {LN.inputs[0].shape[0]: 3}


def right(x, gamma, beta, eps):
    """Torch's own."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def call(fn, dtype="float64", formula=LN):
    """One call on a small row."""
    caller = Caller(fn, formula)
    return caller, caller.results(caller.arguments(ROW, dtype), SIZES, (), dtype)
