"""Which of equally likely tokens, or of beams of equal scores, a decoder takes: a property of it, since not every library takes
the first.

Asked of tables whose logits are 1 or −1, where tokens are equally likely to the last bit, whatever is computed of them.
"""

from __future__ import annotations

import math
from typing import Any

from spec.decoding.continuations import Found, Problem, Text, over, steps_of
from verify.decoding.case_result import VALUE
from verify.decoding.cases import OWN, Case
from verify.decoding.judging import CaseJudge, kinds_for
from verify.faults import Fault, Unsupported
from verify.report import Report

TIES = "ties"
SEEDS, VOCABULARY, LENGTH, WIDTH = 12, 5, 4, 3


def report_ties(judge: Any, report: Report) -> None:
    """Report a decoder that does not take the first of equally likely tokens, or of beams, as the statement does."""
    if not isinstance(judge, CaseJudge) or OWN in kinds_for(judge.decoder, VALUE):
        return
    beams = judge.decoder.beams
    prompts = tuple((token,) for token in range(VOCABULARY))
    for seed in range(SEEDS):
        # Of two sums of the same terms rounding may make one the larger: beams of a single token have none.
        sizes = {"max_length": 1, "width": WIDTH} if beams else {"max_length": LENGTH}
        case = Case("tied", VOCABULARY, seed, prompts, **sizes)
        problem = judge.problem(case)
        try:
            found = judge.decoder.solve(case, problem)
        except (Fault, Unsupported):
            return
        said = _other_beam(judge, problem, found) if beams else _other_token(problem, found)
        if said:
            report.has(TIES, said)
            return


def _other_token(problem: Problem, found: Found) -> str:
    """Describe which of equally likely tokens is taken, if it is not the first; else empty."""
    for prompt, row in zip(problem.prompts, found, strict=True):
        said = _later(problem, prompt, row[0].tokens) if row else ""
        if said:
            return f"of equally likely tokens it does not take the first in the vocabulary: {said}"
    return ""


def _other_beam(judge: CaseJudge, problem: Problem, found: Found) -> str:
    """Describe which of two beams of equal score is kept, if it is not that of the first tokens; else empty."""
    wanted, _ = judge.procedure.reference(problem)
    for prompt, row, right in zip(problem.prompts, found, wanted, strict=True):
        for one, other in zip(row, right, strict=False):
            if one.tokens == other.tokens:
                continue
            log_p = _log_probability(problem, prompt, one.tokens)
            if other.log_probability is not None and abs(log_p - other.log_probability) <= problem.tolerance:
                return (
                    "of beams of equal scores it does not take that of the first tokens: "
                    f"{list(one.tokens)} instead of {list(other.tokens)} after {list(prompt)}"
                )
            break  # what follows may follow from this
    return ""


def _log_probability(problem: Problem, prompt: Text, tokens: Text) -> float:
    """Return the log-probability of a text after a prompt; −∞ where no step leads there."""
    total = 0.0
    for place, token in enumerate(tokens):
        log_p = {each: x for x, each in steps_of(problem, prompt, tokens[:place])}
        total += log_p.get(token, -math.inf)
    return total


def _later(problem: Problem, prompt: Text, tokens: Text) -> str:
    """The first place at which another of equally likely tokens was taken; empty where none was, or an unlikelier one."""
    taken: Text = ()
    while not over(problem, taken) and len(taken) < len(tokens):
        steps, token = steps_of(problem, prompt, taken), tokens[len(taken)]
        (best, first), log_p = steps[0], {each: x for x, each in steps}
        if token != first:
            behind = f"after {[*prompt, *taken]}"
            return f"{token} instead of {first} {behind}" if log_p.get(token) == best else ""
        taken = (*taken, token)
    return ""


__all__ = ["TIES", "report_ties"]
