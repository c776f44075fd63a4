"""Modules and functions of others as they are: what a formula's inputs are to them, in a few lines of Python.

:func:`module` is for a module that holds its weights, :func:`function` for a function of torch, :func:`numpy` and :func:`jax` for
those of the two libraries. Each gives an :class:`Adapter`, which :func:`verify.check` takes as it takes any callable.

Whatever is described by a function (how a module is built, its weights, a call, which results are outputs) is described by one
whose parameters are names of the statement: its letters (``W_q``, ``x``), its sizes (``d_model``, ``n``), and ``mask``.
"""

from verify.adapt.adapter import Adapter, function
from verify.adapt.arrays import jax, numpy
from verify.adapt.module import module
from verify.adapt.packing import State, causal, entries, layers, rows

__all__ = ["Adapter", "State", "causal", "entries", "function", "jax", "layers", "module", "numpy", "rows"]
