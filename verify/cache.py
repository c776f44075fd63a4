"""The folder of the user's cache in which failing examples are kept, and what Hypothesis notes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

CACHE = "ATTNSPEC_CACHE"
"""The variable of the environment that names the folder; where it is empty nothing is kept."""
STORAGE = "HYPOTHESIS_STORAGE_DIRECTORY"
"""The variable that tells Hypothesis where its notes go; else it makes a folder in the one that one works in."""


def cache_folder() -> Path | None:
    """The user's cache folder, or the one that the environment names; None where nothing is to be kept."""
    named = os.environ.get(CACHE)
    if named == "":
        return None
    if named is not None:
        return Path(named).expanduser().absolute()
    from platformdirs import user_cache_dir

    try:
        return Path(user_cache_dir("attnspec", appauthor=False))
    except (RuntimeError, OSError):  # a user without a home
        return None


def keep_working_folder_clean() -> None:
    """Let Hypothesis keep its notes in the cache, where nobody else in this process has begun to use it."""
    if "hypothesis" not in sys.modules and STORAGE not in os.environ:
        folder = cache_folder() or Path(tempfile.gettempdir()) / "attnspec"
        os.environ[STORAGE] = str(folder / "hypothesis")


__all__ = ["CACHE", "cache_folder", "keep_working_folder_clean"]
