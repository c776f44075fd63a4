"""impl.bert's heads: as they are stated, for batches, and what they refuse."""

import pytest
import torch

from impl.bert import best_span, head_mlm, head_pair, head_sequence, head_span, head_token

N, D, K, V, BATCH = 5, 3, 7, 11, 13
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


@DTYPES
def test_heads_of_a_text_and_of_tokens_are_the_ones_stated(dtype, normal, stated, within):
    """Within the statements' bounds; the pair's has probabilities before its logits."""
    W, b = normal(D, K, dtype=dtype), normal(K, dtype=dtype)
    u, x = normal(D, dtype=dtype), normal(N, D, dtype=dtype)
    assert within([head_sequence(u, W, b)], stated("bert.head_sequence", [u, W, b]))
    assert within([head_token(x, W, b)], stated("bert.head_token", [x, W, b]))
    W, b = W[:, :2], b[:2]
    assert within(head_pair(u, W, b), stated("bert.head_pair", [u, W, b]))


@DTYPES
def test_the_head_of_spans_is_the_one_stated(dtype, normal, stated, within):
    """Within the statement's bounds."""
    inputs = [normal(N, D, dtype=dtype), normal(D, dtype=dtype), normal(D, dtype=dtype)]
    assert within(head_span(*inputs), stated("bert.head_span", inputs))


@DTYPES
@pytest.mark.parametrize("approximation", ["none", "tanh"])
def test_the_head_of_words_is_the_one_stated(dtype, approximation, normal, stated, within):
    """Within the statement's bounds, under either form of GELU."""
    shapes = ((N, D), (D, D), (D,), (D,), (D,))
    inputs = [*(normal(*shape, dtype=dtype) for shape in shapes), 1e-3]
    inputs += [normal(V, D, dtype=dtype), normal(V, dtype=dtype)]
    said = stated("bert.head_mlm", inputs, None, {"approximation": approximation})
    assert within([head_mlm(*inputs, approximation=approximation)], said)


def test_a_row_of_a_batch_is_answered_as_it_is_alone(normal):
    """The softmax of a pair is over its relations, not over the pairs."""
    u, W, b = (normal(*shape, dtype=torch.float64) for shape in ((BATCH, D), (D, K), (K,)))
    for head in (head_sequence, lambda *given: head_pair(*given)[0]):
        torch.testing.assert_close(head(u, W, b), torch.stack([head(row, W, b) for row in u]))
    torch.testing.assert_close(head_pair(u, W, b)[0].sum(-1), torch.ones(BATCH, dtype=torch.float64))


def test_a_span_never_ends_before_it_begins(normal):
    """Its probability is 0; those of all others are what two independent draws leave, so that their sum is below one."""
    s, t, P = head_span(normal(BATCH, N, D), normal(D), normal(D))
    assert (P.tril(-1) == 0).all()
    assert (P.triu().sum((-2, -1)) < 1).all()
    torch.testing.assert_close(P[:, 0, -1], s.softmax(-1)[:, 0] * t.softmax(-1)[:, -1])


def test_large_logits_do_not_overflow():
    """A thousand is no number that an exponential of float32 has."""
    W = torch.tensor([[1000.0, 0.0]])
    probabilities, logits = head_pair(torch.ones(1), W, torch.zeros(2))
    assert probabilities.tolist() == [1, 0]
    assert logits.tolist() == [1000, 0]


def test_shapes_that_do_not_fit_are_refused(normal):
    """With what was expected."""
    for head in (head_sequence, head_pair):
        with pytest.raises((ValueError, TypeError)):
            head(normal(D), normal(D + 1, K), normal(K))
    with pytest.raises((ValueError, TypeError)):
        head_token(normal(D), normal(D, K), normal(K))
    with pytest.raises((ValueError, TypeError)):
        head_span(normal(N, D), normal(D), normal(D + 1))


def test_the_head_of_words_refuses_what_it_has_no_meaning_for(normal):
    """An ε of 0, and another form of GELU."""
    inputs = [normal(*shape) for shape in ((N, D), (D, D), (D,), (D,), (D,), (V, D), (V,))]
    with pytest.raises(ValueError, match="positive eps"):
        head_mlm(*inputs[:5], 0.0, *inputs[5:])
    with pytest.raises((ValueError, TypeError), match="approximation"):
        head_mlm(*inputs[:5], 1e-12, *inputs[5:], approximation="erf")


@pytest.mark.usefixtures("unchecked")
def test_a_span_needs_a_token_and_a_boolean_choice_of_them(normal):
    """In one line each."""
    with pytest.raises(ValueError, match="expected at least one token"):
        best_span(torch.zeros(3, 0), torch.zeros(3, 0))
    with pytest.raises(TypeError, match="expected a boolean allowed; got allowed int64"):
        best_span(normal(5), normal(5), torch.ones(5, dtype=torch.int64))
