"""Running user code, whatever it does: it raises, exits, hangs or changes global state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from verify import last_call
from verify.subject.ending import Deadline, unable_to_exit, was_interrupted
from verify.subject.sandbox import GlobalState, making_tensors_on

LIMIT, HUNG_LIMIT = 20.0, 0.5
"""Seconds one call may take (imports and compilation apart), and once one has not returned in time."""

AT_FIRST = 3
"""As many times ``LIMIT`` is waited for as long as no call has returned: the first may set something up."""


class Overdue(Exception):  # noqa: N818 said in reports as it stands
    """It did not return in time."""


class Raised(Exception):  # noqa: N818 said in reports as it stands
    """It raised ``error``, which may be of any kind."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Containment:
    """What surrounds the calls of one callable.

    Attributes:
        hung: some call did not return in time. Once is enough: no further check need be begun.
        answered: some call has returned.
        meddled: the pieces of global state that the last call left otherwise than it found them; they are put right.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.hung = self.answered = False
        self.meddled: list[str] = []

    def run(self, name: str, work: Callable[[], Any], making_on: torch.device | None = None) -> Any:
        """What ``work`` returns; ``name`` tells a process that watches what is called, ``making_on`` where new tensors are made.

        Raises:
            Overdue: it did not return in time.
            Raised: it raised something.
        """
        state = GlobalState(self.device)
        limit = HUNG_LIMIT if self.hung else LIMIT if self.answered else AT_FIRST * LIMIT
        self.meddled = []
        last_call.record_call(name)
        try:
            with warnings.catch_warnings(), Deadline(limit), unable_to_exit():
                warnings.simplefilter("ignore")
                with making_tensors_on(making_on):
                    result = work()
        except Deadline.Passed:
            self.hung = True
            raise Overdue(f"did not return within {limit:g} s") from None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and was_interrupted():
                raise
            raise Raised(error) from error
        finally:
            last_call.record_end()
            self.meddled = state.restore()
        self.answered = True
        return result


__all__ = ["AT_FIRST", "HUNG_LIMIT", "LIMIT", "Containment", "Overdue", "Raised"]
