"""Variants of ``attention.random_blocks``."""

import torch

from tests.mutants import right, wrong

BLOCKS = "attention.random_blocks"


def noise(free, generator):
    """A random number for each block."""
    return torch.rand(free.shape, generator=generator, dtype=torch.float64)


def first(order, r):
    """The numbers of the r that come first, right."""
    return torch.nn.functional.pad(order.argsort(-1)[..., :r], (0, max(r - order.shape[-1], 0)))


def drawn(keys=lambda free, generator: noise(free, generator).masked_fill(~free, 2.0), pick=first, fill=-1):
    """Random blocks, right but for what is given."""

    def blocks(free, r, generator):
        found = pick(keys(free, generator), r)
        return torch.where(free.sum(-1, keepdim=True) >= r, found, fill)

    return blocks


wrong(BLOCKS, "never_drawn", "A table of zeros.", cause="free one|twice")(
    lambda free, r, generator: torch.zeros(*free.shape[:-1], r, dtype=torch.int64)
)
wrong(
    BLOCKS,
    "with_repetition",
    "Each block is drawn by itself: two may be the same.",
    cause="twice|did not return",
)(
    lambda free, r, generator: torch.where(
        free.sum(-1, keepdim=True) >= r,
        torch.stack([first(noise(free, generator).masked_fill(~free, 2.0), 1)[..., 0] for _ in range(r)], -1),
        -1,
    )
)
wrong(BLOCKS, "any_block", "Blocks that are not free are drawn, too.", cause="free one")(drawn(keys=noise))
wrong(BLOCKS, "first_free", "The first free blocks: nothing is drawn.", cause="another seed|drawn")(
    drawn(keys=lambda free, generator: torch.arange(free.shape[-1]).double().masked_fill(~free, 1e9))
)
wrong(
    BLOCKS,
    "sorted_blocks",
    "The blocks that were drawn are sorted, so that the last is a late one.",
    cause="never drawn|stated",
)(drawn(pick=lambda order, r: first(order, r).sort(-1).values))
wrong(BLOCKS, "one_choice", "One order of the blocks for all rows.", cause="rows|together|stated|another")(
    drawn(
        keys=lambda free, generator: (
            torch.rand(free.shape[-1], generator=generator, dtype=torch.float64)
            .expand(free.shape)
            .masked_fill(~free, 2.0)
        )
    )
)
wrong(BLOCKS, "late_blocks_preferred", "Numbers that are smaller for late blocks.", cause="stated")(
    drawn(
        keys=lambda free, generator: (
            noise(free, generator) / (2 + torch.arange(free.shape[-1]))
        ).masked_fill(~free, 2.0)
    )
)
wrong(BLOCKS, "as_many_as_there_are", "Where too few are free, block 0 stands for none.", cause="free one")(
    drawn(fill=0)
)
wrong(BLOCKS, "own_generator", "A generator of its own: every call draws the same.", cause="another seed")(
    lambda free, r, generator: drawn()(free, r, torch.Generator().manual_seed(0))
)
right(BLOCKS, "by_order", "Random numbers, sorted.")(drawn())
right(BLOCKS, "by_largest", "The largest of random numbers.")(
    drawn(
        keys=lambda free, generator: noise(free, generator).masked_fill(~free, -1.0),
        pick=lambda order, r: first(-order, r),
    )
)
