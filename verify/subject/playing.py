"""What is done with a callable once more, while all of it is written down (:mod:`verify.subject.recording`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from verify.report import Played
from verify.subject import returned
from verify.subject.caller import Caller
from verify.subject.recording import Recorder
from verify.subject.sandbox import GlobalState

SEEDS = 8
"""How many states of the global generators are tried, where a callable draws from them."""


@contextmanager
def recording(caller: Caller, seed: int | None = None) -> Iterator[Recorder]:
    """Write down what is done with a caller; each call finds the global generators that it draws from set to ``seed``."""
    recorder = Recorder(caller, seed)
    caller.recorder, state = recorder, GlobalState(caller.device)
    returned.WATCHING.append(recorder)
    try:
        yield recorder
    finally:
        caller.recorder = None
        returned.WATCHING.remove(recorder)
        state.restore()


def recorded(caller: Caller, play: Callable[[int | None], Played | None]) -> Played | None:
    """What ``play`` writes down, if it can be written, each call made from a state of the global generators that shows it."""
    if caller.hung or caller.device != "cpu":
        return None
    for seed in range(SEEDS) if "generator" in caller.offences else (None,):
        try:
            found = play(seed)
        except Exception:  # whatever goes wrong while it is written: there is another way to say it
            return None
        if found is not None:
            return found
    return None


def played_scene(caller: Caller, play: Callable[[], bool]) -> Played | None:
    """What is done with a caller, if it can be written; ``play`` says whether it failed."""

    def written(seed: int | None) -> Played | None:
        with recording(caller, seed) as recorder:
            fails = play()
        return recorder.played(fails) if fails or seed is None else None

    return recorded(caller, written)


__all__ = ["played_scene", "recorded", "recording"]
