from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.pretrain_bert.settings import SMALL, Settings

from .conftest import toml


def test_a_file_says_what_a_run_is(tables: dict[str, Any], settings: Settings, tmp_path: Path) -> None:
    """Table by table; what is not said is as usual."""
    (tmp_path / "run.toml").write_text(toml(tables), encoding="utf-8")
    assert Settings.read(tmp_path / "run.toml") == settings
    assert settings.data.law.max_length == 23
    assert settings.config(67).max_length == 23
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")
    assert Settings.read(tmp_path / "empty.toml") == Settings()


def test_the_file_that_is_shipped_says_every_setting() -> None:
    """So that whoever copies it sees them; there is none that nothing knows."""
    shipped = Settings.read(SMALL).state()
    text = SMALL.read_text(encoding="utf-8")
    for table, values in shipped.items():
        assert f"[{table}]" in text
        assert all(f"{name} = " in text for name in values if name != "filled")


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"texts": {}}, "no table texts is known"),
        ({"text": {"folder": "x"}}, r"\[text\] knows no folder"),
        ({"text": {"held_out": 1}}, "held_out >= 2"),
        ({"text": {"kinds": ["poems"]}}, "kinds of docstrings and source; got poems"),
        ({"model": {"width": 3}}, "unexpected keyword argument 'width'"),
        ({"model": {"d_model": 7, "heads": 2}}, "heads that divide d_model"),
        ({"model": {"max_length": 11}}, "expected max_length 128 of the model or more; got 11"),
        ({"data": {"task": "previous"}}, "task to be one of"),
        ({"data": {"max_length": 4}}, "max_length >= 5"),
        ({"training": {"steps": 0}}, "steps >= 1; got 0"),
        ({"training": {"sharding": "tp"}}, "sharding to be ddp or fsdp2"),
    ],
)
def test_what_no_run_can_be_of_is_refused_in_a_line(wrong: dict[str, Any], line: str, tmp_path: Path) -> None:
    """With the file."""
    (tmp_path / "wrong.toml").write_text(toml(wrong), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"wrong\.toml: .*{line}") as said:
        Settings.read(tmp_path / "wrong.toml")
    assert "\n" not in str(said.value)


def test_a_file_that_is_none_is_refused_in_a_line(tmp_path: Path) -> None:
    """As are one that is not there, and one that is no TOML."""
    (tmp_path / "no.toml").write_text("[text", encoding="utf-8")
    for name in ("no.toml", "none.toml"):
        with pytest.raises(ValueError, match=name):
            Settings.read(tmp_path / name)
