# Two ways of ours are compared up to torch's defaults for float32; the values themselves are held to the statement's bounds.
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from impl.attention import LinformerAttention, linformer, scaled_dot_product

n, m, r, d_k, d_v = 5, 11, 3, 7, 2
SHARING = pytest.mark.parametrize("sharing", ["separate", "keys_and_values"])


@pytest.fixture
def inputs(normal):
    """Random queries, keys, values and parameters."""

    def draw(*lead, n=n, m=m, **options):
        shapes = (*lead, n, d_k), (*lead, m, d_k), (*lead, m, d_v), (r, m), (r,), (r, m), (r,)
        return [normal(*shape, **options) for shape in shapes]

    return draw


@SHARING
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("backend", ["auto", "math"])
def test_it_is_the_statement(sharing, dtype, backend, inputs, normal, stated, within):
    """Values and gradients are within the statement's bounds."""
    given, g = inputs(dtype=dtype, grad=True), normal(n, d_v, dtype=dtype)
    z = linformer(*given, sharing=sharing, backend=backend)
    said = stated("attention.linformer", given, g, {"sharing": sharing})
    found = torch.autograd.grad(z, given, g, allow_unused=True, materialize_grads=True)
    assert within([z, *found], said)


def test_sums_over_all_keys_do_not_overflow_in_half_precision(normal):
    """Three hundred keys of 300 each: their sum is beyond the largest number of float16."""
    q, k, v, F = normal(n, d_k), torch.full((300, d_k), 300.0), normal(300, d_v), normal(r, 300)
    given = q, k, v, torch.ones(r, 300), normal(r), F, normal(r)
    z = linformer(*(x.half() for x in given))
    wide = linformer(*(x.half().float() for x in given))
    torch.testing.assert_close(z, wide.half())


def test_the_identity_makes_it_attention(normal):
    """Each row is then a key."""
    q, k, v = normal(n, d_k), normal(m, d_k), normal(m, d_v)
    unit, none = torch.eye(m), torch.zeros(m)
    torch.testing.assert_close(linformer(q, k, v, unit, none, unit, none), scaled_dot_product(q, k, v))


def test_a_shorter_text_takes_the_first_columns(inputs):
    """Which is what zeros behind it give."""
    q, k, v, *matrices = inputs()
    behind = torch.arange(m).unsqueeze(-1) < 4
    torch.testing.assert_close(
        linformer(q, k[:4], v[:4], *matrices), linformer(q, k * behind, v * behind, *matrices)
    )


def test_leading_dimensions_share_the_matrices(inputs):
    """Members of a batch, and heads."""
    q, k, v, *matrices = inputs(2, 3)
    z = linformer(q, k, v, *matrices)
    torch.testing.assert_close(z[1, 2], linformer(q[1, 2], k[1, 2], v[1, 2], *matrices))


def test_operations_grow_with_the_length_and_not_with_its_square(inputs):
    """Sixteen times as long a text takes sixteen times the operations, backward, too."""

    def operations(length):
        given = inputs(n=length, m=length, grad=True)
        with FlopCounterMode(display=False) as counter:
            linformer(*given, backend="math").sum().backward()
        return counter.get_total_flops()

    few = operations(1024)
    assert few > 0
    assert operations(16384) == 16 * few


def test_memory_grows_with_the_length_and_not_with_its_square(inputs):
    """What is allocated, forward and backward."""

    def allocated(length):
        given = inputs(n=length, m=length, grad=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            linformer(*given).sum().backward()
        return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())

    assert allocated(16384) < 18 * allocated(1024)


@SHARING
def test_the_module_is_the_function_of_its_heads(sharing, normal):
    """Projections, heads, the function, the output; a text may be shorter than it was made for."""
    module = LinformerAttention(6, 2, 17, r, sharing=sharing)
    x = normal(2, m, 6)
    q, k, v = (part.unflatten(-1, (2, 3)).transpose(1, 2) for part in module.qkv(x).chunk(3, -1))
    F, b_F = (module.E, module.b_E) if sharing == "keys_and_values" else (module.F, module.b_F)
    z = linformer(q, k, v, module.E, module.b_E, F, b_F)
    torch.testing.assert_close(module(x), module.out(z.transpose(1, 2).flatten(-2)))
    assert ("F" in module.state_dict()) == (sharing == "separate")


def test_what_does_not_fit_is_refused_in_one_line(inputs):
    """A text that is longer than the matrices, matrices that differ, and a width that heads do not divide."""
    q, k, v, E, *others = inputs()
    with pytest.raises(ValueError, match=r"attention\.linformer: expected E .* a length of 11 at least"):
        linformer(q, k, v, E[:, :4], others[0], others[1][:, :4], others[2])
    with pytest.raises(ValueError, match="heads that divide d_model; got d_model 7, heads 2"):
        LinformerAttention(7, 2, 17, 3)
    with pytest.raises(ValueError, match=r"expected x \(\.\.\. n 6\); got x \(5, 7\)"):
        LinformerAttention(6, 2, 17, 3)(q)
