"""Cases that Hypothesis draws, silently and reproducibly; what is drawn and what is made of it is the caller's affair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def draw(
    one: Callable[[Any], None], cases: SearchStrategy[Any], count: int, seed: int, then: tuple[str, ...]
) -> None:
    """Call ``one`` with so many cases, and ``then`` do what these of Hypothesis' phases say: "target", "shrink".

    Nothing is printed or remembered; an exception of ``one`` is raised once its case is as small as it gets.
    """
    import hypothesis  # half a second, for those alone who draw
    from hypothesis import HealthCheck, Phase, Verbosity

    test = hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, *(Phase[name] for name in then)),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
    )(hypothesis.seed(seed)(hypothesis.given(cases)(one)))
    test()


__all__ = ["draw"]
