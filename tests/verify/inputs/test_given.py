"""A formula some of whose inputs are given by words: one is another, or counts; a callable of the others is held to it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from spec.language.registry import find
from verify import check
from verify.adapt import module, rows
from verify.faults import Unusable
from verify.inputs.given import implied_sizes, with_given

pytestmark = pytest.mark.usefixtures("ungraded")

HEADS, LEARNED = "attention.multi_head", "positional.learned"


class SelfAttention(nn.Module):
    """Attention of one sequence, without a mask."""

    def __init__(self, d_model, h, d_k, scale=None):
        super().__init__()
        self.h, self.scale = h, scale
        self.qkv = nn.Linear(d_model, 3 * h * d_k, bias=False)
        self.out = nn.Linear(h * d_k, d_model, bias=False)

    def forward(self, x):
        """Of x alone."""
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        z = F.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return self.out(z.transpose(1, 2).flatten(2))


class Positions(nn.Module):
    """A table that is read at positions of its own."""

    def __init__(self, N, d):
        super().__init__()
        self.table = nn.Embedding(N, d)

    def forward(self, ids):
        """The first rows, as many as there are ids."""
        return self.table(torch.arange(ids.shape[-1]))


def attention(**how):
    """The module adapted, with nothing said of y."""
    return module(
        lambda d_model, h, d_k: SelfAttention(d_model, h, d_k, **how),
        lambda W_q, W_k, W_v, W_o: {"qkv.weight": rows(W_q, W_k, W_v), "out.weight": W_o.T},
        lambda attend, x: attend(x),
        sizes={"d_v": "d_k"},
    )


def positions():
    """The table adapted, with nothing said of positions."""
    return module(
        Positions,
        lambda W_PE: {"table.weight": W_PE},
        lambda table, n: table(torch.zeros(n, dtype=torch.long)),
        batch=0,
    )


def test_an_input_that_is_another_is_none_of_its_own():
    """Sizes that become the same are one; gradients reach the sequence by both ways."""
    formula = with_given(find(HEADS), {"y": "x"})
    assert [str(item) for item in formula.inputs] == ["x", "W_q", "W_k", "W_v", "W_o", "mask"]
    assert {str(size) for size in formula.sizes} == {"n", "d_model", "d_k", "d_v", "h"}
    report = check(attention(), HEADS, fixed={"y": "x"}, max_examples=12)
    assert report.headline == "conforms where y = x, d_v = d_k"
    assert any(c.kind == "gradient" and c.verdict == "conforms" for c in report.checks)
    wrong = check(attention(scale=1.0), HEADS, fixed={"y": "x"}, max_examples=12)
    assert "the scale is missing" in wrong.hint


def test_an_input_that_counts_is_none_of_its_own():
    """How many there are is passed where no other input tells; the table has a row for each."""
    formula = find(LEARNED)
    assert [str(item) for item in with_given(formula, {"pos": "0.."}).inputs] == ["n", "W_PE"]
    assert implied_sizes(formula, {"pos": "0.."}) == {"N": "n + any - 1"}
    assert implied_sizes(formula, {"pos": "2.."}) == {"N": "n + any + 1"}
    report = check(positions(), LEARNED, fixed={"pos": "0.."}, max_examples=12)
    assert report.headline == "conforms where pos = 0.., N = n + any - 1"
    assert check(positions(), LEARNED, fixed={"pos": "1.."}, max_examples=12).verdict == "falsified"


@pytest.mark.parametrize(
    ("make", "formula", "says"),
    [
        (attention, HEADS, r'given no y .*; if x is its y, too, say so: fixed=\{"y": "x"\} or --set y=x'),
        (
            positions,
            LEARNED,
            r'given no pos .*; if it counts pos itself, .*: fixed=\{"pos": "0\.\."\} or --set pos=0\.\.',
        ),
    ],
)
def test_what_may_be_given_is_offered_where_it_is_not_taken(make, formula, says):
    """The line says what to write."""
    with pytest.raises(Unusable, match=says):
        check(make(), formula, max_examples=5)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"z": "x"}, "has no number or parameter 'z' to be fixed"),
        ({"y": "W_q"}, "y is given as 'W_q'; expected a number, another input of its shape, or 0.."),
        ({"y": "about 5"}, "y is given as 'about 5'; expected a number, another input"),
        ({"x": "y", "y": "x"}, "x is given as 'y'; expected"),
        ({"mask": "0.."}, "has no number or parameter 'mask' to be fixed"),
    ],
)
def test_words_that_say_nothing_are_refused(words, says):
    """One line, with what there is."""
    with pytest.raises(Unusable, match=says):
        check(attention(), HEADS, fixed=words, max_examples=5)
