"""For all tests: Hypothesis draws the same examples in every run, and impl's annotations are enforced in its own tests.

Elsewhere, and in tests marked ``compiled``, they are not: torch.compile cannot trace through the check. Other examples than
the usual ones come with ``pytest --hypothesis-profile=explore``.
"""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that need the pages built come last: the tests of theorems leave for them what they have proved."""
    items.sort(key=lambda item: "site" in getattr(item, "fixturenames", ()))


@pytest.fixture(autouse=True)
def _annotations(request: pytest.FixtureRequest) -> Iterator[None]:
    of_impl = Path(__file__).parent / "impl" in request.path.parents
    config.update("jaxtyping_disable", not of_impl or bool(request.node.get_closest_marker("compiled")))
    yield
    config.update("jaxtyping_disable", True)
