"""The folder in which answers of statements are kept between runs, see :mod:`verify.remembered`."""

import os
from pathlib import Path

CACHE = "ATTNSPEC_CACHE"
"""The variable of the environment that names it; nothing is kept where that is empty or not set."""


def by_default(wanted: bool) -> None:
    """Name a folder of the user's cache, unless the environment says where, or that there is none; or none, if not ``wanted``.

    Only the command does so; a program that calls :func:`verify.check` keeps nothing unless its environment says where. What was
    said is made absolute: what is checked may change the directory.
    """
    named = os.environ.get(CACHE)
    if not wanted or named == "":
        os.environ[CACHE] = ""
        return
    try:
        if named is None:
            from platformdirs import user_cache_dir

            named = user_cache_dir("attnspec", appauthor=False)
        os.environ[CACHE] = str(Path(named).expanduser().absolute())
    except (RuntimeError, OSError):  # a user without a home
        os.environ[CACHE] = ""


__all__ = ["CACHE", "by_default"]
