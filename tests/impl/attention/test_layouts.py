import pytest
import torch
from torch import nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertAttention

from impl.attention import MultiHeadAttention, key_padding_mask
from impl.attention.layouts import from_bert, from_per_head, from_torch, to_bert, to_per_head, to_torch

n, m, d_model, h, d_y = 5, 11, 14, 2, 13

BIAS = pytest.mark.parametrize("bias", [True, False])
LENGTHS = torch.tensor([m, 7])


def same(one, other):
    """Whether two state dicts have the same names with equal tensors."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def loaded(state, **options):
    """Our module with that state."""
    ours = MultiHeadAttention(d_model, h, **options)
    ours.load_state_dict(state)
    return ours.eval()


class TestTorch:
    """nn.MultiheadAttention."""

    LAYOUTS = pytest.mark.parametrize("width", [None, d_y], ids=["packed", "separate"])

    @pytest.fixture
    def made(self, randomized):
        """One with random parameters; ``width`` is that of keys and values."""

        def make(bias, width):
            made = nn.MultiheadAttention(d_model, h, bias=bias, kdim=width, vdim=width, batch_first=True)
            return randomized(made).eval()

        return make

    @BIAS
    @LAYOUTS
    def test_there_and_back_is_exact(self, bias, width, made):
        """Its state dict, taken over and returned, is the same; so is ours."""
        theirs = made(bias, width).state_dict()
        ours = from_torch(theirs)
        assert same(to_torch(ours), theirs)
        assert same(from_torch(to_torch(ours)), ours)
        assert same(loaded(ours, bias=bias, d_y=width).state_dict(), ours)

    @BIAS
    @LAYOUTS
    def test_both_modules_then_are_the_statement(self, bias, width, made, normal, stated_module, within):
        """With the same parameters, on padded sequences; torch's mask has the other polarity."""
        theirs = made(bias, width)
        ours = loaded(from_torch(theirs.state_dict()), bias=bias, d_y=width)
        x, y, mask = normal(2, n, d_model), normal(2, m, width or d_model), key_padding_mask(LENGTHS, m)
        z = ours(x, y, mask)
        their_z, _ = theirs(x, y, y, key_padding_mask=~mask[:, 0], need_weights=False)
        for i in range(2):
            said = stated_module(ours, x[i], y[i], mask[i])
            assert within([z[i]], said)
            assert within([their_z[i]], said)

    def test_ours_goes_to_torch(self, randomized, normal, stated_module, within):
        """A module of ours, of random parameters, in torch's place."""
        ours = randomized(MultiHeadAttention(d_model, h))
        theirs = nn.MultiheadAttention(d_model, h, batch_first=True)
        theirs.load_state_dict(to_torch(ours.state_dict()))
        x = normal(n, d_model)
        assert within([theirs(x, x, x)[0]], stated_module(ours, x, x, None))

    def test_the_weights_are_the_same_for_each_head(self, made, normal):
        """torch returns them too, where it is told not to average them."""
        theirs, x = made(True, None), normal(2, n, d_model)
        _, a = loaded(from_torch(theirs.state_dict()))(x, return_weights=True)
        torch.testing.assert_close(a, theirs(x, x, x, average_attn_weights=False)[1])

    def test_what_ours_does_not_have_is_refused(self, made):
        """Learned extra keys, keys and values of two widths, heads of other widths than torch's."""
        with pytest.raises(ValueError, match=r"without add_bias_kv; got bias_k$"):
            from_torch(nn.MultiheadAttention(d_model, h, add_bias_kv=True).state_dict())
        with pytest.raises(ValueError, match=r"expected keys and values made from one width; got 13 and 3$"):
            from_torch(nn.MultiheadAttention(d_model, h, kdim=13, vdim=3).state_dict())
        ours = MultiHeadAttention(d_model, h, d_k=3, d_v=5).state_dict()
        with pytest.raises(
            ValueError, match=r"d_model = 14, as torch has it; got h\*d_k 6, h\*d_k 6, h\*d_v 10$"
        ):
            to_torch(ours)
        with pytest.raises(ValueError, match=r"expected an h that divides .*; got h 4, rows 6, 6, 10$"):
            to_per_head(ours, 4)
        with pytest.raises(KeyError, match="q_proj_weight"):
            from_torch({})


class TestBert:
    """transformers' BertAttention."""

    @pytest.fixture
    def theirs(self, randomized):
        """One with random parameters, its normalization among them."""
        config = BertConfig(hidden_size=d_model, num_attention_heads=h, attn_implementation="sdpa")
        return randomized(BertAttention(config)).eval()

    def test_there_and_back_is_exact(self, theirs):
        """All but the normalization is taken over and returned as it is; so is ours."""
        state = {name: p for name, p in theirs.state_dict().items() if "LayerNorm" not in name}
        ours = from_bert(theirs.state_dict())
        assert same(to_bert(ours), state)
        assert same(from_bert(to_bert(ours)), ours)
        assert same(loaded(ours).state_dict(), ours)

    def test_both_modules_then_are_the_statement(self, theirs, normal, stated_module, within):
        """Their self-attention and output layer, without residual and normalization, with the same parameters."""
        ours = loaded(from_bert(theirs.state_dict()))
        x, mask = normal(2, m, d_model), key_padding_mask(LENGTHS, m)
        z = ours(x, mask=mask)
        their_z = theirs.output.dense(theirs.self(x, mask[:, None])[0])
        for i in range(2):
            said = stated_module(ours, x[i], x[i], mask[i])
            assert within([z[i]], said)
            assert within([their_z[i]], said)

    def test_ours_goes_to_bert(self, theirs, randomized, normal, stated_module, within):
        """A module of ours, of random parameters, in its place."""
        ours = randomized(MultiHeadAttention(d_model, h))
        missing = theirs.load_state_dict(to_bert(ours.state_dict()), strict=False)
        assert [name for name in missing.missing_keys if "LayerNorm" not in name] == []
        x = normal(1, n, d_model)
        z = theirs.output.dense(theirs.self(x)[0])
        assert within([z[0]], stated_module(ours, x[0], x[0], None))


@pytest.mark.parametrize("width", [d_model, d_y])
def test_there_and_back_is_exact_for_the_statement_s_weights(width, normal):
    """Of any widths, also where y has one of its own."""
    weights = [normal(*shape) for shape in ((h, d_model, 3), (h, width, 3), (h, width, 5), (h * 5, d_model))]
    ours = from_per_head(*weights)
    assert all(torch.equal(x, y) for x, y in zip(to_per_head(ours, h), weights, strict=True))
    assert same(
        loaded(ours, d_k=3, d_v=5, d_y=None if width == d_model else width, bias=False).state_dict(), ours
    )
