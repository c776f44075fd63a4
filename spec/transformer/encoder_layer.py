"""A layer of the encoder: self-attention and a feed-forward network, with a sum and a normalization around each."""

from spec.attention.masks import FULLY_MASKED, OURS
from spec.attention.multi_head import multi_head
from spec.attention.parts import replaced
from spec.feedforward.relu import relu
from spec.normalization.add_norm import add_norm
from spec.normalization.layer_norm import layer_norm
from spec.transformer.parts import NORM, WIDTHS, d_ff, d_k, d_model, d_v, h, n
from spec.vocabulary import *

i, j, l = indices(i=n, j=n, l=d_model)

x = data("x", n, d_model, meaning="the sequence: one row for each token")
W_q = parameter("W_q", h, d_model, d_k, meaning="for each head, what makes its queries")
W_k = parameter("W_k", h, d_model, d_k, meaning="for each head, what makes its keys")
W_v = parameter("W_v", h, d_model, d_v, meaning="for each head, what makes its values")
W_o = parameter("W_o", h * d_v, d_model, meaning="joins what the heads found")
gamma_1 = parameter("gamma_1", d_model, meaning="gain of the normalization beside the attention")
beta_1 = parameter("beta_1", d_model, meaning="its bias")
W_1 = parameter("W_1", d_model, d_ff, meaning="inner layer of the feed-forward network")
b_1 = parameter("b_1", d_ff, meaning="its bias")
W_2 = parameter("W_2", d_ff, d_model, meaning="outer layer of the feed-forward network")
b_2 = parameter("b_2", d_model, meaning="its bias")
gamma_2 = parameter("gamma_2", d_model, meaning="gain of the normalization beside the feed-forward network")
beta_2 = parameter("beta_2", d_model, meaning="its bias")
eps = number("eps", "positive", meaning="a small number that keeps both divisors away from 0")
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to")
u = tensor("u", n, d_model, meaning="the rows that attention reads")
z = tensor("z", n, d_model, meaning="what each token has gathered from the others")
s = tensor("s", n, d_model, meaning="the tokens after the first sublayer")
w = tensor("w", n, d_model, meaning="the rows that the feed-forward network reads")
f = tensor("f", n, d_model, meaning="what the feed-forward network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both sublayers")

ATTENTION, NETWORK = (W_q, W_k, W_v, W_o), (W_1, b_1, W_2, b_2)
WEIGHTS = (*ATTENTION, gamma_1, beta_1, *NETWORK, gamma_2, beta_2)

encoder_layer = Formula(
    "transformer.encoder_layer",
    "Encoder layer",
    why="x",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        lines_by_convention(
            "norm",
            post=(
                define(z, multi_head(x, x, *ATTENTION, mask)),
                define(s[i], add_norm(x[i], z[i], gamma_1, beta_1, eps)),
                define(f[i], relu(s[i], *NETWORK)),
                define(y[i], add_norm(s[i], f[i], gamma_2, beta_2, eps)),
            ),
            pre=(
                define(u[i], layer_norm(x[i], gamma_1, beta_1, eps)),
                define(z, multi_head(u, u, *ATTENTION, mask)),
                define(s[i, l], x[i, l] + z[i, l]),
                define(w[i], layer_norm(s[i], gamma_2, beta_2, eps)),
                define(f[i], relu(w[i], *NETWORK)),
                define(y[i, l], s[i, l] + f[i, l]),
            ),
        ),
    ),
    outputs=(y,),
    conventions=(FULLY_MASKED, NORM),
    stored=("z", "s", "f"),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi = given("pi", n, domain="permutation")
real, x_other = given("real", n, domain="boolean"), given("x_other", n, d_model)
whole = encoder_layer(x, *WEIGHTS, eps, mask)
def read(rows: Tensor) -> Comprehension:
    """What attention reads of rows: themselves, or what they are normalised."""
    return each(by_convention("norm", post=rows[i, l], pre=layer_norm(rows[i], gamma_1, beta_1, eps)[l]), i, l)


permuted = encoder_layer(
    each(x[pi[i], l], i, l), *WEIGHTS, eps, each(mask[pi[i], pi[j]], i, j)
)

encoder_layer.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    claim(permuted[i, l], "=", y[pi[i], l])
    .keeping(layer_norm, add_norm, relu)
    .citing("permutation_equivariant", multi_head(read(x), read(x), *ATTENTION, mask), pi=pi, rho=pi)
    .by_definition("x"),
    given=pi,
    conventions={"fully_masked": "zero"},
)

changed, shown = each(case(real[i], x[i, l], x_other[i, l]), i, l), each(mask[i, j] & real[j], i, j)
encoder_layer.theorem(
    "padding",
    "Tokens hidden from all, such as padding, have no influence on the others",
    claim(
        encoder_layer(changed, *WEIGHTS, eps, shown)[i, l],
        "=",
        encoder_layer(x, *WEIGHTS, eps, shown)[i, l],
        where=real[i],
    )
    .keeping(layer_norm, add_norm, relu)
    .citing(
        "padding",
        multi_head(read(x), read(x), *ATTENTION, mask),
        real=real,
        asked=real,
        x_rest=read(x_other),
        y_rest=read(x_other),
    )
    .by_definition("x"),
    given=(real, x_other),
    conventions={"fully_masked": "zero"},
)
