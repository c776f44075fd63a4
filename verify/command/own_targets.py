"""What ``attnspec verify`` runs where a user has named targets of their own, in place of those that attnspec knows."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.command.config import OPTIONS, Config, OwnTarget, nearest, read_config
from verify.command.profiles import resolve_options
from verify.command.tasks import Task
from verify.deviations import Deviation, News
from verify.faults import Unusable
from verify.isolation import CHECK

if TYPE_CHECKING:
    from verify.report import Report


def configuration(given: argparse.Namespace) -> Config | None:
    """The user's targets: of the file that is named, else of the nearest one; None where attnspec's own are meant."""
    if given.config is not None:
        if given.builtin:
            raise Unusable(
                "--config names targets of yours, --builtin means those of attnspec: give one of them"
            )
        return read_config(given.config)
    path = None if given.builtin else nearest(Path.cwd())
    return read_config(path) if path is not None else None


def own_tasks(
    config: Config, given: argparse.Namespace, said: Mapping[str, Any]
) -> tuple[list[Task], list[Deviation]]:
    """The targets that are asked for, as tasks, and in what they are known to deviate; ``said``: on the command line.

    Raises:
        Unusable: a formula that there is not, an option that no check has, or nothing that is left to run.
    """
    from verify.checking import check

    has = inspect.signature(check).parameters
    tasks, known = list[Task](), list[Deviation]()
    for target, formula_id in _choose_targets(config, given):
        options = resolve_options(config.options, target.options, said)
        for name in options:
            if name not in has:
                raise Unusable(f"{config.path}: {target.label}: no check takes {name}")
        _usable(config, target, formula_id, options)
        place = target.address, config.folders
        listed = tuple(replace(deviation, formula=formula_id) for deviation in target.known)
        options = {"causes": News(target.label, formula_id, listed), **options} if listed else options
        tasks.append(Task("own", target.label, target.formula, options, *place))
        known += listed
    return tasks, known


def _usable(config: Config, target: OwnTarget, formula_id: str, options: Mapping[str, Any]) -> None:
    """Whether a formula has what options name, its conventions, sizes and numbers: found before anything is run.

    Raises:
        Unusable: it has not; the message names the file and the key.
    """
    from spec.language.formula import Formula
    from spec.language.registry import statement
    from verify.edges import OTHERS, split_conventions
    from verify.inputs.ranges import Ranges
    from verify.inputs.size_rules import Supported
    from verify.request import refuse_rules
    from verify.subject.callables import with_words

    formula, given = statement(formula_id), options.get("conventions")
    named = {k: v for k, v in given.items() if k != OTHERS} if isinstance(given, Mapping) else {}

    def read_option(key: str, reading: Callable[[], Any]) -> Any:
        try:
            return reading()
        except (ValueError, Unusable) as error:
            own = OPTIONS[key][0] in target.options
            number = f"target[{config.targets.index(target) + 1}]." if own else ""
            raise Unusable(f"{config.path}: {config.table}{number}{key}: {error}") from None

    chosen = read_option("conventions", lambda: formula.choose(split_conventions(named)[1]))
    if not isinstance(formula, Formula):
        for key, name in (("sizes", "sizes"), ("set", "fixed"), ("ranges", "ranges")):
            read_option(key, partial(refuse_rules, formula, {name: options.get(name)}))
    else:
        how = options.get("sizes"), options.get("fixed")
        _, held, sizes, fixed, _ = read_option("set", partial(with_words, None, formula, *how))
        read_option("sizes", partial(Supported.of, held, sizes))
        read_option("set", partial(Supported.of, held, None, fixed))
        read_option("ranges", partial(Ranges.of, held, options.get("ranges"), chosen))


def find_misnamed(known: Sequence[Deviation], reports: Sequence[Report]) -> list[str]:
    """A line for each known deviation that names no check of its target, neither of those made nor of those that might be."""
    from spec.language.formula import Formula
    from spec.language.registry import statement
    from verify.plan import possible_names

    said = []
    for deviation in known:
        for report in reports:
            names = [check.name for check in report.checks]
            if (deviation.target, deviation.formula) != (report.target, report.formula_id):
                continue
            formula = statement(report.formula_id)
            more = possible_names(formula) if isinstance(formula, Formula) else []
            found = any(deviation.covers(report.target, report.formula_id, name) for name in (*names, *more))
            if not found and not report.unfinished and CHECK not in names:
                close = get_close_matches(deviation.check, names, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(names)}"
                said.append(f"known deviation: {report.target} has no check {deviation.check!r}; {hint}")
    return said


def _choose_targets(config: Config, given: argparse.Namespace) -> list[tuple[OwnTarget, str]]:
    """The targets that are asked for, each with the ID of its formula."""
    found = [(target, _formula_id(config, place, target)) for place, target in enumerate(config.targets, 1)]
    wanted = {name: _id_of(name) for name in given.ids}
    for name, said in wanted.items():
        if not any(said in (formula_id, formula_id.split(".")[0]) for _, formula_id in found):
            ids = dict.fromkeys(formula_id for _, formula_id in found)
            raise Unusable(
                f"{config.path} has no target of {name}; it has targets of {', '.join(ids)} "
                "(--builtin verifies those of attnspec)"
            )
    for name in given.target or ():
        if name not in [target.label for target, _ in found]:
            labels = [target.label for target, _ in found]
            close = get_close_matches(name, labels, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has: {', '.join(labels)}"
            raise Unusable(
                f"{config.path} has no target {name!r}; {hint} (--builtin verifies those of attnspec)"
            )
    return [
        (target, formula_id)
        for target, formula_id in found
        if (not wanted or {formula_id, formula_id.split(".")[0]} & set(wanted.values()))
        and (not given.target or target.label in given.target)
    ]


def _id_of(name: str) -> str:
    """An ID or a subject as it is; the ID of a formula that is named by where it is."""
    from spec.language.own import is_address
    from spec.language.registry import UnknownFormula, statement

    try:
        return statement(name).id if is_address(name) else name
    except UnknownFormula as error:
        raise Unusable(str(error)) from None


def _formula_id(config: Config, place: int, target: OwnTarget) -> str:
    from spec.language.registry import UnknownFormula, statement

    try:
        return statement(target.formula).id
    except UnknownFormula as error:
        raise Unusable(f"{config.path}: {config.table}target[{place}].formula: {error}") from None


__all__ = ["configuration", "find_misnamed", "own_tasks"]
