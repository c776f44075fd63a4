"""Random blocks: for each block of queries some of the blocks that are free, which BigBird sees beside its window."""

from spec.vocabulary import *

N, B, r = sizes("N B r")
i, j, l, u = indices(i=N, j=B, l=B, u=r)

free = data("free", N, B, domain="boolean", meaning="which blocks of keys each block of queries may draw")
generator = Tensor("generator", (), "generator", "generator", meaning="where the draws come from")
table = tensor("table", N, r, domain="integer", meaning="the blocks that each has drawn; −1 where none is")
number_free = tensor("number_free", N, domain="nonnegative", meaning="how many blocks are free")
P = tensor("P", N, B, domain="nonnegative", meaning="probability that the last block drawn is this one")

many = Sum(case(free[i, l], 1), l)
is_free = le(0, table[i, u]) & lt(table[i, u], B) & free[i, table[i, u]]

random_blocks = Formula(
    "attention.random_blocks",
    "Random blocks without repetition",
    why="Which far blocks should a block of queries see? None is known to be better, and random ones connect all blocks in few "
    "steps. But each has to be a block that is not seen anyway, and none may be drawn twice, or its keys would count twice. "
    "So r different ones are drawn of those that are free, all choices alike likely.",
    sizes={N: "blocks of queries", B: "blocks of keys", r: "blocks that each draws"},
    inputs=(free, r, generator),
    lines=(
        define(number_free[i], many),
        define(P[i, j], case(le(r, number_free[i]) & free[i, j], 1 / number_free[i])),
    ),
    outputs=(P,),
    law=Law(
        probability=P,
        returns=(table,),
        outcome=(table[i, r - 1],),
        over=((i, N),),
        axioms=(
            Axiom(
                "the blocks are free ones",
                "each block that is drawn is a free one; where there are fewer than r, none is drawn, which is −1",
                case(le(r, many), is_free, eq(table[i, u], -1)),
                over=((i, N), (u, r)),
            ),
            Axiom(
                "the first is not drawn again",
                "the first block that is drawn is not drawn again",
                lt(many, r) | le(u, 0) | ~eq(table[i, u], table[i, 0]),
                over=((i, N), (u, r)),
            ),
        ),
    ),
    pitfalls=(
        pitfall(
            "a table that is never drawn: zeros, which name the first block r times", mutant="never_drawn"
        ),
    ),
    sources=(paper("zaheer2020", "section 2, random attention; appendix D"),),
    worked=(
        Worked(
            "Three of four blocks are free, and two are drawn: each of the three is the last with a third",
            {"free": [[True, False, True, True]], "r": 2},
            [["0.333", "0.000", "0.333", "0.333"]],
            3,
        ),
    ),
    notes="The law is said of the last block that is drawn, and of repetition by the first. That all choices of "
    "several are alike likely is not checked.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

random_blocks.theorem(
    "only_free",
    "Only what is free is drawn",
    claim(P[i, j], "=", 0, where=~free[i, j]).by_definition("it has no probability"),
    runs=False,
)
