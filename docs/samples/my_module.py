"""A normalisation as a language model has it: a module that holds its weights, and its ε."""

import torch
import torch.nn.functional as F
from torch import nn

from verify import adapt


class LayerNorm(nn.Module):
    """Layer normalisation with an optional bias."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        """Every row normalised."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-6)


def norm():
    """The module for a statement."""
    return adapt.module(lambda d: LayerNorm(d, True), lambda gamma, beta: {"weight": gamma, "bias": beta})
