"""States of models: whatever is appended, picked and begun anew, the next logits are those of the texts that a list remembers."""

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from impl.decoding import Recomputed, State, StepModel
from verify.decoding.models import LONGEST, Attention

V = 5
tokens = st.integers(0, V - 1)
texts = st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=3)


class Remembered(RuleBasedStateMachine):
    """A model's state beside a plain list of texts."""

    def make(self):
        """The model whose state is driven."""
        return Attention(V, seed=1)

    @initialize(prompts=texts)
    def begin(self, prompts):
        """Read prompts of different lengths, padded with any token."""
        self.model, self.plain = self.make(), Attention(V, seed=1)
        self.restart(prompts)

    @rule(prompts=texts)
    def restart(self, prompts):
        """Begin anew: nothing of what was read before is left."""
        self.texts = [list(prompt) for prompt in prompts]
        longest = max(map(len, prompts))
        padded = torch.tensor([[*p, *[V - 1] * (longest - len(p))] for p in prompts])
        self.logits, self.state = self.model.start(padded, torch.tensor([len(p) for p in prompts]))

    @precondition(lambda self: max(map(len, self.texts)) < LONGEST)
    @rule(data=st.data())
    def append(self, data):
        """One more token in every row."""
        more = data.draw(st.lists(tokens, min_size=len(self.texts), max_size=len(self.texts)))
        self.texts = [[*text, token] for text, token in zip(self.texts, more, strict=True)]
        self.logits, self.state = self.model.step(self.state, torch.tensor(more))

    @precondition(lambda self: max(map(len, self.texts)) < LONGEST)
    @rule(data=st.data())
    def reorder(self, data):
        """Rows picked, some twice, some not at all; then a step, in which it shows."""
        rows = data.draw(st.lists(st.integers(0, len(self.texts) - 1), min_size=1, max_size=5))
        self.state = self.state.reorder(torch.tensor(rows))
        self.texts = [self.texts[row] for row in rows]
        self.append(data)

    @invariant()
    def the_next_logits_are_those_of_the_texts(self):
        """Read as a whole, one text at a time."""
        if hasattr(self, "texts"):
            wanted = torch.stack([self.plain(torch.tensor([text]))[0, -1] for text in self.texts])
            # One layer of width 4 in float64, summed in another order: some tens of roundings.
            torch.testing.assert_close(self.logits, wanted, rtol=1e-12, atol=1e-12)


class Reread(Remembered):
    """The same of a state that holds the tokens themselves."""

    def make(self):
        """A model without a cache."""
        return Recomputed(Attention(V, seed=1))


TestCache = Remembered.TestCase
TestCache.settings = settings(max_examples=40, stateful_step_count=20, deadline=None, database=None)
TestTokens = Reread.TestCase
TestTokens.settings = settings(max_examples=40, stateful_step_count=20, deadline=None, database=None)


def test_the_protocols_can_be_asked_for():
    """A model and its state are told from what is none."""
    assert isinstance(Recomputed(lambda x: x), StepModel)
    assert not isinstance(torch.zeros(2), StepModel)
    assert isinstance(
        Recomputed(lambda x: torch.zeros(1, 1, 2)).start(torch.tensor([[0]]), torch.tensor([1]))[1], State
    )
