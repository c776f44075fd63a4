import pytest
import torch

from examples import scaling

TINY = scaling.Settings(
    seed=7, seeds=1, widths=(4, 8, 12, 16), layers=1, heads=2, length=11, batch=5, steps=20
)


@pytest.fixture(scope="module")
def result():
    """What a tiny run finds."""
    return scaling.run(TINY)


def test_parameters_are_the_rule_and_what_the_theorem_adds(result):
    """12·L·d² + 13·L·d, and 2·d for the last normalization."""
    for run in result.runs:
        assert run.by_rule == 12 * run.width**2
        assert run.parameters == run.by_rule + 13 * run.width + 2 * run.width
        assert 0 < run.loss < 8


def test_no_file_is_both_trained_and_measured_on():
    """A tenth of the files is held out; pieces are the text's, and begin anywhere."""
    text, held_out = scaling.texts()
    assert len(held_out) < len(text)
    short = torch.arange(7, dtype=torch.uint8)
    pieces = scaling.rows(short, 50, 5, torch.Generator().manual_seed(0))
    assert {tuple(piece.tolist()) for piece in pieces} == {tuple(range(i, i + 5)) for i in range(3)}


def test_a_record_is_read_as_it_was_written_and_drawn(result, tmp_path, capsys):
    """With both laws and their intervals; too few steps are refused."""
    scaling.record(result, tmp_path / "7.json")
    assert scaling.recorded(tmp_path / "7.json")[0] == result
    scaling.draw(result, tmp_path / "7.svg")
    assert "the paper's slope, 0.076" in (tmp_path / "7.svg").read_text()
    assert "power alone" in scaling.summary(result)
    with pytest.raises(SystemExit):
        scaling.main(["--steps", "3"])
    assert "expected steps >= 20; got 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--record", "."], "--record: expected a file; . is a folder"),
        (["--draw", "7.txt"], "--draw: expected a name that ends in "),
        (["--draw", "file/7.svg"], "--draw: expected a folder that can be written to; file: "),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(given, said, tmp_path, monkeypatch, capsys):
    """A folder, an ending that no picture has, a folder that is a file; one that is missing is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scaling, "run", lambda *_: pytest.fail("it was trained"))
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        scaling.main(["--record", "new/7.json", *given])
    assert said in capsys.readouterr().err
    assert given[0] == "--record" or (tmp_path / "new").is_dir()
