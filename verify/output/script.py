"""Scripts that reproduce a falsification on their own: inputs, call, expected value, tolerance; exit 1 when it fails again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from spec.language.formula import Formula
from spec.language.own import address_of
from spec.language.registry import find, procedure_ids
from verify.output.led import led_lines, outputs_shapes
from verify.output.played import modules, played_lines
from verify.report import FALSIFIED, CheckResult, Counterexample, Played, Report
from verify.scripting.literals import commented, literal, number
from verify.scripting.standalone import standalone
from verify.scripting.within import clash, within
from verify.subject.signature import given_lines

PLACEHOLDER = "your_module:your_function"


def script(
    subject: Report | CheckResult,
    target: str | None = None,
    formula_id: str | None = None,
    written: str = "",
) -> str:
    """A self-contained Python script for the first falsified check of a report, or for one check.

    Args:
        subject: a report, or a check that carries a counterexample.
        target: ``module:callable`` to import; by default the report's, or a placeholder to fill in.
        formula_id: needed with a check.
        written: how the callable is made of what is imported, where it is not that itself.

    Raises:
        ValueError: nothing is falsified, or there is no counterexample to write down.
    """
    if isinstance(subject, Report):
        formula_id, target = subject.formula_id, target or subject.importable
        candidates = [c for c in subject.checks if c.verdict == FALSIFIED and (c.counterexample or c.again)]
        order = {"value": 0, "gradient": 1, "theorem": 2}
        if not candidates:
            raise ValueError(
                f"{subject.formula_id}: no check is falsified with a counterexample: nothing to reproduce"
            )
        chosen = min(candidates, key=lambda c: (not c.leads, order.get(c.kind, 3)))
    else:
        chosen = subject
    example = chosen.counterexample
    if formula_id in procedure_ids():
        from verify.decoding import script as procedure_script

        return procedure_script(subject, target or PLACEHOLDER, formula_id, written)
    if chosen.again is not None and formula_id is not None:
        above, case = chosen.again
        reproduces = f"{chosen.name} of {formula_id}"
        return standalone(reproduces, chosen.message, "", above, target or PLACEHOLDER, case, written)
    if example is None or formula_id is None:
        raise ValueError(f"{chosen.name}: there is no counterexample to reproduce")
    formula = find(formula_id)
    simple = chosen.kind == "value" or (chosen.kind == "gradient" and example.got is not None)
    simple |= "compiled" in example.calls
    leading = subject.leading if isinstance(subject, Report) else ()
    head = partial(_head, formula, chosen, example, target or PLACEHOLDER, written, leading)
    if not simple and example.played is not None:
        return head(played=example.played) + "\n".join(played_lines(example.played))
    body = _plain(formula, chosen, example) if simple else _again(formula, chosen, example)
    plainly = example.plainly if simple else ""
    if plainly and clash(plainly, f"import sys\nimport torch\n{body}"):
        plainly = within(plainly, "made", "function") + "\n\n\nfunction = made()"
    return head(plainly=plainly) + body


def _head(
    formula: Formula,
    check: CheckResult,
    example: Counterexample,
    target: str,
    written: str,
    leading: tuple[int, ...] = (),
    plainly: str = "",
    played: Played | None = None,
) -> str:
    module, _, name = target.partition(":")
    chosen = ", ".join(f"{key}={option}" for key, option in example.conventions.items())
    note = "  # put your module and function here" if target == PLACEHOLDER else ""
    imported = {"sys", *(modules(played) if played else ())}
    lines = [
        f'"""Reproduces: {check.name} of {formula.id} ({chosen}).',
        "",
        commented(check.message),
        f"Violated: {commented(example.violates)}",
        '"""',
        *(["from __future__ import annotations", ""] if played or leading or plainly else []),
        *sorted(f"import {name}" for name in imported),
        "",
        "import torch",
    ]
    if plainly or (played and played.functions):
        return "\n".join([*lines, plainly, "", ""])
    root, function = name.partition(".")[0], written or name
    if root in imported | {"torch", "verify"} and function.startswith(
        root
    ):  # what is imported keeps its name
        root, function = f"{root} as own_{root}", f"own_{function}"
    if example.adapted:
        function += f".restricted(fixed={example.fixed!r})" if example.fixed else ""
        function += f'.for_formula("{_named(formula)}")'
    given = example.left_out or example.by_name
    lines += [
        "",
        *(["import verify"] if written.startswith("verify.") else []),
        f"from {module} import {root}{note}",
        "",
        f"function = {function}",
        *(given_lines(formula, example.left_out, example.by_name, "function") if given else ()),
        *(["function = torch.compile(function)"] if "compiled" in example.calls else []),
        *(led_lines(formula, leading) if leading else ()),
        "",
        "",
    ]
    return "\n".join(lines)


REAL = ("real", "positive", "nonnegative")
"""The domains of numbers that have a type of their own."""


def _inputs(formula: Formula, example: Counterexample) -> tuple[str, list[str]]:
    """Assignments of the inputs, and their names in declared order."""
    lines, names = [], []
    for item in formula.inputs:
        name = str(item)
        if getattr(item, "role", "") == "generator":
            lines.append(f"{name} = torch.Generator().manual_seed({example.generator_seed or 0})")
        else:
            value = example.inputs.get(name)
            if getattr(item, "role", "") in ("data", "parameter"):
                value = np.asarray(value)  # a number in the place of an array without axes
            lines.append(f"{name} = {literal(value, example.dtype)}")
        names.append(name)
    return "\n".join(lines) + "\n", names


def _plain(formula: Formula, check: CheckResult, example: Counterexample) -> str:
    """A value or a gradient, with nothing but torch and the function."""
    text, names = _inputs(formula, example)
    if formula.is_mask(formula.inputs[-1]) and example.inputs.get(names[-1]) is None:
        names = names[:-1]
        text = text.rsplit("\n", 2)[0] + "\n"
    call = f"function({', '.join(names)})"
    outputs = [t.name for t in formula.outputs]
    if example.got is None or example.expected is None:
        return text + (
            "try:\n"
            f"    got = {call}\n"
            "except BaseException as error:\n"
            '    print(f"fails again: {type(error).__name__}: {error}")\n'
            "    sys.exit(1)\n" + _shape_test(formula, example)
        )
    if check.kind == "gradient" and example.cotangents is not None:
        real = [
            n
            for n in names
            if isinstance(example.inputs.get(n), np.ndarray) and example.inputs[n].dtype == np.float64
        ]
        text += f"for leaf in ({', '.join(real)},):\n    leaf.requires_grad_()\n"
        text += f"result = {call}\n"
        text += "outputs = list(result) if isinstance(result, (tuple, list)) else [result]\n"
        if formula.law is not None:  # what is drawn has no gradient
            text += "outputs = [output for output in outputs if output.is_floating_point()]\n"
            outputs = list(example.cotangents)
        seeds = ", ".join(literal(example.cotangents[name], example.dtype) for name in outputs)
        text += f"cotangents = [{seeds}]\n"
        text += "pairs = [pair for pair in zip(outputs, cotangents) if pair[0].requires_grad]\n"
        text += "gradient = None\n"
        text += "if pairs:\n"
        given = f"[pair[0] for pair in pairs], {example.what}, [pair[1] for pair in pairs]"
        text += f"    gradient = torch.autograd.grad({given}, allow_unused=True)[0]\n"
        text += f"got = 0.0 if gradient is None else gradient[{example.index or ()!r}].item()\n"
    else:
        place = outputs.index(example.what) if example.what in outputs else 0
        text += f"result = {call}\n"
        text += f"output = result[{place}] if isinstance(result, (tuple, list)) else result\n"
        text += f"got = output[{example.index or ()!r}].item()\n"
    text += f"expected, tolerance = {number(example.expected)}, {number(example.tolerance or 0.0)}\n"
    text += 'print(f"got {got!r}, expected {expected!r} ± {tolerance:.3g}")\n'
    text += "sys.exit(0 if abs(got - expected) <= tolerance else 1)\n"
    return text


def _named(formula: Formula) -> str:
    """How another process finds the formula: by its ID, or where it is, if it is not one of ours."""
    return address_of(formula.id) or formula.id


def _shape_test(formula: Formula, example: Counterexample) -> str:
    """What is left to test when the call returned: number, type, shape and dtype of the outputs."""
    made = _example(formula, example.inputs, example.dtype, example.generator_seed, {"kind": "value"})
    real = any(t.role in ("data", "parameter") and t.domain in REAL for t in formula.tensors)
    kinds = [f"torch.{example.dtype}" if real and t.domain in REAL else "None" for t in formula.outputs]
    shapes = outputs_shapes(formula, made.sizes, made.batch)
    wanted = ", ".join(f"({shape}, {kind})" for shape, kind in zip(shapes, kinds, strict=True))
    return (
        "outputs = got if isinstance(got, (tuple, list)) else (got,)\n"
        f"wanted = [{wanted}]\n"
        "fits = len(outputs) == len(wanted) and all(\n"
        "    isinstance(output, torch.Tensor) and output.shape == shape and kind in (None, output.dtype)\n"
        "    for output, (shape, kind) in zip(outputs, wanted)\n"
        ")\n"
        "said = [(tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else type(x).__name__ for x in outputs]\n"
        'print("does not fail" if fits else f"fails again: expected {wanted}, got {said}")\n'
        "sys.exit(0 if fits else 1)\n"
    )


def _again(formula: Formula, check: CheckResult, example: Counterexample) -> str:
    """A theorem or a scenario: played again by the checker, at these inputs."""
    if check.kind == "theorem":
        what: dict[str, Any] = {
            "kind": "theorem",
            "theorem": check.name.removeprefix("theorem "),
            **example.calls,
        }
    else:
        what = {"kind": check.kind, **example.calls}
    seeds = ", ".join(
        f"{name}={literal(value, example.dtype)}" for name, value in (example.cotangents or {}).items()
    )
    lines = [
        "from verify.output.script import again",
        "",
        "inputs = dict(",
        *(f"    {name}={literal(value, example.dtype)}," for name, value in example.inputs.items()),
        ")",
        f"sys.exit(again(function, {_named(formula)!r}, {what!r}, inputs, {example.dtype!r}, {example.conventions!r}, "
        f"{example.generator_seed!r}, dict({seeds})))",
        "",
    ]
    return "\n".join(lines)


def again(
    fn: Callable[..., Any],
    formula_id: str,
    what: Mapping[str, Any],
    inputs: Mapping[str, Any],
    dtype: str,
    conventions: Mapping[str, str],
    generator_seed: int | None = None,
    cotangents: Mapping[str, Any] | None = None,
) -> int:
    """Play one counterexample again; prints what is seen and returns 1 if it still fails, else 0."""
    from verify.properties.gradients import judge_gradient
    from verify.properties.judge import Judge
    from verify.properties.scenarios import by_name
    from verify.properties.theorems import judge_theorem
    from verify.properties.values import judge_value
    from verify.subject.callables import supported_by
    from verify.subject.caller import Caller

    formula = find(formula_id)
    judge, caller = Judge(formula, conventions), Caller(fn, formula, sizes=supported_by(fn, formula))
    example = _example(formula, inputs, dtype, generator_seed, what)
    example.cotangents = _arrays(cotangents or {})
    if what["kind"] == "theorem":
        outcome = judge_theorem(judge, caller, formula.theorems[what["theorem"]], example)
    elif what["kind"] == "gradient":
        outcome = judge_gradient(judge, caller, example)
    elif "scenario" in what:
        outcome = by_name(judge, what["scenario"]).play(judge, caller, example)
    else:
        outcome = judge_value(judge, caller, example)
    offence = caller.offences.get(what.get("offence", ""))
    if offence is not None or outcome.fails:
        sys.stdout.write(f"fails again: {offence.message if offence else outcome.message}\n")
        return 1
    sys.stdout.write("does not fail\n")
    return 0


def _arrays(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from verify.subject.returned import values

    return {
        name: values(value) if isinstance(value, torch.Tensor) else value for name, value in inputs.items()
    }


def _example(
    formula: Formula,
    inputs: Mapping[str, Any],
    dtype: str,
    generator_seed: int | None,
    what: Mapping[str, Any],
) -> Any:
    from verify.properties.offending import example_of
    from verify.properties.theorems import sizes_needed

    example = example_of(formula, _arrays(inputs), dtype, generator_seed)
    example.turn = what.get("turn", 0)
    if what["kind"] == "theorem":
        theorem = formula.theorems[what["theorem"]]
        for symbol in (*sizes_needed(formula, theorem), *theorem.sizes):
            if str(symbol) in what["sizes"]:
                example.sizes[symbol] = int(what["sizes"][str(symbol)])
    return example
