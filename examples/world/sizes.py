"""Sizes that many libraries have in common."""

ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}
"""Modules that divide d_model among the heads."""
SEVERAL = {"d_v": "d_k", "d_model": "h*d_k", "h": "2|3|4"}
"""Those that have no output layer where there is one head."""
EVEN = {"d": "even"}
"""Widths that hold sines and cosines alike."""
