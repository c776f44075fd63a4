"""Figures that answer, in a browser: what they compute is what ``impl`` does. Skipped where there is no Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
import torch
from generate import steps, widgets

import impl.attention

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def browse(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The chapter with both figures, as a browser draws it, and what it says on the way."""
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", *options, "--dump-dom"]
    page = (site / "chapter_03_attention.html").as_uri()
    return subprocess.run([*command, page], capture_output=True, text=True, timeout=300, check=True)


@pytest.fixture(scope="module")
def drawn(site: Path) -> str:
    """The chapter as the browser has drawn it."""
    return browse(site, "--virtual-time-budget=5000").stdout


def rows(drawn: str, title: str) -> list[list[float]]:
    """The numbers of a table of the figure."""
    found = re.search(
        rf'<div class="results".*?<caption>{title}</caption><tbody>(.*?)</tbody>', drawn, re.DOTALL
    )
    assert found
    cells = [
        re.findall(r"<td>(?:<span[^>]*>)?([^<]*)", row) for row in found[1].split("</tr>") if "<td>" in row
    ]
    return [[float(unescape(cell).replace("−", "-")) for cell in row] for row in cells]


@in_browser
def test_attention_by_hand_is_what_the_library_computes(drawn: str) -> None:
    """Weights and contexts of the three tokens, to the three decimals that are shown."""
    q, k, v = (torch.from_numpy(steps.layer()[name]) for name in "qkv")
    z = impl.attention.scaled_dot_product(q, k, v)
    assert rows(drawn, "z") == [[round(x, 3) for x in row] for row in z.tolist()]
    assert rows(drawn, "weights") == [[round(float(x), 3) for x in row] for row in steps.layer()["a"]]


@in_browser
def test_the_width_of_keys_saturates_the_softmax(drawn: str) -> None:
    """At 64 entries, unscaled, as the figure begins."""
    found = re.search(r'data-widget="saturation" data-values="(.*?)" data-largest="([\d.]+)"', drawn)
    assert found
    scores = torch.tensor([json.loads(unescape(found[1]))["scores"]], dtype=torch.float64)
    assert float(found[2]) == pytest.approx(impl.attention.softmax(8 * scores).max().item())


@in_browser
def test_no_script_fails(site: Path) -> None:
    """Nothing is written to the console of the pages with figures."""
    assert "CONSOLE" not in browse(site, "--enable-logging=stderr").stderr


@pytest.mark.parametrize("name", list(widgets.WIDGETS))
def test_without_scripts_a_figure_shows_something(name: str) -> None:
    """What stands inside of it."""
    inside = re.search(r'<div class="widget"[^>]*>(.*)</div><figcaption>', widgets.shown(name))
    assert inside
    assert len(inside[1]) > 50
