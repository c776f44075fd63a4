"""The targets as data: ours, as the registry and ``impl`` have them; PyTorch's, and those of other libraries, listed by hand.

One module for each package; no implementation is imported until a target is loaded.
"""

from verify.targets.listed.linformers import LINFORMERS
from verify.targets.listed.ours import OURS
from verify.targets.listed.pytorch import TORCH
from verify.targets.listed.pytorch_transformers import PYTORCH_TRANSFORMERS
from verify.targets.listed.transformers import TRANSFORMERS
from verify.targets.listed.xtransformers import X_TRANSFORMERS
from verify.targets.target import Target

TARGETS: tuple[Target, ...] = (
    *OURS,
    *TORCH,
    *TRANSFORMERS,
    *X_TRANSFORMERS,
    *LINFORMERS,
    *PYTORCH_TRANSFORMERS,
)
