"""Code on a page: the source of an implementation, and a reference from the docstrings of a module."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from textwrap import dedent
from types import ModuleType, UnionType
from typing import Any, Union, get_args, get_origin

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$")
ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")


def of_function(function: Callable[..., Any]) -> str:
    """A function's source as a code block."""
    return f"```python\n{inspect.getsource(inspect.unwrap(function)).rstrip()}\n```"


def helpers(function: Callable[..., Any]) -> str:
    """The functions of its subject that it reaches and that are not public, in the order in which it does, as a code block."""
    plain = inspect.unwrap(function)
    subject = _subject(plain)
    module = import_module(subject)
    public = [getattr(module, name) for name in _public(module)]
    found, queue = dict[str, Callable[..., Any]](), [plain]
    while queue:
        caller = inspect.unwrap(queue.pop(0))
        for name in caller.__code__.co_names:
            helper = caller.__globals__.get(name)
            own = inspect.isfunction(helper) and _subject(helper) == subject
            if own and helper not in public and name not in found:
                found[name] = helper
                queue.append(helper)
    shown = [inspect.getsource(inspect.unwrap(helper)).rstrip() for helper in found.values()]
    return "```python\n" + "\n\n\n".join(shown) + "\n```" if shown else ""


def _subject(function: Callable[..., Any]) -> str:
    """``impl.attention``, whichever module of that package a function stands in."""
    return ".".join(inspect.unwrap(function).__module__.split(".")[:2])


def signature(thing: Callable[..., Any], name: str) -> str:
    """How something is called, on one line or on one line for each argument."""
    try:
        shown = inspect.signature(inspect.unwrap(thing))
    except (TypeError, ValueError):
        return name
    parts, star = [], False
    for parameter in shown.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        parts.append(_parameter(parameter))
    result = (
        ""
        if shown.return_annotation is inspect.Signature.empty or inspect.isclass(thing)
        else f" -> {_annotation(shown.return_annotation)}"
    )
    line = f"{name}({', '.join(parts)}){result}"
    return line if len(line) <= 88 else f"{name}(\n" + "".join(f"    {p},\n" for p in parts) + f"){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        shown = repr(parameter.default).replace("<factory>", "…")
        text += f" = {shown}" if parameter.annotation is not parameter.empty else f"={shown}"
    return text


def _annotation(annotation: Any) -> str:
    """An annotation as it is written; jaxtyping's as ``Float[Tensor, "... n m"]``."""
    if isinstance(annotation, str):
        return annotation
    if hasattr(annotation, "__metadata__") or not hasattr(annotation, "dim_str"):
        text = inspect.formatannotation(annotation)
    else:
        text = (
            f'{annotation.__name__.split("[")[0]}[{annotation.array_type.__name__}, "{annotation.dim_str}"]'
        )
    if _holds_arrays(annotation):
        union = get_origin(annotation) in (Union, UnionType)
        inner = (" | " if union else ", ").join(
            "None" if a is type(None) else _annotation(a) for a in annotation.__args__
        )
        text = inner if union else f"{annotation.__origin__.__name__}[{inner}]"
    return re.sub(
        r"\b(?:typing|torch(?:\._C)?|collections\.abc|(?:spec|impl|verify)\.[a-z0-9_.]+)\.(?=[A-Z])", "", text
    )


def _holds_arrays(annotation: Any) -> bool:
    """Whether one of jaxtyping's stands somewhere within."""
    return any(hasattr(a, "dim_str") or _holds_arrays(a) for a in get_args(annotation))


def reference(module_name: str, names: tuple[str, ...] = (), level: int = 2) -> str:
    """The public names of a module with their signatures and docstrings, as Markdown."""
    module = import_module(module_name)
    parts = (
        [f"{'#' * level} {module_name} {{#{module_name}}}", prose(module.__doc__ or "")] if not names else []
    )
    listed = names or _public(module)
    parts += [_entry(getattr(module, name), f"{module_name}.{name}", name, level + 1) for name in listed]
    return "\n\n".join(parts)


def _public(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]))


def _entry(thing: Any, anchor: str, name: str, level: int) -> str:
    head = f"{'#' * level} `{name}` {{#{anchor}}}"
    text = prose(inspect.getdoc(thing) or "")
    if not callable(thing):
        return f"{head}\n\n{text}"
    parts = [head, f"```python\n{signature(thing, name)}\n```", text]
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            function = value.fget if isinstance(value, property) else value
            if not member.startswith("_") and inspect.isfunction(function):
                shown = (
                    member
                    if isinstance(value, property)
                    else signature(function, member).replace("(self, ", "(").replace("(self)", "()")
                )
                said = prose(inspect.getdoc(function) or "").replace("\n\n", " ")
                parts.append(f"- `{' '.join(shown.split())}`: {said}")
    return "\n\n".join(part for part in parts if part)


def prose(docstring: str) -> str:
    """A docstring as Markdown: its sections of arguments as lists, its examples as code, its roles as plain code."""
    parts = inspect.cleandoc(docstring).split("\n\n")
    examples = [part for part in parts if part.lstrip().startswith(">>> ")]
    lines = "\n\n".join(part for part in parts if part not in examples).splitlines()
    out, inside = list[str](), False
    for line in lines:
        if found := SECTION.match(line):
            out += ["", f"*{found[1]}*", ""]
            inside = True
        elif inside and line.startswith("    "):
            body = line[4:]
            entry = re.match(r"^(\*{0,2}\w+): (.*)$", body)
            if entry:
                out.append(f"- `{entry[1]}`: {entry[2]}")
            else:
                out.append(
                    f"  {body.strip()}" if body.startswith(" ") or out[-1].startswith(("- ", "  ")) else body
                )
        else:
            inside = inside and not line
            out.append(line)
    text = ROLE.sub(lambda m: f"`{m[1].split('.')[-1]}`", "\n".join(out)).strip()
    text = "\n\n".join([text, *(f"```pycon\n{dedent(example).strip()}\n```" for example in examples)])
    if re.search(r"^=+ +=+$", text, re.MULTILINE):  # a table in reStructuredText
        text = re.sub(r"(?ms)^=+ +=+\n(.*?)\n=+ +=+$", r"```text\n\1\n```", text)
    return text.replace("``", "`") if "```" not in text else re.sub(r"(?<!`)``(?!`)", "`", text)
