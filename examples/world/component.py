"""A component of a library, adapted in a few lines, and the list of all."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any


@dataclass(frozen=True)
class Component:
    """A component: ``make`` gives what is checked, ``options`` are those of :func:`verify.check`, ``says`` what it is."""

    library: str
    name: str
    formula: str
    make: Callable[[], Any]
    options: dict[str, Any]
    says: str


_FOUND: list[Component] = []


def of(library: str) -> Callable[..., Callable[[Callable[[], Any]], Callable[[], Any]]]:
    """What lists the components of a library: ``component = of("torch")``, then ``@component("nn.LSTM", "recurrent.lstm")``."""

    def component(
        name: str, formula: str, **options: Any
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        def note(make: Callable[[], Any]) -> Callable[[], Any]:
            says = " ".join((make.__doc__ or "").split())
            _FOUND.append(Component(library, name, formula, make, options, says))
            return make

        return note

    return component


def modules() -> dict[str, str]:
    """The modules that list components, by the name of their library as it is installed."""
    from examples.world import libraries

    names = [each.name for each in iter_modules(libraries.__path__)]
    return {name.replace("_", "-"): f"{libraries.__name__}.{name}" for name in names}


def components(library: str) -> list[Component]:
    """The components of a library.

    Raises:
        ImportError: it is not installed, or cannot be imported here.
    """
    import_module(modules()[library])
    return [each for each in _FOUND if each.library == library]


def adapters(library: str) -> dict[tuple[str, str], list[str]]:
    """The lines that adapt each component of a library, by its name and formula, read from the source, which needs no import."""
    from examples.world import libraries

    source = (Path(libraries.__path__[0]) / f"{library.replace('-', '_')}.py").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(
                decorator_list=[ast.Call(args=[ast.Constant(value=name), ast.Constant(value=formula)])]
            ):
                lines = source.splitlines()[node.body[1].lineno - 1 : node.end_lineno]
                found[str(name), str(formula)] = textwrap.dedent(
                    "\n".join(filter(str.strip, lines))
                ).splitlines()
    return found


def installed(library: str) -> str | None:
    """The version of a library; None where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def libraries() -> Iterator[tuple[str, str | None]]:
    """Every library with its version."""
    for library in modules():
        yield library, installed(library)
