"""All written claims: importing this looks into every module of this package, each of which fills the register."""

from importlib import import_module
from pkgutil import iter_modules

import tests.attack
from tests.attack.board import CLAIMS

NO_REGISTERS = ("__main__", "claims", "test_attack")
for found in iter_modules(tests.attack.__path__):
    if found.name not in NO_REGISTERS:
        import_module(f"tests.attack.{found.name}")

__all__ = ["CLAIMS"]
