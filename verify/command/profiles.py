"""Profiles: how much is asked of a target, in one word. What is said beside a profile takes its place."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {"max_examples": 8, "grades": False},
    "full": {"max_examples": 100},
    "soak": {"max_examples": 2000},
}
"""Options of :func:`verify.check` by profile: while one works, as evidence, and overnight."""
USUAL = "full"
"""The profile of a check where none is named."""


def resolve_options(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a check: those of a layer take the place of those before it, each after the profile that it names."""
    found = dict(PROFILES[USUAL])
    for layer in layers:
        if layer.get("profile") is not None:
            found = {key: value for key, value in found.items() if key not in ("time_limit", "grades")}
            found |= PROFILES[check_profile(layer["profile"])]
        found |= {key: value for key, value in layer.items() if value is not None and key != "profile"}
    return found


def check_profile(name: Any) -> str:
    """The name of a profile.

    Raises:
        Unusable: there is none of that name; one line.
    """
    from verify.faults import Unusable

    if name == "default":
        raise Unusable("the profile default is called full now")
    if name not in PROFILES:
        raise Unusable(f"profile is one of {', '.join(PROFILES)}; got {name!r}")
    return str(name)


def read_given_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of a check that stand on the command line; None for those that do not.

    Raises:
        Unusable: a device that cannot be used.
    """
    if given.device != "cpu":
        from verify.subject.options import usable_device

        usable_device(given.device)
    return {
        "profile": given.profile,
        "max_examples": given.max_examples,
        "seed": given.seed,
        "dtypes": tuple(dict.fromkeys(given.dtype)) if given.dtype else None,
        "device": given.device,
        "accuracy": given.accuracy,
        "time_limit": given.time_limit,
    }


def complete_options(given: argparse.Namespace, profile: str = USUAL) -> dict[str, Any]:
    """The options of a check, with those that nothing is said of as its profile has them, or this one where none is named.

    Raises:
        Unusable: a device that cannot be used.
    """
    return record_options(given, resolve_options({"profile": profile}, read_given_options(given)))


def record_options(given: argparse.Namespace, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a check, which also become what the documents say was given."""
    given.max_examples, given.seed = options["max_examples"], options.setdefault("seed", 0)
    return options


__all__ = [
    "PROFILES",
    "complete_options",
    "check_profile",
    "resolve_options",
    "read_given_options",
    "record_options",
]
