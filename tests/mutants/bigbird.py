"""Variants of ``attention.bigbird``."""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import raw

BIGBIRD = "attention.bigbird"


def near(x, y, blocks, w, g):
    """The blocks that a window holds, and the global ones, seen and seeing."""
    return ((x - y).abs() <= w) | ends(x, blocks, g) | ends(y, blocks, g)


def ends(x, blocks, g):
    """The global blocks."""
    return (x < g) | (x >= blocks - g)


def named(table, y):
    """How often the table names each block (B B)."""
    return (table[:, None, :] == y[..., None]).sum(-1)


def once(x, y, table, w, g):
    """How often a block counts, right."""
    return (near(x, y, len(table), w, g) | (named(table, y) > 0)).double()


def each(x, y, table, w, g):
    """The same where each naming counts, right."""
    counted = near(x, y, len(table), w, g).double() + named(table, y)
    return torch.where(ends(x, len(table), g), torch.ones_like(counted), counted)


def by_blocks(count=once, scores=raw, mix=lambda a, v: a @ v, over=lambda a: a / a.sum(-1, keepdim=True)):
    """BigBird's attention with a full matrix of scores, right but for what is given."""

    def attention(q, k, v, table, w, g):
        blocks = len(table)
        at = torch.arange(blocks)
        counts = count(at[:, None], at[None].expand(blocks, -1), table, w, g)
        size = q.shape[-2] // blocks
        counts = counts.repeat_interleave(size, 0).repeat_interleave(size, 1).to(q.dtype)
        s = scores(q, k).masked_fill(counts == 0, -math.inf)
        a = counts * torch.exp(s - s.amax(-1, keepdim=True).detach())
        return mix(over(a), v)

    return attention


wrong(BIGBIRD, "table_of_zeros", "The table was never drawn: zeros.", cause="table|u\\]|named")(
    by_blocks(lambda x, y, table, w, g: once(x, y, torch.zeros_like(table), w, g))
)
wrong(BIGBIRD, "window_wraps", "The window goes on at the other end.", cause=r"\bw\b|window")(
    by_blocks(
        lambda x, y, table, w, g: (
            (once(x, y, table, w, g) > 0) | ((x - y) % len(table) <= w) | ((y - x) % len(table) <= w)
        ).double()
    )
)
wrong(
    BIGBIRD,
    "table_rolled",
    "Rows of the table are counted from the first block that is not global.",
    cause="table",
)(by_blocks(lambda x, y, table, w, g: once(x, y, table.roll(g, 0), w, g)))
wrong(BIGBIRD, "one_last_global", "Of the last global blocks the last alone.", cause=r"\bg\b|global")(
    by_blocks(
        lambda x, y, table, w, g: (
            ((x - y).abs() <= w)
            | (torch.minimum(x, y) < g)
            | (torch.maximum(x, y) >= len(table) - min(g, 1))
            | (named(table, y) > 0)
        ).double()
    )
)
wrong(
    BIGBIRD,
    "named_again",
    "A block that is named again counts again.",
    cause="repeats=each",
)(by_blocks(each))
wrong(
    BIGBIRD,
    "named_once",
    "A block counts once where each naming was to count.",
    repeats="each",
    cause="repeats=once",
)(by_blocks())
wrong(
    BIGBIRD, "global_keys_alone", "Global blocks are seen by all and do not see all.", cause="not applied|x <"
)(
    by_blocks(
        lambda x, y, table, w, g: (
            ((x - y).abs() <= w) | ends(y, len(table), g) | (named(table, y) > 0)
        ).double()
    )
)
wrong(BIGBIRD, "global_queries_alone", "Global blocks see all and are not seen.", cause="not applied|y <")(
    by_blocks(
        lambda x, y, table, w, g: (
            ((x - y).abs() <= w) | ends(x, len(table), g) | (named(table, y) > 0)
        ).double()
    )
)
wrong(BIGBIRD, "no_last_global", "The last blocks are not global.", cause="not applied|B")(
    by_blocks(
        lambda x, y, table, w, g: (((x - y).abs() <= w) | (x < g) | (y < g) | (named(table, y) > 0)).double()
    )
)
wrong(BIGBIRD, "window_behind", "The window reaches back alone.", cause="not applied|- y|y -")(
    by_blocks(
        lambda x, y, table, w, g: (
            ((x - y >= 0) & (x - y <= w))
            | ends(x, len(table), g)
            | ends(y, len(table), g)
            | (named(table, y) > 0)
        ).double()
    )
)
wrong(
    BIGBIRD,
    "window_too_narrow",
    "A window of w blocks in all, w // 2 to each side.",
    cause=r"too few|\bw / 2|\bw is",
)(by_blocks(lambda x, y, table, w, g: once(x, y, table, w // 2, g)))
wrong(
    BIGBIRD,
    "rows_of_the_next",
    "Each block of queries takes the row of the table after its own.",
    cause="table",
)(by_blocks(lambda x, y, table, w, g: once(x, y, table.roll(-1, 0), w, g)))
wrong(BIGBIRD, "one_random_block", "Of the r random blocks the first alone.", cause=r"\btable\b|u < 1|r = 1")(
    by_blocks(lambda x, y, table, w, g: once(x, y, table[:, :1], w, g))
)
wrong(
    BIGBIRD, "named_both_ways", "A block that is named sees the one that named it, too.", cause="table|named"
)(by_blocks(lambda x, y, table, w, g: (once(x, y, table, w, g).bool() | (named(table, y) > 0).mT).double()))
wrong(BIGBIRD, "blocks_without_scale", "Scores are not divided by √d_k.", cause="scale is missing|√")(
    by_blocks(scores=lambda q, k: q @ k.mT)
)
wrong(BIGBIRD, "block_values_detached", "Gathered values pass no gradient.", cause=r"reaches v\b")(
    by_blocks(mix=lambda a, v: a @ v.detach())
)


@wrong(BIGBIRD, cause=r"\bw\b|window")
def window_of_positions(q, k, v, table, w, g):
    """The window is counted in positions, not in blocks."""
    size = q.shape[-2] // len(table)
    i = torch.arange(q.shape[-2])
    x, y = i[:, None] // size, (i[None] // size).expand(len(i), -1)
    seen = (i[:, None] - i).abs() <= w
    seen = (
        seen
        | ends(x, len(table), g)
        | ends(y, len(table), g)
        | (named(table, torch.arange(len(table))[None]) > 0)[x, y]
    )
    return torch.softmax(raw(q, k).masked_fill(~seen, -math.inf), -1) @ v


right(BIGBIRD, "counted_plainly", "A full matrix of scores, and how often each counts.")(by_blocks())
right(BIGBIRD, "counted_each", "The same where each naming counts.", repeats="each")(by_blocks(each))


@right(BIGBIRD)
def block_after_block(q, k, v, table, w, g):
    """Each block of queries with the keys of its blocks, one after the other."""
    blocks = len(table)
    queries, keys, values = (x.unflatten(-2, (blocks, -1)) for x in (q, k, v))
    rows = []
    for x in range(blocks):
        seen = (
            {*range(blocks)}
            if x < g or x >= blocks - g
            else {
                *range(max(x - w, 0), min(x + w + 1, blocks)),
                *range(g),
                *range(blocks - g, blocks),
                *table[x].tolist(),
            }
        )
        at = torch.tensor(sorted(seen))
        a = torch.softmax(raw(queries[..., x, :, :], keys[..., at, :, :].flatten(-3, -2)), -1)
        rows.append(a @ values[..., at, :, :].flatten(-3, -2))
    return torch.cat(rows, -2)
