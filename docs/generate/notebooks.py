"""Chapters as Jupyter notebooks: their text, their code, and after each statement its lines in SymPy, to play with."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spec.language.registry import find

from . import book, directives

CODE = re.compile(r"^( *)```python\n(.*?)^ *```\n?", re.MULTILINE | re.DOTALL)
STATED = re.compile(r"\{\{ *statement ([a-z_.]+)[^}]*\}\}")
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
ANSWER = re.compile(r'^( *)\?\?\?\+? \w+ "(.*?)"\n\n((?:\1    .*\n|\n)+)', re.MULTILINE)
SCRIPTED = re.compile(r' data-values="[^"]*"|<script.*?</script>')
"""What makes a figure answer: Jupyter runs no script of a text, and shows what stands inside of the figure."""
LINES = 12
"""Primitive lines of a statement up to which it is worth reading as equations of SymPy."""


def write(folder: Path) -> None:
    """Write every chapter as a notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in book.chapters():
        text = json.dumps(notebook(name), ensure_ascii=False, indent=1)
        folder.joinpath(name).with_suffix(".ipynb").write_text(f"{text}\n", encoding="utf-8")


def notebook(name: str) -> dict[str, Any]:
    """A chapter in Jupyter's format 4.5, without outputs."""
    return {
        "cells": [{**cell, "id": f"cell-{place}"} for place, cell in enumerate(_cells(name))],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cells(name: str) -> Iterator[dict[str, Any]]:
    text = FRONT.sub("", (book.DOCS / name).read_text(encoding="utf-8"))
    text = ANSWER.sub(_unfolded, text)
    place = 0
    for found in CODE.finditer(text):
        yield from _prose(text[place : found.start()])
        yield _code(textwrap.dedent(found[2]))
        place = found.end()
    yield from _prose(text[place:])


def _unfolded(answer: re.Match[str]) -> str:
    """An answer that opens on a click, as plain text: Jupyter folds nothing."""
    inside = textwrap.indent(textwrap.dedent(answer[3]), answer[1])
    return f"{answer[1]}**{answer[2]}**\n\n{inside}"


def _prose(text: str) -> Iterator[dict[str, Any]]:
    """Text; after each statement that is short enough, its lines in SymPy."""
    place = 0
    for found in STATED.finditer(text):
        if len(find(found[1]).flat().lines) <= LINES:
            yield from _markdown(text[place : found.end()])
            yield _code(f'import spec\n\nspec.to_sympy("{found[1]}")')
            place = found.end()
    yield from _markdown(text[place:])


def _markdown(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():
        filled = re.sub(r"\]\(([\w.]+)\.md", r"](../\1.html", directives.fill(text.strip("\n")))
        filled = re.sub(r'href="([\w.]+\.html)', r'href="../\1', filled)
        filled = SCRIPTED.sub("", filled)
        yield {"cell_type": "markdown", "metadata": {}, "source": filled}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source.rstrip("\n"),
    }
