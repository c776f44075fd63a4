import sys
from dataclasses import replace

import pytest
import torch

from examples import digits

pytest.importorskip("sklearn")
TINY = digits.Settings(seed=7, epochs=3, width=8, hidden=8, layers=1, heads=2, held_out=1700)


def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path):
    """The same curve, and the same weights; another run's checkpoint is refused."""

    class Interruption(KeyboardInterrupt):
        """What ends the first run."""

    def interrupt(point):
        if point.epoch == 2:
            raise Interruption

    path, whole = tmp_path / "checkpoint.pt", digits.Run(TINY)
    whole.train()
    with pytest.raises(Interruption):
        digits.Run(TINY).train(path, interrupt)
    again = digits.Run.resumed(TINY, path)
    assert len(again.curve) == 2
    again.train(path)
    assert again.curve == whole.curve
    for one, other in zip(whole.learners, again.learners, strict=True):
        for x, y in zip(one.model.parameters(), other.model.parameters(), strict=True):
            assert torch.equal(x, y)
    with pytest.raises(ValueError, match="belongs to"):
        digits.Run.resumed(replace(TINY, width=16), path)


def test_no_image_is_both_trained_and_measured_on():
    """Every image is in one of the two parts, by the seed."""
    images = digits.all_images()
    training, held = digits.split(images, digits.Settings())
    assert (len(training.digits), len(held.digits)) == (1198, 599)
    every = torch.cat((training.pixels, held.pixels)).flatten(1).sort(0).values
    assert torch.equal(every, images.pixels.flatten(1).sort(0).values)
    other, _ = digits.split(images, digits.Settings(seed=1))
    assert not torch.equal(training.digits, other.digits)


def test_an_image_is_moved_by_a_pixel_at_most():
    """A dot is found again next to where it was, in all nine places; what moves in is blank."""
    pixels = torch.zeros(200, 1, 8, 8)
    pixels[:, 0, 4, 3] = 1
    moved = digits.move(pixels, torch.Generator().manual_seed(3))
    assert moved.shape == pixels.shape
    places = {tuple(place) for place in moved[:, 0].nonzero()[:, 1:].tolist()}
    assert places == {(row, column) for row in (3, 4, 5) for column in (2, 3, 4)}
    assert torch.equal(moved.sum((1, 2, 3)), torch.ones(200))


def test_patches_are_blanked_whole_and_no_others():
    """Patch 6 of 16 is the second row of patches' third."""
    blanked = digits.blank(torch.ones(2, 1, 8, 8), torch.tensor([[6], [0]]))
    expected = torch.ones(8, 8)
    expected[2:4, 4:6] = 0
    assert torch.equal(blanked[0, 0], expected)
    assert blanked[1].sum() == 60
    assert not blanked[1, 0, :2, :2].any()


def test_the_command_prints_draws_and_records_what_it_found(tmp_path, capsys, monkeypatch):
    """What is printed stands in the record, which is read as it was; a wrong number and a missing library are one line."""
    monkeypatch.setattr(digits, "Settings", lambda: TINY)
    digits.main(["--seed", "7", "--epochs", "1", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    monkeypatch.undo()
    result, made = digits.recorded(tmp_path / "record.json")
    assert digits.summary(result) in printed
    assert set(result.right) == set(digits.NAMES)
    assert made["torch"] == torch.__version__
    assert (tmp_path / "digits.png").stat().st_size > 1000
    digits.record(result, tmp_path / "again.json")
    assert digits.recorded(tmp_path / "again.json")[0] == result
    with pytest.raises(SystemExit):
        digits.main(["--epochs", "0"])
    assert "expected epochs >= 1; got 0" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit):
        digits.main(["--out", str(tmp_path / "none")])
    assert "scikit-learn, which is not installed: pip install 'attnspec[examples]'" in capsys.readouterr().err
