"""For all tests: impl's shape and type annotations are enforced in its own tests.

Elsewhere, and in tests marked ``compiled``, they are not: torch.compile cannot trace through the check.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jaxtyping import config, install_import_hook

install_import_hook("impl", "beartype.beartype")  # before anything imports impl
config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _annotations(request: pytest.FixtureRequest) -> Iterator[None]:
    of_impl = Path(__file__).parent / "impl" in request.path.parents
    config.update("jaxtyping_disable", not of_impl or bool(request.node.get_closest_marker("compiled")))
    yield
    config.update("jaxtyping_disable", True)
