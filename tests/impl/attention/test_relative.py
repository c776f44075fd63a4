"""Attention by relative positions: heads at once, the shift, and what is refused."""

import pytest
import torch

from impl.attention import relative, scaled_dot_product, shift_distances

N, M, D_K, D_V, H = 3, 7, 5, 2, 11


@pytest.fixture
def inputs():
    """Queries, keys, values, distances and both biases of several heads, in float64."""
    generator = torch.Generator().manual_seed(3)
    shapes = (H, N, D_K), (H, M, D_K), (H, M, D_V), (H, N + M - 1, D_K), (H, D_K), (H, D_K)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def test_heads_at_once_are_heads_one_by_one(inputs):
    """u and w have leading dimensions of their own, as everything else has."""
    singles = torch.stack([relative(*parts) for parts in zip(*inputs, strict=True)])
    torch.testing.assert_close(relative(*inputs), singles)


def test_without_distances_it_is_plain_attention(inputs):
    """Where r and u are 0."""
    q, k, v, r, u, w = inputs
    torch.testing.assert_close(relative(q, k, v, 0 * r, 0 * u, w), scaled_dot_product(q, k, v))


def test_entries_are_shifted_to_their_keys():
    """Entry j of row i is that of distance j − i + n − 1."""
    x = torch.arange(N * (N + M - 1)).view(N, -1).float()
    expected = [[x[i, j - i + N - 1] for j in range(M)] for i in range(N)]
    assert shift_distances(x, M).tolist() == expected


def test_distances_behind_alone_leave_others_beyond_a_token():
    """With as many columns as keys: a 0, then the next row; up to a token's own place all is right."""
    x = torch.arange(1.0, N * M + 1).view(N, M)
    shifted = shift_distances(x, M)
    own = M - N
    for i in range(N):
        assert shifted[i, : i + own + 1].tolist() == x[i, N - 1 - i :].tolist()
        if i + 1 < N:
            assert shifted[i, i + own + 1 :].tolist() == [0, *x[i + 1]][: N - 1 - i]


@pytest.mark.parametrize("n", [1, 5])
def test_one_query_and_one_key_are_enough(n):
    """The smallest sizes."""
    q, k, v = torch.ones(n, 2), torch.ones(1, 2), torch.full((1, 3), 4.0)
    found = relative(q, k, v, torch.ones(n, 2), torch.ones(2), torch.ones(2))
    assert found.tolist() == [[4.0] * 3] * n


@pytest.mark.usefixtures("unchecked")
def test_too_few_distances_are_refused(inputs):
    """In one line, with the shapes."""
    q, k, v, r, u, w = inputs
    with pytest.raises(ValueError, match=r"attention.relative: expected .*r \(\.\.\. n\+m-1 d_k\).*got"):
        relative(q, k, v, r[:, 1:], u, w)
    with pytest.raises(ValueError, match="p >= 7"):
        shift_distances(r[..., :6], 7)


def test_no_queries_give_nothing(inputs):
    """And distances of as many rows as keys less one."""
    q, k, v, r, u, w = inputs
    assert relative(q[:, :0], k, v, r[:, : M - 1], u, w).shape == (H, 0, D_V)


def test_a_gradient_of_a_function_passes_beside_a_parameter(inputs):
    """Of the values, where distances are parameters of a module."""
    q, k, v, r, u, w = (x[..., :D_V] for x in inputs)  # as wide as values: only then the kernel is fused
    learned = torch.nn.Parameter(r)
    found = torch.func.grad(lambda v: relative(q, k, v, learned, u, w).sum())(v)
    v = v.clone().requires_grad_()
    torch.testing.assert_close(found, torch.autograd.grad(relative(q, k, v, r, u, w).sum(), v)[0])


def test_fewer_keys_than_none_are_refused():
    """In one line."""
    with pytest.raises(ValueError, match=r"p >= -1 >= 0"):
        shift_distances(torch.zeros(3, 7), -1)
