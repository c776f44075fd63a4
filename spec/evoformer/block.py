"""A block of the Evoformer: the alignment and the pairs inform each other, in nine updates.

Inputs: the alignment m and the pairs z; the weights of the parts, in the order in which they work, each part with a letter of its
own behind the letters of its weights: r along rows, c along columns, t the transition of the alignment, x the outer product mean,
o outgoing and i incoming edges, s around the starting and e around the ending residue, p the transition of the pairs; ε; which
residues take part.
"""

from spec.attention.masks import FULLY_MASKED
from spec.evoformer.column_attention import column_attention
from spec.evoformer.outer_product_mean import outer_product_mean
from spec.evoformer.parts import *
from spec.evoformer.row_attention import row_attention
from spec.evoformer.transition import transition
from spec.evoformer.triangle_attention import triangle_attention
from spec.evoformer.triangle_multiplication import triangle_multiplication
from spec.vocabulary import *

c_t, h_z, f_m, f_z = sizes("c_t h_z f_m f_z")

ROW, COLUMN, ALIGNED = row_weights("r"), column_weights("c"), transition_weights(c_m, f_m, "t")
OUTER = outer_weights("x")
OUTGOING, INCOMING = multiplication_weights("o", c_t), multiplication_weights("i", c_t)
STARTING, ENDING = attention_weights("s", h_z), attention_weights("e", h_z)
PAIRED = transition_weights(c_z, f_z, "p")
WEIGHTS = (*ROW, *COLUMN, *ALIGNED, *OUTER, *OUTGOING, *INCOMING, *STARTING, *ENDING, *PAIRED)
mask = optional_mask("mask", n_res, meaning="which residues take part: padding does not")
residues, pairs = each(mask[j], s, j), each(mask[i] & mask[j], i, j)

m_1 = tensor("m_1", n_seq, n_res, c_m, meaning="the alignment after attention along rows")
m_2 = tensor("m_2", n_seq, n_res, c_m, meaning="and along columns")
M = tensor("M", n_seq, n_res, c_m, meaning="and after its transition: the alignment after the block")
z_1 = tensor("z_1", n_res, n_res, c_z, meaning="the pairs with what the alignment says of them")
z_2 = tensor("z_2", n_res, n_res, c_z, meaning="after outgoing edges")
z_3 = tensor("z_3", n_res, n_res, c_z, meaning="after incoming edges")
z_4 = tensor("z_4", n_res, n_res, c_z, meaning="after attention around the starting residue")
z_5 = tensor("z_5", n_res, n_res, c_z, meaning="and around the ending one")
Z = tensor("Z", n_res, n_res, c_z, meaning="and after their transition: the pairs after the block")

row = row_attention(m, z, *ROW, eps, residues)
column = column_attention(m_1, *COLUMN, eps)
outer = outer_product_mean(M, *OUTER, eps)
outgoing = triangle_multiplication(z_1, *OUTGOING, eps, ~TRUE, pairs)
incoming = triangle_multiplication(z_2, *INCOMING, eps, TRUE, pairs)
starting = triangle_attention(z_3, *STARTING, eps, ~TRUE, pairs)
ending = triangle_attention(z_4, *ENDING, eps, TRUE, pairs)


def idle(weights: tuple[Tensor, ...]) -> dict[str, list[object]]:
    """Weights of one entry an axis, gains 1 and all else 0, with which a part updates nothing."""
    made: dict[str, list[object]] = {}
    for weight in weights:
        value: object = int(weight.name.startswith("gamma"))
        for _ in weight.shape:
            value = [value]
        made[weight.name] = value  # type: ignore[assignment]
    return made


ONE = {"m": [[[2]]], "z": [[[3]]], **idle(WEIGHTS), "eps": 1}

block = Formula(
    "evoformer.block",
    "A block of the Evoformer",
    why="How does a fold emerge from sequences? Neither the alignment nor the pairs can be understood first: which residues "
    "touch shows in what varies together, and what varies together is better read where it is known who touches. So both "
    "are kept and refined in turn. The pairs bias how the sequences are read; what the sequences then have in common updates "
    "the pairs; the pairs make themselves fit to be distances, triangle by triangle. Every part only adds, so that nothing "
    "known is lost on the way.",
    sizes={
        **ALIGNMENT,
        c_z: "width of what is known of a pair",
        c: "width of a head, and of the factors of the outer product",
        h: "heads of the attention of the alignment",
        h_z: "heads of the attention of pairs",
        c_t: "width of an edge of a triangle",
        f_m: "inner units of the alignment's transition",
        f_z: "inner units of the pairs' transition",
    },
    inputs=(m, z, *WEIGHTS, eps, mask),
    lines=(
        define(m_1[s, i, p], m[s, i, p] + row[s, i, p]),
        define(m_2[s, i, p], m_1[s, i, p] + column[s, i, p]),
        define(M[s, i, p], m_2[s, i, p] + transition(m_2[s, i], *ALIGNED, eps)[p]),
        define(z_1[i, j, d], z[i, j, d] + outer[i, j, d]),
        define(z_2[i, j, d], z_1[i, j, d] + outgoing[i, j, d]),
        define(z_3[i, j, d], z_2[i, j, d] + incoming[i, j, d]),
        define(z_4[i, j, d], z_3[i, j, d] + starting[i, j, d]),
        define(z_5[i, j, d], z_4[i, j, d] + ending[i, j, d]),
        define(Z[i, j, d], z_5[i, j, d] + transition(z_5[i, j], *PAIRED, eps)[d]),
    ),
    outputs=(M, Z),
    conventions=(FULLY_MASKED,),
    stored=("m_1", "m_2", "M", "z_1", "z_2", "z_3", "z_4", "z_5"),
    pitfalls=(
        pitfall("the pairs updated from the alignment before the block", mutant="outer_of_the_old"),
        pitfall("one sum forgotten", mutant="block_without_one_sum"),
        pitfall("the weights of outgoing edges for incoming ones, too", mutant="one_multiplication_for_both"),
        pitfall("incoming edges first", mutant="incoming_first"),
        pitfall(
            "padding hidden from the sequences, but not from the triangles", mutant="padding_in_triangles"
        ),
    ),
    sources=(
        paper("jumper2021", "supplement, algorithm 6 (EvoformerStack), a block without dropout"),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "Weights of 0: no update, what was known stays. With a bias of 5, the outer product mean adds 5 to the pair",
            ONE | {"b_ox": [5]},
            [[["8"]]],
            0,
            output="Z",
        ),
    ),
    notes="In AlphaFold c_m = 256, c_z = c_t = 128, c = 32, h = 8, h_z = 4, f_m = 1,024 and f_z = 512; 48 blocks follow each "
    "other. In training whole rows are dropped of the updates of rows, of both multiplications and of attention around "
    "the starting residue, and whole columns of that around the ending one.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

relabelled = block(permute_alignment(m), permute_pairs(z), *WEIGHTS, eps, each(mask[pi[j]], j))

block.theorem(
    "relabelled",
    "Relabelling the residues, or putting the sequences in another order, permutes both results: the order along the chain has "
    "to be told by what goes in",
    claim(relabelled[s, i, p], "=", M[sigma[s], pi[i], p])
    .citing("relabelled", row, pi=pi, sigma=sigma)
    .citing("relabelled", column, pi=pi, sigma=sigma)
    .keeping(transition)
    .by_definition("so it is for each part"),
    claim(relabelled.output(Z)[i, j, d], "=", Z[pi[i], pi[j], d])
    .citing("relabelled", row, pi=pi, sigma=sigma)
    .citing("relabelled", column, pi=pi, sigma=sigma)
    .citing("relabelled", outer, pi=pi, sigma=sigma)
    .citing("relabelled", outgoing, pi=pi)
    .citing("relabelled", incoming, pi=pi)
    .citing("relabelled", starting, pi=pi)
    .citing("relabelled", ending, pi=pi)
    .keeping(transition)
    .by_definition("so it is for each part"),
    given=(pi, sigma),
    conventions={"fully_masked": "zero"},
)


def count_multiplication() -> Node:
    """The parameters of a triangle multiplication."""
    return 2 * c_z + 4 * (c_z * c_t + c_t) + 2 * c_t + c_t * c_z + c_z**2 + 2 * c_z


block.theorem(
    "parameters",
    "It has the parameters of its nine parts: 1,829,952 in AlphaFold, 87,837,696 in its 48 blocks",
    claim(
        parameters(block),
        "=",
        2 * c_m
        + 2 * c_z
        + c_z * h
        + count_heads(c_m)
        + (2 * c_m + count_heads(c_m))
        + (2 * c_m * f_m + f_m + 3 * c_m)
        + (2 * c_m + 2 * (c_m * c + c) + c**2 * c_z + c_z)
        + 2 * count_multiplication()
        + 2 * (2 * c_z + c_z * h_z + 4 * h_z * c_z * c + h_z * c + h_z * c * c_z + c_z)
        + (2 * c_z * f_z + f_z + 3 * c_z),
    ).by_definition("the sums of the parts"),
    runs=False,
)
