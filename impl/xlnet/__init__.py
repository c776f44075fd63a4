"""XLNet: as functions of its weights, and as a module.

``attention`` is a head, ``two_stream`` a layer and ``objective`` the model with its loss, each with the inputs of the statement
of its name. ``XLNetConfig`` says what a model is made of (``XLNetConfig.base()``, ``large()``); ``XLNet`` is the model.

``order`` says at which place of the order each token comes; a token is predicted from those before it in the order. Modules take
``device`` and ``dtype`` by name.
"""

from impl._arguments import check_arguments
from impl.xlnet.functions import LayerWeights, attention, objective, two_stream
from impl.xlnet.model import XLNet, XLNetConfig

__all__ = ["LayerWeights", "attention", "two_stream", "objective", "XLNetConfig", "XLNet"]

check_arguments(__name__)
