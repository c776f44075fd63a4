"""Variants of ``attention.paged``."""

import torch

from impl.attention import causal_mask, grouped_query, scaled_dot_product
from tests.mutants import right, wrong
from tests.mutants.grouped import grouped, tile

PAGED = "attention.paged"


def gather(pages, table):
    """The slots of a text's pages, one behind the other (... g p·s d), right."""
    return pages[table].flatten(-4, -3).transpose(-3, -2)


def turned(pages, table):
    """The same with slot and page exchanged: the first slots of all pages, then the second."""
    return pages[table].transpose(-4, -3).flatten(-4, -3).transpose(-3, -2)


def read(keys=gather, values=None, hide=lambda n, m, last: causal_mask(n, last + 1), attend=grouped_query):
    """Attention with a paged cache, right but for what is given."""

    def attention(q, K, V, table, last):
        k, v = keys(K, table), (values or keys)(V, table)
        mask = hide(q.shape[-2], k.shape[-2], last)
        m = mask.shape[-1]
        return attend(q, k[..., :m, :], v[..., :m, :], mask)

    return attention


def in_order(pages, table):
    """The first pages of memory, whatever the table says."""
    return gather(pages, (torch.arange(table.shape[-1]) % len(pages)).expand(table.shape))


wrong(PAGED, "table_ignored", "Reads pages in the order of memory.", cause="table")(read(in_order))
wrong(PAGED, "values_in_order", "Reads pages of values in the order of memory.", cause="table|V")(
    read(gather, in_order)
)
wrong(PAGED, "table_reversed", "Reads the table from its end.", cause="table|order|end")(
    read(lambda pages, table: gather(pages, table.flip(-1)))
)
wrong(PAGED, "strided_slots", "Exchanges slot and page in an address.", cause="order|table|slot|K")(
    read(turned)
)
wrong(
    PAGED, "whole_pages_read", "Reads the slots behind the last token, too.", cause="last|must not read|many"
)(read(hide=lambda n, m, last: torch.ones(n, m, dtype=torch.bool)))
wrong(PAGED, "aligned_at_the_page", "Puts the last query beside the last slot.", cause="last|n|align|many")(
    read(hide=lambda n, m, last: causal_mask(n, m))
)
wrong(PAGED, "paged_unmasked", "Lets each new token see those after it.", cause="many|after|future|must not")(
    read(hide=lambda n, m, last: torch.ones(n, last + 1, dtype=torch.bool))
)
wrong(
    PAGED,
    "last_left_out",
    "Takes the last slot for the length: the last token is not seen.",
    cause="last|few|<",
)(read(hide=lambda n, m, last: causal_mask(n, last + 1) & (torch.arange(last + 1) < max(last, 1))))
wrong(PAGED, "pages_tiled", "Repeats the groups as a whole, not each in a row.", cause="heads|group|order")(
    read(attend=grouped(tile))
)
wrong(
    PAGED, "pages_detached", "Passes no gradient to the pages of keys.", cause="gradient reaches K|constant"
)(read(lambda pages, table: gather(pages.detach(), table), gather))

right(PAGED, "pages_gathered", "As it is written.")(read())


@right(PAGED)
def slot_by_slot(q, K, V, table, last):
    """Addresses of slots, worked out one by one, and one query after another."""
    at = torch.arange(last + 1)
    pages, slots = table[..., at // K.shape[1]], at % K.shape[1]
    k, v = (x[pages, slots].transpose(-3, -2) for x in (K, V))
    times, rows = q.shape[-3] // K.shape[2], []
    for i in range(q.shape[-2]):
        end = max(last + 2 + i - q.shape[-2], 0)
        near = (x[..., :end, :].repeat_interleave(times, -3) for x in (k, v))
        rows.append(scaled_dot_product(q[..., i : i + 1, :], *near))
    return torch.cat(rows, -2)
