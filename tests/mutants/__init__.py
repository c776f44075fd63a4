"""The tests of the tests: wrong implementations that a check must refuse, and right ones, written differently, that it must not.

A module for each subject, or for some of its formulas: every module of this package is looked into. A variant that is one
expression is a row, ``wrong(FORMULA, "name", "What is wrong.")(lambda …)``; another is a function under ``@wrong(FORMULA)``,
and its docstring says the mistake, or how it is written. Where one step of a right implementation is another, the function is
that step, and ``via`` makes the implementation of it: ``@wrong(FORMULA, via=…)``. All take the formula's inputs in declared
order. ``attnspec mutants`` runs them all.
"""

import inspect
import sys
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules

from verify.edges import STRICT


@dataclass(frozen=True)
class Variant:
    """An implementation of a formula, known to be wrong or right; ``says`` is its sentence.

    ``dtypes`` are the types that it is about; where there are none, those that are asked for. ``cause`` is a pattern
    that a headline which names a cause has to match; a cause that is told of a variant without one is not judged.
    """

    name: str
    formula_id: str
    is_right: bool
    call: object
    says: str
    conventions: dict = field(default_factory=dict)
    dtypes: tuple = ()
    cause: str = ""

    @property
    def options(self):
        """The options of a check that it needs; at the edge of the contract everything is judged."""
        return {
            "conventions": {**STRICT, **self.conventions},
            **({"dtypes": self.dtypes} if self.dtypes else {}),
        }


_VARIANTS = []


def _register(is_right, formula_id, name, says, via, dtypes, conventions, cause=""):
    module = sys._getframe(2).f_globals

    def note(part):
        call = part if via is None else via(part)
        if name or via is not None:  # afterwards it is found in its module by its name, as a function is
            call.__name__ = call.__qualname__ = name or part.__name__
            call.__doc__, call.__module__ = says or part.__doc__, module["__name__"]
            module.setdefault(call.__name__, call)
        sentence, types = " ".join(call.__doc__.split()), tuple(dtypes)
        _VARIANTS.append(
            Variant(call.__name__, formula_id, is_right, call, sentence, conventions, types, cause)
        )
        return call

    return note


def wrong(formula_id, name="", says="", *, via=None, dtypes=(), cause="", **conventions):
    """Register a wrong variant, to be refused under ``conventions`` (ours where not given), in these types if any.

    ``cause``: a pattern of what a headline may name as its cause.
    """
    return _register(False, formula_id, name, says, via, dtypes, conventions, cause)


def right(formula_id, name="", says="", *, via=None, dtypes=(), **conventions):
    """Register a right variant, to conform under ``conventions`` (ours where not given), in these types if any."""
    return _register(True, formula_id, name, says, via, dtypes, conventions)


def altering(call, changes):
    """A callable that changes some of its inputs, ``{place: change}``, and is ``call`` otherwise."""

    def altered(*inputs):
        return call(
            *(changes[place](each) if place in changes else each for place, each in enumerate(inputs))
        )

    of_call = inspect.signature(call)
    own = [each for each in of_call.parameters.values() if each.kind is not each.KEYWORD_ONLY]
    altered.__signature__ = of_call.replace(parameters=own)
    return altered


def variants(formula_ids=()):
    """All variants, or those of some formulas, in the registry's order and the wrong ones first; imports torch."""
    from spec.language.registry import statement_ids

    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    order = {formula_id: place for place, formula_id in enumerate(statement_ids())}
    return sorted(
        (v for v in _VARIANTS if not formula_ids or v.formula_id in formula_ids),
        key=lambda v: (order.get(v.formula_id, len(order)), v.is_right),
    )
