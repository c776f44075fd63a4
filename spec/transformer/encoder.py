"""The encoder: layers one on another, each with weights of its own."""

from spec.attention.masks import FULLY_MASKED
from spec.transformer.encoder_layer import encoder_layer
from spec.transformer.parts import NORM, WIDTHS, L, d_ff, d_k, d_model, d_v, h, n
from spec.vocabulary import *

fewer, i, j, l, t = *sizes("fewer"), *indices(i=n, j=n, l=d_model, t=L)

x = data("x", n, d_model, meaning="the sequence: embedded tokens, positions added")
W_q = parameter("W_q", L, h, d_model, d_k, meaning="for each layer and head, what makes its queries")
W_k = parameter("W_k", L, h, d_model, d_k, meaning="for each layer and head, what makes its keys")
W_v = parameter("W_v", L, h, d_model, d_v, meaning="for each layer and head, what makes its values")
W_o = parameter("W_o", L, h * d_v, d_model, meaning="for each layer, what joins the heads")
gamma_1 = parameter("gamma_1", L, d_model, meaning="gains of the normalizations beside the attention")
beta_1 = parameter("beta_1", L, d_model, meaning="their biases")
W_1 = parameter("W_1", L, d_model, d_ff, meaning="inner layers of the feed-forward networks")
b_1 = parameter("b_1", L, d_ff, meaning="their biases")
W_2 = parameter("W_2", L, d_ff, d_model, meaning="outer layers of the feed-forward networks")
b_2 = parameter("b_2", L, d_model, meaning="their biases")
gamma_2 = parameter("gamma_2", L, d_model, meaning="gains of the normalizations beside the feed-forward networks")
beta_2 = parameter("beta_2", L, d_model, meaning="their biases")
eps = number("eps", "positive", meaning="a small number that keeps all divisors away from 0")
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to, in every layer")
H = tensor("H", L + 1, n, d_model, meaning="the tokens after so many layers")
y = tensor("y", n, d_model, meaning="the tokens after all layers")

WEIGHTS = (W_q, W_k, W_v, W_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2)
"""The parameters, in the order of the inputs."""

encoder = Formula(
    "transformer.encoder",
    "Encoder",
    why="x",
    sizes={n: "tokens", L: "layers", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        define(H[0], x),
        define(H[t], encoder_layer(H[t - 1], *(part[t - 1] for part in WEIGHTS), eps, mask), (t, 1, L)),
        define(y, H[L]),
    ),
    outputs=(y,),
    conventions=(FULLY_MASKED, NORM),
    stored=("H",),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi = given("pi", n, domain="permutation")
real, x_other = given("real", n, domain="boolean"), given("x_other", n, d_model)
(u,) = indices(u=L + 1)
permuted = encoder(each(x[pi[i], l], i, l), *WEIGHTS, eps, each(mask[pi[i], pi[j]], i, j))
whole = encoder(x, *WEIGHTS, eps, mask)


def own(t: Index) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in WEIGHTS)


encoder.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    claim(permuted[i, l], "=", y[pi[i], l])
    .by_induction(
        u,
        claim(permuted.output(H)[u, i, l], "=", H[u, pi[i], l], i, l),
        last=L,
        step=derive()
        .citing("permutation_equivariant", encoder_layer(H[u], *own(u), eps, mask), pi=pi)
        .because("a layer is equivariant"),
    )
    .because("x"),
    given=pi,
    conventions={"fully_masked": "zero"},
)
