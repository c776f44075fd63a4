"""Kernels in Triton, each behind a ``backend="triton"`` of the function that it computes. None is chosen unless it is asked for.

They are for CUDA. Under Triton's interpreter (``TRITON_INTERPRET=1`` before the first use) they take tensors on the CPU, slowly:
so they are tested. They have not run on a GPU. Triton comes with ``attnspec[gpu]``; nothing imports it before it is needed.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from torch import Tensor

__all__: list[str] = []


def load(name: str, formula: str, x: Tensor) -> ModuleType:
    """The module ``name`` of this package, for tensors on the device of x. ImportError without Triton, NotImplementedError for a
    device that it has no kernels for.
    """
    if find_spec("triton") is None:
        raise ImportError(f"{formula}: backend='triton' needs Triton: pip install 'attnspec[gpu]'")
    from triton.knobs import runtime

    if not x.is_cuda and not runtime.interpret:
        raise NotImplementedError(
            f"{formula}: backend='triton' is for CUDA, or for TRITON_INTERPRET=1; got tensors on {x.device}: use backend='auto'"
        )
    return import_module(f"impl.kernels.{name}")
