"""Figures that answer, in a browser: what they compute is what ``impl`` does. Skipped where there is no Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch
from generate import law, real_weights, steps, tree, widgets
from playwright.sync_api import Browser, Locator

import impl.attention
import impl.positional
import impl.recurrent
from examples.real_weights import LETTERS, recorded_heads
from verify.laws.statistics import ALPHA, binomial_p

ASSETS = Path(widgets.__file__).parents[1] / "assets"

Open = Callable[[str], Locator]


@pytest.fixture
def figure(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """A figure by its name, on a page of its own, without a script that fails."""
    tmp_path.joinpath("assets").symlink_to(ASSETS)
    page = browser.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))

    def show(name: str) -> Locator:
        text = f'<meta charset="utf-8"><script src="assets/widgets/parts.js"></script>{widgets.shown(name)}'
        tmp_path.joinpath("page.html").write_text(text, encoding="utf-8")
        page.goto(tmp_path.joinpath("page.html").as_uri())
        return page.locator(".widget")

    yield show
    page.close()
    assert not failures


def told(figure: Locator, name: str) -> Any:
    """What a figure says of itself to scripts: numbers in full."""
    return json.loads(figure.get_attribute(f"data-{name}") or "")


def rows(figure: Locator, title: str) -> list[list[float]]:
    """The numbers of a table of the figure."""
    table = figure.locator(".results table").filter(
        has=figure.page.locator("caption", has_text=re.compile(f"^{title}$"))
    )
    found = [row.locator("td").all_inner_texts() for row in table.locator("tr").all()]
    return [[float(cell.replace("−", "-")) for cell in row] for row in found if row]


def test_attention_by_hand_is_what_the_library_computes(figure: Open) -> None:
    """Weights and contexts of the three tokens, to the three decimals that are shown; and when a key is hidden."""
    q, k, v = (torch.from_numpy(steps.layer()[name]) for name in "qkv")
    shown = figure("attention")
    z = impl.attention.scaled_dot_product(q, k, v)
    assert rows(shown, "z") == [[round(x, 3) for x in row] for row in z.tolist()]
    assert rows(shown, "weights") == [[round(float(x), 3) for x in row] for row in steps.layer()["a"]]
    shown.get_by_label("query 0 may attend to key 2").uncheck()
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[0, 2] = False
    z = impl.attention.scaled_dot_product(q, k, v, mask)
    assert rows(shown, "z") == [[round(x, 3) for x in row] for row in z.tolist()]


def test_the_width_of_keys_saturates_the_softmax(figure: Open) -> None:
    """At 64 entries, unscaled, as the figure begins; not when it is scaled."""
    shown = figure("saturation")
    scores = torch.tensor([told(shown, "values")["scores"]], dtype=torch.float64)
    assert told(shown, "largest") == pytest.approx(impl.attention.softmax(8 * scores).max().item())
    shown.get_by_label("divide by √d_k").check()
    assert told(shown, "largest") == pytest.approx(impl.attention.softmax(scores).max().item())


def test_heads_show_the_recorded_weights(figure: Open) -> None:
    """Of the sentence, layer, head and word that are chosen, by keys alone."""
    shown = figure("heads")
    found, _ = recorded_heads(real_weights.FOLDER / "heads.json")
    shown.get_by_label("sentence").select_option("2")
    shown.get_by_role("slider", name="layer").press("End")
    shown.get_by_role("slider", name="head").press("Home")
    word = shown.get_by_role("button", name="cabinet")
    word.press("Enter")
    n = len(found[2].tokens)
    at = found[2].tokens.index("cabinet")
    wanted = [LETTERS.index(x) / 63 for x in found[2].weights[-1][0][n * at : n * (at + 1)]]
    assert told(shown, "shares") == pytest.approx(wanted)
    assert word.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("sines_only", [False, True])
def test_clocks_multiply_positions_as_the_table_does(figure: Open, sines_only: bool) -> None:
    """From where one stands and from the beginning: the same with sines and cosines, another with sines alone."""
    shown = figure("clocks")
    shown.get_by_role("slider", name="position").fill("17")
    shown.get_by_role("slider", name="distance").fill("5")
    shown.get_by_label("sines only").set_checked(sines_only)
    pe = impl.positional.sinusoidal(23, 2 * widgets.HANDS, base=widgets.BASE, dtype=torch.float64)
    pe = pe[:, ::2] if sines_only else pe
    assert told(shown, "here") == pytest.approx((pe[17] @ pe[22]).item())
    assert told(shown, "zero") == pytest.approx((pe[0] @ pe[5]).item(), abs=1e-12)
    assert ("only the distance counts" in shown.get_by_role("status").inner_text()) is not sines_only


@pytest.mark.parametrize(
    "way", ["without positions", "with sinusoidal positions", "causal, without positions"]
)
def test_shuffled_words_are_attended_to_as_the_library_does(figure: Open, way: str) -> None:
    """In an order that is not the first one; every word keeps its output without positions, and only then."""
    shown = figure("shuffle")
    values = {
        name: torch.tensor(value, dtype=torch.float64)
        for name, value in told(shown, "values").items()
        if name != "words"
    }
    shown.get_by_label("attention").select_option(way)
    shown.get_by_role("button", name="shuffle").press("Enter")
    order = told(shown, "order")
    assert sorted(order) != order
    x = values["x"][order]
    if way.startswith("with "):
        x = x + impl.positional.sinusoidal(*x.shape, dtype=torch.float64)
    weights = [values[name] for name in ("W_q", "W_k", "W_v")]
    mask = impl.attention.masks.causal_mask(len(x), len(x)) if way.startswith("causal") else None
    wanted = impl.attention.self(x, *weights, mask)
    torch.testing.assert_close(torch.tensor(told(shown, "outputs"), dtype=torch.float64), wanted)
    assert ("every word" in shown.get_by_role("status").inner_text()) is (way == "without positions")


def test_cells_remember_what_those_of_the_library_do(figure: Open) -> None:
    """States of a plain cell, an LSTM and a GRU, at other weights than those at first; and the slopes by the first state."""
    shown = figure("memory")
    assert told(shown, "curves") == [pytest.approx(states) for states in widgets.remembered().values()]
    shown.get_by_role("slider", name="RNN").fill("1.2")
    shown.get_by_role("slider", name="LSTM").fill("4.5")
    shown.get_by_role("slider", name="GRU").fill("1")
    cells = {kind: dict(cell) for kind, cell in widgets.CELLS.items()}
    cells["rnn"]["W_hh"], cells["lstm"]["b_f"], cells["gru"]["b_z"] = 1.2, 4.5, 1.0
    wanted = widgets.remembered(cells)
    assert told(shown, "curves") == [pytest.approx(states) for states in wanted.values()]
    shown.get_by_label("show").select_option("1")
    plain, lstm, gru = told(shown, "curves")
    h = torch.tensor(wanted["RNN"], dtype=torch.float64)
    assert plain[1:] == pytest.approx((1.2 * (1 - h[1:] ** 2)).cumprod(0).tolist(), abs=1e-9)
    for slopes, bias in ((lstm, 4.5), (gru, 1.0)):
        kept = torch.tensor(bias, dtype=torch.float64).sigmoid().item()
        assert slopes == pytest.approx([kept**t for t in range(widgets.STEPS)], abs=1e-9)


def test_draws_of_masking_follow_the_law(figure: Open) -> None:
    """Counts of two thousand draws are what the law allows; [CLS] and [SEP] are never selected."""
    shown = figure("masking")
    for _ in range(20):
        shown.get_by_role("button", name="draw a hundred times").click()
    counts, draws = told(shown, "counts"), told(shown, "draws")
    assert draws == 2001
    ordinary = len(told(shown, "values")["tokens"]) - 2
    tests = [(sum(counts), draws * ordinary, float(law.constants()["rho"]))]
    tests += [
        (count, sum(counts), float(share)) for count, share in zip(counts, law.stated().values(), strict=True)
    ]
    assert min(binomial_p(*each) for each in tests) > ALPHA / len(tests)
    tokens = shown.locator(".tokens > span")
    assert tokens.first.inner_text() == "[CLS]"
    assert tokens.last.inner_text() == "[SEP]"


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_tree_keeps_the_beams_of_the_library(figure: Open, width: int) -> None:
    """At the end, and at every step on the way."""
    shown = figure("beams")
    shown.get_by_role("slider", name="width of the beam").fill(str(width))
    found = told(shown, "found")
    assert [tuple(text.split()) for text, _ in found] == tree.best(width)
    assert [p for _, p in found] == pytest.approx([tree.log_probability(text) for text in tree.best(width)])
    kept = {tuple((node.get_attribute("data-text") or "").split()) for node in shown.locator("g.kept").all()}
    assert kept == {(), *tree.kept(width)}


def test_without_scripts_the_tree_is_that_of_its_width(figure: Open) -> None:
    """What Python marks is what the script marks."""
    inside = re.compile(r'<g class="([^"]*)" data-text="([^"]*)">')
    shown = figure("beams")
    for width in (3, 2):
        shown.get_by_role("slider", name="width of the beam").fill(str(width))
        marked = [
            (node.get_attribute("class"), node.get_attribute("data-text"))
            for node in shown.locator("g").all()
        ]
        assert marked == inside.findall(unescape(tree.drawn(width)))


@pytest.mark.parametrize("name", list(widgets.WIDGETS))
def test_without_scripts_a_figure_shows_something(name: str) -> None:
    """What stands inside of it."""
    inside = re.search(r'<div class="widget"[^>]*>(.*)</div><figcaption>', widgets.shown(name))
    assert inside
    assert len(inside[1]) > 50


@pytest.mark.parametrize("name", list(widgets.WIDGETS))
def test_every_figure_has_a_script_of_its_name(name: str) -> None:
    """Which asks for the figure by that name."""
    assert f'widget("{name}", ' in (ASSETS / "widgets" / f"{name}.js").read_text(encoding="utf-8")
