# Two ways of ours are compared up to torch's defaults; the values themselves are held to the statement's bounds.
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from impl.attention import bigbird, bigbird_table, random_blocks, scaled_dot_product

B, b, r, d_k, d_v = 11, 3, 2, 5, 7
REPEATS = pytest.mark.parametrize("repeats", ["once", "each"])


@pytest.fixture
def inputs(normal):
    """Random queries, keys and values of blocks."""

    def draw(*lead, n=B * b, **options):
        return [normal(*lead, n, d, **options) for d in (d_k, d_k, d_v)]

    return draw


def draw_table(blocks=B, r=r):
    """A table of any blocks, repeated ones among them."""
    return torch.randint(blocks, (blocks, r), generator=torch.Generator().manual_seed(0))


def mask(table, size, w, g):
    """What each position sees, written out."""
    blocks = len(table)
    x, y = torch.arange(blocks).unsqueeze(-1), torch.arange(blocks)
    seen = (x - y).abs() <= w
    seen = seen | (x < g) | (x >= blocks - g) | (y < g) | (y >= blocks - g)
    seen = seen | (table.unsqueeze(-1) == y).any(-2)
    return seen.repeat_interleave(size, 0).repeat_interleave(size, 1)


@REPEATS
@pytest.mark.parametrize("g", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_statement(repeats, g, dtype, inputs, normal, stated, within):
    """Values and gradients are within the statement's bounds."""
    given, seed = inputs(n=14, dtype=dtype, grad=True), normal(14, d_v, dtype=dtype)
    table = draw_table(7)
    z = bigbird(*given, table, 1, g, repeats=repeats)
    said = stated("attention.bigbird", [*given, table, 1, g], seed, {"repeats": repeats})
    assert within([z, *torch.autograd.grad(z, given, seed)], said)


@pytest.mark.parametrize("w", [0, 1, 4, 20])
@pytest.mark.parametrize("g", [0, 1, 2, 6])
@pytest.mark.parametrize("backend", ["auto", "math"])
def test_it_is_attention_under_the_mask_of_its_blocks(w, g, backend, inputs, normal):
    """Forward and backward, whatever overlaps."""
    given, seed = inputs(2, dtype=torch.float64, grad=True), normal(2, B * b, d_v, dtype=torch.float64)
    table = draw_table()
    z = bigbird(*given, table, w, g, backend=backend)
    want = scaled_dot_product(*given, mask(table, b, w, g))
    torch.testing.assert_close(z, want)
    pairs = zip(torch.autograd.grad(z, given, seed), torch.autograd.grad(want, given, seed), strict=True)
    for got, gradient in pairs:
        torch.testing.assert_close(got, gradient)


def test_a_table_of_zeros_counts_the_first_block_again():
    """With scores alike it has four eighths of the weight where each naming counts, and a fifth where it counts once."""
    q = torch.zeros(16, 1)
    v = torch.zeros(16, 1)
    v[0] = 1.0
    zeros = torch.zeros(16, 3, dtype=torch.int64)
    assert bigbird(q, q, v, zeros, 1, 1)[8].item() == pytest.approx(1 / 5)
    assert bigbird(q, q, v, zeros, 1, 1, repeats="each")[8].item() == pytest.approx(4 / 8)


def test_operations_grow_with_the_length_and_not_with_its_square(inputs):
    """Twice the blocks take little more than twice the operations, backward, too."""

    def operations(length):
        given = inputs(n=length, grad=True)
        with FlopCounterMode(display=False) as counter:
            bigbird(*given, draw_table(length // 64, 3), 1, 1, backend="math").sum().backward()
        return counter.get_total_flops()

    few = operations(1024)
    assert few > 0
    assert operations(16384) < 18 * few


def test_memory_grows_with_the_length_and_not_with_its_square(inputs):
    """What the fused path allocates, forward and backward."""

    def allocated(length):
        given = inputs(n=length, grad=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            bigbird(*given, draw_table(length // 64, 3), 1, 1).sum().backward()
        return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())

    assert allocated(16384) < 20 * allocated(1024)


def test_what_it_cannot_do_is_refused_in_one_line(inputs):
    """Blocks that do not divide the text, or that there are not, a negative window, and kernels that cannot."""
    given, table = inputs(), draw_table()
    with pytest.raises(ValueError, match="which the blocks of table"):
        bigbird(*given, table[:7], 1, 1)
    with pytest.raises(ValueError, match=r"expected a table of blocks in 0\.\.10; got 11"):
        bigbird(*given, table + 11 - table, 1, 1)
    with pytest.raises(ValueError, match="expected w >= 0 and g >= 0; got w -1, g 1"):
        bigbird(*given, table, -1, 1)
    with pytest.raises(NotImplementedError, match="FlexAttention, for CUDA; got tensors on cpu"):
        bigbird(*given, table, 1, 1, backend="flex")
    with pytest.raises(NotImplementedError, match="counts a block once"):
        bigbird(*given, table, 1, 1, repeats="each", backend="flex")


def test_a_table_names_different_blocks_that_are_not_near():
    """Equal seeds give equal tables; where there are too few blocks, one line says so."""
    table, again = (bigbird_table(13, 3, 1, 1, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(table, again)
    for x in range(1, 12):
        named = set(table[x].tolist())
        assert len(named) == 3
        assert not named & {0, x - 1, x, x + 1, 12}
    with pytest.raises(ValueError, match="got r 3, 2 of B 7 with w 1, g 1"):
        bigbird_table(7, 3, 1, 1, torch.Generator())
    with pytest.raises(ValueError, match="expected r >= 1; got 0"):
        random_blocks(torch.ones(2, 3, dtype=torch.bool), 0, torch.Generator())
    with pytest.raises(ValueError, match="expected B >= 0, w >= 0 and g >= 0; got B 11, w -1, g 0"):
        bigbird_table(11, 1, -1, 0, torch.Generator())
