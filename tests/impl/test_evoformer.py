"""``impl.evoformer``: what its functions refuse, what its masks hide, and ``Block``, which holds the weights."""

import re

import pytest
import torch

from impl.evoformer import (
    Block,
    TriangleAttentionWeights,
    TriangleMultiplicationWeights,
    block,
    gated_attention,
    outer_product_mean,
    row_attention,
    triangle_attention,
    triangle_multiplication,
)

N_SEQ, N_RES, C_M, C_Z = 3, 5, 7, 11
SIZES = {"heads": 2, "pair_heads": 3, "c": 13, "c_triangle": 17, "factor": 2}


def drawn_block(seed=0):
    """A block of distinct sizes in float64, every weight drawn."""
    generator = torch.Generator().manual_seed(seed)
    block = Block(C_M, C_Z, **SIZES, dtype=torch.float64)
    for weight in block.parameters():
        weight.data.normal_(0.0, 0.5, generator=generator)
    return block


@pytest.fixture
def data(normal):
    """An alignment and pairs, a batch of two."""
    return normal(2, N_SEQ, N_RES, C_M).double(), normal(2, N_RES, N_RES, C_Z).double()


def test_a_block_is_the_one_stated(data, stated, within):
    """The module gives what the statement says of its own weights, padding included, within the bound."""
    block, (m, z) = drawn_block(), data
    mask = torch.tensor([True, True, False, True, False])
    weights = [weight for part in block.weights for weight in part]
    said = stated("evoformer.block", [m[0], z[0], *weights, block.eps, mask])
    assert within([got[0] for got in block(m, z, mask)], said)


def test_a_fresh_block_changes_nothing(data):
    """What every part adds last begins as 0, as AlphaFold's does, and its gates as σ(1)."""
    m, z = data
    block = Block(C_M, C_Z, **SIZES, dtype=torch.float64)
    assert torch.equal(block(m, z)[0], m)
    assert torch.equal(block(m, z)[1], z)
    assert (block.parts["row"]["b_g"] == 1).all()
    assert block.parts["row"]["W_q"].std() > 0


def test_a_block_has_as_many_parameters_as_stated():
    """In AlphaFold's sizes 1,829,952, counted where no memory is taken."""
    assert sum(p.numel() for p in Block(device="meta").parameters()) == 1_829_952


def test_weights_drawn_from_a_generator_are_the_same_again():
    """``reset_parameters`` draws from the generator that it is given."""
    one, two = Block(C_M, C_Z, **SIZES), Block(C_M, C_Z, **SIZES)
    for each in (one, two):
        each.reset_parameters(torch.Generator().manual_seed(3))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_padding_reaches_no_residue_and_no_gradient(data):
    """What stands in padding changes nothing elsewhere, and gets no gradient from there."""
    block, (m, z), real = drawn_block(), data, torch.tensor([True, True, True, False, True])
    pairs = real[:, None] & real
    other = m + 3 * ~real[:, None], z + 3 * ~pairs[..., None]
    for part in other:
        part.requires_grad_()
    got, moved = block(m, z, real), block(*other, real)
    assert torch.allclose(got[0][..., real, :], moved[0][..., real, :])
    assert torch.allclose(got[1][:, pairs], moved[1][:, pairs])
    moved[0][..., real, :].sum().backward(retain_graph=True)
    moved[1][:, pairs].sum().backward()
    assert not other[0].grad[..., ~real, :].any()
    assert not other[1].grad[:, ~pairs].any()


def test_the_two_directions_are_each_others_transposes(data):
    """Incoming is outgoing of the transpose, the projections exchanged, and not without that; ending is starting of it."""
    weights, z = drawn_block().weights, data[1]
    norm, a, b, rest = (
        tuple(weights.incoming[k]) for k in (slice(2), slice(2, 6), slice(6, 10), slice(10, 16))
    )
    incoming = triangle_multiplication(z, weights.incoming, 1e-5, True)
    turned = z.transpose(-3, -2)
    for first, second, same in ((b, a, True), (a, b, False)):
        exchanged = TriangleMultiplicationWeights(*norm, *first, *second, *rest)
        outgoing = triangle_multiplication(turned, exchanged, 1e-5, False).transpose(-3, -2)
        assert torch.allclose(incoming, outgoing) is same
    ending = triangle_attention(z, weights.ending, 1e-5, True)
    assert torch.allclose(ending, triangle_attention(turned, weights.ending, 1e-5, False).transpose(-3, -2))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(data):
    """Formula, what was expected, what was given: of pairs that are not square, masks, sizes below 1."""
    weights, z = drawn_block().weights, data[1]
    assert isinstance(weights.starting, TriangleAttentionWeights)
    with pytest.raises(
        ValueError,
        match=r"^evoformer\.triangle_multiplication: expected z \(n_res n_res c_z\)|z \(\.\.\. n_res",
    ):
        triangle_multiplication(z[:, 1:], weights.outgoing, 1e-5, False)
    with pytest.raises(TypeError, match=re.escape("evoformer.triangle_attention: expected a boolean mask")):
        triangle_attention(z, weights.starting, 1e-5, False, torch.ones(N_RES, N_RES))
    with pytest.raises(
        ValueError, match=r"^evoformer\.triangle_attention: expected a mask .*; got mask \(5, 4\)$"
    ):
        triangle_attention(z, weights.starting, 1e-5, False, torch.ones(N_RES, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"^evoformer\.gated_attention: expected q .*; got q "):
        gated_attention(*(torch.zeros(2, 3) for _ in range(5)))
    with pytest.raises(ValueError, match=r"^evoformer\.block: expected sizes of at least 1; got .*heads 0"):
        Block(C_M, C_Z, heads=0)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda w, m, z: triangle_multiplication(z, w.outgoing, 1e-5, "outgoing"),
            TypeError,
            "evoformer.triangle_multiplication: expected True or False as incoming; got 'outgoing'",
        ),
        (
            lambda w, m, z: triangle_attention(z, w.starting, 1e-5, None),
            TypeError,
            "evoformer.triangle_attention: expected True or False as ending; got None",
        ),
        (
            lambda w, m, z: row_attention(m, z, w.column, 1e-5),
            TypeError,
            "evoformer.row_attention: expected RowAttentionWeights as weights; got ColumnAttentionWeights",
        ),
        (
            lambda w, m, z: row_attention(m, z, w.row._replace(b_o=None), 1e-5),
            TypeError,
            "evoformer.row_attention: expected a tensor as b_o; got None",
        ),
        (
            lambda w, m, z: block(m, z, tuple(w), 1e-5),
            TypeError,
            "evoformer.block: expected BlockWeights as weights; got tuple",
        ),
        (
            lambda w, m, z: block(m, z, w, 1e-5, torch.ones(N_RES)),
            TypeError,
            "evoformer.block: expected a boolean mask, True = takes part; got mask float32",
        ),
        (
            lambda w, m, z: block(m, z, w, 1e-5, torch.tensor(True)),
            ValueError,
            "evoformer.block: expected a mask that broadcasts to (... 5); got mask ()",
        ),
        (
            lambda w, m, z: outer_product_mean(m[:, :0], w.outer, 1e-5),
            ValueError,
            "evoformer.outer_product_mean: expected at least one sequence to take a mean of; got m (2, 0, 5, 7)",
        ),
        (
            lambda w, m, z: Block(C_M, C_Z, eps=float("nan")),
            ValueError,
            "evoformer.block: expected eps > 0; got eps nan",
        ),
    ],
)
def test_what_would_be_computed_as_something_else_is_refused_in_one_line(call, error, said, data):
    """Words for truth values, weights of another part, masks of no residues, a mean of nothing, an ε that is none."""
    with pytest.raises(error, match=f"^{re.escape(said)}$"):
        call(drawn_block().weights, *data)
