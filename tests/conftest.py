"""For all tests: Hypothesis draws the same examples in every run, and impl's annotations are enforced in its own tests.

Elsewhere, and in tests marked ``compiled``, they are not: torch.compile cannot trace through the check. Other examples than
the usual ones come with ``pytest --hypothesis-profile=explore``. ``allowed`` says how far apart two correct results may be where
no statement bounds them.
"""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, database=None, deadline=None)
settings.load_profile("same")

# Tests keep no failing examples between runs, but those that are about that.
os.environ["ATTNSPEC_CACHE"] = ""

install_import_hook("impl", "beartype.beartype")  # before anything imports impl
config.update("jaxtyping_disable", True)

# A sixth of the time would go to the garbage collector. Terms and tensors are freed by their counts; cycles are rare, and may lie
# about for longer.
gc.set_threshold(50_000, 20, 20)

PROVING = Path(__file__).parent / "spec" / "test_theorems.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of theorems come first, those that need the pages built late: the first leave what they have proved for these.

    But not last. The pages are built by one process, most of the time on one core, and nobody else has anything to do by then
    if nothing comes after them.
    """
    proving = [item for item in items if item.path == PROVING]
    reading = [item for item in items if "site" in getattr(item, "fixturenames", ())]
    apart = {*proving, *reading}
    others = [item for item in items if item not in apart]
    late = len(others) * 9 // 10
    items[:] = [*proving, *others[:late], *reading, *others[late:]]


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


@pytest.fixture
def allowed() -> Callable[[Callable[[Any], Any], Any], float]:
    """How far a correct result in ``dtype`` may be from the same in float64, or another correct one in float64: eight times the
    largest difference that float32 makes in the computation ``f``, times the ratio of the types' precisions.

    The rounding errors of two orders of summation are two draws of the same kind, and their maxima over a hundred entries or more
    are within a small factor of one another; eight leaves room for that. A wrong mask, place or scale is off by 10⁵ times
    as much in float32, and by 10¹⁴ in float64.
    """
    import torch  # which the tests of spec do without

    def of(f: Callable[[Any], Any], dtype: Any) -> float:
        unit = (f(torch.float32) - f(torch.float64)).abs().max().item()
        assert unit > 0
        return 8 * unit * torch.finfo(dtype).eps / torch.finfo(torch.float32).eps

    return of
