"""A Transformer with its sources, as the searches of ``impl.decoding`` take a model: a start, then a word at a time."""

from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl.transformer.cache import Cache
from impl.transformer.transformer import Transformer

__all__ = ["Conditioned"]


class Conditioned:
    """An ``impl.decoding.StepModel``: row i continues the target of source i. ``capacity`` as for ``Transformer.start``.

    ``greedy(Conditioned(model, source, mask), prompts, max_length=30, end=END)``
    """

    def __init__(
        self,
        model: Transformer,
        source: Integer[Tensor, "b m"],
        source_mask: Bool[Tensor, "b m"] | None = None,
        capacity: int | None = None,
    ) -> None:
        if source.dim() != 2:
            raise _refuse.shapes("transformer", "source (b m)", source=source)
        self.model, self.source, self.source_mask, self.capacity = model, source, source_mask, capacity

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], Cache]:
        """Logits after each prompt, of which the first ``lengths`` words count, and the cache that goes on from there."""
        if len(prompts) != len(self.source):
            expected = "prompts (b n), one for each source (b m)"
            raise _refuse.shapes("transformer", expected, prompts=prompts, source=self.source)
        memory = self.model.encode(self.source, self.source_mask)
        cache = self.model.start(memory, self.source_mask, self.capacity)
        return self.model.decode_step(prompts, cache, lengths), cache

    def step(self, state: Cache, tokens: Integer[Tensor, " r"]) -> tuple[Float[Tensor, "r V"], Cache]:
        """Logits after one more word in every row."""
        return self.model.decode_word(tokens, state), state
