"""Checking what generates text, greedily or by beam search, against the procedures that ``spec.decoding`` states.

:mod:`~verify.decoding.contract` says how a callable is called and what it returns. ``verify.check(fn, "decoding.beam")`` and
``attnspec check module:fn --formula decoding.beam`` come here.
"""

from verify.decoding.checking import check_procedure

__all__ = ["check_procedure"]
