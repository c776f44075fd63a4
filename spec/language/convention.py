"""What a statement says besides its lines: conventions, sources, pitfalls, worked examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Convention:
    """A point where the world legitimately differs: a name, its options with a sentence each, and ours.

    ``absent`` tells, by option, what an optional mask that is not given stands for: True everywhere if not said.
    """

    name: str
    options: Mapping[str, str]
    default: str
    absent: Mapping[str, bool] = field(default_factory=dict)


def choose(owner: str, offered: Iterable[Convention], chosen: Mapping[str, str] | None) -> dict[str, str]:
    """The full choice of the conventions that something offers, defaults filled in.

    Raises:
        ValueError: an unknown convention or option, named with what is known.
    """
    chosen, by_name = chosen or {}, {convention.name: convention for convention in offered}
    for name, option in chosen.items():
        if name not in by_name:
            raise ValueError(f"{owner} has no convention {name!r}; it has: {', '.join(by_name) or 'none'}")
        if option not in by_name[name].options:
            options = ", ".join(by_name[name].options)
            raise ValueError(f"{owner}: convention {name} is one of {options}; {option!r} was given")
    return {name: chosen.get(name, convention.default) for name, convention in by_name.items()}


INTERMEDIATES = Convention(
    "intermediates",
    {
        "accumulate": "arithmetic runs in the accumulation type; only outputs and stored lines are rounded to the storage type",
        "storage": "every operation rounds to the storage type",
    },
    "accumulate",
)


@dataclass(frozen=True)
class Reference:
    """A work that statements are taken from; ``key`` names it in the bibliography.

    Attributes:
        link: a DOI (``10.…``), an arXiv number (``arXiv:1706.03762``) or an address; empty for a lecture deck.
        about: what it is, where title and authors do not tell.
    """

    key: str
    authors: str
    title: str
    year: int = 0
    link: str = ""
    about: str = ""

    @property
    def short(self) -> str:
        """How a text cites it: "Vaswani et al. 2017"."""
        return f"{self.authors} {self.year}" if self.year else self.key


@dataclass(frozen=True)
class Source:
    """The place in a work where a formula comes from."""

    reference: Reference
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reference.short}, {self.detail}" if self.detail else self.reference.short


@dataclass(frozen=True)
class Pitfall:
    """What implementations get wrong, and what shows it: a convention or theorem of the formula, or a wrong variant by name."""

    text: str
    convention: str = ""
    theorem: str = ""
    mutant: str = ""


def pitfall(text: str, *, convention: str = "", theorem: str = "", mutant: str = "") -> Pitfall:
    """What implementations get wrong, and what shows it.

    Raises:
        ValueError: nothing that shows it.
    """
    if not (convention or theorem or mutant):
        raise ValueError(
            f"a pitfall names the convention, theorem or mutant that shows it: {text!r} does not"
        )
    return Pitfall(text, convention, theorem, mutant)


@dataclass(frozen=True)
class Worked:
    """Numbers worked out: inputs, the outputs they give, and to how many decimals; ``source`` is where they are printed.

    ``output`` names the output, or any line, that the numbers are of; the first output where it is not said.
    """

    title: str
    inputs: Mapping[str, Any]
    expected: Any
    decimals: int
    source: Source | None = None
    output: str = ""
    conventions: Mapping[str, str] = field(default_factory=dict)
