from dataclasses import replace

import pytest

from examples import elmo
from impl.texts import bank

TINY = elmo.Settings(seed=7, epochs=2, width=8, layers=1)


@pytest.fixture(scope="module")
def result():
    """What a tiny run finds."""
    return elmo.run(TINY)


def test_a_run_trains_and_measures_every_layer(result):
    """Held-out sentences become likelier; the word's own vector is the same everywhere, the others are not."""
    assert result.perplexity_after < result.perplexity_before / 1.5
    own, first, mixed = result.trained
    # A vector's cosine with itself misses 1 by the rounding of three sums of its squares, in float32.
    rounding = 3 * (2 * TINY.width + 3) * 2**-24
    assert (own.within, own.between) == pytest.approx((1.0, 1.0), abs=rounding)
    assert own.nearest is None
    for each in (first, mixed):
        assert -1 <= each.between < 1
        assert -1 <= each.within < 1
        assert 0 <= each.nearest <= 1


def test_equal_seeds_give_equal_figures(result):
    """All but the time it took; another seed gives others."""
    assert elmo.run(TINY) == result
    assert elmo.run(replace(TINY, seed=11)).trained != result.trained


def test_no_sentence_is_both_trained_and_measured_on():
    """Every fifth sentence with "bank" of either subject is held out; what is printed as not in the text is not."""
    training, measured = elmo.split(bank(), TINY)
    assert not set(training) & set(measured)
    assert len(training) + len(measured) == len(bank())
    subjects = [each.subject for each in measured]
    assert subjects.count("river") == subjects.count("money") == 28
    assert all("bank" in each.words for each in measured)
    words = {word for each in training for word in each.words}
    for probe in elmo.PROBES:
        assert set(probe.split()) <= words
        assert tuple(probe.split()) not in {each.words for each in bank()}


def test_the_command_prints_what_it_found(capsys):
    """As the module's docstring says; --help and a wrong number, too."""
    elmo.main(["--epochs", "1", "--seed", "7"])
    printed = capsys.readouterr().out
    assert "epoch  1: perplexity" in printed
    assert "LSTM layer 2" in printed
    with pytest.raises(SystemExit) as caught:
        elmo.main(["--epochs", "0"])
    assert caught.value.code == 2
    assert "expected epochs >= 1; got 0" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        elmo.main(["--help"])
    assert caught.value.code == 0
    assert "--seed" in capsys.readouterr().out
