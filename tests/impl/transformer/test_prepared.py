"""Steps with prepared weights say what the modules' steps say, and only where they may."""

import pickle
from copy import deepcopy

import pytest
import torch
from torch import nn

from impl import _products
from impl.transformer.matrices import EARLY
from impl.transformer.prepared import Prepared

STEPS = 2 * EARLY + 1
m = 5


@pytest.fixture
def decoded():
    """The logits of step after step, and the cache; by the modules where ``plain``."""

    def run(it, rows, beams=1, plain=False, steps=STEPS):
        generator = torch.Generator().manual_seed(3)
        source = torch.randint(13, (rows, m), generator=generator)
        mask = torch.rand(rows, m, generator=generator) < 0.7
        if rows > 1:
            mask[0] = False  # nothing of this source is seen
        cache = it.start(it.encode(source, mask), mask)
        if plain:
            cache.prepared = None
        said = []
        for step in range(steps):
            words = torch.randint(17, (rows if step == 0 else rows * beams, 1), generator=generator)
            said.append(it.decode_step(words, cache))
            if beams > 1:
                parents = torch.randint(1 if step == 0 else beams, (rows, beams), generator=generator)
                own = torch.arange(rows)[:, None] * (1 if step == 0 else beams)
                cache.reorder((own + parents).flatten())
        return torch.cat(said), cache

    return run


@pytest.fixture
def only(monkeypatch):
    """Products are of this kind alone."""

    def set_(kind):
        if kind is None or not kind.suits(torch.ones(4, 1), 5):
            pytest.skip("there is no such product here")
        monkeypatch.setattr(_products, "KINDS", (kind,))
        monkeypatch.setattr(_products, "_measured", {})

    return set_


@pytest.mark.parametrize("kind", _products.KINDS)
@pytest.mark.parametrize(("rows", "beams"), [(5, 1), (2, 7)])
def test_steps_with_products_of_any_kind_are_those_of_the_modules(
    kind, rows, beams, model, decoded, allowed, only
):
    """Whichever is quickest where they are taken."""
    only(kind)
    it = model(d_model=16, d_ff=12, target_vocabulary=20)

    def plain(dtype):
        return decoded(deepcopy(it).to(dtype), rows, beams, plain=True)[0].double()

    found, cache = decoded(deepcopy(it).to(torch.float32), rows, beams)
    assert cache.prepared is not None
    assert (found - plain(torch.float64)).abs().max() <= allowed(plain, torch.float32)


@pytest.mark.parametrize(
    ("rows", "beams"), [(1, 1), (3, 1), (5, 1), (17, 1), (37, 1), (1, 3), (2, 7), (7, 5)]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_prepared_steps_are_those_of_the_modules(rows, beams, dtype, model, decoded, allowed):
    """For few rows and many, beams and none, before the quickest products are known and afterwards."""
    it = model()

    def plain(dtype):
        return decoded(deepcopy(it).to(dtype), rows, beams, plain=True)[0].double()

    found, cache = decoded(deepcopy(it).to(dtype), rows, beams)
    assert cache.prepared is not None
    assert (found - plain(torch.float64)).abs().max() <= allowed(plain, dtype)


@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "pre", "positions": "learned", "activation": "gelu"},
        {"attention_bias": False, "tied": "output", "final_norm": True},
    ],
    ids=["pre", "unbiased"],
)
def test_every_choice_of_the_configuration_is_followed(changes, model, decoded, allowed):
    """Norms before layers and behind the last, other activations, no biases."""
    it = model(**changes)

    def plain(dtype):
        return decoded(deepcopy(it).to(dtype), 3, plain=True)[0].double()

    found, cache = decoded(it, 3)
    assert cache.prepared is not None
    assert (found - plain(torch.float64)).abs().max() <= allowed(plain, torch.float64)


@pytest.mark.parametrize("how", ["in place", "data"])
@pytest.mark.parametrize("copies", [True, False])
def test_changed_weights_are_not_those_that_were_copied(how, copies, model, decoded, only):
    """The next step is made from the weights as they are then: by the modules where there were copies."""
    only(next((kind for kind in _products.KINDS if kind.copies == copies), None))
    rows, said, one = 5, [], model(torch.float32)
    for plain in (True, False):
        it = deepcopy(one)
        _, cache = decoded(it, rows, plain=plain)
        with torch.no_grad():
            if how == "in place":
                it.decoder.layers[1].feed_forward.expand.weight.mul_(2)
            else:
                it.W_o.data = it.W_o.data * 2
        other = torch.full((rows, 1), 3)
        said.append((cache, it.decode_step(other, cache)))
    (_, want), (cache, found) = said
    assert (cache.prepared is None) == (copies or how == "data")
    unit = torch.finfo(torch.float32).eps * want.abs().max()
    # Keys and values of the steps before are rounded otherwise; old weights would differ by as much as the logits are.
    assert (found - want).abs().max() < 1e4 * unit


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize(
    "copy", [deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["copy", "pickle"]
)
def test_a_copy_of_a_cache_goes_on_from_where_it_was(copy, rows, model, decoded, allowed):
    """Without what was made ready of the weights, of which it needs none."""
    it, words = model(), torch.full((rows, 1), 3)

    def plain(dtype):
        other = deepcopy(it).to(dtype)
        return other.decode_step(words, decoded(other, rows, plain=True)[1]).double()

    _, cache = decoded(it, rows)
    other = copy(cache)
    limit = allowed(plain, torch.float64)
    for each in (cache, other):
        assert (it.decode_step(words, each) - plain(torch.float64)).abs().max() <= limit


def test_what_is_not_ordinary_is_left_to_the_modules(model):
    """Training, other dtypes, hooks, other modules, weights that are no parameters."""

    def prepared(it):
        return Prepared.of(it.target, it.decoder, it.W_o)

    assert prepared(model()) is not None
    assert prepared(model().train()) is None
    assert prepared(model(torch.bfloat16)) is None
    assert prepared(model().to("meta")) is None
    it = model()
    it.decoder.layers[0].feed_forward.register_forward_hook(lambda *_: None)
    assert prepared(it) is None
    it = model()
    it.decoder.layers[0].residual_self.norm = nn.RMSNorm(14).eval()
    assert prepared(it) is None
    it = model()
    nn.utils.parametrize.register_parametrization(
        it.decoder.layers[0].self_attention.out, "weight", nn.ReLU()
    )
    assert prepared(it) is None


def test_prepared_weights_rest_while_something_else_is_at_work(model):
    """Autocast, torch.func, forward mode, training."""
    it = model()
    held = Prepared.of(it.target, it.decoder, it.W_o)
    assert held.holds()
    with torch.autocast("cpu"):
        assert not held.holds()
    with torch.autograd.forward_ad.dual_level():
        assert not held.holds()
    seen = []
    torch.func.vmap(lambda x: (seen.append(held.holds()), x)[1])(torch.zeros(2))
    assert seen == [False]
    it.train()
    assert not held.holds()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("final_norm", [True, False])
def test_what_a_step_gives_is_an_ordinary_tensor(final_norm, model, decoded):
    """Logits can be changed in place, and the cache read, wherever the caller is; a weight may be trained on afterwards."""
    it = model(final_norm=final_norm)
    found, cache = decoded(it, 5)
    assert not found.is_inference()
    assert not cache.keys.is_inference()
    logits = it.decode_step(torch.zeros(5, 1, dtype=torch.int64), cache)
    logits /= 2
    it(torch.zeros(1, m, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64)).sum().backward()


@pytest.mark.compiled
def test_a_compiled_step_says_what_the_prepared_one_says(model, allowed):
    """With sizes that are symbols: the compiler is given the modules' step."""
    it, words = model(), torch.arange(9)[:, None]
    step = torch.compile(it.decode_step, backend="eager", dynamic=True)
    source = torch.arange(9 * m).view(9, m) % 13

    def said(dtype):
        return deepcopy(it).to(dtype)(source, words.expand(-1, 3))[:, -1].double()

    cache = it.start(it.encode(source))
    for _ in range(3):
        found = step(words, cache)
    assert cache.prepared is None
    assert (found - said(torch.float64)).abs().max() <= allowed(said, torch.float64)
