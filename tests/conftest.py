"""For all tests: Hypothesis draws the same examples in every run, and impl's annotations are enforced in its own tests.

Elsewhere, and in tests marked ``compiled``, they are not: torch.compile cannot trace through the check. Other examples than
the usual ones come with ``pytest --hypothesis-profile=explore``.
"""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, database=None, deadline=None)
settings.load_profile("same")

install_import_hook("impl", "beartype.beartype")  # before anything imports impl
config.update("jaxtyping_disable", True)

# A sixth of the time would go to the garbage collector. Terms and tensors are freed by their counts; cycles are rare, and may lie
# about for longer.
gc.set_threshold(50_000, 20, 20)

PROVING = Path(__file__).parent / "spec" / "test_theorems.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of theorems come first, those that need the pages built last: the first leave what they have proved for these.

    However the tests are dealt out, a process that is done early takes what is last in another's list, and must not find there
    a build that proves everything once more.
    """

    def turn(item: pytest.Item) -> int:
        return 2 if "site" in getattr(item, "fixturenames", ()) else int(item.path != PROVING)

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not walk it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _annotations(request: pytest.FixtureRequest) -> Iterator[None]:
    of_impl = Path(__file__).parent / "impl" in request.path.parents
    config.update("jaxtyping_disable", not of_impl or bool(request.node.get_closest_marker("compiled")))
    yield
    config.update("jaxtyping_disable", True)
