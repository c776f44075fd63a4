"""The folder in which answers of statements are kept between runs, see :mod:`verify.remembered`."""

import os

CACHE = "ATTNSPEC_CACHE"
"""The variable of the environment that names it; nothing is kept where that is empty or not set."""


def by_default(wanted: bool) -> None:
    """Name a folder of the user's cache, unless the environment says where, or that there is none; or none, if not ``wanted``.

    Only the command does so; a program that calls :func:`verify.check` keeps nothing unless its environment says where.
    """
    if not wanted:
        os.environ[CACHE] = ""
    elif CACHE not in os.environ:
        from platformdirs import user_cache_dir

        os.environ[CACHE] = user_cache_dir("attnspec", appauthor=False)


__all__ = ["CACHE", "by_default"]
