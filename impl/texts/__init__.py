"""A small text that comes with the package: short sentences in which "bank" stands beside rivers and lends money.

It was composed for this package from a few dozen patterns, so it is regular, and a model learns it in seconds. What it is for is
shown by ``python -m examples.elmo``.
"""

from importlib.resources import files
from typing import Literal, NamedTuple, cast

__all__ = ["Sentence", "bank"]

Subject = Literal["river", "money"]


class Sentence(NamedTuple):
    """Words in lower case, and what they are about."""

    words: tuple[str, ...]
    subject: Subject


def bank() -> tuple[Sentence, ...]:
    """The sentences of ``bank.txt``, in its order; none twice. "bank" stands in some of them, at most once."""
    sentences, subject = [], "river"
    for line in files(__name__).joinpath("bank.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            subject = line.strip("[]")
        elif line and not line.startswith("#"):
            sentences.append(Sentence(tuple(line.split()), cast(Subject, subject)))
    return tuple(sentences)
