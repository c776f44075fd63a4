"""The label of what has none."""

IGNORED = -100
"""What ``F.cross_entropy`` ignores by default."""
