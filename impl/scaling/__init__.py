"""Laws of scale, a power law fitted to losses, and directions in which the loss around a network is drawn.

Leans on torch alone. Letters are the statements'.
"""

from impl._arguments import check_arguments
from impl.scaling.directions import draw_direction, filter_normalised
from impl.scaling.fitting import Fit, fit
from impl.scaling.laws import EACH, JOINT, PLAIN, Constants, kaplan

__all__ = [
    "kaplan",
    "filter_normalised",
    "draw_direction",
    "fit",
    "Fit",
    "Constants",
    "EACH",
    "JOINT",
    "PLAIN",
]

check_arguments(__name__)
