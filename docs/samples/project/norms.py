"""What the project has written."""

import torch


def layer_norm(x, gamma, beta, eps):
    """A layer normalisation with ε beside the root."""
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, correction=0, keepdim=True)
    return gamma * (x - mean) / (std + eps) + beta


def without_bias(x, gamma, beta, eps):
    """The same without a bias."""
    return layer_norm(x, gamma, 0 * beta, eps)


def gate(x):
    """Every entry times its own share."""
    return x * torch.sigmoid(x)
