"""Modules and functions of others as they are: what a formula's inputs are to them, said in a few lines.

:func:`module` is for a module that holds its weights, :func:`function` for a function of torch, :func:`numpy` and :func:`jax` for
those of the two libraries. Each gives an :class:`Adapter`, which :func:`verify.check` takes as it takes any callable.
"""

from verify.adapt.adapter import Adapter
from verify.adapt.arrays import jax, numpy
from verify.adapt.constructors import function, module
from verify.adapt.tables import from_table

__all__ = ["Adapter", "from_table", "function", "jax", "module", "numpy"]
