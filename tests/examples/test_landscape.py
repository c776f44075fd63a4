from dataclasses import replace

import pytest
import torch

from examples import landscape

TINY = landscape.Settings(seed=7, blocks=2, width=11, points=67, steps=13, batch=17, grid=5)


@pytest.fixture(scope="module")
def result():
    """What a tiny run finds."""
    return landscape.run(TINY)


def test_the_middle_of_a_surface_is_the_trained_network(result):
    """Both networks have as many weights, and a loss at every point of the grid."""
    assert [each.residual for each in result.surfaces] == [True, False]
    for surface in result.surfaces:
        assert len(surface.loss) == 5
        assert surface.loss[2][2] == pytest.approx(surface.trained, rel=1e-3)
        assert len({value for row in surface.loss for value in row}) > 1


def test_both_networks_begin_with_the_same_weights_and_equal_seeds_give_equal_figures(result):
    """They differ in what they add alone; all but the time is reproduced."""
    one, other = (landscape.Network(TINY, residual) for residual in (True, False))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    x, _ = landscape.spirals(3, torch.Generator().manual_seed(0))
    assert not torch.allclose(one(x), other(x))
    assert landscape.run(TINY) == result
    assert landscape.run(replace(TINY, seed=11)) != result


def test_minima_are_lower_than_all_their_neighbours():
    """Two dips among hills; an edge of the grid is none, nor is a plain."""
    loss = torch.ones(5, 7)
    loss[1, 1] = loss[3, 5] = loss[0, 3] = 0
    assert landscape.count_minima(loss) == 2
    assert landscape.count_minima(torch.ones(5, 7)) == 0


def test_the_command_draws_and_records(result, tmp_path, capsys):
    """As the module's docstring says; a record is read as it was written; a grid of two points is refused."""
    landscape.record(result, tmp_path / "7.json")
    assert landscape.recorded(tmp_path / "7.json")[0] == result
    landscape.draw(result, tmp_path / "7.svg")
    assert "without" in (tmp_path / "7.svg").read_text()
    assert "with residual connections" in landscape.summary(result)
    with pytest.raises(SystemExit):
        landscape.main(["--grid", "2"])
    assert "expected grid >= 3; got 2" in capsys.readouterr().err
