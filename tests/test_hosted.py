"""What other projects take from this repository by its address: a hook of pre-commit, and an action for hosted CI."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "docs" / "samples" / "project"


def read(name: str) -> Any:
    """A YAML file at the root."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A search path on which ``attnspec`` is this source tree's command."""
    command = tmp_path / "bin" / "attnspec"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m verify "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return f"{command.parent}{os.pathsep}{os.environ['PATH']}"


def run(command: str, folder: Path, path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell, as pre-commit and an action do."""
    given = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=given, capture_output=True, text=True, check=False
    )


def test_the_hook_checks_a_projects_targets(path: str, tmp_path: Path) -> None:
    """No names of files are passed; it exits as the command does, and takes the command's options, such as a report."""
    (hook,) = read(".pre-commit-hooks.yaml")
    assert hook["id"] == "attnspec"
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    project = shutil.copytree(PROJECT, tmp_path / "project")
    done = run(f"{hook['entry']} --jobs 1 --max-examples 3 --junit report.xml", project, path)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    suites = [suite.get("name", "") for suite in ET.parse(project / "report.xml").iter("testsuite")]
    listed = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["attnspec"]["target"]
    assert len(suites) == len(listed)
    assert all(any(each.get("name", each["callable"]) in suite for suite in suites) for each in listed)


def test_the_action_installs_and_verifies_with_a_report(tmp_path: Path) -> None:
    """Every input is said and used; nothing that is given becomes a part of a script's text."""
    action = read("action.yml")
    assert action["runs"]["using"] == "composite"
    _, install, verify = action["runs"]["steps"]
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, given in action["inputs"].items():
        assert given["description"]
        assert f"inputs.{name} " in text
    for step in (install, verify):
        assert "${{" not in step["run"]
    said = tmp_path / "said"
    (tmp_path / "bin").mkdir()
    for command in ("python", "attnspec"):
        stand_in = tmp_path / "bin" / command
        stand_in.write_text(
            f'#!/bin/sh\nprintf "%s\\n" {command} "$@" >> {shlex.quote(str(said))}\n', encoding="utf-8"
        )
        stand_in.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for step, given in (
        (install, {"ATTNSPEC": "/an action", "INSTALL": "-e ."}),
        (verify, {"JUNIT": "a report.xml", "ARGUMENTS": "--profile full"}),
    ):
        assert given.keys() == step["env"].keys()
        assert run(step["run"], tmp_path, path, **given).returncode == 0
    assert said.read_text(encoding="utf-8").splitlines() == [
        *("python", "-m", "pip", "install", "/an action", "-e", "."),
        *("attnspec", "verify", "--junit", "a report.xml", "--profile", "full"),
    ]


def test_badges_say_what_the_project_file_says() -> None:
    """Version, Python and licence, in the picture and in the words for who does not see it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told = {
        "version": project["version"],
        "Python": project["requires-python"].replace(">=", "≥"),
        "licence": project["license"],
    }
    shown = re.findall(
        r"!\[(.*?)\]\(https://img\.shields\.io/badge/(.*?)-blue\)", (ROOT / "README.md").read_text("utf-8")
    )
    assert [words for words, _ in shown] == [f"{name} {value}" for name, value in told.items()]
    assert [unquote(picture).replace("--", "-") for _, picture in shown] == [
        f"{n}-{v}" for n, v in told.items()
    ]
