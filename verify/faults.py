"""What can go wrong with a callable, in three words: it cannot be checked, it is at fault, it does not support a type."""

from __future__ import annotations

import re


class Unusable(Exception):  # noqa: N818 said in reports as it stands
    """What was given cannot be checked at all: an unknown formula, type or convention, or a signature that does not fit."""


class Absent(Exception):  # noqa: N818 said in reports as it stands
    """There is nothing to check: what is installed does not have it, or not on this device."""


class Fault(Exception):  # noqa: N818 said in reports as it stands
    """The callable is at fault; the message is one line.

    ``raised``: the error that it raised, if that is the fault; ``overdue``: that it did not return, if it is that.
    """

    def __init__(self, message: str, raised: str = "", overdue: str = "") -> None:
        super().__init__(message)
        self.raised, self.overdue = raised, overdue

    @property
    def refusal(self) -> str:
        """What the callable did instead of returning something; empty where it returned."""
        return f"raised {self.raised}" if self.raised else self.overdue


class Unsupported(Exception):  # noqa: N818 said in reports as it stands
    """The callable declares that it does not support this type (or this kind of differentiation)."""


class NoGradient(Unsupported):
    """What the callable returns carries no gradient."""


_TYPE_PATTERNS = {
    "float64": "float64|double",
    "float32": "float32|float",
    "float16": "float16|half",
    "bfloat16": "bfloat16",
}


def describe_error(error: BaseException) -> str:
    """Return an exception's message in one printable line of at most 240 characters; empty if it has none."""
    try:
        said = " ".join(str(error).split())
    except Exception:
        return ""
    said = said.encode("utf-8", "backslashreplace").decode("utf-8")  # half a surrogate pair has no encoding
    return said if len(said) <= 240 else said[:240] + " …"


def complaint(error: BaseException) -> str:
    """An exception's type, and what it says."""
    said = describe_error(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def classify_error(error: BaseException, begin: str, dtype: str, known: bool, shapes: str) -> Exception:
    """Convert an exception raised in a call to a fault of the callable, or to an unsupported type, in one line.

    A :class:`Fault`, or :class:`Unsupported` where it declares that the type is not supported; ``known`` tells that a call
    in this type has succeeded before, so that such a declaration is no longer believed.
    """
    said, line = describe_error(error), f"{begin} raised {complaint(error)} for {shapes}"
    if isinstance(error, Fault | Unsupported):
        return error
    if isinstance(error, NotImplementedError) and not known:
        return Unsupported(line)
    if isinstance(error, RuntimeError) and re.search(r"not implemented for '", said):
        return Unsupported(line)
    if isinstance(error, RuntimeError) and re.search(r"derivative for .* is not implemented", said):
        return Unsupported(line)
    if (
        isinstance(error, TypeError)
        and not known
        and re.search(rf"\b({_TYPE_PATTERNS[dtype]})\b", said, re.IGNORECASE)
    ):
        return Unsupported(line)
    return Fault(line, complaint(error))
