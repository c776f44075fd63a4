"""The example of long texts, at lengths that take no time: what is counted, found by gradients, fitted, and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples import lengths
from examples.lengths import WAYS, Measured, Settings

SHORT = Settings(seed=3, lengths=(64, 128), width=4, keys=32, rounds=1)
BY_NAME = {way.name: way for way in WAYS}


def to_all(name: str, n: int) -> int | None:
    """Layers until a place of n depends on all before it."""
    x = lengths.text(n, SHORT, dtype=torch.float64)
    return lengths.layers_to_all(lengths.layer(BY_NAME[name], n, SHORT), x)


@pytest.mark.parametrize(
    ("name", "n", "layers"),
    [
        ("all keys", 96, 1),
        ("window", 32, 1),  # its 32 keys are all there are
        ("window", 96, 3),  # 31 places a layer, of 83
        ("blocks (BigBird)", 96, 2),  # through a global block
        ("low rank (Linformer)", 96, 1),
        ("segments with memory", 96, 5),  # from place 83 to 64, 48, 32, 16, 0
        ("recurrence", 64, 1),
    ],
)
def test_gradients_find_how_many_layers_it_takes(name: str, n: int, layers: int) -> None:
    """As many as the reach of a layer says."""
    assert to_all(name, n) == layers


def test_what_no_layer_connects_is_said_so() -> None:
    """Two halves that never meet."""
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    halves = lambda x: torch.cat([x[:4].cumsum(0), x[4:].cumsum(0)])  # noqa: E731
    assert lengths.layers_to_all(halves, x) is None


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_layer_mixes_rows_into_as_many(way: lengths.Way) -> None:
    """Of finite numbers, forward and backward."""
    x = lengths.text(64, SHORT)
    lengths.both_passes(lengths.layer(way, 64, SHORT), x)
    assert x.grad is not None
    assert x.grad.shape == (64, 4)
    assert x.grad.isfinite().all()
    assert x.grad.any()


def test_powers_of_exact_counts_are_found() -> None:
    """The square, of seconds; none, of bytes; fitted to the longer half alone."""
    measured = [Measured("all keys", n, 2.0 * n**2 if n > 64 else 1.0, 7, 1) for n in (32, 64, 128, 256, 512)]
    found = lengths.powers(BY_NAME["all keys"], measured)
    assert found.seconds == pytest.approx(2)
    assert found.bytes == pytest.approx(0)


def test_a_run_is_printed_written_and_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command, with its picture."""
    monkeypatch.setattr(lengths, "Settings", lambda **given: replace(SHORT, **given))
    lengths.main(
        ["--record", str(tmp_path / "a.json"), "--draw", str(tmp_path / "a.svg"), "--longest", "128"]
    )
    monkeypatch.undo()
    result, made = lengths.recorded(tmp_path / "a.json")
    assert made["threads"] >= 1
    assert [each.way for each in result.powers] == [way.name for way in WAYS]
    assert {each.length for each in result.measured} == {64, 128}
    assert lengths.summary(result) in capsys.readouterr().out
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").count("segments with memory") >= 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--longest", "100"], "expected longest >= 256; got 100"),
        (["--rounds", "0"], "expected rounds >= 1; got 0"),
    ],
)
def test_what_cannot_be_run_is_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    with pytest.raises(SystemExit):
        lengths.main(given)
    assert said in capsys.readouterr().err
