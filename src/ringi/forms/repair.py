"""Repairs fields that a model wrote: fixes unambiguous mistakes and leaves all others for validation to reject."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Mapping
from itertools import chain, count
from typing import Any, NamedTuple

from ringi.base.validation import field_path, safe_repr
from ringi.forms.field_parts import MAX_LABEL, Option
from ringi.forms.fields import NAME
from ringi.forms.form import FIELDS, MAX_FIELDS

PARTS: dict[str, frozenset[str]] = {kind.model_fields["type"].default: frozenset(kind.model_fields) for kind in FIELDS}
"""The arguments of each field type."""
OPTION = frozenset(Option.model_fields)
MAX_CHANGES = 20
"""The maximum number of reported changes."""


class RepairedForm(NamedTuple):
    """The repaired fields and the changes."""

    fields: Any
    names: Mapping[str, str] = {}
    """Maps the new name of each renamed field to the name under which the model reads its answer."""
    changes: tuple[str, ...] = ()
    """Descriptions of the changes."""

    def answers(self, data: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the answers under the names that the model wrote."""
        return None if data is None else {self.names.get(name, name): value for name, value in data.items()}


def repair_form_fields(fields: object) -> RepairedForm:
    """Return the fields that a model wrote, repaired; a valid field is returned unchanged.

    Nulls, unknown keys and duplicate options are dropped. A slider without both bounds becomes a number. A field with
    an invalid name gets a name derived from its text alone, and the text becomes the label. Options of a field type
    without options are preserved: removing them would change the question.
    """
    if not isinstance(fields, list) or len(fields) > MAX_FIELDS:
        return RepairedForm(fields)
    changes: list[str] = []
    found = [_field(field, f"fields[{n}]", changes) for n, field in enumerate(fields)]
    names = _rename(found, changes)
    if len(changes) > MAX_CHANGES:
        changes[MAX_CHANGES:] = [f"{len(changes) - MAX_CHANGES} more changes"]
    return RepairedForm(found, names, tuple(changes))


def drop_unknown_keys(entry: object, names: Collection[str], path: str, changes: list[str]) -> Any:
    """Return an object without nulls and unknown names; return any other value unchanged."""
    if not isinstance(entry, dict):
        return entry
    present = {name: value for name, value in entry.items() if value is not None}
    changes += [f"{field_path(path, [name])}: is unknown and was left out" for name in present if name not in names]
    return {name: value for name, value in present.items() if name in names}


def _field(field: object, path: str, changes: list[str]) -> Any:
    if not isinstance(field, dict):
        return field
    found = {name: value for name, value in field.items() if value is not None}
    kind = found.get("type")
    if kind == "slider" and not {"min", "max"} <= set(found):
        found["type"] = kind = "number"
        changes.append(f"{path}.type: a slider needs min and max: it is asked as a number")
    parts = PARTS.get(kind) if isinstance(kind, str) else None
    if parts is None:
        return found
    found = drop_unknown_keys(found, parts | {"options"} if found.get("options") else parts, path, changes)
    if "options" in parts and isinstance(options := found.get("options"), list):
        read = [drop_unknown_keys(each, OPTION, f"{path}.options[{n}]", changes) for n, each in enumerate(options)]
        # A model that lists options may repeat itself.
        found["options"] = list({repr(each): each for each in read}.values())
        if len(found["options"]) < len(read):
            changes.append(f"{path}.options: {len(read) - len(found['options'])} repeated ones were left out")
    return found


def _rename(fields: list[Any], changes: list[str]) -> dict[str, str]:
    """Give each field a valid, unique name; return the names under which the model reads the renamed fields."""
    own = {field["name"] for field in fields if isinstance(field, dict) and _is_name(field.get("name"))}
    taken, seen, read = set(own), set[str](), dict[str, str]()
    for n, field in enumerate(fields):
        text = _text(field)
        if text is None:
            continue
        if field.get("name") == text and _is_name(text) and text not in seen:
            seen.add(text)
            continue
        name = _unique_name(_name_from_text(text), taken)
        taken.add(name)
        # If two fields share a name, only the first is read under it.
        read[name] = name if text in own or text in read.values() else text
        message = f"{safe_repr(text)} is asked as {safe_repr(name)}, and its answer is under {safe_repr(read[name])}"
        changes.append(f"fields[{n}].name: {message}")
        field |= {"name": name, "label": field.get("label", text[:MAX_LABEL])}
    return read


def _text(field: object) -> str | None:
    """Return the text that the writer used for a field; None if no name can be derived from it."""
    if not isinstance(field, dict) or not isinstance(field.get("name", ""), str):
        return None
    texts = (field.get("name"), field.get("label"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and NAME.fullmatch(text) is not None


def _name_from_text(text: str) -> str:
    """Return a valid name that depends only on the text."""
    plain = unicodedata.normalize("NFKC", text)
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if not plain.isascii() or len(name) > 50 or not name:
        # The digest keeps names distinct whose texts differ only in removed characters.
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
        name = f"{name[:40] or 'field'}_{digest}"
    return f"_{name}" if name[0].isdigit() else name


def _unique_name(name: str, taken: set[str]) -> str:
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(each for each in names if each not in taken)
