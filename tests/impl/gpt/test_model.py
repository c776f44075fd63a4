"""GPT as a module: beside transformers', with padding on any side, its loss, and what it writes."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from impl.decoding import Recomputed, beam, greedy, sampled
from impl.gpt import GPT, CachedGPT, GPTConfig

COUNTS = {
    "gpt1": (GPTConfig.gpt1(), 116_534_784),
    "gpt2": (GPTConfig.gpt2(), 124_439_808),
    "gpt2_medium": (GPTConfig.gpt2("medium"), 354_823_168),
    "gpt2_large": (GPTConfig.gpt2("large"), 774_030_080),
    "gpt2_xl": (GPTConfig.gpt2("xl"), 1_557_611_200),
    "gpt3": (GPTConfig.gpt3(), 174_604_259_328),
}


@pytest.mark.parametrize("name", COUNTS)
def test_presets_have_as_many_parameters_as_stated(name):
    """On the meta device, and by the statement's count."""
    from spec.gpt.model import PUBLISHED

    config, count = COUNTS[name]
    with torch.device("meta"):
        model = GPT(config)
    assert sum(p.numel() for p in model.parameters()) == count
    sizes = config.layers, config.d_model, config.heads, config.vocabulary, config.max_length
    assert PUBLISHED[sizes] == count


def padded(ids, lengths, side):
    """The texts with real tokens at one side of each row, or with a hole in it; and which are real."""
    n = ids.shape[1]
    real = torch.arange(n) < lengths[:, None]
    if side == "left":
        real = real.flip(1)
    elif side == "middle":
        real = real[:, torch.randperm(n, generator=torch.Generator().manual_seed(3))]
    rows = torch.full_like(ids, 60)
    rows[real] = torch.cat([row[:k] for row, k in zip(ids, lengths, strict=True)])
    return rows, real


@pytest.mark.parametrize("side", ["left", "right", "middle"])
def test_padding_changes_nothing_wherever_it_stands(side, gpt, ids, lengths):
    """Each text gets the logits that it gets alone; what comes out where padding is is 0, and its ids are never read."""
    rows, real = padded(ids, lengths, side)
    got = gpt(rows.masked_fill(~real, 10**6), real)
    alone = torch.cat([gpt(row[:k]) for row, k in zip(ids, lengths, strict=True)])
    # A row has 36 sums of at most 48 terms behind one another; they differ in their order alone.
    assert (got[real] - alone).abs().max() < 1e-11
    assert (got[~real] == 0).all()


def test_positions_count_real_tokens_unless_they_are_given(gpt, ids):
    """Positions as they are counted change nothing; others do."""
    counted = torch.arange(17).expand(5, 17)
    assert torch.equal(gpt(ids, None, counted), gpt(ids))
    mask = torch.ones_like(ids, dtype=torch.bool)
    assert (gpt(ids, mask, counted + 3) - gpt(ids, None, counted + 3)).abs().max() < 1e-12
    assert (gpt(ids, None, counted + 3) - gpt(ids)).abs().max() > 1e-3


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_loss_compares_each_place_with_the_next_token(side, gpt, ids, lengths):
    """All rows together, without their first tokens; so do its gradients."""
    rows, real = padded(ids, lengths, side)
    gpt.loss(rows, real).backward()
    got = [p.grad.clone() for p in gpt.parameters()]
    gpt.zero_grad()
    asked = [(gpt(row[: k - 1]), row[1:k]) for row, k in zip(ids, lengths, strict=True) if k > 1]
    wanted = F.cross_entropy(torch.cat([s for s, _ in asked]), torch.cat([y for _, y in asked]))
    wanted.backward()
    assert abs(gpt.loss(rows, real).item() - wanted.item()) < 1e-12
    assert all((g - p.grad).abs().max() < 1e-10 for g, p in zip(got, gpt.parameters(), strict=True))


def test_an_untrained_model_knows_nothing(ids):
    """At first every word is about as likely as every other."""
    loss = (
        GPT(GPTConfig(61, 12, 3, 2, max_length=31), generator=torch.Generator().manual_seed(1))
        .eval()
        .loss(ids)
    )
    assert abs(loss.item() - torch.tensor(61.0).log().item()) < 0.05


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_what_is_kept_changes_nothing_that_is_written(positions, config, randomized, ids, lengths):
    """Greedily, by beams, and drawn: prompts padded in front go on as each does that is read anew at every step."""
    gpt = randomized(GPT(replace(config, positions=positions))).double()
    prompts, lengths = ids[:, :7], lengths.clamp(max=7)
    rows, real = padded(prompts, lengths, "left")
    for search in (
        partial(greedy, max_length=9),
        partial(beam, max_length=9, width=3),
        lambda *given: sampled(*given, max_length=9, generator=torch.Generator().manual_seed(5)),
    ):
        plain = search(Recomputed(gpt), prompts, lengths)
        kept = search(CachedGPT(gpt), prompts, lengths)
        assert torch.equal(kept.tokens, plain.tokens)
        assert (kept.log_probability - plain.log_probability).abs().max() < 1e-10
    found = gpt.generate(rows, real, max_length=9, search=beam, width=3)
    assert torch.equal(found.tokens, beam(Recomputed(gpt), prompts, lengths, width=3, max_length=9).tokens)


def test_no_token_is_projected_twice(gpt, ids):
    """While a text is written, layers read the prompt once, and then one token at a time."""
    read = []
    hook = gpt.layers[1].attention.qkv.register_forward_hook(
        lambda module, given, out: read.append(given[0].shape[1])
    )
    gpt.generate(ids, max_length=5)
    hook.remove()
    assert read == [17, 1, 1, 1, 1]


def test_attention_drops_weights_in_training_alone(config, ids):
    """And so do embeddings and sublayers; the plain kernel and the fused one drop as many."""
    gpt = GPT(replace(config, attention_dropout=0.5, dropout=0.0, embedding_dropout=0.0, std=0.5))
    assert not torch.equal(gpt(ids), gpt(ids))
    with sdpa_kernel(SDPBackend.MATH):
        assert not torch.equal(gpt(ids), gpt(ids))
    assert torch.equal(gpt.eval()(ids), gpt(ids))


def test_what_does_not_fit_is_refused_in_one_line(gpt, ids, unchecked):
    """Shapes, masks, texts that are too long, ids without a row."""
    with pytest.raises(
        ValueError, match=r"^gpt.model: expected ids, mask of one shape \(... n\); got ids \(5, 17\), mask"
    ):
        gpt(ids, torch.ones(5, 16, dtype=torch.bool))
    with pytest.raises(
        TypeError, match=r"^gpt.model: expected a boolean mask, True = a real token; got mask int64$"
    ):
        gpt(ids, torch.ones_like(ids))
    with pytest.raises(ValueError, match=r"^gpt.model: expected at most 31 tokens; got 34$"):
        gpt(torch.cat((ids, ids), 1))
    with pytest.raises(
        IndexError, match=r"^gpt.model: expected ids in 0..60, below 61; got ids\[0, 0\] = 61$"
    ):
        gpt(ids[:1] * 0 + 61)
    with pytest.raises(
        ValueError,
        match=r"^gpt.model: expected prompts and what follows within max_length 31; got 36 tokens$",
    ):
        gpt.generate(ids, max_length=20)
    with pytest.raises(
        ValueError, match=r"^gpt.model: expected rows of at least two tokens for a loss; got ids \(5, 1\)$"
    ):
        gpt.loss(ids[:, :1])


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (
            lambda gpt, ids: gpt.loss(ids, ids < -1),
            ValueError,
            "expected rows of at least two tokens for a loss; got a mask",
        ),
        (
            lambda gpt, ids: gpt.loss(ids, torch.eye(5, 17, dtype=torch.bool)),
            ValueError,
            "expected rows of at least two tokens for a loss; got a mask",
        ),
        (
            lambda gpt, ids: gpt.loss(torch.cat((ids, ids[:, :1] * 0 - 100), 1)),
            IndexError,
            r"expected ids in 0..60, below 61; got ids\[0, 17\] = -100$",
        ),
        (lambda gpt, ids: gpt.start(-1), ValueError, "expected rows >= 0; got -1$"),
    ],
)
def test_a_loss_and_a_cache_of_nothing_are_refused(call, error, line, gpt, ids):
    """Rows of which nothing is asked, an id that elsewhere means so, fewer rows than none."""
    with pytest.raises(error, match=f"^gpt.model: {line}"):
        call(gpt, ids)


@pytest.mark.parametrize(
    ("rows", "lengths", "error", "line"),
    [
        (slice(None), [0, 1, 2, 3, 4], ValueError, r"expected lengths in 1..17; got \[0, 1, 2, 3, 4\]$"),
        (slice(None), [18, 1, 2, 3, 4], ValueError, r"expected lengths in 1..17; got \[18, 1, 2, 3, 4\]$"),
        (
            slice(None),
            [1, 2, 3],
            ValueError,
            r"expected prompts \(b n\), lengths \(b\); got prompts \(5, 17\), lengths \(3,\)$",
        ),
        (
            slice(None),
            [[1] * 5],
            ValueError,
            r"expected prompts \(b n\), lengths \(b\); got .*, lengths \(1, 5\)$",
        ),
        (slice(None), [1.0] * 5, TypeError, "expected integer lengths; got lengths float32$"),
        (slice(3), None, ValueError, r"expected ids \(r n\), r = 5 as in the cache; got ids \(3, 17\)$"),
        (0, None, ValueError, r"expected ids \(r n\), r = 5 as in the cache; got ids \(17,\)$"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_step_that_does_not_fit_leaves_the_cache_as_it_is(rows, lengths, error, line, gpt, ids):
    """Lengths that no row has, as many as there are not, or no integers; rows that the cache has not."""
    cache = gpt.start(5)
    with pytest.raises(error, match=f"^gpt.model: {line}"):
        gpt.decode_step(ids[rows], cache, None if lengths is None else torch.tensor(lengths))
    assert cache.taken == 0
    assert not cache.lengths.any()


@pytest.mark.parametrize(("search", "options"), [(greedy, {}), (beam, {"width": 2})])
def test_no_prompts_have_no_continuations(search, options, gpt, ids):
    """As searches without a cache have it."""
    plain = search(Recomputed(gpt), ids[:0], max_length=3, **options)
    found = gpt.generate(ids[:0], max_length=3, search=search, **options)
    assert [x.shape for x in found] == [x.shape for x in plain]
