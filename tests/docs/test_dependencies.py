"""What a page is made from is found by reading imports, in a small tree and in ours."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from generate.dependencies import Name, Sources
from generate.origins import Origins, Piece

from spec.language.registry import find

ROOT = Path(__file__).parents[2]
NAMES = {"page": "similarity.dot", "theorem": "similarity.dot.symmetric"}
TREE = {
    "spec/__init__.py": "",
    "spec/words.py": "from spec.language.expr import Sum\n__all__ = ['Sum']",
    "spec/language/__init__.py": "from spec.language import registering as registering",
    "spec/language/expr.py": "class Sum: ...",
    "spec/language/registering.py": "from spec.language.printing import known",
    "spec/language/printing.py": "known = {}",
    "spec/attention/__init__.py": "FORMULAS = ('softmax', 'causal')",
    "spec/attention/masks.py": "",
    "spec/attention/softmax.py": "from spec.attention.masks import permitted\nfrom spec.words import *\n",
    "spec/attention/causal.py": "from spec.attention.softmax import softmax",
    "spec/norms.py": "layer_norm = 0",
    "impl/__init__.py": "",
    "impl/checks.py": "",
    "impl/attention/__init__.py": "from impl.attention.weights import softmax\nfrom impl.attention.cut import causal as masked",
    "impl/attention/weights.py": "def softmax():\n    from .. import checks",
    "impl/attention/cut.py": "from impl.attention.weights import softmax",
    "docs/generate/__init__.py": "",
    "docs/generate/markup.py": "import json",
    "docs/generate/pictures.py": "from . import markup\nfrom spec.language.registry import find\nfind('norms.layer_norm')",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of small modules."""
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reached", "not_reached"),
    [
        # a formula's module, through a star, with the formulas it applies and without those that apply it
        (("spec.attention.softmax", ""), "spec/attention/masks.py spec/words.py spec/language/expr.py", "spec/norms.py"),
        (("spec.attention.causal", ""), "spec/attention/softmax.py spec/attention/masks.py", "spec/norms.py"),
        (("spec.attention.softmax", ""), "", "spec/attention/causal.py"),
        # a name of a package, where the package takes it from, under another name too; with the package's own file
        (("impl.attention", "softmax"), "impl/attention/__init__.py impl/attention/weights.py", "impl/attention/cut.py"),
        (("impl.attention", "masked"), "impl/attention/cut.py impl/attention/weights.py", "impl/none.py"),
        # the whole of a package, an import within a function, and dots
        (("impl.attention", ""), "impl/attention/cut.py impl/attention/weights.py impl/checks.py", "spec/words.py"),
        (("generate.pictures", ""), "docs/generate/pictures.py docs/generate/markup.py", "spec/words.py"),
        # a module that its package imports for what importing it does
        (("spec.language.expr", "Sum"), "spec/language/registering.py spec/language/printing.py", "spec/words.py"),
        # a formula that is asked for by its ID
        (("generate.pictures", ""), "spec/norms.py", "spec/attention/softmax.py"),
        # modules of somebody else's
        (("sympy.core", "Basic"), "", "sympy/core.py"),
    ],
)  # fmt: skip
def test_imports_are_followed(tree: Path, name: Name, reached: str, not_reached: str) -> None:
    """To all that a name comes from, and to nothing else."""
    found = {str(path.relative_to(tree)) for path in Sources(tree).reached(name)}
    assert set(reached.split()) <= found
    assert not_reached not in found


def test_a_module_left_apart_takes_its_own_with_it(tree: Path) -> None:
    """What nobody else takes is left apart too."""
    found = Sources(tree).reached(("spec.attention.causal", ""), apart=["spec.attention.softmax"])
    assert {path.name for path in found} == {"__init__.py", "causal.py"}


def test_a_digest_tells_a_change_in_what_is_reached_and_in_nothing_else(tree: Path) -> None:
    """A letter in a file, or a file elsewhere."""

    def digest() -> str:
        sources = Sources(tree)
        return sources.digest(sources.reached(("spec.attention.softmax", "")))

    before = digest()
    (tree / "spec/norms.py").write_text("layer_norm = 1", encoding="utf-8")
    assert digest() == before
    (tree / "spec/attention/masks.py").write_text("permitted = 1", encoding="utf-8")
    assert digest() != before


def test_a_file_changed_since_it_was_read_is_noticed(tree: Path) -> None:
    """And so is one that is gone."""
    sources = Sources(tree)
    files = sources.reached(("spec.attention.softmax", ""))
    sources.digest(files)
    assert sources.unchanged(files)
    (tree / "spec/words.py").unlink()
    assert not sources.unchanged(files)


OURS = Sources(ROOT)


class Edited(Sources):
    """Our modules, one of which holds something else; read and parsed but once for all tests."""

    def __init__(self, module: str, old: bytes, new: bytes) -> None:
        vars(self).update(vars(OURS), _hashes={}, _essences={})
        self._edited, self._old, self._new = self.file(module), old, new

    def read(self, path: Path) -> bytes:
        """As on the disk, but for the one."""
        text = super().read(path)
        if path != self._edited:
            return text
        assert self._old in text
        return text.replace(self._old, self._new, 1) if self._old else text + self._new


def changed(module: str, old: bytes = b"", new: bytes = b"\nmore = 1\n") -> set[tuple[str, str]]:
    """The pieces that are made anew when a module changes: by a line at its end, where nothing is replaced."""
    after = Origins(Edited(module, old, new))
    return {piece for piece, digest in unedited().items() if digest != after.digest(piece)}


@cache
def unedited() -> dict[Piece, str]:
    """The digest of each piece as the modules are, taken once for all tests."""
    origins = Origins(OURS)
    return {piece: origins.digest(piece) for piece in origins.pieces}


def test_a_change_of_one_statement_changes_what_is_made_from_it() -> None:
    """A formula that no other applies: its page and its theorems. One that others apply: theirs, too."""
    module, _ = OURS.statement("objectives.warmup")
    found = changed(module)
    assert {name for kind, name in found if kind == "page"} == {"objectives.warmup"}
    theorems = {name for kind, name in found if kind == "theorem"}
    assert theorems == {f"objectives.warmup.{name}" for name in find("objectives.warmup").theorems}
    module, _ = OURS.statement("attention.softmax")
    dependents = {("theorem", "attention.scaled_dot_product.convex_hull"), ("page", "attention.causal")}
    assert dependents <= changed(module)


def test_a_change_of_a_cited_theorem_changes_those_that_rest_on_it() -> None:
    """And those that rest on these; another theorem of the same formula is not changed by it."""
    title = find("attention.multi_head").theorems["padding"].title.encode()
    after = Origins(Edited("spec.attention.multi_head", title, b"Something else"))
    rests = (
        "attention.multi_head.padding",
        "transformer.encoder_layer.padding",
        "transformer.encoder.padding",
    )
    for name in (*rests, "transformer.encoder_layer.permutation_equivariant"):
        piece = ("theorem", name)
        assert (unedited()[piece] != after.digest(piece)) == (name in rests), name


def test_a_change_of_reasons_changes_one_page() -> None:
    """Proofs do not depend on them, nor do formulas that apply this one; what the checker prints of it may."""
    found = changed("spec.attention.softmax", b'why="', b'why="Once more: ')
    assert {piece for piece in found if piece[0] != "output"} == {("page", "attention.softmax")}


def test_a_change_of_one_theorem_changes_it_and_its_page() -> None:
    """And nothing else is proved again."""
    found = changed("spec.attention.softmax", b"The Jacobian of a row", b"The Jacobian of one row")
    pieces = {("theorem", "attention.softmax.jacobian"), ("page", "attention.softmax")}
    assert {piece for piece in found if piece[0] != "output"} == pieces


def test_a_change_of_a_line_changes_every_theorem_of_its_formula() -> None:
    """Of this one and of those that apply it."""
    found = changed("spec.attention.softmax", b'"fully_masked",', b'"fully_masked_too",')
    own = {("theorem", f"attention.softmax.{name}") for name in find("attention.softmax").theorems}
    assert own | {("theorem", "attention.multi_head.heads")} <= found
    assert not {name for kind, name in found if kind == "theorem" and name.startswith("normalization.")}


def test_an_implementation_has_no_part_in_proofs() -> None:
    """A change of it changes the pages on which it, or what calls it, is shown and measured, and what commands print; no section
    of theorems.
    """
    found = changed("impl.positional")
    shown = {"positional.sinusoidal", "positional.rotary", "transformer.decoder"}
    assert shown <= {name for _, name in found}
    assert {kind for kind, _ in found} == {"page", "output"}
    assert ("page", "attention.softmax") not in found


def test_a_change_of_the_language_changes_everything() -> None:
    """Whichever part of it."""
    assert changed("spec.language.proving.rules.sums") == set(Origins(OURS).pieces)


def test_another_way_to_write_a_statement_has_no_part_in_proofs() -> None:
    """As matrices: pages show it, derivations do not. What writes derivations has a part in them."""
    assert {kind for kind, _ in changed("spec.language.render.matrices.forms")} >= {"page"}
    assert "theorem" not in {kind for kind, _ in changed("spec.language.render.matrices.forms")}
    assert "theorem" in {kind for kind, _ in changed("spec.language.render.printer")}


LOADED = """
import json, sys
from spec.language.registry import formulas
from generate import formula_page, theorems
formula_page.page(formulas()["similarity.dot"])
theorems.make("similarity.dot.symmetric")
print(json.dumps([m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)]))
"""


def test_nothing_that_runs_while_a_page_is_made_is_overlooked() -> None:
    """The generators and what they use of the checker and of the language, as a process has loaded them in the end."""
    path = f"{ROOT / 'docs'}:{ROOT}"
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    origins = Origins(OURS)
    files = {path for kind in ("page", "theorem") for path in origins.files((kind, NAMES[kind]))}
    parts = [ROOT / "docs", ROOT / "verify", ROOT / "spec" / "language"]
    loaded = [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]
    ours = {path for path in loaded if any(path.is_relative_to(part) for part in parts)}
    # Figures of other formulas are imported, and not drawn.
    others = OURS.reached(*((module, "") for module in OURS.modules("generate.figures")))
    assert len(ours) > 50
    assert ours <= files | others
