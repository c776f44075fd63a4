"""A script of copies: what they need, what they are, and behind them the case."""

from __future__ import annotations


def standalone(
    reproduces: str, said: str, violated: str, above: str, target: str, case: str, written: str = ""
) -> str:
    """The whole script: ``above`` are imports and copies, ``case`` speaks of ``checked``, the callable.

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
            '"""' + title.replace("\\", "\\\\").replace('"""', "'''"),
            '"""',
            "from __future__ import annotations",
            "",
            above,
            "",
            "",
            "# The case: what stands above is attnspec's, as it stands there.",
            f"from {module} import {root}",
            "",
            f"checked = {written or name}",
            case,
            "",
        ]
    )


__all__ = ["standalone"]
