"""Linformer's attention: keys and values are projected along the sequence, to a fixed number of rows."""

from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, r, d_k, d_v = sizes("n m r d_k d_v")
i, j, a, c, t = indices(i=n, j=m, a=r, c=d_k, t=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on")
E = parameter("E", r, m, meaning="mixes the keys of all positions into r rows")
b_E = parameter("b_E", r, meaning="bias of the rows of keys; the paper has none, which is 0")
F = parameter("F", r, m, meaning="mixes the values of all positions into r rows")
b_F = parameter("b_F", r, meaning="bias of the rows of values; the paper has none, which is 0")
K = tensor("K", r, d_k, meaning="the rows that keys are mixed into")
V = tensor("V", r, d_v, meaning="the rows that values are mixed into")
z = tensor("z", n, d_v, meaning="what each query has gathered from the rows of values")

SHARING = Convention(
    "sharing",
    {
        "separate": "values are mixed by a matrix F of their own",
        "keys_and_values": "values are mixed by E, as keys are; F and its bias are not read",
    },
    default="separate",
)

NO_BIAS = {"b_E": [0, 0], "b_F": [0, 0]}
THREE = {
    "q": [[1]],
    "k": [[0], [2], [4]],
    "v": [[3], [6], [9]],
    "E": [["1/2", "1/2", 0], [0, 0, 1]],
    "F": [["1/3", "1/3", "1/3"], [0, 0, 1]],
    **NO_BIAS,
}

linformer = Formula(
    "attention.linformer",
    "Linformer's attention",
    why="Does attention need all of its n × m weights? In trained models that matrix is nearly of low rank: few mixtures of its "
    "columns say most of what it says. So keys and values are mixed along the sequence first, m of them into r rows by "
    "learned matrices, and queries attend to these. Scores are then n × r, and with r fixed the cost grows with the length "
    "and not with its square. What is lost: a row mixes what comes before with what comes after, so that no mask can part "
    "them, and the matrices are made for one length.",
    sizes={
        n: "queries",
        m: "keys and values",
        r: "rows that they are mixed into",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, E, b_E, F, b_F),
    lines=(
        define(K[a, c], Sum(E[a, j] * k[j, c], j) + b_E[a]),
        define(
            V[a, t],
            by_convention(
                "sharing",
                separate=Sum(F[a, j] * v[j, t], j) + b_F[a],
                keys_and_values=Sum(E[a, j] * v[j, t], j) + b_E[a],
            ),
        ),
        define(z, scaled_dot_product(q, K, V)),
    ),
    outputs=(z,),
    conventions=(SHARING,),
    stored=("K", "V"),
    pitfalls=(
        pitfall("used in a decoder: every row has seen the future", theorem="not_causal"),
        pitfall(
            "the width projected after the length, with a bias: it is then multiplied by what a row of E sums to",
            theorem="order_with_bias",
        ),
        pitfall(
            "padding mixed in: its keys have to be 0 beforehand, for no mask hides them later",
            theorem="shorter",
        ),
        pitfall("keys and values mixed by one matrix where two were trained", convention="sharing"),
    ),
    sources=(paper("wang2020", "section 4, eq. 7; parameter sharing"),),
    worked=(
        Worked("Three keys mixed into two rows: (0 + 2)/2 and 4", THREE, [["1.0"], ["4.0"]], 1, output="K"),
        Worked(
            "Rows of values 6 and 9; scores 1 and 4, weights 1/(1 + e³) and its rest",
            THREE,
            [["8.8577"]],
            4,
        ),
        Worked(
            "The values mixed as the keys are: rows 4.5 and 9",
            THREE,
            [["8.7866"]],
            4,
            conventions={"sharing": "keys_and_values"},
        ),
    ),
    notes="Heads may share E and F, as all parameters here are shared by a batch, and layers may. A text shorter than they are "
    "takes their first columns, which is what zeros behind it would give.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

SEPARATE = {"sharing": "separate"}
A = tensor("A", n, r, meaning="weights: how much each query takes from each row")
M = tensor("M", n, m, meaning="how much each query takes from each value")
linformer.let(A[i, a], softmax(scaled_dot(q, K))[i, a])
linformer.let(M[i, j], Sum(A[i, a] * F[a, j], a))

unit, none = each(delta(a, j), a, j), each(0, a)
linformer.theorem(
    "identity",
    "With the identity instead of E and F, and biases of 0, it is attention",
    claim(
        linformer(q, k, v, unit, none, unit, none)[i, t], "=", scaled_dot_product(q, k, v)[i, t]
    ).by_definition("each row is one key, or one value"),
    sizes={r: m},
)

linformer.theorem(
    "low_rank",
    "The matrix that leads from values to outputs is a product of one with r columns and one with r rows: its rank is at most r",
    claim(z[i, t], "=", Sum(M[i, j] * v[j, t], j) + Sum(A[i, a] * b_F[a], a))
    .step(Sum(A[i, a] * (Sum(F[a, j] * v[j, t], j) + b_F[a]), a), "the definition")
    .step(Sum(Sum(A[i, a] * F[a, j] * v[j, t], a), j) + Sum(A[i, a] * b_F[a], a), "the sums exchanged")
    .because("v does not depend on a"),
    conventions=SEPARATE,
)

d_model, rows, more = sizes("d_model rows more")
(l,) = indices(l=d_model)
y, W, b = given("y", m, d_model), given("W", d_model, d_k), given("b", d_k)
plain = linformer(q, each(Sum(y[j, l] * W[l, c], l), j, c), v, E, b_E, F, b_F)
biased = linformer(q, each(Sum(y[j, l] * W[l, c], l) + b[c], j, c), v, E, b_E, F, b_F)
length_first = Sum(Sum(E[a, j] * y[j, l], j) * W[l, c], l)

linformer.theorem(
    "order",
    "Keys made of tokens by a matrix W without bias: whether the width is projected first or the length does not matter",
    claim(plain.output(K)[a, c], "=", length_first + b_E[a])
    .step(Sum(E[a, j] * Sum(y[j, l] * W[l, c], l), j) + b_E[a], "the definition")
    .because("the sums exchanged: E·(y·W) = (E·y)·W"),
    given=(y, W),
    runs=False,
)

linformer.theorem(
    "order_with_bias",
    "With a bias b behind W it does: projected along the length, b is multiplied by the sum of a row of E",
    claim(biased.output(K)[a, c], "=", length_first + b[c] * Sum(E[a, j], j) + b_E[a])
    .step(Sum(E[a, j] * (Sum(y[j, l] * W[l, c], l) + b[c]), j) + b_E[a], "the definition")
    .because("the sums exchanged, and b does not depend on j"),
    given=(y, W, b),
    runs=False,
)

behind_k, behind_v = each(case(lt(j, rows), k[j, c]), j, c), each(case(lt(j, rows), v[j, t]), j, t)
first = (each(E[a, j], a, (j, rows)), b_E, each(F[a, j], a, (j, rows)), b_F)
linformer.theorem(
    "shorter",
    "Zeros behind a text are as good as no rows: what is left of E and F are the first columns",
    claim(
        linformer(q, behind_k, behind_v, E, b_E, F, b_F)[i, t],
        "=",
        linformer(q, k[:rows], v[:rows], *first)[i, t],
    ).by_definition("a column of E and F that meets a zero adds nothing"),
    sizes={m: rows + more},
)

v_later = given("v_later", m, d_v)
linformer.theorem(
    "not_causal",
    "It is not causal: the first output depends on the last value",
    claim(
        linformer(q, k, each(case(lt(j, m - 1), v[j, t], v_later[j, t]), j, t), E, b_E, F, b_F)[i, t],
        "=",
        z[i, t],
    ).by_witness(
        n=2,
        m=2,
        r=1,
        d_k=1,
        d_v=1,
        q=[[0.0], [0.0]],
        k=[[0.0], [0.0]],
        v=[[0.0], [0.0]],
        v_later=[[0.0], [1.0]],
        E=[[1.0, 1.0]],
        b_E=[0.0],
        F=[[1.0, 1.0]],
        b_F=[0.0],
    ),
    given=v_later,
    exists=True,
    runs=False,
)

linformer.theorem(
    "cost",
    "Of a text of n tokens it takes 2·n·r·(d_k + d_v) multiplications: as many times more as the text is longer",
    claim(
        Sum(1, a, j, c) + Sum(1, a, j, t) + Sum(1, i, a, c) + Sum(1, i, a, t), "=", 2 * n * r * (d_k + d_v)
    ).by_definition("each key and value into each row, each row with each query and each weight"),
    sizes={m: n},
    runs=False,
)

linformer.theorem(
    "parameters",
    "It has 2·r·(m + 1) parameters, of which none depends on the width",
    claim(parameters(linformer), "=", 2 * r * (m + 1)).by_definition("two matrices with their biases"),
    runs=False,
)
