import pytest
import torch
from torch import nn

from impl.scaling import EACH, JOINT, PLAIN, draw_direction, filter_normalised, fit, kaplan
from spec.scaling import kaplan as stated_laws

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])


@DTYPES
def test_the_laws_are_the_statements(dtype, stated, within):
    """At the published constants, for a model of 1.5 billion parameters."""
    given = [torch.tensor(x, dtype=dtype) for x in (1.5e9, 2.3e10, 10.0)]
    assert within(kaplan(*given, *JOINT), stated("scaling.kaplan", [*given, *JOINT]))


def test_the_published_constants_are_those_that_the_statement_works_with():
    """All six of each of the three fits."""
    for ours, theirs in ((EACH, "EACH"), (JOINT, "JOINT"), (PLAIN, "PLAIN")):
        for name, value in getattr(stated_laws, theirs).items():
            over, _, under = str(value).partition("/")
            assert getattr(ours, name) == pytest.approx(int(over) / int(under or 1), rel=1e-15)


def test_arguments_of_the_laws_broadcast_and_a_share_may_be_huge(normal):
    """Many models beside many texts; where a share is beyond float32's range the loss is still finite."""
    N, D = normal(3, 1).exp(), normal(5).exp()
    losses = kaplan(N, D, torch.tensor(2.0), *EACH)
    assert [tuple(each.shape) for each in losses] == [(3, 1), (5,), (), (3, 5)]
    huge = kaplan(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0), *EACH._replace(alpha_D=1e-3))
    assert huge[3].isfinite()
    torch.testing.assert_close(huge[3], huge[0])


@DTYPES
def test_directions_are_the_statements(dtype, normal, stated, within):
    """Of each filter's part, one that is 0 among them, and one whose squares vanish in float32."""
    W, U = normal(5, 7, dtype=dtype), normal(5, 7, dtype=dtype)
    U[2] = 0
    assert within([filter_normalised(W, U)], stated("scaling.filter_normalised", [W, U]))
    if dtype == torch.float32:
        torch.testing.assert_close(filter_normalised(W, 1e-30 * U), filter_normalised(W, U))


class Convolutional(nn.Module):
    """A network with filters of every kind, two layers joined by max(0, ·)."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 5, 3), nn.GroupNorm(1, 5)
        self.second = nn.Conv2d(5, 7, 3)
        self.third, self.last = nn.Linear(7, 11), nn.Linear(11, 3)

    def forward(self, x):
        x = self.second(self.norm(self.first(x))).mean((-2, -1))
        return self.last(self.third(x).relu())


def test_a_direction_is_as_long_as_each_filter_and_leaves_biases_and_gains(randomized):
    """Filters of convolutions and of linear layers; the generator alone decides which direction it is."""
    module = randomized(Convolutional())
    found = draw_direction(module, torch.Generator().manual_seed(0))
    again = draw_direction(module, torch.Generator().manual_seed(0))
    for name, weight in module.named_parameters():
        assert torch.equal(found[name], again[name])
        if weight.ndim == 1:
            assert not found[name].any()
        else:
            lengths = [part.flatten(1).norm(dim=1) for part in (found[name], weight.detach())]
            torch.testing.assert_close(*lengths)
    assert not any(each.requires_grad for each in found.values())
    for norm in (nn.LayerNorm((2, 3)), nn.RMSNorm((2, 3))):  # gains, though they have two axes
        assert not any(each.any() for each in draw_direction(norm).values())


def test_rescaled_layers_give_the_same_network_along_their_directions_and_one_filter_does_not(
    randomized, normal
):
    """What the theorems rescaled_layer and not_one_filter say, of a module: ten times a layer, a tenth of the next."""
    module, x = randomized(Convolutional()).double(), normal(3, 2, 7, 7, dtype=torch.float64)

    def along(factors):
        """The outputs half a step along a direction, the third layer's filters times factors that the last one undoes."""
        other = Convolutional().double()
        other.load_state_dict(module.state_dict())
        with torch.no_grad():
            other.third.weight.mul_(factors[:, None])
            other.third.bias.mul_(factors)
            other.last.weight.div_(factors)
            direction = draw_direction(other, torch.Generator().manual_seed(1))
            moved = {name: w + 0.5 * direction[name] for name, w in other.named_parameters()}
            return torch.func.functional_call(other, moved, x)

    one, filter_alone = torch.ones(11, dtype=torch.float64), torch.ones(11, dtype=torch.float64)
    filter_alone[4] = 10
    torch.testing.assert_close(along(10 * one), along(one), rtol=1e-12, atol=0)
    assert (along(filter_alone) - along(one)).abs().max() > 1e-2


SIZES = torch.logspace(4, 7, 7, dtype=torch.float64)


def test_a_law_is_found_in_losses_that_follow_it_though_one_of_them_is_wrong():
    """With an offset and without; a loss that is a third too large moves nothing much."""
    for offset in (1.5, 0.0):
        losses = offset + (1e5 / SIZES) ** 0.3
        found = fit(SIZES, losses, offset=offset > 0, resamples=5)
        assert (found.offset, found.scale, found.power) == pytest.approx((offset, 1e5, 0.3), rel=1e-6)
        torch.testing.assert_close(found(SIZES), losses, rtol=1e-9, atol=0)
        losses[3] *= 4 / 3
        assert fit(SIZES, losses, offset=offset > 0, resamples=5).power == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("offset", "scale", "power"), [(0.0, 8.8e13, 0.076), (1.5, 1e3, 0.01), (1.5, 1e3, 4.0)]
)
def test_a_law_is_found_in_exact_losses_however_flat_or_steep_it_is(offset, scale, power):
    """Where there is no offset, too; every number is in its own interval, but for rounding."""
    x = torch.logspace(3, 6, 8, dtype=torch.float64)
    found = fit(x, offset + (scale / x) ** power, resamples=100)
    for name, expected in (("offset", offset), ("scale", scale), ("power", power)):
        value, (low, high) = getattr(found, name), getattr(found, f"{name}_interval")
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert low - 1e-9 * value <= value <= high + 1e-9 * value


def test_intervals_are_as_wide_as_losses_scatter():
    """Of absolute residuals, which count where they are large: √(π/2) times 2·1.28 standard errors of a line, for 80 %."""
    x = SIZES.repeat(5)
    noise = torch.randn(len(x), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    for scatter in (0.02, 0.01):
        losses = (1e5 / x) ** 0.2 * (scatter * noise).exp()
        low, high = fit(x, losses, offset=False, level=0.8, resamples=100).power_interval
        expected = (
            2 * 1.2816 * (torch.pi / 2) ** 0.5 * scatter * noise.std() / (len(x) ** 0.5 * x.log().std())
        )
        assert low < 0.2 < high
        assert high - low == pytest.approx(expected.item(), rel=0.5)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_used_is_refused_in_one_line(normal):
    """Shapes, constants, too few sizes, losses that are none, and filters on the second axis."""
    x = SIZES
    for call, said in (
        (
            lambda: kaplan(x, x[:3], x, *EACH),
            "scaling.kaplan: expected shapes that broadcast; got N (7,), D (3,)",
        ),
        (
            lambda: kaplan(x, x, x, *EACH._replace(N_c=0.0)),
            "scaling.kaplan: expected finite constants above 0",
        ),
        (lambda: kaplan(x, x, x, *EACH._replace(alpha_C=float("nan"))), "alpha_C=nan"),
        (lambda: kaplan(x, -x, x, *EACH), "scaling.kaplan: expected D of at least 0; got -10000000.0"),
        (
            lambda: filter_normalised(normal(5, 7), normal(7, 5)),
            "expected W (n m), U (... n m); got W (5, 7)",
        ),
        (lambda: fit(x[:3], x[:3]), "scaling.fit: expected more than 3 different x for 3 unknowns; got 3"),
        (lambda: fit(x, -x), "scaling.fit: expected finite x and losses above 0"),
        (lambda: fit(x, 0 * x + 2), "scaling.fit: expected losses that tell a power; got 7 times 2.0"),
        (lambda: fit(x, x, level=1.0), "scaling.fit: expected 0 < level < 1"),
        (lambda: draw_direction(nn.ConvTranspose2d(2, 3, 5)), "the module is a transposed convolution"),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  (its text is compared)
            call()
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(
        TypeError, match=r"^scaling.draw_direction: expected a torch.nn.Module as module; got T"
    ):
        draw_direction(x)
