"""Decoding by steps of static shapes says what decoding with a cache says; a tape stands in for a CUDA graph."""

from copy import deepcopy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from impl.decoding import beam, greedy
from impl.gpt import GPT, GPTConfig
from impl.llama import Llama, LlamaConfig
from impl.transformer import CachedModel, GraphedModel, static

MODELS = {
    "gpt": lambda: GPT(GPTConfig(37, 12, 2, 3, max_length=23)),
    "llama": lambda: Llama(LlamaConfig(vocabulary=37, d_model=24, layers=2, heads=6, d_ff=22, groups=2)),
}
LENGTHS = torch.tensor([7, 2, 5])
WAITS = {"_local_scalar_dense", "nonzero", "equal", "masked_select", "lift_fresh"}
"""Operations that copy from the device or to it, which no graph can hold."""


class Tape(TorchDispatchMode):
    """Runs a function, then runs it and records its operations, then runs these alone, without Python, on the same tensors."""

    def __init__(self, device):
        super().__init__()
        self.calls, self.operations, self.out, self.now = 0, [], None, {}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        assert operation.overloadpacket.__name__ not in WAITS
        found = operation(*args, **(kwargs or {}))
        self.operations.append((operation, args, kwargs or {}, found))
        return found

    def __call__(self, run):
        self.calls += 1
        if self.calls == 1:
            return run()
        if self.calls == 2:
            with self:
                self.out = run()
            return self.out.clone()
        for operation, args, kwargs, before in self.operations:
            args, kwargs = tree_map_only(torch.Tensor, lambda x: self.now.get(id(x), x), (args, kwargs))
            with torch.no_grad():
                found = operation(*args, **kwargs)
            self.now |= {
                id(old): new for old, new in zip(tree_leaves(before), tree_leaves(found), strict=True)
            }
        return self.now[id(self.out)].clone()


@pytest.fixture(params=MODELS)
def model(request, randomized):
    """A small GPT or Llama with random parameters, in evaluation, in float64."""
    return randomized(MODELS[request.param]()).double()


@pytest.fixture
def prompts():
    """Three, of up to seven tokens."""
    return torch.randint(37, (3, 7), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize(("search", "options"), [(greedy, {}), (beam, {"width": 3, "end": 5})])
def test_static_steps_write_what_cached_ones_write(search, options, model, prompts, monkeypatch):
    """Greedily and by beams, behind prompts of different lengths; Python has no part in it from the third step on."""
    monkeypatch.setattr(static, "Graph", Tape)
    real = torch.arange(7) < LENGTHS[:, None]
    kept = model.generate(prompts, real, max_length=9, search=search, **options)
    found = model.generate(prompts, real, max_length=9, search=search, graphs=True, **options)
    assert torch.equal(found.tokens, kept.tokens)


def test_logits_are_those_of_the_cached_model(model, prompts, allowed, monkeypatch):
    """After each token, and after rows were picked anew: as many, more, fewer."""
    monkeypatch.setattr(static, "Graph", Tape)
    limit = allowed(lambda dtype: deepcopy(model).to(dtype)(prompts).double(), torch.float64)
    ours, theirs = GraphedModel(model, 19), CachedModel(model, 19)
    (logits, state), (wanted, cache) = (each.start(prompts, LENGTHS) for each in (ours, theirs))
    for rows in ([0, 1, 2], [2, 0, 0], [0, 1, 1, 2, 2], [4, 0, 0, 2, 1], [1, 3, 0, 0, 0], [3, 1], [0, 1]):
        assert (logits - wanted).abs().max() <= limit
        said = torch.tensor(rows) * 5 + 1
        for _ in range(2 if len(rows) == 3 else 1):
            logits, state = ours.step(state.reorder(torch.tensor(rows)), said)
            wanted, cache = theirs.step(cache.reorder(torch.tensor(rows)), said)
            assert (logits - wanted).abs().max() <= limit
    assert torch.equal(state.lengths, cache.lengths)


def test_tensors_keep_their_places(model, prompts):
    """Over steps, and where as many rows are picked anew; what holds no token yet is 0."""
    ours = GraphedModel(model, 11)
    _, state = ours.start(prompts, LENGTHS)
    for row, length in enumerate(LENGTHS):
        assert not state.keys[:, row, :, length:].any()
        assert not state.values[:, row, :, length:].any()
    before = [x.data_ptr() for x in (state.keys, state.values, state.lengths, state.ids)]
    for _ in range(3):
        _, state = ours.step(state.reorder(torch.tensor([1, 1, 0])), torch.tensor([3, 5, 7]))
    assert [x.data_ptr() for x in (state.keys, state.values, state.lengths, state.ids)] == before


def test_a_step_asks_nothing_of_the_device(model, prompts):
    """It runs where there are no values."""
    model, prompts = model.to("meta"), prompts.to("meta")
    cache = model.start(3, 9)
    model.decode_step(prompts, cache)
    logits, state = GraphedModel(model).step(static.StaticCache.of(cache), prompts[:, 0])
    assert logits.shape == (3, 37)
    assert state.taken == 8


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(model, prompts):
    """No room, tokens for other rows, several at once, another start."""
    ours = GraphedModel(model, 8)
    _, state = ours.start(prompts, LENGTHS)
    with pytest.raises(ValueError, match=r"expected tokens \(r\), r = 3 as in the cache; got tokens \(2,\)$"):
        ours.step(state, prompts[:2, 0])
    with pytest.raises(ValueError, match=r"^transformer: expected one token of each row at a time; got 2$"):
        model.decode_step(prompts[:, :2], state)
    with pytest.raises(NotImplementedError, match="start anew"):
        state.reset()
    ours.step(state, prompts[:, 0])
    with pytest.raises(ValueError, match=r"room for it in 8 slots; got 1 new after 8$"):
        ours.step(state, prompts[:, 0])
