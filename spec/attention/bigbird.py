"""BigBird's attention: a window of blocks, global blocks, and random ones from a table."""

from spec.attention.scaled_dot_product import scaled_dot_product
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

B, b, r, d_k, d_v = sizes("B b r d_k d_v")
i, j, l, c, e = indices(i=B * b, j=B * b, l=B * b, c=d_k, e=d_v)
x, y, u = indices(x=B, y=B, u=r)

q = data("q", B * b, d_k, meaning="query: what each position looks for")
k = data("k", B * b, d_k, meaning="key: what each position offers to be found by")
v = data("v", B * b, d_v, meaning="value: what each position passes on where it is attended to")
table = parameter(
    "table",
    B,
    r,
    domain="integer",
    below=B,
    meaning="for each block of queries, r blocks of keys; those of global blocks are not read",
)
w = number(
    "w", domain="integer", below=B, meaning="blocks to each side of a block's own that its window holds"
)
g = number(
    "g", domain="integer", below=B, meaning="global blocks at each end: all see them, and they see all"
)
s = tensor("s", B * b, B * b, meaning="score: how well each key fits each query")
count = tensor(
    "count", B, B, domain="nonnegative", meaning="how often a block of queries counts a block of keys"
)
a = tensor("a", B * b, B * b, meaning="attention weight: 0 for every key in a block that does not count")
z = tensor("z", B * b, d_v, meaning="context: the mean of the values that are seen, weighted by attention")

REPEATS = Convention(
    "repeats",
    {
        "once": "a block counts once, however often it is named",
        "each": "a block counts again each time that the table names it, beside window and global blocks",
    },
    default="once",
)


def is_global(block: Node) -> Node:
    """The condition that a block is among the first g or the last g."""
    return lt(block, g) | le(B - block, g)


def is_near(query: Node, key: Node) -> Node:
    """The condition that a block of keys lies in the window of a block of queries, or that one of the two is global."""
    return (le(query - key, w) & le(key - query, w)) | is_global(query) | is_global(key)


def is_named(query: Node, key: Node) -> Node:
    """The condition that the table names a block of keys for a block of queries."""
    return Some(eq(table[query, u], key), u)


near, named = case(is_near(x, y), 1), Sum(delta(table[x, u], y), u)
counted = count[floor(i / b), floor(j / b)]
SIX = {
    "q": [[0]] * 6,
    "k": [[1]] * 6,
    "v": [[0], [6], [12], [24], [48], [96]],
    "w": 1,
    "g": 1,
}

bigbird = Formula(
    "attention.bigbird",
    "BigBird's attention",
    why="How few keys are enough for a long text? A window alone takes many layers from end to end. A few global blocks, "
    "which see all and are seen by all, make any two positions neighbours of a neighbour; a few random blocks keep paths "
    "short between all others, as in random graphs. Each query then has the same number of keys however long the text is, "
    "so that time and memory grow with the length; and whole blocks, not single keys, are picked, because that is what "
    "hardware multiplies fast.",
    sizes={
        B: "blocks",
        b: "positions of a block",
        r: "random blocks of each block of queries",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, table, w, g),
    lines=(
        define(s, scaled_dot(q, k)),
        define(
            count[x, y],
            by_convention(
                "repeats",
                once=case(is_near(x, y) | is_named(x, y), 1),
                each=case(is_global(x), 1, near + named),
            ),
        ),
        define(
            a[i, j],
            counted * exp(s[i, j]) / Sum(count[floor(i / b), floor(l / b)] * exp(s[i, l]), l),
        ),
        define(z[i, e], Sum(a[i, j] * v[j, e], j)),
    ),
    outputs=(z,),
    conventions=(REPEATS,),
    stored=("a",),
    pitfalls=(
        pitfall(
            "a table that names a block twice, or one that the window holds: it counts twice",
            convention="repeats",
        ),
        pitfall(
            "a table of zeros, in place of one that was not drawn: the first block counts 1 + r times",
            mutant="table_of_zeros",
        ),
        pitfall("global blocks seen by all that do not see all themselves", mutant="global_keys_alone"),
        pitfall("the window counted in positions, not in blocks", mutant="window_of_positions"),
    ),
    sources=(paper("zaheer2020", "section 2; appendix D"),),
    worked=(
        Worked(
            "Six blocks of one position, a window of three, the first and last global; block 2 also sees block 4",
            SIX | {"table": [[0], [3], [4], [1], [1], [0]]},
            [["31.0"], ["27.6"], ["31.0"], ["31.0"], ["34.8"], ["31.0"]],
            1,
        ),
        Worked(
            "The same with a table of zeros, where each naming counts: the first block counts twice",
            SIX | {"table": [[0]] * 6},
            [["31.0"], ["22.8"], ["23.0"], ["30.0"], ["33.6"], ["31.0"]],
            1,
            conventions={"repeats": "each"},
        ),
    ),
    notes="A table is as it should be where it names, for each block of queries that is not global, r different blocks outside "
    "its window and the global ones; then both conventions say the same. The original has w = g = 1 and r = 3, and draws a table "
    "for every head. Where all positions of global blocks are wanted as tokens of their own, they stand in front of the text.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

ONCE, EACH = {"repeats": "once"}, {"repeats": "each"}
(p,) = indices(p=b)
at = x * b + p
ordinary = le(g, x) & lt(g, B - x)
alone = bigbird(q, k, v, table, w, 0).output(count)[x, y]

bigbird.theorem(
    "once",
    "Every key counts at most once",
    claim(count[x, y], "<=", 1).by_definition(
        "it is 1 where the block is seen, and else 0", gap=case(is_near(x, y) | is_named(x, y), 0, 1)
    ),
    conventions=ONCE,
)

bigbird.theorem(
    "condition",
    "Where each naming counts, a block that is not near counts as often as it is named, and one in the window once more: every "
    "key counts at most once if the table names different blocks, and none that is near",
    claim(alone, "=", named, where=lt(w, x - y)).by_definition("the block stands before the window"),
    claim(alone, "=", named, where=lt(w, y - x)).by_definition("the block stands behind the window"),
    claim(alone, "=", 1 + named, where=le(x - y, w) & le(y - x, w)).by_definition(
        "the block is in the window"
    ),
    conventions=EACH,
)

bigbird.theorem(
    "zeros",
    "A table of zeros makes the first block, where it is global, count 1 + r times for a block that is not: its keys get 1 + r "
    "times the weight of others with the same score",
    claim(
        bigbird(q, k, v, each(0, x, u), w, g).output(count)[x, 0], "=", 1 + r, where=ordinary & lt(0, g)
    ).by_definition("once as a global block, and once for each naming"),
    conventions=EACH,
)

bigbird.theorem(
    "all",
    "With a window that holds all blocks it is attention to all keys",
    claim(bigbird(q, k, v, table, B - 1, g)[at, e], "=", scaled_dot_product(q, k, v)[at, e])
    .because("no two blocks are B apart")
    .by_enclosure(),
    conventions=ONCE,
)

seen = is_near(floor(i / b), floor(j / b)) | is_named(floor(i / b), floor(j / b))
bigbird.theorem(
    "dense",
    "It is attention under the mask of what is seen",
    claim(z[at, e], "=", scaled_dot_product(q, k, v, each(seen, i, j))[at, e])
    .because("a key that is seen counts once, another not at all")
    .by_enclosure(),
    conventions=ONCE,
)

bigbird.theorem(
    "two_layers",
    "Where a block is global, two layers join any two positions: every block sees it, and it sees every block",
    claim(count[x, 0] * count[0, y], "=", 1, where=lt(0, g)).by_definition("the first block is global"),
    conventions=ONCE,
)

bigbird.theorem(
    "few_blocks",
    "A block that is not global gathers at most 2·g + 2·w + 1 + r blocks, and a global one all B: with b, r, w and g fixed the "
    "scores of B·b queries grow with B, and not with its square",
    claim(
        (B - 2 * g) * (2 * g + 2 * w + 1 + r) + 2 * g * B,
        "=",
        B * (4 * g + 2 * w + 1 + r) - 2 * g * (2 * g + 2 * w + 1 + r),
    ).by_definition("blocks that are not global, and global ones"),
    runs=False,
)
