"""Variants of the laws of scale and of filter-normalised directions: ``scaling.kaplan`` and ``scaling.filter_normalised``."""

import torch

from tests.mutants import right, wrong

KAPLAN, FILTERS = "scaling.kaplan", "scaling.filter_normalised"


def power(x, critical, alpha):
    """A law of one thing, right."""
    return (critical / x) ** alpha


def joined(n, d, a, b):
    """The joint law of n = N_c/N and d = D_c/D, with the powers a and b, right."""
    return (n ** (a / b) + d) ** b


def laws(of_N=power, of_D=power, of_C=power, joint=joined):
    """All four laws, right but for those that are given."""

    def losses(N, D, C, N_c, D_c, C_c, alpha_N, alpha_D, alpha_C):
        return (
            of_N(N, N_c, alpha_N),
            of_D(D, D_c, alpha_D),
            of_C(C, C_c, alpha_C),
            joint(N_c / N, D_c / D, alpha_N, alpha_D),
        )

    return losses


wrong(KAPLAN, "laws_added", "Adds the losses of both laws.", cause=r"L_N|L_D|sum of (the )?powers")(
    laws(joint=lambda n, d, a, b: n**a + d**b)
)
wrong(
    KAPLAN,
    "ratio_inverted",
    "The model's share to the power α_D/α_N.",
    cause="(α|alpha)_D / (α|alpha)_N|exchanged",
)(laws(joint=lambda n, d, a, b: (n ** (b / a) + d) ** b))
wrong(
    KAPLAN, "larger_of_both", "The larger of two losses for both.", cause="max|larger|D_c / D is not added"
)(laws(joint=lambda n, d, a, b: torch.maximum(n**a, d**b)))
wrong(
    KAPLAN, "sum_not_raised", "The sum of the shares, not raised to α_D.", cause="(no|not|for a) power|raised"
)(laws(joint=lambda n, d, a, b: n ** (a / b) + d))
wrong(
    KAPLAN,
    "share_not_raised",
    "N_c/N for the model's share.",
    cause="(no|not|for a) power|raised|N_c / N in the place",
)(laws(joint=lambda n, d, a, b: (n + d) ** b))
wrong(
    KAPLAN,
    "multiplied",
    "α·ln(x_c/x) where e to that belongs: a line, of logarithms.",
    cause="logarithm|no exp|ln",
)(laws(of_N=lambda x, critical, alpha: alpha * (critical / x).log()))
wrong(KAPLAN, "factor", "α times the quotient.", cause="a product.*place of the power")(
    laws(of_D=lambda x, critical, alpha: alpha * (critical / x))
)
wrong(
    KAPLAN, "rising", "x/x_c for x_c/x: more compute, more loss.", cause="C / C_c|C_c and C |sign|exchanged"
)(laws(of_C=lambda x, critical, alpha: (x / critical) ** alpha))
wrong(
    KAPLAN,
    "text_by_the_models_power",
    "α_N for L(D), too.",
    cause="(α|alpha)_N (is read )?where (α|alpha)_D|α_D is (not read|ignored)",
)(
    lambda N, D, C, N_c, D_c, C_c, a, b, c: laws(of_D=lambda x, critical, _: (critical / x) ** a)(
        N, D, C, N_c, D_c, C_c, a, b, c
    )
)
wrong(
    KAPLAN, "compute_of_one_epoch", "6·N·D for the compute that is given.", cause=r"\bC is (ignored|not read)"
)(lambda N, D, C, *constants: laws()(N, D, 6 * N * D + 0 * C, *constants))
wrong(
    KAPLAN,
    "text_unlimited",
    "L(N) for the joint law.",
    cause=r"D_c / D is not added|\bD(_c)? (is|are) (ignored|not read)",
)(laws(joint=lambda n, d, a, b: (n ** (a / b) + 0 * d) ** b))
wrong(
    KAPLAN,
    "text_detached",
    "No gradient of the joint law reaches D.",
    cause=r"no gradient reaches D\b|gradient of D\b|for a constant",
)(laws(joint=lambda n, d, a, b: (n ** (a / b) + d.detach()) ** b))
wrong(
    KAPLAN,
    "in_single",
    "Casts to float32 first, float64 included.",
    cause="float32 inside",
    dtypes=("float64",),
)(
    lambda N, D, C, *constants: tuple(
        loss.to(N.dtype) for loss in laws()(N.float(), D.float(), C.float(), *constants)
    )
)
wrong(
    KAPLAN,
    "share_overflows",
    "Raises the model's share by itself: it overflows where the loss does not.",
    cause="overflow|inf",
)(laws())
right(KAPLAN, "by_log_sum_exp", "The sum of the shares as a log-sum-exp.")(
    laws(joint=lambda n, d, a, b: (b * torch.stack((a / b * n.log(), d.log())).logsumexp(0)).exp())
)


@right(KAPLAN)
def by_logarithms(N, D, C, N_c, D_c, C_c, alpha_N, alpha_D, alpha_C):
    """Lines in logarithms, and the joint law as the model's line and what the text adds to it."""
    line = lambda x, critical, alpha: alpha * (torch.log(torch.tensor(critical, dtype=x.dtype)) - x.log())
    n, d = line(N, N_c, alpha_N), line(D, D_c, alpha_D)
    largest = torch.maximum(n, d)
    joint = largest + alpha_D * (((n - largest) / alpha_D).exp() + ((d - largest) / alpha_D).exp()).log()
    return n.exp(), d.exp(), line(C, C_c, alpha_C).exp(), joint.exp()


def length(x, dim=-1):
    """The length of each row, with its axis; its gradient at zero is 0."""
    square = (x * x).sum(dim, keepdim=True)
    some = square > 0
    return torch.where(some, torch.where(some, square, 1.0).sqrt(), 0.0)


def direction(W, U, of_W=length, of_U=length):
    """The direction, right but for its two lengths."""
    under = of_U(U)
    some = under > 0
    return torch.where(some, U / torch.where(some, under, 1.0) * of_W(W), 0.0)


wrong(FILTERS, "by_layer", "One length for the whole layer.", cause="must not read|wrong axis|over i")(
    lambda W, U: direction(W, U, lambda x: length(x, (-2, -1)), lambda x: length(x, (-2, -1)))
)
wrong(FILTERS, "by_columns", "Takes columns for filters.", cause="must not read|wrong axis|transpos")(
    lambda W, U: direction(W, U, lambda x: length(x, -2), lambda x: length(x, -2))
)
wrong(
    FILTERS,
    "nan_for_zero",
    "0/0 where a filter's part of the direction is 0.",
    cause="zero|NaN|0/0|condition .*U_norm",
)(lambda W, U: U * (W.norm(dim=-1, keepdim=True) / U.norm(dim=-1, keepdim=True)))
wrong(
    FILTERS,
    "not_divided",
    "Forgets to divide by the direction's own length.",
    cause=r"not divided by U_norm|U_norm.* not read",
)(lambda W, U: direction(W, U, of_U=lambda x: torch.ones_like(x[..., :1])))
wrong(
    FILTERS,
    "unit_parts",
    "Parts of length 1, whatever the filter's.",
    cause=r"not multiplied by W_norm|W is ignored|W_norm.* not read",
)(lambda W, U: direction(W, U) / torch.where(length(W) > 0, length(W), 1.0))
wrong(FILTERS, "by_weights", "Multiplies each entry by its weight.", cause="W_norm|W where|times W")(
    lambda W, U: U * W
)
wrong(FILTERS, "squared_lengths", "Forgets the roots.", cause="no (sqrt|root)")(
    lambda W, U: direction(W, U, lambda x: length(x) ** 2, lambda x: length(x) ** 2)
)
wrong(FILTERS, "sums_of_absolutes", "Takes the 1-norm for the length.", cause="absolute value|1-norm|abs")(
    lambda W, U: direction(W, U, *(lambda x: x.abs().sum(-1, keepdim=True),) * 2)
)
wrong(
    FILTERS,
    "exchanged_lengths",
    "The filter over the direction, not the direction over the filter.",
    cause="exchanged|U where W|where [UW]_norm",
)(lambda W, U: torch.where(length(W) > 0, U * length(U) / torch.where(length(W) > 0, length(W), 1.0), 0.0))
wrong(
    FILTERS, "over_the_batch", "One length for all directions of a batch.", cause="in batches|batch|member"
)(lambda W, U: direction(W, U, of_U=lambda x: (x * x).sum([*range(x.ndim - 2), -1], keepdim=True).sqrt()))
wrong(FILTERS, "eps_added", "10⁻⁶ added to the direction's length.", cause="1e-06|10⁻⁶|is added|length=plus")(
    lambda W, U: U * length(W) / (length(U) + 1e-6)
)
wrong(
    FILTERS,
    "lengths_detached",
    "Treats the lengths as constants.",
    cause="_norm .*for constants|for a constant|no gradient reaches W",
)(lambda W, U: direction(W, U, lambda x: length(x).detach(), lambda x: length(x).detach()))
wrong(FILTERS, "mean_taken_off", "Takes the mean off each filter's part first.", cause="mean|subtracted")(
    lambda W, U: direction(W, U - U.mean(-1, keepdim=True))
)
right(FILTERS, "by_mean_squares", "The roots of mean squares: m cancels.")(
    lambda W, U: direction(W, U, *(lambda x: length(x) / x.shape[-1] ** 0.5,) * 2)
)
right(FILTERS, "unit_parts_first", "Parts of length 1, then as long as the filters.")(
    lambda W, U: length(W) * direction(torch.ones_like(W[..., :1]), U)
)


@right(FILTERS, length="plus_1e10")
def as_published(W, U):
    """Filter by filter, with 10⁻¹⁰ added to the length of the part."""
    parts = [
        u * (w.norm() / (u.norm(dim=-1, keepdim=True) + 1e-10)) for w, u in zip(W, U.unbind(-2), strict=True)
    ]
    return torch.stack(parts, -2)
