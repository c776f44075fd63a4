from copy import deepcopy
from functools import partial

import pytest
import torch

from impl.transformer import Transformer

m, n = 7, 5
SOURCE_MASK = torch.arange(m) < torch.tensor([4, m, 1])[:, None]
TARGET_MASK = torch.arange(n) < torch.tensor([n, 2, 3])[:, None]
CHOICES = pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "activation": "gelu", "positions": "learned"},
        {"attention_bias": False, "scaled": False},
    ],
    ids=["post", "pre", "plain"],
)


def ids(words, *shape, seed=3):
    """Random ids."""
    return torch.randint(words, shape, generator=torch.Generator().manual_seed(seed))


def pairs():
    """Sources and targets, the second of them shorter than the first."""
    return ids(13, 3, m), ids(17, 3, n, seed=5)


@CHOICES
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_pair_in_a_batch_gets_what_it_gets_alone(changes, dtype, model, allowed):
    """Whatever the lengths of the others, up to the rounding of other orders of summation."""
    it, (source, target) = model(dtype, **changes), pairs()
    together = it(source, target, SOURCE_MASK, TARGET_MASK)

    def alone(row, dtype):
        s, t = source[row][SOURCE_MASK[row]], target[row][TARGET_MASK[row]]
        return deepcopy(it).to(dtype)(s, t).double()

    for row in range(3):
        said = together[row][TARGET_MASK[row]]
        error = (said - alone(row, torch.float64)).abs().max()
        assert error <= allowed(partial(alone, row), dtype)


@CHOICES
def test_ids_in_padding_are_never_read(changes, model):
    """Not even those of no vocabulary: every real logit is bit for bit the same."""
    it, (source, target) = model(**changes), pairs()
    said = it(source, target, SOURCE_MASK, TARGET_MASK)
    spoilt = source.masked_fill(~SOURCE_MASK, -1), target.masked_fill(~TARGET_MASK, 99)
    assert torch.equal(it(*spoilt, SOURCE_MASK, TARGET_MASK)[TARGET_MASK], said[TARGET_MASK])


def test_a_word_s_place_counts(model):
    """Two words exchanged change the logits of the last: positions are there, of either kind."""
    source, target = pairs()
    for positions in ("sinusoidal", "learned"):
        it = model(positions=positions, decoder_layers=1)
        swapped = source[:, [1, 0, *range(2, m)]]
        assert (source[:, 0] != source[:, 1]).any()
        assert not torch.allclose(it(source, target)[:, -1], it(swapped, target)[:, -1])


@pytest.mark.parametrize(("tied", "tables"), [("none", 3), ("output", 2), ("all", 1)])
def test_tied_tables_are_one(tied, tables, model):
    """They stay one when a state is loaded, and the gradient of each use adds up."""
    it = model(tied=tied, **({"source_vocabulary": 17} if tied == "all" else {}))
    uses = {id(each): each for each in (it.source.E, it.target.E, it.W_o)}
    assert len(uses) == tables
    other = model(tied=tied, **({"source_vocabulary": 17} if tied == "all" else {}))
    other.load_state_dict(it.state_dict())
    source, target = pairs()
    assert torch.equal(other(source, target), it(source, target))
    it(source, target).square().sum().backward()
    assert all(table.grad.any() for table in uses.values())


def test_a_generator_decides_all_parameters(config):
    """The same seed gives the same model, whatever torch's own generator has drawn; another seed another."""
    first, again, other = (
        Transformer(config, generator=torch.Generator().manual_seed(seed)).state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(first[name], x) for name, x in again.items())
    drawn = [name for name, x in first.items() if x.dim() > 1]
    assert not any(torch.equal(first[name], other[name]) for name in drawn)


def test_what_the_first_layers_read_has_variance_1(config):
    """Words drawn with variance 1/d_model, times √d_model."""
    wide = config.__class__(**{**vars(config), "source_vocabulary": 5003})
    x = Transformer(wide, generator=torch.Generator().manual_seed(3)).source
    # The standard error of a variance over N numbers is √(2/N): five of them.
    assert abs((x.scale * x.E).var().item() - 1) < 5 * (2 / x.E.numel()) ** 0.5


def test_the_weights_given_to_the_source_are_one_row_for_each_word(model, config):
    """Of each layer and head: padding gets none of it, and a row sums to 1."""
    a = model(torch.float64).alignments(*pairs(), SOURCE_MASK, TARGET_MASK)
    assert a.shape == (3, config.decoder_layers, config.heads, n, m)
    assert not a.masked_select(~SOURCE_MASK[:, None, None, None]).any()
    torch.testing.assert_close(a.sum(-1), torch.ones(a.shape[:-1], dtype=torch.float64))


@pytest.mark.parametrize("tied", ["none", "output"])
def test_torch_func_transforms_it(tied, model):
    """Per-sample gradients of all parameters, by vmap of grad of a functional call."""
    it, (source, target) = model(tied=tied), pairs()
    parameters = dict(it.named_parameters())

    def loss(parameters, *pair):
        return torch.func.functional_call(it, parameters, pair).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0, 0, 0))(
        parameters, source, target, SOURCE_MASK, TARGET_MASK
    )
    total = torch.func.grad(loss)(parameters, source, target, SOURCE_MASK, TARGET_MASK)
    for name, x in each.items():
        torch.testing.assert_close(x.sum(0), total[name])


def test_autocast_is_followed(model):
    """Parameters in float32 compute in bfloat16; the cache too."""
    it, (source, target) = model(torch.float32), pairs()
    with torch.autocast("cpu", torch.bfloat16):
        assert it(source, target, SOURCE_MASK, TARGET_MASK).dtype == torch.bfloat16
        cache = it.start(it.encode(source, SOURCE_MASK), SOURCE_MASK)
        assert it.decode_step(target, cache).isfinite().all()


@pytest.mark.compiled
def test_it_compiles_as_one_graph(model):
    """With masks, and with gradients. Tracing is what is tested: the C++ that a graph becomes would take a minute to compile."""
    it, (source, target) = model(torch.float32, encoder_layers=1, decoder_layers=1), pairs()
    want = it(source, target, SOURCE_MASK, TARGET_MASK)[TARGET_MASK]
    said = torch.compile(it, fullgraph=True, backend="aot_eager")(source, target, SOURCE_MASK, TARGET_MASK)[
        TARGET_MASK
    ]
    torch.testing.assert_close(said, want)
    said.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in it.parameters())


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(model, config):
    """Ids of no vocabulary, too many of them, masks of another shape or kind."""
    it, (source, target) = model(), pairs()
    with pytest.raises(
        IndexError, match=r"^embedding.token: expected ids in 0..12, below 13; got ids\[0, 0\] = 13$"
    ):
        it(torch.full_like(source, 13), target)
    with pytest.raises(ValueError, match=r"^transformer: expected at most max_length 23 tokens; got 24$"):
        it(ids(13, 2, 24), ids(17, 2, n))
    with pytest.raises(
        ValueError, match=r"expected ids \(... n\) and a mask of the same shape; got ids \(3, 7\)"
    ):
        it(source, target, SOURCE_MASK[:, :5])
    with pytest.raises(TypeError, match=r"expected a boolean mask, True = a real token; got mask int64$"):
        it(source, target, SOURCE_MASK.long())
    with pytest.raises(TypeError, match=r"^embedding.token: expected integer ids; got ids float32$"):
        it(source.float(), target)
