"""A script of copies: what they need, what they are, and behind them the case."""

from __future__ import annotations

from verify.scripting.literals import commented


def standalone(
    reproduces: str, said: str, violated: str, above: str, target: str, case: str, written: str = ""
) -> str:
    """The whole script: ``above`` are imports and copies, ``case`` speaks of ``checked``, the callable.

    The callable is imported first: whatever it is called, the name is free again for what follows.

    Args:
        reproduces: which check of what.
        said: what was found.
        violated: what does not hold.
        above: what the case speaks of.
        target: ``module:callable``.
        case: the lines that end the script.
        written: how the callable is made of what is imported, where it is not that itself.
    """
    module, _, name = target.partition(":")
    root = name.partition(".")[0]
    title = "\n".join(
        [f"Reproduces: {reproduces}.", "", said, *([f"Violated: {violated}"] if violated else [])]
    )
    return "\n".join(
        [
            '"""' + commented(title),
            '"""',
            "from __future__ import annotations",
            "",
            *(["import verify"] if written.startswith("verify.") else []),
            f"from {module} import {root}",
            "",
            f"checked = {written or name}",
            "",
            "# What follows is attnspec's, as it stands there.",
            above,
            "",
            "",
            "# The case.",
            case,
            "",
        ]
    )


__all__ = ["standalone"]
