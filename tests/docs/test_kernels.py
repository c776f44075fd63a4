"""The page on kernels says what the command recorded."""

from __future__ import annotations

from generate import kernels


def test_two_models_of_rounding_agree() -> None:
    """The median of each formula's ratios is within a factor of two, and nearly all entries are within four."""
    rows = kernels.record("spreads")["rows"]
    assert len(rows) >= 12
    for row in rows:
        assert 0.5 < row["median"] < 2, row
        assert 0.25 < row["low"] < row["high"] < 4, row
        assert row["formula_id"] in kernels.spreads()


def test_what_is_right_conforms_and_what_is_wrong_does_not() -> None:
    """Some that are wrong pass ``allclose``, and some that are right do not; each has a row."""
    rows = kernels.record("gates")["rows"]
    assert all((row["verdict"] == "conforms") is row["right"] for row in rows)
    assert sum(any(row["allclose"]) for row in rows if not row["right"]) >= 8
    assert sum(not all(row["allclose"]) for row in rows if row["right"]) >= 2
    assert kernels.wrong().count("<tr>") + kernels.right().count("<tr>") == len(rows) + 2
    wrong = sum(not row["right"] for row in rows)
    assert kernels.passed().startswith(f"Of {wrong} wrong kernels ")
    assert f"of {len(rows) - wrong} right ones" in kernels.passed()
