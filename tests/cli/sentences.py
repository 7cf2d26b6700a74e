"""The English sentences in the code that a command can print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from tests.sources import SOURCES, files, tree_of

PRINTED = {"SettingError": 2, "refusal": 1, "_refused": 0}
"""The calls whose sentence the terminal shows, and the position of the sentence."""
OF_AGENTS = (
    *("ringi/integrations", "ringi/gateways", "ringi/testing", "ringi/demo"),
    *("ringi_apps/engrammer", "ringi_apps/assistant/demo"),
)
"""The rooms whose settings stand in the code of an agent, for its programmer."""
VALUE = "[[7]]"
"""Stands for a value that only a run knows."""
Names = dict[str, list[ast.expr]]


def printed() -> Iterator[tuple[str, str]]:
    """Yield each place and each sentence that the terminal may show."""
    trees = {path: tree_of(path) for path in files()}
    shared: Names = {}
    for tree in trees.values():
        for name, values in assigned(tree.body).items():
            shared.setdefault(name, []).extend(values if name.isupper() else [])
    for path, tree in trees.items():
        if path.relative_to(SOURCES).as_posix().startswith(OF_AGENTS):
            continue
        own = shared | assigned(tree.body)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                names = own | assigned(ast.walk(function))
                for call in ast.walk(function):
                    if isinstance(call, ast.Call):
                        for text in sentences_of(path, call, names):
                            yield f"{path.relative_to(SOURCES)}:{call.lineno}", text


def assigned(nodes: Iterator[ast.AST] | list[ast.stmt]) -> Names:
    """Return the values that are assigned to names."""
    found: Names = {}
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(id)], value):
                found.setdefault(id, []).append(value)
    return found


def sentences_of(path: Path, call: ast.Call, names: Names) -> Iterator[str]:
    """Yield the sentences of a call that the terminal shows."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    room = path.relative_to(SOURCES).parts[1]
    position = PRINTED.get(name)
    if name == "of" and room in ("cli", "privacy") and len(call.args) == 2:
        position = 1
    if name == "UnavailableError" and room == "backends":
        position = 0
    if name == "Finding":
        position = len(call.args) - 1
    if name == "DeliveryResult":
        for each in call.keywords:
            yield from texts_of(each.value, names) if each.arg == "error" else ()
    if position is not None and len(call.args) > position:
        yield from texts_of(call.args[position], names)


def texts_of(node: ast.AST, names: Names, depth: int = 0) -> list[str]:
    """Return the texts that an expression can be."""
    match node:
        case ast.Constant(str(text)):
            return [text]
        case ast.IfExp():
            return texts_of(node.body, names, depth) + texts_of(node.orelse, names, depth)
        case ast.Name(id) if id in names and depth < 4:
            return [text for each in names[id] for text in texts_of(each, names, depth + 1)]
        case ast.FormattedValue(value):
            return texts_of(value, names, depth)
        case ast.Call(ast.Attribute(value, "format")):
            return [text.replace("{}", VALUE) for text in texts_of(value, names, depth)]
        case ast.JoinedStr(parts):
            return ["".join(each) for each in product(*(texts_of(part, names, depth) for part in parts))]
    return [VALUE]
