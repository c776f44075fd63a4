"""Profiles: how much is asked of a target, in one word. What is said beside a profile takes its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {"max_examples": 8, "time_limit": 1.5},
    "default": {"max_examples": 100},
    "soak": {"max_examples": 2000},
}
"""Options of :func:`verify.check` by profile: before each commit, as usual, and overnight."""


def resolved(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a check: those of a layer take the place of those before it, each after the profile that it names."""
    found = dict(PROFILES["default"])
    for layer in layers:
        if layer.get("profile") is not None:
            found = {key: value for key, value in found.items() if key != "time_limit"}
            found |= PROFILES[layer["profile"]]
        found |= {key: value for key, value in layer.items() if value is not None and key != "profile"}
    return found


__all__ = ["PROFILES", "resolved"]
