"""The reference of classes and functions as Markdown, from their signatures and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

SOURCE = Path(__file__).resolve().parent.parent / "src"
ROW = "| {} | {} | {} |"
NO_MEMBERS = "no members"


class ApiError(Exception):
    """A name of the reference does not exist."""


def api(spec: str) -> str:
    """Return the description of `PATH`, of `PATH: member, …`, or of `PATH: no members`.

    Without a list these are the public members with a docstring; `*` stands for all public members,
    and `-name` leaves one out.
    """
    path, _, listed = spec.partition(": ")
    found = _find(path)
    name = path.rpartition(".")[2] if path.count(".") != 1 else path
    return "\n".join([*_entry(f"### {name}", found), *_members(name, found, listed)]).strip()


@cache
def _package(name: str) -> griffe.Module:
    loaded = griffe.load(name, search_paths=[str(SOURCE)], resolve_aliases=True, docstring_parser="google")
    assert isinstance(loaded, griffe.Module)
    return loaded


def _find(path: str) -> griffe.Object:
    package, _, name = path.partition(".")
    try:
        found = _package(package)[name]
        return found.final_target if isinstance(found, griffe.Alias) else found
    except (KeyError, griffe.GriffeError) as error:
        raise ApiError(f"{path} could not be found: {error!r}") from error


def _members(owner: str, found: griffe.Object, listed: str) -> Iterator[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if names == [NO_MEMBERS] or not isinstance(found, griffe.Class):
        return
    left_out = {name.removeprefix("-") for name in names if name.startswith("-")}
    names = [name for name in names if not name.startswith("-")]
    everything = {**found.inherited_members, **found.members} if names and names != ["*"] else found.members
    if names and names != ["*"]:
        chosen = [_target(everything.get(name), f"{owner}.{name}") for name in names]
    else:
        chosen = [
            _target(member, f"{owner}.{name}")
            for name, member in everything.items()
            if not name.startswith("_") and name not in left_out and not member.is_alias
            and (names or member.docstring) and not _is_code(member)
        ]  # fmt: skip
    attributes = [member for member in chosen if not isinstance(member, griffe.Function)]
    if attributes:
        yield from ("| name | type | |", "|---|---|---|")
        yield from (_row(member) for member in attributes)
        yield ""
    for member in chosen:
        if isinstance(member, griffe.Function):
            yield from _entry(f"#### {owner.rpartition('.')[2]}.{member.name}", member)


def _target(member: griffe.Object | griffe.Alias | None, path: str) -> griffe.Object:
    if member is None:
        raise ApiError(f"{path} could not be found")
    return member.final_target if isinstance(member, griffe.Alias) else member


def _is_code(member: griffe.Object | griffe.Alias) -> bool:
    """Whether a member is a setting of pydantic, or no part of the class that a caller uses."""
    return member.name == "model_config" or isinstance(member, griffe.Class)


def _row(member: griffe.Object) -> str:
    typed = member.annotation if isinstance(member, griffe.Attribute) else None
    annotation = f"`{_one_line(str(typed))}`" if typed else ""
    text = member.docstring.value if member.docstring else ""
    return ROW.format(f"`{member.name}`", annotation, _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _entry(heading: str, found: griffe.Object) -> Iterator[str]:
    yield from (heading, "")
    if isinstance(found, griffe.Function):
        # Not fenced: a block of Python on a page is run.
        yield from (*(f"    {line}" for line in _signature(found).splitlines()), "")
    if not found.docstring:
        return
    for section in found.docstring.parse("google"):
        match section:
            case griffe.DocstringSectionText(value=text):
                yield from (_prose(text), "")
            case griffe.DocstringSectionParameters(value=items) | griffe.DocstringSectionAttributes(value=items):
                yield from (f"- `{item.name}`: {' '.join(item.description.split())}" for item in items)
                yield ""
            case griffe.DocstringSectionRaises(value=items):
                yield from ("Raises:", "")
                yield from (f"- `{item.annotation}`: {' '.join(item.description.split())}" for item in items)
                yield ""
            case griffe.DocstringSectionReturns(value=items) | griffe.DocstringSectionYields(value=items):
                yield from (f"Result: {' '.join(item.description.split())}" for item in items)
                yield ""
            case _:
                raise ApiError(f"{found.path}: a section of kind {section.kind} is not known here")


def _prose(text: str) -> str:
    """Return the text of a docstring; headings in it would break the page's outline."""
    return re.sub(r"(?m)^#+ (.*)$", r"**\1**", text.strip())


def _signature(found: griffe.Function) -> str:
    is_method = isinstance(found.parent, griffe.Class)
    parts: list[str] = []
    last: griffe.ParameterKind | None = None
    for parameter in found.parameters:
        if is_method and parameter.name in ("self", "cls") and not parts:
            continue
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and last not in (kind, griffe.ParameterKind.var_positional):
            parts.append("*")
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        typed = f": {parameter.annotation}" if parameter.annotation else ""
        is_shown = parameter.default is not None and not star
        default = (f" = {parameter.default}" if typed else f"={parameter.default}") if is_shown else ""
        parts.append(f"{star}{parameter.name}{typed}{default}")
        last = kind
    prefix = "async " if "async" in found.labels else ""
    result = f" -> {found.returns}" if found.returns else ""
    line = f"{prefix}def {found.name}({', '.join(parts)}){result}"
    if len(line) <= 100:
        return line
    inner = "".join(f"    {part},\n" for part in parts)
    return f"{prefix}def {found.name}(\n{inner}){result}"
