"""Calling what is held to a procedure, and surviving whatever it does: it raises, exits, hangs or changes global state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from verify.faults import Fault, Unsupported, complaint, said_by
from verify.subject import last_call
from verify.subject.caller import HUNG_LIMIT, LIMIT
from verify.subject.ending import Deadline, interrupted, unable_to_exit
from verify.subject.sandbox import GENERATORS, GlobalState, seeded

T = TypeVar("T")


AGAIN = 1
"""The seed of global generators where the same is asked again."""


def twice(ask: Callable[[], T]) -> tuple[T, T]:
    """What comes of the same question asked twice; each call finds global generators as they were, so the second time in another
    state.
    """
    first = ask()
    with seeded(AGAIN):
        return first, ask()


@dataclass
class Guard:
    """What surrounds the calls of one callable, named as it begins in a sentence; ``changed`` and ``drew``: the pieces of global
    state that it did not leave alone, and the global random generators that it used.
    """

    name: str
    hung: bool = False
    changed: list[str] = field(default_factory=list)
    drew: list[str] = field(default_factory=list)

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The callable, which may do nothing but return or raise Fault and Unsupported."""

        def guarded(*given: Any, **options: Any) -> Any:
            return self._answered(lambda: fn(*given, **options))

        return guarded

    def _answered(self, work: Callable[[], Any]) -> Any:
        state, limit = GlobalState(), HUNG_LIMIT if self.hung else LIMIT
        last_call.begins(self.name)
        try:
            with warnings.catch_warnings(), Deadline(limit), unable_to_exit():
                warnings.simplefilter("ignore")
                return work()
        except Deadline.Passed:
            self.hung = True
            raise Fault(f"did not return within {limit:g} s") from None
        except NotImplementedError as error:
            raise Unsupported(said_by(error)) from None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and interrupted():
                raise
            raise Fault(f"raised {complaint(error)}") from error
        finally:
            last_call.ended()
            for name in state.restore():
                into = self.drew if name in GENERATORS else self.changed
                if name not in into:
                    into.append(name)


__all__ = ["Guard", "twice"]
