"""Which of equally likely tokens a decoder takes that keeps one text: a property of it, since not every library takes the first.

Asked of tables whose logits are 1 or −1, where tokens are equally likely to the last bit, whatever is computed of them.
"""

from __future__ import annotations

from typing import Any

from spec.decoding.continuations import Problem, Text, over, steps_of
from verify.decoding.cases import OWN, Case
from verify.decoding.judging import CaseJudge, kinds_for
from verify.decoding.seen import VALUE
from verify.faults import Fault, Unsupported
from verify.report import Report

TIES = "ties"
SEEDS, VOCABULARY, LENGTH = 12, 5, 4


def told_of_ties(judge: Any, report: Report) -> None:
    """Report a decoder that does not take the first of equally likely tokens, as the statement does."""
    if not isinstance(judge, CaseJudge) or judge.decoder.beams or OWN in kinds_for(judge.decoder, VALUE):
        return
    prompts = tuple((token,) for token in range(VOCABULARY))
    for seed in range(SEEDS):
        case = Case("tied", VOCABULARY, seed, prompts, LENGTH)
        problem = judge.problem(case)
        try:
            found = judge.decoder.solve(case, problem)
        except (Fault, Unsupported):
            return
        for prompt, row in zip(prompts, found, strict=True):
            said = _later(problem, prompt, row[0].tokens) if row else ""
            if said:
                report.has(
                    TIES, f"of equally likely tokens it does not take the first in the vocabulary: {said}"
                )
                return


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


__all__ = ["TIES", "told_of_ties"]
