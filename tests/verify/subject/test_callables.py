"""What another process can import."""

import functools

import torch

from verify.subject.callables import importable


def test_what_can_be_imported():
    """Functions of modules can, lambdas, modules and partials cannot."""
    assert importable(torch.nn.functional.layer_norm) == "torch.nn.functional:layer_norm"
    assert importable(lambda: 0) == importable(torch.nn.ReLU()) == ""
    assert importable(functools.partial(torch.nn.functional.layer_norm)) == ""
