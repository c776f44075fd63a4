"""Images read by an encoder of texts: in patches, each of which stands where a text has a word.

``patches``, ``encoder`` and ``classifier`` are functions, each with the inputs of the statement of its name. ``ViTConfig`` says
what a model is made of (``ViTConfig.base()``, ``large``, ``huge``), ``ViT`` is the model: the Vision Transformer, with a head or
without, which reads and writes the checkpoints of Hugging Face. ``impl.vision.adapters`` gives the functions a module's weights.
``positions_of_size`` interpolates positions, for images of another size than they were learned with.

An image has its channels first, (... C height width), and sides that are multiples of a patch's. Modules take ``device`` and
``dtype`` by name.
"""

from impl._arguments import check_arguments
from impl.vision.config import ViTConfig
from impl.vision.functions import classifier, encoder, patches, positions_of_size
from impl.vision.model import ViT

__all__ = ["patches", "encoder", "classifier", "positions_of_size", "ViTConfig", "ViT"]

check_arguments(__name__)
