"""Which conventions a callable follows."""

from verify.search.nearest import combinations

__all__ = ["combinations"]
