"""Transformer-XL as a module: segments against one pass, where gradients end, how far it reaches, and weights of others."""

import math

import pytest
import torch

from impl.transformer_xl import TransformerXL, TransformerXLConfig, model

V, D, L, H, F, M = 61, 12, 3, 2, 29, 7


@pytest.fixture
def xl(randomized):
    """A model with random parameters, in float64."""
    made = TransformerXL(TransformerXLConfig(V, D, L, H, F, M))
    return randomized(made).double()


@pytest.fixture
def ids():
    """Two texts of 23 tokens."""
    return torch.randint(0, V, (2, 23), generator=torch.Generator().manual_seed(5))


def read(xl, ids, length, memory=None):
    """The logits of texts read in segments of this length, one behind the other."""
    found = []
    for segment in ids.split(length, -1):
        logits, memory = xl(segment, memory)
        found.append(logits)
    return torch.cat(found, -2)


@pytest.mark.parametrize("length", [1, 5, 22])
def test_segments_with_a_long_memory_give_what_one_pass_gives(xl, ids, length):
    """Whatever their length, as long as all that was read is remembered."""
    object.__setattr__(xl.config, "memory", 23)
    torch.testing.assert_close(read(xl, ids, length), xl(ids)[0])


def test_a_short_memory_is_the_end_of_a_longer_one(xl, ids):
    """The last rows that each layer has read are kept, in their order."""
    _, short = xl(ids)
    object.__setattr__(xl.config, "memory", 23)
    _, long = xl(ids)
    assert short.shape == (2, L, M, D)
    assert torch.equal(short, long[..., -M:, :])


def test_no_gradient_goes_back_through_the_memory(xl, ids):
    """Nor out of what is kept."""
    y, memory = xl.hidden(ids[:, :11])
    assert y.requires_grad
    assert not memory.requires_grad
    memory.requires_grad_()
    xl(ids[:, 11:], memory)[0].sum().backward()
    assert memory.grad is None


def test_a_memory_may_learn_where_it_is_asked_for(xl, ids):
    """By the convention that the gradient passes."""
    memory = torch.randn(L, M, D, dtype=torch.float64, requires_grad=True)
    y, _ = model(ids, memory, xl.E, xl.weights, 1e-5, gradient="passed")
    y.pow(3).sum().backward()
    assert (memory.grad.flatten(1) != 0).any(-1).all()


@pytest.mark.parametrize(("length", "memory"), [(4, 3), (4, 4), (3, 5)])
def test_what_reaches_a_token_grows_by_whole_segments_a_layer(xl, length, memory):
    """The last segment depends on a token at most (L − 1)·⌈M/n⌉·n + M places before it, and on that one."""
    object.__setattr__(xl.config, "memory", memory)
    ids = torch.randint(0, V, (9 * length,), generator=torch.Generator().manual_seed(7))
    start = 8 * length
    others = ids.repeat(start + 1, 1)
    for place in range(start):
        others[place, place] = (ids[place] + 1) % V
    with torch.no_grad():
        found = read(xl, others, length)[:, start:]
        again = read(xl, ids.repeat(start + 1, 1), length)[:, start:]
    rounding = 8 * (again - again[-1]).abs().max()  # members of a batch may be multiplied by other kernels
    differs = (found[:-1] - found[-1]).abs().amax((1, 2)) > rounding
    reach = (L - 1) * math.ceil(memory / length) * length + memory
    assert differs.tolist() == [place >= start - reach for place in range(start)]


def test_the_loss_is_that_of_the_logits(xl, ids):
    """The mean over all targets, and the same memory."""
    loss, memory = xl.loss(ids[:, :-1], ids[:, 1:])
    logits, kept = xl(ids[:, :-1])
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    torch.testing.assert_close(loss, expected)
    assert torch.equal(memory, kept)


def state_of(xl):
    """The parameters as pytorch-transformers names and packs them."""
    made, w = {"word_emb.emb_layers.0.weight": xl.E}, xl.weights._asdict()
    for t in range(L):
        of = {name: part[t].detach() for name, part in w.items()}
        rows = {name: of[name].mT.flatten(0, 1) for name in ("W_q", "W_k", "W_v", "W_r")}
        made |= {
            f"layers.{t}.dec_attn.qkv_net.weight": torch.cat((rows["W_q"], rows["W_k"], rows["W_v"])),
            f"layers.{t}.dec_attn.r_net.weight": rows["W_r"],
            f"layers.{t}.dec_attn.o_net.weight": of["W_o"].T,
            f"layers.{t}.dec_attn.r_w_bias": of["u"],
            f"layers.{t}.dec_attn.r_r_bias": of["w"],
            f"layers.{t}.dec_attn.layer_norm.weight": of["gamma_1"],
            f"layers.{t}.dec_attn.layer_norm.bias": of["beta_1"],
            f"layers.{t}.pos_ff.CoreNet.0.weight": of["W_1"].T,
            f"layers.{t}.pos_ff.CoreNet.0.bias": of["b_1"],
            f"layers.{t}.pos_ff.CoreNet.3.weight": of["W_2"].T,
            f"layers.{t}.pos_ff.CoreNet.3.bias": of["b_2"],
            f"layers.{t}.pos_ff.layer_norm.weight": of["gamma_2"],
            f"layers.{t}.pos_ff.layer_norm.bias": of["beta_2"],
        }
    return made


def test_weights_of_pytorch_transformers_are_taken(xl, ids):
    """Each in its place: the model computes the same."""
    other = TransformerXL(xl.config).double()
    other.load_transfo_xl(state_of(xl))
    assert torch.equal(other(ids)[0], xl(ids)[0])


def test_weights_of_another_model_are_refused(xl):
    """In one line: a layer too few, one too many, another width."""
    state = state_of(xl)
    with pytest.raises(
        ValueError, match=r"expected layers\.0\.dec_attn\.o_net\.weight in the state, and 0 more"
    ):
        xl.load_transfo_xl({k: v for k, v in state.items() if k != "layers.0.dec_attn.o_net.weight"})
    fewer = TransformerXL(TransformerXLConfig(V, D, L - 1, H, F, M)).double()
    with pytest.raises(ValueError, match="2 layers"):
        fewer.load_transfo_xl(state)
    wider = TransformerXL(TransformerXLConfig(V, D, L, H, F + 2, M)).double()
    with pytest.raises(ValueError, match="W_1"):
        wider.load_transfo_xl(state)


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(xl, ids):
    """A memory of other layers, rows that cannot be, sizes that cannot be built."""
    with pytest.raises(ValueError, match=r"memory \(\.\.\. L M d_model\).*with L = 3"):
        xl(ids, torch.zeros(L + 1, M, D, dtype=torch.float64))
    with pytest.raises(
        ValueError, match=r"^transformer_xl\.model: expected leading dimensions that broadcast"
    ):
        xl(ids, torch.zeros(3, L, M, D, dtype=torch.float64))
    with pytest.raises(
        TypeError, match=r"^transformer_xl\.model: expected LayerWeights as weights; got list"
    ):
        model(ids, torch.zeros(L, M, D, dtype=torch.float64), xl.E, list(xl.weights), 1e-5)
    with pytest.raises(TypeError, match=r"^transformer_xl\.model: expected a tensor as u; got None"):
        model(ids, torch.zeros(L, M, D, dtype=torch.float64), xl.E, xl.weights._replace(u=None), 1e-5)
    with pytest.raises(ValueError, match="rows >= 0"):
        model(ids, torch.zeros(L, M, D, dtype=torch.float64), xl.E, xl.weights, 1e-5, rows=-1)
    with pytest.raises(ValueError, match="heads that divide d_model"):
        TransformerXLConfig(V, D, L, 5, F, M)
    with pytest.raises(ValueError, match="a target for every id"):
        xl.loss(ids, ids[:, 1:])
