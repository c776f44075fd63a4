"""What an exception of a user's says is said in one line, whatever it is."""

from __future__ import annotations

import pytest

from verify.faults import complaint, describe_error


class MuteError(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("not even that")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("too\n  wide"), "ValueError: too wide"),
        (ValueError(), "ValueError"),
        (MuteError(), "MuteError"),
        (OSError("no file \udcff\ud800"), r"OSError: no file \udcff\ud800"),
    ],
)
def test_it_is_one_line_that_can_be_written(error: BaseException, said: str) -> None:
    """Line breaks, no text, a text that cannot be had, half a surrogate pair."""
    assert complaint(error) == said
    complaint(error).encode()


def test_a_long_text_is_cut() -> None:
    """Its beginning says what is wrong."""
    assert describe_error(ValueError("a" * 999)) == "a" * 240 + " …"
