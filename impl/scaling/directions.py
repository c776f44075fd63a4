"""Directions in which the loss around a network is drawn, each filter's part as long as the filter."""

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from impl import _refuse
from impl.recurrent.cells import wide


def filter_normalised(W: Float[Tensor, "n m"], U: Float[Tensor, "... n m"]) -> Float[Tensor, "... n m"]:
    """V[i] = U[i] ‖W[i]‖ / ‖U[i]‖, a filter in each row; 0 where U[i] is. Statement: ``scaling.filter_normalised``.

    Neither very large nor very small entries overflow or vanish on the way. ValueError for shapes that do not fit, TypeError
    unless W and U share one floating dtype, which is also the result's. Source: Li et al. 2018, "Visualizing the Loss Landscape
    of Neural Nets", section 4.
    """
    if W.ndim != 2 or U.shape[-2:] != W.shape:
        raise _refuse.shapes("scaling.filter_normalised", "W (n m), U (... n m)", W=W, U=U)
    _refuse.check_floating("scaling.filter_normalised", W=W, U=U)
    if U.dtype.itemsize == 2:
        return filter_normalised(W.to(wide(W.dtype)), U.to(wide(U.dtype))).to(U.dtype)
    if W.shape[-1] == 0:
        return U
    (W, long, _), (U, _, still) = _scale_down(W), _scale_down(U)
    lengths = torch.linalg.vector_norm(U, dim=-1, keepdim=True).masked_fill(still, 1.0)
    scaled: Tensor = U / lengths * (long * torch.linalg.vector_norm(W, dim=-1, keepdim=True))
    return scaled.masked_fill(still, 0.0)


def _scale_down(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows divided by their largest magnitudes, which count as constants; these; and which rows are 0."""
    largest = x.detach().abs().amax(-1, keepdim=True)
    zero = largest == 0
    return x / largest.masked_fill(zero, 1.0), largest, zero


def draw_direction(module: nn.Module, generator: Generator | None = None) -> dict[str, Tensor]:
    """A random direction for every parameter of a module, by name: normal entries, each filter's part as long as the filter.

    A filter is what stands at one place of a weight's first axis, as in ``nn.Linear``, ``nn.Embedding`` and ``nn.Conv2d``. What
    has no second axis, biases and gains, is left out: its part is 0. So are gains and biases of a normalization over several
    axes. ValueError for transposed convolutions, whose filters stand on the second. ``torch.func.functional_call`` takes
    ``{name: weight + t * direction[name]}``.
    """
    if not isinstance(module, nn.Module):
        raise _refuse.kind("scaling.draw_direction", "module", "a torch.nn.Module", module)
    gains = set[int]()
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.conv._ConvTransposeNd):
            raise ValueError(
                f"scaling.draw_direction: expected filters on the first axis; {name or 'the module'} is a transposed "
                "convolution"
            )
        if isinstance(part, (nn.LayerNorm, nn.RMSNorm)):
            gains |= set(map(id, part.parameters(recurse=False)))
    found = {}
    for name, weight in module.named_parameters():
        drawn = torch.zeros_like(weight, requires_grad=False)
        if weight.ndim > 1 and id(weight) not in gains:
            drawn.normal_(generator=generator)
            drawn = filter_normalised(weight.detach().flatten(1), drawn.flatten(1)).view_as(weight)
        found[name] = drawn
    return found
