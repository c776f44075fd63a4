"""``attnspec verify bert.encoder --weights FOLDER --text "…"``: the statement at the weights of a trained BERT or GPT-2."""

from __future__ import annotations

import argparse
import json

from verify.command.terminal import CONFORMS, FALSIFIED
from verify.faults import Unusable


def at_weights(given: argparse.Namespace) -> int:
    """Compare implementations with the statement, layer by layer; the exit status.

    Raises:
        Unusable: a folder, a text or a callable that cannot be used, in one line.
    """
    from verify.command.terminal import console
    from verify.output.layers import about, document, table, verdicts
    from verify.subject.loading import Unloadable
    from verify.weights.causes import cause
    from verify.weights.comparing import Comparison, compare, expectation
    from verify.weights.families import FAMILIES
    from verify.weights.reading import DTYPES, read_checkpoint
    from verify.weights.sentences import DEFAULT, sentences
    from verify.weights.subjects import list_built_in, of_user

    stated = [family.stated_by for family in FAMILIES.values()]
    if given.ids not in ([], *([name] for name in stated)):
        raise Unusable(f"--weights: expected the formula {' or '.join(stated)}; got {' '.join(given.ids)}")
    dtypes = [name for name in DTYPES if not given.dtype or name in given.dtype]
    if not dtypes:
        raise Unusable(
            f"--weights: expected --dtype to be among {', '.join(DTYPES)}; got {', '.join(given.dtype)}"
        )
    out, notes = console(), console(stderr=True)
    checkpoint = read_checkpoint(given.weights)
    if given.ids not in ([], [own := checkpoint.family.stated_by]):
        raise Unusable(
            f"{given.weights}: expected a checkpoint that {given.ids[0]} states; got one that {own} does"
        )
    read_texts = sentences(checkpoint, given.text or [DEFAULT])
    try:
        subjects = [of_user(where) for where in given.against] or list_built_in(checkpoint.family.kind)
    except Unloadable as error:
        raise Unusable(str(error)) from None
    for line in about(checkpoint, read_texts):
        out.print(line, markup=False)
    found: list[Comparison] = []
    with notes.status("reading the statement ...") as status:
        for dtype in dtypes:
            status.update(f"{dtype}: evaluating the statement ...")
            wanted = []
            if dtype != "float64":
                wanted = [expectation(checkpoint, one, dtype, given.seed or 0) for one in read_texts]
            for subject in subjects:
                status.update(f"{dtype}: {subject.name} ...")
                one = compare(subject, checkpoint, read_texts, wanted, dtype)
                if one.first is not None and dtype == "float64":
                    status.update(f"{subject.name}: looking for the cause ...")
                    one.cause = cause(checkpoint, read_texts, one.seen, one.first)
                found.append(one)
    found.sort(key=lambda one: [subject.name for subject in subjects].index(one.subject))
    out.print(table(checkpoint, found))
    judged = verdicts(found)
    for line, good in judged:
        out.print(line, style="green" if good else "bold red", markup=False)
    if given.json:
        given.json.write_text(
            json.dumps(document(checkpoint, read_texts, found), ensure_ascii=False, indent=1), "utf-8"
        )
    return CONFORMS if all(good for _, good in judged) else FALSIFIED
