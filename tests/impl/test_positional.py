import math

import pytest
import torch

from impl.positional import frequencies, learned, partial_rotary, rotary, sinusoidal, turned, yarn

LAYOUTS = pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
SIZES = pytest.mark.parametrize("n", [1, 2, 17, 97])
LONG = pytest.mark.parametrize(("n", "d"), [(17, 7), (97, 257), (1009, 31)])


class TestSinusoidal:
    """positional.sinusoidal."""

    @LAYOUTS
    @pytest.mark.parametrize("n", [2, 97, 1009])
    @pytest.mark.parametrize("d", [2, 4, 14, 62])
    def test_closed_frequencies_reach_from_one_to_the_inverse_of_the_base(self, layout, n, d):
        """The first pair turns by 1 and the last by 1/base; in between as the statement has it."""
        table = sinusoidal(n, d, layout=layout, frequencies="closed", dtype=torch.float64)
        assert torch.equal(table[:, 0], torch.arange(n, dtype=torch.float64).sin())
        if d > 2:
            last = table[:, -2 if layout == "interleaved" else d // 2 - 1]
            torch.testing.assert_close(last, (torch.arange(n, dtype=torch.float64) / 10_000).sin())
            middle = table[:, 2 if layout == "interleaved" else 1]
            expected = (torch.arange(n, dtype=torch.float64) * 10_000 ** (-2 / (d - 2))).sin()
            torch.testing.assert_close(middle, expected)

    def test_closed_frequencies_of_an_odd_width_are_refused(self):
        """Nothing is said of them; and there are two kinds of frequencies."""
        with pytest.raises(
            ValueError, match=r"^positional.sinusoidal: closed frequencies are of an even d; got d 7$"
        ):
            sinusoidal(5, 7, frequencies="closed")

    @LAYOUTS
    @SIZES
    @pytest.mark.parametrize("d", [1, 2, 7, 64])
    def test_the_table_has_a_row_for_each_position(self, layout, n, d):
        """Any n, any d, in torch's default dtype, free of gradient and contiguous."""
        table = sinusoidal(n, d, layout=layout)
        assert table.shape == (n, d)
        assert table.dtype == torch.float32
        assert table.abs().max() <= 1
        assert not table.requires_grad

    @LAYOUTS
    @LONG
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_a_narrower_table_is_the_float64_one_rounded_once(self, layout, n, d, dtype):
        """However many positions there are: an angle of 10³ radians in float32 alone is wrong in the fifth digit."""
        exact = sinusoidal(n, d, layout=layout, dtype=torch.float64)
        assert torch.equal(sinusoidal(n, d, layout=layout, dtype=dtype), exact.to(dtype))

    @LAYOUTS
    @LONG
    def test_a_row_does_not_depend_on_how_many_follow(self, layout, n, d):
        """A table is the beginning of every longer one."""
        assert torch.equal(sinusoidal(2503, d, layout=layout)[:n], sinusoidal(n, d, layout=layout))

    @SIZES
    @pytest.mark.parametrize("d", [1, 2, 7, 64, 257])
    def test_the_layouts_hold_the_same_columns(self, n, d):
        """Sines at the even columns and cosines at the odd ones; or the ⌈d/2⌉ sines first."""
        pairs, halves = sinusoidal(n, d), sinusoidal(n, d, layout="concatenated")
        assert torch.equal(halves, torch.cat((pairs[:, 0::2], pairs[:, 1::2]), -1))

    def test_position_zero_and_the_first_sine(self):
        """At position 0 sines are 0 and cosines 1; the first column is sin(pos)."""
        table = sinusoidal(101, 7, dtype=torch.float64)
        assert table[0].tolist() == [0, 1, 0, 1, 0, 1, 0]
        assert torch.equal(table[:, 0], torch.arange(101, dtype=torch.float64).sin())

    @LAYOUTS
    def test_no_positions_give_an_empty_table(self, layout):
        """n = 0 is a size like others."""
        assert sinusoidal(0, 7, layout=layout).shape == (0, 7)

    def test_the_default_dtype_is_followed(self):
        """As torch.arange and torch.zeros follow it."""
        torch.set_default_dtype(torch.float64)
        try:
            assert sinusoidal(5, 7).dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)

    def test_base_sets_the_longest_wavelength(self):
        """A base of 1 makes every pair the same."""
        table = sinusoidal(97, 6, base=1.0)
        assert torch.equal(table[:, :2], table[:, 4:])

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize(
        ("arguments", "error", "line"),
        [
            ({"n": -1, "d": 7}, ValueError, "expected n >= 0, d >= 1, base > 0; got n -1, d 7, base 10000.0"),
            ({"n": 5, "d": 0}, ValueError, "got n 5, d 0"),
            ({"n": 5, "d": 7, "base": 0.0}, ValueError, "base 0.0"),
            (
                {"n": 5, "d": 7, "layout": "mixed"},
                ValueError,
                "layout is 'interleaved' or 'concatenated'; got 'mixed'",
            ),
            ({"n": 5, "d": 7, "dtype": torch.int64}, TypeError, "expected a floating dtype; got torch.int64"),
        ],
    )
    def test_what_makes_no_table_is_refused(self, arguments, error, line):
        """One line names the formula and what was given."""
        with pytest.raises(error) as caught:
            sinusoidal(**arguments)
        assert str(caught.value).startswith("positional.sinusoidal: ")
        assert line in str(caught.value)

    @LAYOUTS
    @pytest.mark.compiled
    def test_sinusoidal_compiles_as_one_graph(self, layout):
        """torch.compile takes the function whole."""
        table = torch.compile(sinusoidal, fullgraph=True)(97, 7, layout=layout)
        assert table.shape == (97, 7)


class TestLearned:
    """positional.learned."""

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("integer", [torch.int64, torch.int32, torch.int8, torch.uint8])
    def test_rows_are_copied_exactly(self, dtype, integer, normal):
        """Any integer positions of any shape, any table."""
        W = normal(11, 7, dtype=dtype)
        pos = torch.tensor([[0, 10, 3], [3, 3, 1]], dtype=integer)
        assert torch.equal(
            learned(pos, W), torch.stack([torch.stack([W[p] for p in row]) for row in pos.tolist()])
        )

    def test_gradient_reaches_the_rows_looked_up_and_no_other(self, normal):
        """A row looked up twice receives both."""
        W = normal(5, 7, grad=True)
        learned(torch.tensor([[1, 3, 3]]), W).sum().backward()
        assert W.grad.tolist() == [[count] * 7 for count in (0.0, 1.0, 0.0, 2.0, 0.0)]

    def test_no_positions_give_nothing(self, normal):
        """Not even from an empty table."""
        assert learned(torch.zeros(3, 0, dtype=torch.int64), normal(0, 7)).shape == (3, 0, 7)

    def test_tables_and_positions_may_be_views(self, normal):
        """Non-contiguous inputs give what their copies give."""
        W, pos = normal(7, 11).mT, torch.tensor([[1, 2], [3, 4], [5, 6]]).mT
        assert torch.equal(learned(pos, W), learned(pos.contiguous(), W.contiguous()))

    @pytest.mark.parametrize(("wrong", "N"), [(11, 11), (-1, 11), (2**40, 11)])
    def test_a_position_out_of_range_is_an_error_with_its_value(self, wrong, N, normal):
        """A negative position does not count from the end."""
        line = f"^positional.learned: expected pos in 0..{N - 1}, below {N}; got pos.* = {wrong}$"
        with pytest.raises(IndexError, match=line):
            learned(torch.tensor([[0, wrong, 3]]), normal(N, 7))

    @pytest.mark.usefixtures("unchecked")
    def test_what_is_no_table_or_no_position_is_refused(self, normal):
        """One line names the formula and what was given."""
        with pytest.raises(TypeError, match=r"^positional.learned: expected integer pos; got pos float32$"):
            learned(torch.ones(3), normal(11, 7))
        with pytest.raises(TypeError, match=r"got pos bool$"):
            learned(torch.ones(3).bool(), normal(11, 7))
        with pytest.raises(ValueError, match=r"^positional.learned: expected W_PE \(N d\); got W_PE \(7,\)$"):
            learned(torch.ones(3).long(), normal(7))

    def test_derivatives_exist_in_both_modes_to_second_order(self, normal):
        """gradcheck, gradgradcheck, forward mode, vmap over positions."""
        W, pos = normal(5, 7, dtype=torch.float64, grad=True), torch.tensor([[1, 3, 3], [0, 1, 4]])
        assert torch.autograd.gradcheck(lambda W: learned(pos, W), W, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(lambda W: learned(pos, W), W)
        assert torch.equal(torch.func.vmap(learned, in_dims=(0, None))(pos, W), learned(pos, W))

    @pytest.mark.compiled
    def test_learned_compiles_as_one_graph(self, normal):
        """torch.compile takes the function whole; a position out of range is an error there as well."""
        compiled, W = torch.compile(learned, fullgraph=True), normal(5, 7)
        assert torch.equal(compiled(torch.tensor([1, 3]), W), W[[1, 3]])
        with pytest.raises((IndexError, RuntimeError), match=r"out of bounds|positional.learned"):
            compiled(torch.tensor([1, 5]), W)


PAIRS = pytest.mark.parametrize("pairs", ["interleaved", "halves"])


class TestTurned:
    """positional.turned."""

    @PAIRS
    def test_angles_of_rows_and_columns_give_scores_of_both_distances(self, pairs, normal):
        """The first pairs are turned by the row of a patch, the last by its column; heads share the angles."""
        theta, patch = normal(7, dtype=torch.float64), normal(14, dtype=torch.float64).expand(2, 15, 14)
        place = torch.arange(15)[:, None]
        rows = turned(patch, torch.cat((place // 5 * theta[:3], place % 5 * theta[3:]), -1), pairs=pairs)
        score = rows @ rows.mT
        torch.testing.assert_close(score[:, 0, 6], score[:, 8, 14])
        assert not torch.isclose(score[:, 0, 6], score[:, 0, 7]).any()

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        x, phi = normal(5, 14), normal(5, 7)
        line = (
            r"^positional.turned: expected x \(... n 2\*h\), phi \(... n h\); got x \(5, 13\), phi \(5, 7\)"
        )
        with pytest.raises(ValueError, match=line):
            turned(x[:, 1:], phi)
        with pytest.raises(TypeError, match=r"^positional.turned: expected a floating phi; got phi int64$"):
            turned(x, phi.long())


class TestRotary:
    """positional.rotary."""

    @PAIRS
    @pytest.mark.parametrize("lead", [(), (2,), (3, 2)], ids=str)
    def test_pairs_are_complex_numbers_turned_by_their_angles(self, pairs, lead, normal):
        """Heads and batches are leading dimensions; positions are shared, or each member has its own."""
        x, theta = normal(*lead, 5, 14, dtype=torch.float64), normal(7, dtype=torch.float64)
        for pos in (torch.tensor([3, 0, 4095, 7, 7]), torch.randint(4096, (*lead, 5))):
            y = rotary(x, pos, theta, pairs=pairs)

            def join(rows):
                first, second = (
                    (rows[..., 0::2], rows[..., 1::2]) if pairs == "interleaved" else rows.chunk(2, -1)
                )
                return torch.complex(first, second)

            angle = pos[..., None] * theta
            torch.testing.assert_close(join(y), join(x) * torch.polar(torch.ones_like(angle), angle))

    @PAIRS
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_16_bits_are_rounded_once(self, pairs, dtype, normal):
        """Far positions, too: the angle is not held in 16 bits."""
        x, theta, pos = normal(5, 14, dtype=dtype), normal(7), torch.tensor([0, 1, 257, 1009, 4095])
        want = rotary(x.float(), pos, theta, pairs=pairs).to(dtype)
        assert torch.equal(rotary(x, pos, theta, pairs=pairs), want)

    def test_no_tokens_and_no_pairs_are_sizes_like_others(self, normal):
        """Nothing is turned."""
        assert rotary(normal(0, 14), torch.zeros(0, dtype=torch.int64), normal(7)).shape == (0, 14)
        assert rotary(normal(5, 0), torch.arange(5), normal(0)).shape == (5, 0)

    @PAIRS
    def test_derivatives_exist_in_both_modes_to_second_order(self, pairs, normal):
        """By rows and by frequencies: gradcheck, gradgradcheck, forward mode, vmap."""
        x, theta = normal(3, 4, dtype=torch.float64, grad=True), normal(2, dtype=torch.float64, grad=True)

        def f(x, theta):
            return rotary(x, torch.arange(3), theta, pairs=pairs)

        assert torch.autograd.gradcheck(f, (x, theta), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, (x, theta))
        assert torch.func.vmap(f, in_dims=(0, None))(torch.stack((x, x)), theta).shape == (2, 3, 4)

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        x, pos, theta = normal(5, 14), torch.arange(5), normal(7)
        line = r"^positional.rotary: expected x \(... n 2\*h\), pos \(... n\), theta \(h\); got x \(5, 13\)"
        with pytest.raises(ValueError, match=line):
            rotary(x[:, 1:], pos, theta)
        with pytest.raises(ValueError, match=r"got .* pos \(4,\)"):
            rotary(x, pos[1:], theta)
        with pytest.raises(
            ValueError, match=r"^positional.rotary: expected leading dimensions that broadcast"
        ):
            rotary(normal(2, 5, 14), torch.zeros(3, 5, dtype=torch.int64), theta)
        with pytest.raises(TypeError, match=r"^positional.rotary: expected integer pos; got pos float32$"):
            rotary(x, pos.float(), theta)
        with pytest.raises(
            TypeError, match=r"^positional.rotary: expected a floating theta; got theta int64$"
        ):
            rotary(x, pos, theta.long())

    @PAIRS
    @pytest.mark.compiled
    def test_rotary_compiles_as_one_graph(self, pairs, normal):
        """torch.compile takes the function whole."""
        given = normal(5, 14), torch.arange(5), normal(7)
        torch.testing.assert_close(
            torch.compile(rotary, fullgraph=True)(*given, pairs=pairs), rotary(*given, pairs=pairs)
        )


class TestPartialRotary:
    """positional.partial_rotary."""

    @PAIRS
    @pytest.mark.parametrize("rest", [0, 5])
    def test_the_first_entries_are_turned_and_the_others_stay(self, pairs, rest, normal):
        """Of all members of a batch, each with positions of its own, though they share their rows; 0 may stay."""
        x, theta, pos = normal(3, 14 + rest), normal(7), torch.randint(4096, (2, 3))
        y = partial_rotary(x, pos, theta, pairs=pairs)
        assert torch.equal(y[..., :14], rotary(x[..., :14], pos, theta, pairs=pairs))
        assert torch.equal(y[..., 14:], x[..., 14:].expand(2, 3, rest))

    @pytest.mark.usefixtures("unchecked")
    def test_a_row_narrower_than_its_part_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        line = r"^positional.partial_rotary: expected x \(... n 2\*h\+r\), .* got x \(3, 13\), pos \(3,\), theta \(7,\)"
        with pytest.raises(ValueError, match=line):
            partial_rotary(normal(3, 13), torch.arange(3), normal(7))


class TestFrequencies:
    """positional.frequencies."""

    @pytest.mark.parametrize("scaling", ["linear", "ntk"])
    @pytest.mark.parametrize("h", [1, 2, 7, 64])
    def test_they_are_the_statement_rounded_once(self, scaling, h):
        """In any floating type, from float64."""
        exact = frequencies(h, 500_000, 8, scaling=scaling, dtype=torch.float64)
        pair = torch.arange(h, dtype=torch.float64)
        base = 500_000 if scaling == "linear" or h == 1 else 500_000 * 8 ** (h / (h - 1))
        torch.testing.assert_close(exact, base ** (-pair / h) / (8 if scaling == "linear" else 1))
        for dtype in (torch.float32, torch.bfloat16):
            assert torch.equal(frequencies(h, 500_000, 8, scaling=scaling, dtype=dtype), exact.to(dtype))

    def test_they_are_those_of_sinusoidal_positions(self):
        """The hands that rotary positions turn are the waves of the sinusoidal ones."""
        table = sinusoidal(97, 14, dtype=torch.float64)
        angle = torch.arange(97, dtype=torch.float64)[:, None] * frequencies(7, dtype=torch.float64)
        torch.testing.assert_close(table[:, 0::2], angle.sin())

    @pytest.mark.usefixtures("unchecked")
    def test_what_makes_none_is_refused(self):
        """One line names the formula and what was given."""
        line = r"^positional.frequencies: expected h >= 1, finite base, s > 0; got h 7, base 10000.0, s 0$"
        with pytest.raises(ValueError, match=line):
            frequencies(7, s=0)
        with pytest.raises(
            TypeError, match=r"^positional.frequencies: expected a floating dtype; got torch.int64$"
        ):
            frequencies(7, dtype=torch.int64)


class TestYarn:
    """positional.yarn."""

    @pytest.mark.parametrize("ramp", ["turns", "pairs", "whole"])
    def test_fast_pairs_stay_and_slow_ones_are_slowed_down(self, ramp):
        """Of 64 pairs some are beyond each bound; those between fall faster than by the base alone."""
        free = frequencies(64, dtype=torch.float64)
        theta, m = yarn(64, 10_000, 8, 4096, ramp=ramp, dtype=torch.float64)
        turns, left = 4096 / (2 * math.pi) * free, theta / free
        whole = 1 if ramp == "whole" else 0
        fast, slow = int((turns >= 32).sum()), int((turns <= 1).sum())
        torch.testing.assert_close(left[: fast - whole], torch.ones(fast - whole, dtype=torch.float64))
        torch.testing.assert_close(
            left[-slow + whole :], torch.full((slow - whole,), 1 / 8, dtype=torch.float64)
        )
        assert (left[fast:-slow].diff() < 0).all()
        assert float(m) == pytest.approx(0.1 * math.log(8) + 1)

    def test_dtype_and_factor_are_what_was_asked_for(self):
        """Rounded once from float64; a text that is no longer has the factor 1."""
        exact, _ = yarn(7, 500_000, 8, 8192, 1, 4, lengths="stay", dtype=torch.float64)
        theta, m = yarn(7, 500_000, 8, 8192, 1, 4, lengths="stay", dtype=torch.bfloat16)
        assert torch.equal(theta, exact.bfloat16())
        assert m.dtype == torch.bfloat16
        assert m == yarn(7, 500_000, 0.5, 8192)[1] == 1

    def test_the_ends_of_what_floats_hold_have_a_ramp(self):
        """Their quotient is none: neither 0, which has no logarithm, nor infinite."""
        for L, alpha, beta in ((5e-324, 1, 32), (1, 1e308, 1e308), (1e308, 5e-324, 32)):
            assert yarn(7, 10_000, 2, L, alpha, beta, ramp="whole")[0].isfinite().all()

    @pytest.mark.usefixtures("unchecked")
    def test_numbers_without_a_ramp_are_refused(self):
        """One line names the formula, what was expected and what was given."""
        with pytest.raises(
            ValueError, match=r"^positional.yarn: expected h >= 1, finite .* got h 7, base 2, s 0, L 3,"
        ):
            yarn(7, 2, 0, 3)
        with pytest.raises(ValueError, match="L nan"):
            yarn(7, 2, 2, math.nan)
        with pytest.raises(
            ValueError, match=r"^positional.yarn: expected .* a base other than 1; got h 7, base 1, s 2,"
        ):
            yarn(7, 1, 2, 3, ramp="whole")
        with pytest.raises(TypeError, match=r"^positional.yarn: expected a floating dtype; got torch.int64$"):
            yarn(7, 2, 2, 3, dtype=torch.int64)
