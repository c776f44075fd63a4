import pytest
import torch

from impl.embedding import bert, token
from spec.language.evaluation.evaluate import bound
from spec.language.registry import find


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("integer", [torch.int64, torch.int32, torch.int16, torch.uint8])
def test_rows_are_copied_exactly(dtype, integer, normal):
    """Any integer ids of any shape, any table."""
    E = normal(11, 7, dtype=dtype)
    ids = torch.tensor([[0, 10, 3], [3, 3, 1]], dtype=integer)
    assert torch.equal(token(ids, E), torch.stack([torch.stack([E[i] for i in row]) for row in ids.tolist()]))


def test_gradient_reaches_the_rows_looked_up_and_no_other(normal):
    """A row looked up twice receives both."""
    E = normal(5, 7, grad=True)
    token(torch.tensor([[1, 3, 3]]), E).sum().backward()
    assert E.grad.tolist() == [[count] * 7 for count in (0.0, 1.0, 0.0, 2.0, 0.0)]


def test_no_ids_give_nothing(normal):
    """Not even from an empty table."""
    assert token(torch.zeros(3, 0, dtype=torch.int64), normal(0, 7)).shape == (3, 0, 7)


@pytest.mark.parametrize("wrong", [11, -1, 2**40])
def test_an_id_out_of_range_is_an_error_with_its_place_and_value(wrong, normal):
    """A negative id does not count from the end; the first that is wrong is named."""
    line = rf"^embedding.token: expected ids in 0..10, below 11; got ids\[1, 2\] = {wrong}$"
    with pytest.raises(IndexError, match=line):
        token(torch.tensor([[0, 1, 2], [3, 4, wrong], [wrong + 1, 0, 0]]), normal(11, 7))


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_table_or_no_id_is_refused(normal):
    """One line names the formula and what was given."""
    with pytest.raises(TypeError, match=r"^embedding.token: expected integer ids; got ids float32$"):
        token(torch.ones(3), normal(11, 7))
    with pytest.raises(TypeError, match=r"got ids bool$"):
        token(torch.ones(3).bool(), normal(11, 7))
    with pytest.raises(ValueError, match=r"^embedding.token: expected E \(V d\); got E \(7,\)$"):
        token(torch.ones(3).long(), normal(7))


def test_derivatives_exist_in_both_modes_to_second_order(normal):
    """gradcheck, gradgradcheck, forward mode, vmap over ids."""
    ids, E = torch.tensor([[1, 3, 3], [0, 2, 1]]), normal(5, 7, dtype=torch.float64, grad=True)
    assert torch.autograd.gradcheck(lambda E: token(ids, E), E, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda E: token(ids, E), E)
    assert torch.equal(torch.func.vmap(token, in_dims=(0, None))(ids, E), token(ids, E))


@pytest.mark.compiled
def test_token_compiles_as_one_graph(normal):
    """torch.compile takes the function whole."""
    ids, E = torch.tensor([1, 3]), normal(5, 7)
    assert torch.equal(torch.compile(token, fullgraph=True, backend="aot_eager")(ids, E), token(ids, E))


@pytest.fixture
def places():
    """Two texts' tokens; segments and positions that both have."""
    return (
        torch.tensor([[1, 12, 0, 5], [3, 3, 12, 0]]),
        torch.tensor([0, 1, 1, 0]),
        torch.tensor([2, 0, 1, 4]),
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_bert_is_its_statement(dtype, places, normal):
    """Within the statement's bound, for each of two texts that share segments and positions."""
    weights = [normal(*shape, dtype=dtype) for shape in ((13, 7), (2, 7), (5, 7), (7,), (7,))]
    x = bert(*places, *weights, 1e-12)
    for one in range(2):
        inputs = [part.numpy() for part in (places[0][one], *places[1:], *weights)]
        ((value, limit),) = bound(find("embedding.bert"), [*inputs, 1e-12], None, str(dtype).split(".")[1])
        assert (limit < 1e-3).all()  # far below any wrong row, which is off by about 1
        assert (abs(x[one].double().numpy() - value) <= limit).all()


@pytest.mark.usefixtures("unchecked")
def test_bert_says_which_of_its_ids_or_tables_does_not_fit(places, normal):
    """By letters, in one line."""
    ids, seg, pos = places
    E, S, P, gamma, beta = (normal(*shape) for shape in ((13, 7), (2, 7), (5, 7), (7,), (7,)))
    with pytest.raises(
        IndexError, match=r"^embedding.bert: expected seg in 0..1, below 2; got seg\[1\] = 2$"
    ):
        bert(ids, seg + torch.tensor([0, 1, 0, 0]), pos, E, S, P, gamma, beta, 1e-12)
    with pytest.raises(ValueError, match=r"^embedding.bert: expected ids, seg, pos"):
        bert(ids, seg, pos, E, S[:, 1:], P, gamma, beta, 1e-12)
    with pytest.raises(
        ValueError, match=r"^embedding.bert: expected shapes that broadcast; got ids \(2, 4\), seg"
    ):
        bert(ids, seg[1:], pos, E, S, P, gamma, beta, 1e-12)
