"""Variants of ``routing``'s formulas."""

import torch

from tests.mutants import right, wrong

TOP_K = "routing.top_k"


def places(s, k):
    """The experts that are asked, the best first; of equal ones the first."""
    return torch.sort(s, dim=-1, descending=True, stable=True).indices[..., :k]


def spread(s, index, weights):
    """The weights at their experts, 0 elsewhere."""
    return torch.zeros_like(s).scatter(-1, index, weights)


def routed(weigh, choose=places):
    """Choose by the logits, and weigh those that are asked: ``weigh(logits of those asked, shares of those asked)``."""

    def route(s, k):
        index = choose(s, k)
        return spread(s, index, weigh(s.gather(-1, index), torch.softmax(s, -1).gather(-1, index)))

    return route


def of_those_asked(best, shares):
    """The softmax of the logits of those asked."""
    return torch.softmax(best, -1)


wrong(TOP_K, "not_renormalised", "The shares among all experts as they are.", cause="weights=shares")(
    routed(lambda best, shares: shares)
)
wrong(TOP_K, "one_expert_more", "One expert more is asked.", cause=r"off by one: r.*k\+1")(
    routed(of_those_asked, lambda s, k: places(s, k + 1))
)
wrong(
    TOP_K,
    "one_expert_fewer",
    "One expert fewer is asked, but for the best.",
    cause=r"off by one: r.*k-1",
)(routed(of_those_asked, lambda s, k: places(s, max(k - 1, 1))))
wrong(
    TOP_K, "the_last_of_equals", "Of equal experts the last are asked.", cause="ties|alike|equal|l < j|order"
)(routed(of_those_asked, lambda s, k: s.shape[-1] - 1 - places(s.flip(-1), k)))
wrong(TOP_K, "the_worst", "The experts of the smallest logits are asked.", cause="sign|small|revers|s\\[")(
    routed(of_those_asked, lambda s, k: torch.sort(s, dim=-1, stable=True).indices[..., :k])
)
wrong(
    TOP_K, "over_the_tokens", "Shares over the tokens, not over the experts.", cause="token|rows|axis|over"
)(lambda s, k: spread(s, places(s, k), torch.softmax(s, -2).gather(-1, places(s, k))))
wrong(TOP_K, "equal_weights", "Those asked count alike, 1/k each.", cause="softmax|alike|p is|exp")(
    routed(lambda best, shares: torch.softmax(0 * best, -1))
)
wrong(TOP_K, "by_sigmoids", "Sigmoids in place of the softmax, divided by their sum.", cause="sigmoid|σ")(
    routed(lambda best, shares: torch.sigmoid(best) / torch.sigmoid(best).sum(-1, keepdim=True))
)
wrong(
    TOP_K,
    "sum_with_epsilon",
    "10⁻³ is added to the sum that shares are divided by.",
    cause="add|1e-3|0.001|off by",
)(routed(lambda best, shares: shares / (shares.sum(-1, keepdim=True) + 1e-3)))
wrong(TOP_K, "weights_of_the_router_detached", "No gradient reaches the router.", cause="gradient|constant")(
    routed(lambda best, shares: torch.softmax(best, -1).detach() + 0 * best)
)
wrong(
    TOP_K,
    "sum_of_those_asked_detached",
    "The sum that shares are divided by is taken for a constant.",
    cause="gradient|constant",
)(
    routed(
        lambda best, shares: torch.exp(torch.log_softmax(best.detach(), -1)) * torch.exp(best - best.detach())
    )
)
wrong(
    TOP_K,
    "chosen_in_half",
    "The best are sought among logits in bfloat16: near ones become equal.",
    cause="bfloat16",
)(routed(of_those_asked, lambda s, k: places(s.bfloat16(), k)))


@wrong(TOP_K, cause="0|not asked|rest|others")
def rest_shared(s, k):
    """Those not asked share a hundredth."""
    w = routed(of_those_asked)(s, k)
    return torch.where(w > 0, w, 0.01 / s.shape[-1])


right(TOP_K, "shares_divided", "The shares of those asked over their sum.")(
    routed(lambda best, shares: torch.softmax(best.log_softmax(-1), -1))
)
right(TOP_K, "shares_by_name", "The shares among all, by that convention.", weights="shares")(
    routed(lambda best, shares: shares)
)


@right(TOP_K)
def by_rank(s, k):
    """The softmax over those of which fewer than k are ahead."""
    number = torch.arange(s.shape[-1])
    larger, alike = (
        s[..., None, :] > s[..., None],
        (s[..., None, :] == s[..., None]) & (number < number[:, None]),
    )
    asked = (larger | alike).sum(-1) < k
    return torch.softmax(s.masked_fill(~asked, float("-inf")), -1)


CAPACITY = "routing.capacity"


def limited(room=lambda asked, C: asked.cumsum(-2) <= C, finish=lambda w, kept: w * kept):
    """The k best with their weights, and which of them find room."""

    def route(s, k, C):
        index = places(s, k)
        w = spread(s, index, torch.softmax(s.gather(-1, index), -1))
        asked = spread(s, index, torch.ones_like(index, dtype=s.dtype))
        return finish(w, room(asked, C))

    return route


wrong(CAPACITY, "one_token_more", "An expert takes a token more.", cause=r"off by one: b.*C\+1")(
    limited(lambda asked, C: asked.cumsum(-2) <= C + 1)
)
wrong(CAPACITY, "one_token_fewer", "An expert takes a token fewer.", cause=r"off by one: b.*C-1")(
    limited(lambda asked, C: asked.cumsum(-2) < C)
)
wrong(CAPACITY, "no_capacity", "Nothing is dropped.", cause=r"condition b.*not applied")(
    limited(lambda asked, C: torch.ones_like(asked))
)
wrong(CAPACITY, "the_last_are_kept", "Counted from the last token on.", cause="order|last|from the end")(
    limited(lambda asked, C: asked.flip(-2).cumsum(-2).flip(-2) <= C)
)
wrong(CAPACITY, "counted_over_experts", "Places are counted over the experts.", cause="expert|axis")(
    limited(lambda asked, C: asked.cumsum(-1) <= C)
)
wrong(CAPACITY, "members_compete", "A batch is counted as one text.", cause="batch|member")(
    limited(lambda asked, C: asked.reshape(-1, asked.shape[-1]).cumsum(0).view(asked.shape) <= C)
)
wrong(
    CAPACITY,
    "all_tokens_count",
    "Tokens that do not ask take a place as well.",
    cause=r"condition r\[t,j\].*not applied",
)(limited(lambda asked, C: torch.ones_like(asked).cumsum(-2) <= C))
wrong(CAPACITY, "renormalised_behind", "What is left is divided by its sum.", cause="sum|renormal")(
    limited(finish=lambda w, kept: w * kept / (w * kept).sum(-1, keepdim=True).clamp_min(1e-30))
)
wrong(
    CAPACITY,
    "the_whole_token",
    "One full expert, and a token gets nothing at all.",
    cause="whole|all experts",
)(limited(finish=lambda w, kept: w * (kept | (w == 0)).all(-1, keepdim=True)))
wrong(CAPACITY, "half_of_it", "A token that finds an expert full gets half of its answer.", cause="half")(
    limited(finish=lambda w, kept: torch.where(kept, w, w / 2))
)

right(CAPACITY, "counted_at_experts", "Those that ask are counted, token by token.")(limited())


@wrong(CAPACITY, cause="order=choices")
def first_choices_first(s, k, C):
    """First choices come before second ones."""
    index, found, before = places(s, k), torch.zeros_like(s), 0
    w = torch.softmax(s.gather(-1, index), -1)
    for choice in range(index.shape[-1]):
        at = index[..., choice : choice + 1]
        asked = spread(s, at, torch.ones_like(at, dtype=s.dtype))
        found = found + spread(s, at, w[..., choice : choice + 1]) * (before + asked.cumsum(-2) <= C)
        before = before + asked.sum(-2, keepdim=True)
    return found


@right(CAPACITY, order="choices")
def choice_by_choice(s, k, C):
    """First choices come before second ones, by that convention."""
    return first_choices_first(s, k, C)
