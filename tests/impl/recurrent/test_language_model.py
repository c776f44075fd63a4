import pytest
import torch

from impl.recurrent import bilm_objective, elmo_mix
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.evaluate import bound
from spec.recurrent.bilm_objective import bilm_objective as stated_objective
from spec.recurrent.elmo_mix import elmo_mix as stated_mix

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
L, d, T, V = 2, 5, 7, 11
LENGTHS = torch.tensor([4, 7, 1])


def judged(formula, given, results, dtype):
    """Whether results, then the gradients of their sum by the real inputs, are within the statement's bounds."""
    name = str(dtype).removeprefix("torch.")
    arrays = [
        each.detach().numpy() if each.dtype == torch.int64 else each.detach().double().numpy()
        for each in given
    ]
    ((value, limit),) = bound(formula, arrays, None, name)
    fits = ((results.double() - torch.tensor(value)).abs() <= torch.tensor(limit)).all()
    real = [each for each in given if each.requires_grad]
    if dtype.itemsize > 2:
        seed = torch.ones_like(results).double().numpy()
        gradients = pull_back(formula, arrays, seed, None, None, name)
        for found, (value, limit) in zip(
            torch.autograd.grad(results.sum(), real), gradients.values(), strict=True
        ):
            fits &= ((found.double() - torch.tensor(value)).abs() <= torch.tensor(limit)).all()
    return fits


class TestElmoMix:
    """recurrent.elmo_mix."""

    def inputs(self, normal, *lead, dtype=torch.float32, grad=False):
        """h, w and γ."""
        return [
            normal(*lead, L + 1, d, dtype=dtype, grad=grad),
            normal(L + 1, dtype=dtype, grad=grad),
            normal(dtype=dtype, grad=grad),
        ]

    @DTYPES
    def test_it_is_the_statement(self, dtype, normal):
        """Value, and in float64 and float32 gradients, within its bounds."""
        given = self.inputs(normal, dtype=dtype, grad=True)
        mixed = elmo_mix(*given)
        assert mixed.dtype == dtype
        assert judged(stated_mix, given, mixed, dtype)

    def test_equal_weights_average_and_one_large_weight_selects(self, normal):
        """γ = 1: a convex combination of the layers."""
        h = normal(3, 7, L + 1, d)
        one = torch.ones(())
        torch.testing.assert_close(elmo_mix(h, torch.zeros(L + 1), one), h.mean(-2))
        assert torch.equal(elmo_mix(h, torch.tensor([0.0, 1e4, 0.0]), one), h[..., 1, :])
        torch.testing.assert_close(elmo_mix(h, torch.full((L + 1,), 1e4), 2 * one), 2 * h.mean(-2))

    def test_a_batch_of_any_shape(self, normal):
        """Each word by itself; a 16-bit mix is rounded once."""
        h, w, gamma = self.inputs(normal, 3, 7)
        torch.testing.assert_close(elmo_mix(h, w, gamma)[1, 4], elmo_mix(h[1, 4], w, gamma))
        narrow = [each.bfloat16() for each in (h, w, gamma)]
        wide = elmo_mix(*(each.float() for each in narrow))
        assert torch.equal(elmo_mix(*narrow), wide.bfloat16())

    def test_derivatives_exist_in_both_modes_to_second_order(self, normal):
        """gradcheck, gradgradcheck, forward mode, vmap."""
        given = self.inputs(normal, dtype=torch.float64, grad=True)
        assert torch.autograd.gradcheck(elmo_mix, given, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(elmo_mix, given)
        h, w, gamma = self.inputs(normal, 3)
        mapped = torch.func.vmap(elmo_mix, in_dims=(0, None, None))(h, w, gamma)
        torch.testing.assert_close(mapped, elmo_mix(h, w, gamma))

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused_in_one_line(self, normal):
        """As many weights as layers; γ is one number."""
        h, w, gamma = self.inputs(normal)
        line = r"^recurrent.elmo_mix: expected h \(\.\.\. L\+1 d\), w \(L\+1\), gamma \(\); got h \(3, 5\), w \(2,\)"
        with pytest.raises(ValueError, match=line):
            elmo_mix(h, w[:2], gamma)
        with pytest.raises(ValueError, match=r"gamma \(1,\)$"):
            elmo_mix(h, w, gamma[None])
        with pytest.raises(TypeError, match=r"one floating dtype; got h float32, w float64"):
            elmo_mix(h, w.double(), gamma)


class TestBilmObjective:
    """recurrent.bilm_objective."""

    def inputs(self, normal, *lead, dtype=torch.float32, grad=False):
        """ids and the two logits."""
        generator = torch.Generator().manual_seed(7)
        ids = torch.randint(V, (*lead, T), generator=generator)
        return [ids, *(normal(*lead, T, V, dtype=dtype, grad=grad) for _ in "fb")]

    @DTYPES
    def test_it_is_the_statement(self, dtype, normal):
        """Value, and in float64 and float32 gradients, within its bounds."""
        given = self.inputs(normal, dtype=dtype, grad=True)
        total = bilm_objective(*given)
        assert total.dtype == dtype
        assert judged(stated_objective, given, total, dtype)

    def test_it_is_two_cross_entropies(self, normal):
        """With the sign of a likelihood."""
        ids, s_f, s_b = self.inputs(normal)
        losses = [torch.nn.functional.cross_entropy(s, ids, reduction="sum") for s in (s_f, s_b)]
        torch.testing.assert_close(bilm_objective(ids, s_f, s_b), -sum(losses))

    @pytest.mark.parametrize("scale", [1e4, 1e30])
    def test_large_logits_do_not_overflow(self, scale, normal):
        """exp is never taken of what has not had its largest entry taken off; a constant added to a row changes nothing."""
        ids, s_f, s_b = self.inputs(normal)
        assert bilm_objective(ids, s_f * scale, s_b * scale).isfinite()
        flat = torch.full_like(s_f, scale)
        torch.testing.assert_close(bilm_objective(ids, flat, -flat), -2 * T * torch.tensor(float(V)).log())

    def test_a_batch_and_its_lengths(self, normal):
        """What lies beyond a sequence's end does not count, whatever it is, and gets no gradient."""
        ids, s_f, s_b = self.inputs(normal, 3)
        beyond = torch.arange(T) >= LENGTHS[:, None]
        spoilt = ids.masked_fill(beyond, -100)
        s_f, s_b = (each.masked_fill(beyond[..., None], torch.nan).requires_grad_() for each in (s_f, s_b))
        total = bilm_objective(spoilt, s_f, s_b, lengths=LENGTHS)
        for i, length in enumerate(LENGTHS):
            alone = bilm_objective(ids[i, :length], s_f[i, :length], s_b[i, :length])
            torch.testing.assert_close(total[i], alone)
        total.sum().backward()
        for each in (s_f, s_b):
            assert not each.grad[beyond].any()
            assert each.grad[~beyond].all()

    def test_a_sequence_of_no_words_is_certain(self, normal):
        """The logarithm of 1."""
        ids, s_f, s_b = self.inputs(normal)
        assert bilm_objective(ids[:0], s_f[:0], s_b[:0]) == 0

    def test_an_id_out_of_range_is_an_error_with_its_place_and_value(self, normal):
        """−100, which torch's cross-entropy silently ignores, too."""
        ids, s_f, s_b = self.inputs(normal, 3)
        for wrong in (V, -1, -100):
            ids[1, 4] = wrong
            line = rf"^recurrent.bilm_objective: expected ids in 0..10, below 11; got ids\[1, 4\] = {wrong}$"
            with pytest.raises(IndexError, match=line):
                bilm_objective(ids, s_f, s_b)

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused_in_one_line(self, normal):
        """The line names the formula, what was expected, and what was given."""
        ids, s_f, s_b = self.inputs(normal)
        line = r"^recurrent.bilm_objective: expected ids \(\.\.\. T\), s_f \(\.\.\. T V\), s_b .*; got ids \(6,\), s_f"
        with pytest.raises(ValueError, match=line):
            bilm_objective(ids[:6], s_f, s_b)
        with pytest.raises(
            ValueError, match=r"expected s_f \(\.\.\. T V\), s_b .*; got s_f \(7, 11\), s_b \(7, 10\)$"
        ):
            bilm_objective(ids, s_f, s_b[:, :10])
        with pytest.raises(TypeError, match=r"expected integer ids; got ids float32$"):
            bilm_objective(ids.float(), s_f, s_b)
        with pytest.raises(TypeError, match=r"one floating dtype; got s_f float32, s_b float64$"):
            bilm_objective(ids, s_f, s_b.double())
        with pytest.raises(
            ValueError, match=r"leading .*; got ids \(3, 7\), s_f \(2, 7, 11\), s_b \(7, 11\)$"
        ):
            bilm_objective(ids.expand(3, -1), s_f.expand(2, -1, -1), s_b)

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize(
        ("lengths", "error", "line"),
        [
            ((3, 0), ValueError, r"expected lengths in 1\.\.7, the number of elements; got 0$"),
            ((8, 3), ValueError, r"expected lengths in 1\.\.7, the number of elements; got 8$"),
            ((3.0, 4.0), TypeError, r"expected integer lengths; got lengths float32$"),
            (
                (3, 4, 5),
                ValueError,
                r"expected leading dimensions of lengths that broadcast to \(2,\), the data's; got lengths \(3,\)$",
            ),
        ],
    )
    def test_lengths_that_cannot_be(self, lengths, error, line, normal):
        """They are refused as everywhere in this package."""
        with pytest.raises(error, match=rf"^recurrent.bilm_objective: {line}"):
            bilm_objective(*self.inputs(normal, 2), lengths=torch.tensor(lengths))

    def test_leading_dimensions_broadcast(self, normal):
        """One text under several models, several texts under one, and two directions of different batches."""
        ids, s_f, s_b = self.inputs(normal, 3)
        for few in ((ids[0], s_f, s_b), (ids, s_f[0], s_b), (ids, s_f, s_b[0]), (ids, s_f[0], s_b[0])):
            full = (few[0].expand(3, -1), *(s.expand(3, -1, -1) for s in few[1:]))
            torch.testing.assert_close(bilm_objective(*few), bilm_objective(*full))

    def test_derivatives_exist_in_both_modes_to_second_order(self, normal):
        """gradcheck, gradgradcheck, forward mode, vmap."""
        ids, s_f, s_b = self.inputs(normal, dtype=torch.float64, grad=True)
        assert torch.autograd.gradcheck(
            lambda *s: bilm_objective(ids, *s), (s_f, s_b), check_forward_ad=True, fast_mode=True
        )
        assert torch.autograd.gradgradcheck(lambda *s: bilm_objective(ids, *s), (s_f, s_b), fast_mode=True)
        _, s_f, s_b = self.inputs(normal, 3)
        mapped = torch.func.vmap(lambda *s: bilm_objective(ids, *s))(s_f, s_b)
        torch.testing.assert_close(mapped, bilm_objective(ids.expand(3, T), s_f, s_b))

    @pytest.mark.compiled
    def test_it_compiles_as_one_graph(self, normal):
        """torch.compile takes the function whole."""
        given = self.inputs(normal)
        torch.testing.assert_close(
            torch.compile(bilm_objective, fullgraph=True, backend="aot_eager")(*given), bilm_objective(*given)
        )
