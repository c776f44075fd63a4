"""Cross-attention: queries from one sequence, keys and values from another."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.parts import WIDTHS, in_the_hull, replace_row
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.self import self_
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_model, d_k, d_v = sizes("n m d_model d_k d_v")
i, j, l, c, e, u = indices(i=n, j=m, l=d_model, c=d_k, e=d_v, u=m)

x = data("x", n, d_model, meaning="the sequence that asks: in a decoder, its own tokens")
y = data("y", m, d_model, meaning="the sequence that is read: in a decoder, what the encoder returned")
W_q = parameter("W_q", d_model, d_k, meaning="makes a query of each asking token")
W_k = parameter("W_k", d_model, d_k, meaning="makes a key of each token read")
W_v = parameter("W_v", d_model, d_v, meaning="makes a value of each token read")
mask = optional_mask("mask", n, m, meaning="which tokens of y each token of x may attend to")
q = tensor("q", n, d_k, meaning="what each asking token looks for")
k = tensor("k", m, d_k, meaning="what each token read is found by")
v = tensor("v", m, d_v, meaning="what each token read hands over")
z = tensor("z", n, d_v, meaning="what each asking token has gathered")

cross = Formula(
    "attention.cross",
    "Cross-attention: queries from one sequence, keys and values from another",
    why="How can a decoder look into the sentence that it translates? A recurrent network squeezes the sentence into one "
    "vector, in which long sentences are lost. Here every token of the decoder asks all tokens of the encoder, with learned "
    "matrices that say what is asked, by what a token is found, and what it hands over. The two sequences may differ in "
    "length: there is one output for each query.",
    sizes={n: "tokens that ask", m: "tokens that are read", **WIDTHS},
    inputs=(x, y, W_q, W_k, W_v, mask),
    lines=(
        define(q[i, c], Sum(x[i, l] * W_q[l, c], l)),
        define(k[j, c], Sum(y[j, l] * W_k[l, c], l)),
        define(v[j, e], Sum(y[j, l] * W_v[l, e], l)),
        define(z, scaled_dot_product(q, k, v, mask)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("q", "k", "v"),
    pitfalls=(
        pitfall("queries taken from the encoder: equal lengths hide it", mutant="sequences_exchanged"),
        pitfall("scores filled with −10⁹: a query without keys gets the mean", convention="fully_masked"),
        pitfall("the softmax taken over the queries instead of the keys", mutant="over_the_queries"),
        pitfall("the first query's mask used for all", mutant="mask_by_key_only"),
    ),
    sources=(
        deck(2, "self-attention: works on different sequences; decoder: encoder-decoder attention"),
        deck(4, "two types of attention: cross-attention"),
        paper("vaswani2017", "section 3.2.3"),
    ),
    worked=(
        Worked(
            "One query, 2, on keys 1 and 0: scores 2 and 0, weights 0.8808 and 0.1192, values 5 and 15",
            {"x": [[1, 2]], "y": [[1, 0], [0, 1]], "W_q": [[0], [1]], "W_k": [[1], [0]], "W_v": [[5], [15]]},
            [["6.1920"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

W = (W_q, W_k, W_v)
has_key = Some(mask[i, j], j)
rho = given("rho", m, domain="permutation")
r, y_other = given("r", domain="integer", below=m), given("y_other", d_model)
w, g = given("w", d_v), given("g", n, d_v)

s = tensor("s", n, m, meaning="scores: how well each token read fits each asking token")
a = tensor("a", n, m, meaning="weights: how much each asking token takes from each token read")
cross.let(s, scaled_dot(q, k))
cross.let(a, softmax(scaled_dot(q, k), mask))

hidden = each(mask[i, j] & ~eq(j, r), i, j)

cross.theorem(
    "self",
    "With one sequence in both places it is self-attention, for every query with a permitted key",
    claim(
        cross(x, x, *W, mask[:, :n])[i, e], "=", self_(x, *W, mask[:, :n])[i, e], where=has_key
    ).by_definition("queries, keys and values come from one sequence by the same lines"),
    sizes={m: n},
    conventions={"polarity": "true_attends"},
)

cross.theorem(
    "key_permutation",
    "Permuting the tokens attended to, and the mask with them, changes nothing",
    claim(cross(x, each(y[rho[j], l], j, l), *W, each(mask[i, rho[j]], i, j))[i, e], "=", z[i, e])
    .step(
        Sum(a[i, rho[j]] * v[rho[j], e], j, where=mask[i, rho[j]]),
        "the token at place j is now token ρ(j), with its key, its value and its weight",
    )
    .step(Sum(a[i, j] * v[j, e], j, where=mask[i, j]), "ρ reaches every token once: the same terms")
    .because("the definition of z"),
    given=rho,
    conventions=OURS,
)

cross.theorem(
    "masked_for_all",
    "A token masked for every query has no influence",
    claim(cross(x, replace_row(y, r, y_other), *W, hidden)[i, e], "=", cross(x, y, *W, hidden)[i, e])
    .step(
        Sum(exp(s[i, j]) / Sum(exp(s[i, u]), u, where=hidden[i, u]) * v[j, e], j, where=hidden[i, j]),
        "both sums leave r out, and every other token has the key and the value that it had",
    )
    .because("for y itself the definition says the same"),
    given=(r, y_other),
    conventions=OURS,
)

cross.theorem(
    "projected",
    "It is scaled dot-product attention of the projections",
    claim(cross(x, y, *W, mask)[i, e], "=", scaled_dot_product(q, k, v, mask)[i, e]).by_definition(
        "the last line"
    ),
    conventions=OURS,
)

cross.theorem(
    "convex_hull",
    "Every output of a query with a permitted key lies in the convex hull of the permitted values: in no direction w does it "
    "exceed them all",
    in_the_hull(Sum(w[e] * z[i, e], e), a[i, j], Sum(w[e] * v[j, e], e), j, mask[i, j], has_key),
    given=w,
    conventions=OURS,
)

cross.theorem(
    "no_gradient",
    "A token masked for every query gets no gradient",
    claim(cross(x, y, *W, hidden).pullback(g, y)[r, l], "=", 0).by_definition(
        "it stands in no sum over permitted keys"
    ),
    given=(r, g),
    conventions=OURS,
)
