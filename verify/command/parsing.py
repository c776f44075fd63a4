"""The command line of ``attnspec``: its commands, their options, and what their help says."""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from verify.command.profiles import PROFILES, check_profile
from verify.faults import Unusable
from verify.limits import CALLS, CASE_KINDS

DTYPES = ("float64", "float32", "bfloat16", "float16")

EXITS = (
    "exit status: 0 conforms (or is imprecise, which is said), 1 falsified, 2 unusable input (one line on stderr),\n"
    "3 nothing conclusive"
)
JSON = """
JSON (--json F): {schema_version, command, exit, seed, max_examples, dtypes, device, versions, reports, known_deviations,
unexpected_passes, absent, errors, interrupted}; verify/output/report.schema.json describes it. A report holds formula_id, target,
conventions, sizes, verdict, overall (verdict, or "known"), kinds, checks (name, kind, dtype, verdict, examples, worst_ratio =
error/bound, effective, message, counterexample), headline, properties (name, option, says: reported, not judged), range (limits,
says, beyond: where it conforms), not_run and notes.
The details of a check of the kind "accuracy" hold sigma (the largest error beside the spread of careful arithmetic's), digits
(decimal digits lost against it), grades (by values, gradients and sizes), and place (of what is imprecise).
Numbers that are not finite are the strings "inf", "-inf" and "nan".
"""


REMOVED = {
    "--svg": "paste what is printed, or write a page with --html F",
    "--annotations": "write --junit F, which runners show beside the lines of a change",
    "--no-cache": "nothing is kept between runs any more but failing examples; ATTNSPEC_CACHE= keeps none of these",
    "--adapter": "name a function that takes nothing and returns verify.adapt.module(…)",
    "check --jobs": "a check is made in one process",
}
"""Options that went, of all commands or of one, each with what to use instead."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is no choice, and offer the one that looks like it."""
        close = get_close_matches(str(value), list(map(str, action.choices or ())), n=1)
        if close and close[0] != str(value):
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; did you mean {close[0]}?")
        super()._check_value(action, value)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the command line; an option that there was once is refused with what to use instead."""
        words = sys.argv[1:] if args is None else list(args)
        for word in words:
            option = word.partition("=")[0]
            said = REMOVED.get(option) or REMOVED.get(f"{words[0]} {option}")
            if said and option.startswith("--"):
                raise Unusable(f"{option} is gone: {said}")
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Refuse, in one line."""
        raise Unusable(f"{message} (see {self.prog} --help)")


class Version(argparse.Action):
    """Print the version, and exit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, nargs=0)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print it."""
        from importlib.metadata import version

        print(f"attnspec {version('attnspec')}")  # noqa: T201
        parser.exit()


def _check_output_path(name: str) -> Path:
    """A file to write at the end, refused at the beginning where it could not be."""
    path = Path(name)
    if path.is_dir():
        why = "it is a folder"
    elif not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        why = "permission denied"
    else:
        return path
    raise argparse.ArgumentTypeError(f"cannot write {path}: {why}")


FILES = ("json", "html", "junit", "counterexample", "script")
"""Options that name a file to be written."""


def apart(given: argparse.Namespace) -> None:
    """Whether files to be written are none of one another, and none of what is checked.

    Raises:
        Unusable: two are one.
    """
    module = str(getattr(given, "where", "") or "").rpartition(":")[0]
    source = Path(module if module.endswith(".py") else f"{module.replace('.', '/')}.py")
    taken = {source.resolve(): f"{source}, which is checked"} if module else {}
    config = getattr(given, "config", None)
    taken |= {config.resolve(): "the configuration"} if config else {}
    for name in FILES:
        path = getattr(given, name, None)
        if path is None:
            continue
        if path.resolve() in taken:
            raise Unusable(f"argument --{name}: {path} would overwrite {taken[path.resolve()]}")
        taken[path.resolve()] = f"what --{name} writes"


def parser() -> Parser:
    """The command line."""
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="attnspec",
        formatter_class=raw,
        description="Check implementations against symbolic statements, with tolerances derived from the statement.",
        epilog="examples:\n  attnspec verify\n  attnspec check mymodule:my_layer_norm --formula normalization.layer_norm\n"
        "  attnspec show attention.causal\n\n" + EXITS,
    )
    top.add_argument("--version", action=Version, help="say the version, and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def command(name: str, about: str, examples: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=about,
            description=about,
            formatter_class=raw,
            epilog=f"examples:\n{examples}\n\n{EXITS}",
        )

    def options(to: argparse.ArgumentParser) -> None:
        to.add_argument(
            "--profile",
            type=check_profile,
            metavar="{" + ",".join(PROFILES) + "}",
            help="how much is asked: smoke (a second; verify's default), full (check's), soak (overnight)",
        )
        to.add_argument(
            "--max-examples",
            type=_count,
            metavar="N",
            help="examples for each check (default 100)",
        )
        to.add_argument(
            "--time-limit",
            type=_positive,
            metavar="S",
            help="seconds for each target; what is not done by then is said to be inconclusive",
        )
        to.add_argument(
            "--seed",
            type=_natural,
            metavar="S",
            help="seed of everything drawn (default 0)",
        )
        to.add_argument(
            "--dtype",
            nargs="+",
            action="extend",
            choices=DTYPES,
            help="types to check (default float64 float32)",
        )
        to.add_argument(
            "--accuracy",
            type=_positive,
            metavar="SIGMA",
            help="fail where an error exceeds so many sigma of careful arithmetic's (default: say imprecise, exit 0)",
        )
        to.add_argument(
            "--verbose", action="store_true", help="list every check, every counterexample, what was not run"
        )
        to.add_argument("--device", default="cpu", metavar="D", help="a torch device (default cpu)")
        to.add_argument("--json", type=_check_output_path, metavar="F", help="write everything found as JSON")
        to.add_argument(
            "--html", type=_check_output_path, metavar="F", help="write it as one self-contained page"
        )
        to.add_argument(
            "--junit",
            type=_check_output_path,
            metavar="F",
            help="write it as JUnit's XML, a test for each check",
        )

    one = command(
        "verify",
        "verify your targets, where a pyproject.toml or attnspec.toml names them; else our implementations and those of peers",
        "  attnspec verify\n  attnspec verify recurrent --jobs 2\n"
        "  attnspec verify attention.softmax --target torch --max-examples 500\n"
        "  attnspec verify bert.encoder --weights FOLDER --text 'A sentence of yours.'\n" + JSON,
    )
    one.add_argument(
        "ids", nargs="*", metavar="ID", help="formulas, or subjects such as recurrent (default: all)"
    )
    one.add_argument(
        "--target",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="impl, torch, transformers, or a target's full name",
    )
    one.add_argument(
        "--jobs", type=_count, default=0, metavar="J", help="worker processes (default: up to 2)"
    )
    one.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="check on a dask.distributed cluster, whose scheduler is there: tcp://HOST:8786 (pip install 'attnspec[cluster]')",
    )
    one.add_argument(
        "--config",
        type=Path,
        metavar="F",
        help="your own targets: a pyproject.toml with [tool.attnspec], or an attnspec.toml (default: the nearest)",
    )
    one.add_argument(
        "--builtin", action="store_true", help="the targets that attnspec knows, even where yours are named"
    )
    one.add_argument(
        "--weights",
        type=Path,
        metavar="FOLDER",
        help="a checkpoint of BERT or GPT-2 (config.json, model.safetensors): what has its weights, beside the statement",
    )
    one.add_argument(
        "--text",
        nargs="+",
        action="append",
        metavar="TEXT",
        help="with --weights: a text to read, or two as a pair; may be given again, for a batch",
    )
    one.add_argument(
        "--against",
        nargs="+",
        action="extend",
        default=[],
        metavar="MODULE:CALLABLE",
        help="with --weights: your own; called with the folder, it gives a model that is called as transformers' are",
    )
    options(one)

    two = command(
        "check",
        "check a function of yours, in the current directory or anywhere on the path",
        "  attnspec check mymodule:my_layer_norm --formula normalization.layer_norm\n"
        "  attnspec check ./norms.py:annotated --formula normalization.layer_norm --convention eps=outside divisor=unbiased\n"
        + JSON,
    )
    two.add_argument(
        "where", metavar="MODULE:CALLABLE", help="a module or the path of a .py file, and a function in it"
    )
    two.add_argument(
        "--quiet", action="store_true", help="print the headline alone; the exit status says the same"
    )
    two.add_argument(
        "--formula",
        required=True,
        metavar="ID",
        help="the statement it is held to (see attnspec list), or where it is: my_spec.py:rms_gate",
    )
    two.add_argument(
        "--convention",
        "--conventions",
        nargs="+",
        action="extend",
        default=[],
        metavar="k=v",
        help="its conventions; auto: find those that are not named, where ours do not hold (default: all); or ours",
    )
    two.add_argument(
        "--sizes",
        nargs="+",
        action="extend",
        default=[],
        metavar="k=rule",
        help="the sizes it supports, where not all: d_v=d_k, d_model=h*d_k, h=2|4, d=even, d_model=h*any, n=1..64",
    )
    two.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        dest="fixed",
        metavar="k=number",
        help="what it has built in: eps=1e-5, beta=0; pos=0.. where it counts positions itself, y=x where y is no input but x",
    )
    two.add_argument(
        "--few-shapes",
        action="store_true",
        default=None,
        help="draw examples in a few shapes only, where each new one is compiled",
    )
    two.add_argument(
        "--range",
        nargs="+",
        action="extend",
        default=[],
        metavar="k=limit",
        help="how large entries are at most, of an input or a line: q=1e3, s=9e3, 'offset(x)=10' (|mean| / std of rows)",
    )
    two.add_argument(
        "--counterexample",
        type=_check_output_path,
        metavar="F",
        help="write the first failure as JSON, which attnspec replay F makes again",
    )
    two.add_argument(
        "--script",
        type=_check_output_path,
        metavar="F",
        help="write a short script of the first failure, where one plain call shows it; it needs torch and your module",
    )
    options(two)

    beside = command(
        "compare",
        "compare a candidate with a reference in PyTorch that need not be stated (KernelBench's contract): a grade in sigma",
        "  attnspec compare reference.py:Model candidate.py:ModelNew\n"
        "  attnspec compare reference.py candidate.py --dtype bfloat16 --calls 5000 --json found.json\n\n"
        "all is done in a process of its own: a crash or a hang is a verdict;\n"
        "what is imprecise ends with 1 here, as what is falsified\n\n"
        "JSON (--json F): {schema_version, command, verdict, headline, reference, candidate, dtype, device, seed, sigmas,\n"
        "calls, cause, cases, notes, formula, seconds, sigma, versions}; verify/comparing/comparison.schema.json describes it",
    )
    beside.add_argument(
        "reference",
        metavar="REFERENCE",
        help="file.py:Model, with get_inputs() and get_init_inputs(); or a function",
    )
    beside.add_argument(
        "where", metavar="CANDIDATE", help="file.py:ModelNew, built and called alike; or a function"
    )
    beside.add_argument(
        "--sigmas",
        type=_positive,
        metavar="K",
        help="errors allowed, in sigma (default 32; 12 in 16-bit types)",
    )
    beside.add_argument(
        "--calls",
        type=_count,
        default=CALLS,
        metavar="N",
        help=f"calls before it is judged once more (default {CALLS})",
    )
    beside.add_argument(
        "--cases",
        nargs="*",
        choices=CASE_KINDS,
        default=CASE_KINDS,
        metavar="KIND",
        help=f"beside the inputs given, of {', '.join(CASE_KINDS)} (default: all)",
    )
    beside.add_argument(
        "--formula", metavar="ID", help="a statement to which the reference, and then the candidate, is held"
    )
    beside.add_argument(
        "--seed", type=_natural, default=0, metavar="S", help="seed of everything drawn (default 0)"
    )
    beside.add_argument("--dtype", choices=DTYPES[1:], help="convert inputs and weights to this type")
    beside.add_argument("--device", default="cpu", metavar="D", help="a torch device (default cpu)")
    beside.add_argument(
        "--time-limit", type=_positive, metavar="S", help="seconds after which no further case is begun"
    )
    beside.add_argument("--json", type=_check_output_path, metavar="F", help="write everything found as JSON")
    beside.add_argument("--verbose", action="store_true", help="list every case")

    again = command(
        "replay",
        "make the calls of a counterexample again, and judge them again",
        "  attnspec replay counterexample.json\n  attnspec replay report.json --target mymodule:mended",
    )
    again.add_argument(
        "file", type=Path, metavar="FILE", help="what --counterexample has written, or a report (--json)"
    )
    again.add_argument(
        "--target",
        metavar="MODULE:CALLABLE",
        help="the callable that is called (default: the one that failed, where it was)",
    )

    command("list", "list formulas and targets", "  attnspec list")
    show = command(
        "show",
        "show a formula: statement, symbols, conventions, theorems, sources",
        "  attnspec show attention.causal\n  attnspec show my_spec.py:rms_gate --page rms_gate.html",
    )
    show.add_argument("id", metavar="ID", help="its ID, or where it is: my_spec.py:rms_gate")
    show.add_argument(
        "--page",
        type=_check_output_path,
        metavar="F",
        help="write its page: F.html (one file), or F.md (Markdown with LaTeX)",
    )
    last = command(
        "mutants",
        "in a checkout, run the tests of the tests: wrong variants must be falsified (or imprecise), right ones conform",
        "  attnspec mutants\n  attnspec mutants normalization.layer_norm",
    )
    last.add_argument(
        "ids", nargs="*", metavar="ID", help="formulas, or subjects such as recurrent (default: all)"
    )
    last.add_argument(
        "--jobs", type=_count, default=0, metavar="J", help="worker processes (default: up to 2)"
    )
    last.add_argument(
        "--causes",
        action="store_true",
        help="look for causes too, and count how many headlines name the right one",
    )
    options(last)
    return top


def _count(text: str) -> int:
    return _at_least(1, text)


def _natural(text: str) -> int:
    return _at_least(0, text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


def _at_least(least: int, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text}")
    return value
