"""However a product is computed, it is the product; and the quickest way is taken."""

import pytest
import torch
import torch.nn.functional as F

from impl import _products
from impl._products import KINDS, AsItStands, ByColumns, InPieces, Product, quickest

d, c = 11, 6


@pytest.fixture
def matrices():
    """Matrices of two shapes, with a bias and without."""
    generator = torch.Generator().manual_seed(2)
    shapes = [(c, d), (d, c), (c, d)]
    biases = [torch.randn(c, generator=generator), None, None]
    return [(torch.randn(*shape, generator=generator), b) for shape, b in zip(shapes, biases, strict=True)]


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """Nothing is known of what is quick here."""
    monkeypatch.setattr(_products, "_measured", {})


@pytest.fixture
def slow(monkeypatch):
    """A clock that only these kinds of product move on: ``slow({kind: seconds})``, and what copying takes."""

    def set_(seconds, copying=0.0):
        now = [0.0]
        monkeypatch.setattr(_products, "perf_counter", lambda: now[0])
        kinds = []
        for kind, spent in seconds.items():

            class Slow(kind):
                copies, takes = kind.copies, spent

                def __init__(self, *given):
                    super().__init__(*given)
                    now[0] += copying if self.copies else 0.0

                def __call__(self, x):
                    now[0] += self.takes
                    return super().__call__(x)

            kinds.append(Slow)
        monkeypatch.setattr(_products, "KINDS", tuple(kinds))
        return kinds

    return set_


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 16, 37])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("size", [(c, d), (8, c)], ids=["wide", "high"])
@pytest.mark.parametrize("columns", [True, False], ids=["columns", "rows"])
@pytest.mark.parametrize("kind", [Product, *KINDS])
def test_a_product_of_any_kind_is_the_layer(rows, biased, size, columns, kind):
    """For any number of rows, with a bias and without, however all of it lies in memory; alone, and added to something."""
    generator = torch.Generator().manual_seed(2)
    out, width = size
    x, W = (torch.randn(n, width, generator=generator) for n in (rows, out))
    x = x.mT.contiguous().mT if columns else x
    b = torch.randn(out, generator=generator) if biased else None
    if columns:
        W, b = W.mT.contiguous().mT, None if b is None else torch.stack((b, -b), -1)[:, 0]
    if not kind.suits(W, rows):
        pytest.skip("there is no such product here")
    want = F.linear(x, W, b)
    # Two orders of summation: each has at most d + 1 roundings of its partial sums.
    eps = torch.finfo(torch.float32).eps
    limit = 2 * (width + 1) * eps * F.linear(x.abs(), W.abs(), None if b is None else b.abs())
    with torch.no_grad():
        product = kind(W, b, rows)
        found, y = product(x), want.flip(0)
        added = product.onto(y.clone(), x)
    assert found.shape == want.shape
    assert ((found - want).abs() <= limit).all()
    assert ((added - (y + want)).abs() <= limit + 2 * eps * (y.abs() + limit)).all()


def test_some_kinds_read_the_matrix_where_it_lies_and_some_are_of_a_copy():
    """As they say of themselves: a change of the matrix is followed, or is not."""
    for kind in KINDS:
        W, x = torch.ones(8, d), torch.ones(5, d)
        if kind.suits(W, 5):
            product = kind(W, None, 5)
            W.zero_()
            assert bool(product(x).any()) == kind.copies, kind


def test_the_quickest_kind_is_taken_for_each_shape(matrices, slow):
    """And looked for once: other matrices of these shapes, and nearly as many rows, have the same."""
    as_it_stands, by_columns = slow({AsItStands: 3.0, ByColumns: 2.0})
    assert {type(product) for product in quickest(matrices, 7)} == {by_columns}
    by_columns.takes = 4.0
    assert {type(product) for product in quickest(matrices[:1], 8)} == {by_columns}
    assert {type(product) for product in quickest(matrices, 9)} == {as_it_stands}


def test_a_copy_has_to_be_worth_its_making(matrices, slow):
    """What is saved in so many products as a decoding has."""
    copying = next((kind for kind in KINDS if kind.copies and kind.suits(matrices[0][0], 7)), None)
    if copying is None:
        pytest.skip("nothing is copied here")
    for seconds, is_worth_it in ((_products.LASTING - 1.0, True), (_products.LASTING + 1.0, False)):
        _products._measured.clear()
        _, copied = slow({AsItStands: 2.0, copying: 1.0}, copying=seconds)
        # Each of the copies takes as long, and a product's share is by its entries: these are of equally many.
        assert {type(product) is copied for product in quickest(matrices, 7)} == {is_worth_it}


def test_a_shape_without_a_kind_has_another(matrices, slow):
    """A number of rows that does not divide: what reads it in pieces is for the others."""
    whole, pieces = slow({AsItStands: 2.0, InPieces: 1.0})
    odd = (torch.ones(7, c), None)
    kinds = [type(product) for product in quickest([matrices[0], odd], 3)]
    assert kinds == [pieces, whole]


def test_what_was_chosen_stays(matrices, slow):
    """Beside a shape that is new, one that is known keeps its kind: a decoding says the same again."""
    as_it_stands, by_columns = slow({AsItStands: 3.0, ByColumns: 2.0})
    quickest(matrices[:1], 7)
    by_columns.takes = 4.0
    assert [type(product) for product in quickest(matrices, 7)] == [by_columns, as_it_stands, by_columns]


def test_no_rows_have_a_product(matrices):
    """An empty one, by no measure."""
    assert [product(torch.ones(0, product.W.shape[1])).shape for product in quickest(matrices, 0)] == [
        (0, len(W)) for W, _ in matrices
    ]


def test_nothing_is_measured_where_results_may_not_depend_on_it(matrices, slow):
    """Under deterministic algorithms, and in other types, there is one kind."""
    slow({ByColumns: 1.0})
    double = [(W.double(), None if b is None else b.double()) for W, b in matrices]
    assert {type(product) for product in quickest(double, 7)} == {AsItStands}
    torch.use_deterministic_algorithms(True)
    try:
        assert {type(product) for product in quickest(matrices, 7)} == {AsItStands}
    finally:
        torch.use_deterministic_algorithms(False)


def test_measuring_leaves_the_generator_alone(matrices):
    """What is drawn afterwards is what would have been drawn."""
    before = torch.get_rng_state()
    quickest(matrices, 3)
    assert torch.equal(torch.get_rng_state(), before)
