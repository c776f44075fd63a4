# Two ways of ours are compared up to torch's defaults for float32; the values themselves are held to the statement's bounds.
import math

import pytest
import torch

from impl.attention import cached, decoder_heads, grouped_query, paged, qk_norm, window
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY

g, r, n, m, d_k, d_v, w = 2, 3, 5, 11, 7, 3, 4


@pytest.fixture
def inputs(normal):
    """Random queries, keys and values."""

    def draw(*lead, **options):
        return [normal(*lead, *shape, **options) for shape in ((g * r, n, d_k), (g, m, d_k), (g, m, d_v))]

    return draw


def test_they_are_their_statements(inputs, mask, normal, stated, within):
    """Values and gradients, with a mask that leaves one query nothing."""
    given, seed = inputs(grad=True), normal(g * r, n, d_v)
    sink, gains = normal(g * r, grad=True), [normal(d_k, grad=True), normal(d_k, grad=True)]
    for name, function, others, letters in (
        ("attention.decoder_heads", decoder_heads, [sink, 1.5, w], [sink]),
        ("attention.qk_norm", qk_norm, [*gains, 1e-5], gains),
    ):
        z = function(*given, *others, mask)
        said = stated(name, [*given, *others, mask], seed)
        assert within([z, *torch.autograd.grad(z, [*given, *letters], seed)], said)


def test_a_paged_cache_is_its_statement(inputs, normal, stated, within):
    """Values and gradients of memory; the second page of the text is half full."""
    q, seed = inputs(grad=True)[0], normal(g * r, n, d_v)
    K, V = normal(5, 3, g, d_k, grad=True), normal(5, 3, g, d_v, grad=True)
    table = torch.tensor([4, 1, 2])
    z = paged(q, K, V, table, 4)
    assert within(
        [z, *torch.autograd.grad(z, (q, K, V), seed)], stated("attention.paged", [q, K, V, table, 4], seed)
    )


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
def test_parts_that_are_left_out_change_nothing(lead, inputs, mask):
    """Without any part it is grouped-query attention, with the window alone that of each head; a far cap is none."""
    q, k, v = inputs(*lead)
    torch.testing.assert_close(decoder_heads(q, k, v, mask=mask), grouped_query(q, k, v, mask))
    alone = window(q, k.repeat_interleave(r, -3), v.repeat_interleave(r, -3), w)
    torch.testing.assert_close(decoder_heads(q, k, v, w=w), alone)
    torch.testing.assert_close(decoder_heads(q, k, v, cap=1e6, w=w), alone)


def test_pages_hold_what_a_cache_holds(normal):
    """Of one group, with a table for each of two texts that share their first page."""
    q, k, v = normal(2, 1, n, d_k), normal(2, 13, d_k), normal(2, 13, d_v)
    k[1, :4], v[1, :4] = k[0, :4], v[0, :4]
    table, last = torch.tensor([[6, 0, 3, 5], [6, 2, 4, 1]]), 12
    K, V = (normal(7, 4, 1, x.shape[-1]) for x in (k, v))
    for b in range(2):
        for j in range(13):
            K[table[b, j // 4], j % 4, 0], V[table[b, j // 4], j % 4, 0] = k[b, j], v[b, j]
    kept, new = slice(0, 13 - n), slice(13 - n, 13)
    expected = cached(q[:, 0], k[:, new], v[:, new], k[:, kept], v[:, kept])[0]
    torch.testing.assert_close(paged(q, K, V, table, last)[:, 0], expected)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_stands_in_a_hidden_slot_reaches_nothing(bad, inputs, normal, mask):
    """NaN or Inf there gives the output and the gradients that 0 there gives, those of the gains included."""

    def results(fill):
        found = []
        for function, others in ((decoder_heads, [sink, 1.5, w]), (qk_norm, [*gains, 1e-5])):
            q, k, v = (x.clone() for x in given)
            q[:, HIDDEN_QUERY], k[:, HIDDEN_KEY], v[:, HIDDEN_KEY] = fill, fill, fill
            tensors = [x.requires_grad_() for x in (q, k, v)]
            z = function(*tensors, *others, mask)
            learned = [x for x in others if isinstance(x, torch.Tensor)]
            found += [z, *torch.autograd.grad(z.square().sum(), [*tensors, *learned])]
        return found

    given, sink, gains = inputs(), normal(g * r, grad=True), [normal(d_k, grad=True), normal(d_k, grad=True)]
    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(inputs, normal):
    """One line names the formula, what was expected and what was given."""
    q, k, v = inputs()
    K, V, table = normal(5, 3, g, d_k), normal(5, 3, g, d_v), torch.tensor([4, 1])
    for line, call in (
        (
            r"^attention.decoder_heads: expected a finite cap > 0; got 0$",
            lambda: decoder_heads(q, k, v, cap=0),
        ),
        (r"finite cap > 0; got inf$", lambda: decoder_heads(q, k, v, cap=float("inf"))),
        (r"^attention.decoder_heads: expected w >= 0; got -1$", lambda: decoder_heads(q, k, v, w=-1)),
        (r"^attention.decoder_heads: expected q .*, sink \(h\)", lambda: decoder_heads(q, k, v, normal(5))),
        (r"^attention.qk_norm: expected q", lambda: qk_norm(q[:5], k, v, normal(d_k), normal(d_k), 1e-5)),
        (r"^attention.paged: expected 0 <= last < p\*s = 6; got 6$", lambda: paged(q, K, V, table, 6)),
        (r"^attention.paged: expected q .*, K \(f s g d_k\)", lambda: paged(q, K, V[:, :2], table, 5)),
        (r"^attention.paged: expected q .*; got q \(5, 7\)", lambda: paged(normal(5, 7), K, V, table, 5)),
    ):
        with pytest.raises(ValueError, match=line):
            call()
    with pytest.raises(TypeError, match=r"^attention.paged: expected an integer table"):
        paged(q, K, V, table.float(), 5)


def test_a_table_names_pages_up_to_the_last_token(inputs, normal):
    """In integers of any width, bytes among them; what is no page is refused, −1 too; entries behind are not read."""
    (q, *_), K, V = inputs(), normal(5, 3, g, d_k), normal(5, 3, g, d_v)
    table = torch.tensor([4, 1, 0, 2, 3])
    assert torch.equal(paged(q, K, V, table.byte(), 5), paged(q, K, V, table, 5))
    for entry in (-1, 5):
        wrong = torch.tensor([4, entry])
        assert paged(q, K, V, wrong, 2).isfinite().all()
        with pytest.raises(
            IndexError, match=rf"^attention.paged: expected table in 0..4, .* table\[1\] = {entry}$"
        ):
            paged(q, K, V, wrong, 3)
