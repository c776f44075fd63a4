"""A layer normalisation of NumPy with its backward pass."""

import numpy as np

from verify import adapt


def layer_norm(x, gamma, beta, eps):
    """Every row brought to mean 0 and variance 1, then scaled and shifted."""
    mean, std = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + eps)
    return gamma * (x - mean) / std + beta


def backward(grad, x, gamma, beta, eps):
    """The gradients of x, gamma and beta."""
    mean, std = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + eps)
    row, rows = (x - mean) / std, tuple(range(x.ndim - 1))
    g = grad * gamma
    inward = (g - g.mean(-1, keepdims=True) - row * (g * row).mean(-1, keepdims=True)) / std
    return inward, (grad * row).sum(rows), grad.sum(rows)


def norm():
    """Both for a statement."""
    return adapt.numpy(layer_norm, vjp=backward)
