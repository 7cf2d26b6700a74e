"""Checks stored values against the current definitions: one that no longer fits is migrated, or becomes pending."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

from ringi.base import digest, fields_text, jsonable, reason_of, reason_text
from ringi.errors import FieldError, InvalidError
from ringi_apps.assistant.declarations import ANY, Info
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.explanations import display_name
from ringi_apps.assistant.memory import ContextMemory, InfoEntry, Provenance, record_value, remove_values, replace_item
from ringi_apps.assistant.memory_ops import check_value, may_have_any

log = logging.getLogger(__name__)

PERSON_SOURCES = ("user", "model", "edited", "remembered")
"""The sources of values that a person gave."""
MAX_CHECKED = 4096
"""The maximum number of values that are known to fit; they are not checked again in each turn."""


_checked: dict[tuple[int, str, str], Info] = {}
"""The infos of the values that fit, by the info's identity, the value's hash and the kind of its source."""


def with_current_values(memory: ContextMemory, definitions: Definitions, now: datetime) -> ContextMemory:
    """Return the memory whose collected values fit the current definitions.

    A value that does not fit is migrated by its info's `migrate`. Otherwise it becomes pending with the reason, and so
    do the values that were made from it. A pending value that fits again is collected again.
    """
    for info in definitions.ordered_infos:
        item = memory.items.get(info.key)
        if item is None or item.is_default or item.value is None or item.status not in ("collected", "pending"):
            continue
        if info.kind == "static":
            if item.hash != definitions.static_hashes[info.key]:
                memory = record_value(memory, info.key, info.value, Provenance(kind="static"), now, definitions)
        elif item.source.kind == "static":
            memory = remove_values(memory, [info.key], item.source, now)
        elif _fits(memory, info, item):
            if item.status == "pending":
                collected = item.model_copy(update={"status": "collected", "error": None})
                memory = replace_item(memory, info.key, collected, "observe", now)
        else:
            memory = _migrate(definitions, memory, info, item, now)
    return memory


def unfit_reason(definitions: Definitions, memory: ContextMemory, key: str, language: str = "en") -> str | None:
    """Return the reason why a stored value is pending, in a language; None if it is not."""
    item = memory.items.get(key)
    return _reason(definitions, memory, definitions.info(key), item, language) if item and is_unfit(item) else None


def is_unfit(item: InfoEntry) -> bool:
    """Tell whether an entry has a value that is pending because it does not fit the definitions."""
    return item.status == "pending" and item.value is not None


def migrated(info: Info, value: object) -> object:
    """Return the value of an older definition as the info's `migrate` changes it; the value itself if that fails."""
    if info.migrate is None or is_valid(info, value):
        return value
    try:
        new = jsonable(info.migrate(value))
        check_answer(info, new)
    except Exception as error:
        # It is the application's function, and the conversation must continue.
        log.warning("info %s: migrate failed: %s", info.key, type(error).__name__)
        return value
    return new


def check_inputs_fit(definitions: Definitions, values: Mapping[str, object]) -> None:
    """Raise `InvalidError` unless the values of a stored job fit the current definitions."""
    for key, value in values.items():
        if info := definitions.infos_by_key.get(key):
            check_value(info, value)


def is_valid(info: Info, value: object) -> bool:
    """Tell whether a person may give this value."""
    try:
        check_answer(info, value)
    except InvalidError:
        return False
    return True


def check_answer(info: Info, value: object) -> None:
    """Raise `InvalidError` unless a person may give this value."""
    if value == ANY and not may_have_any(info):
        raise InvalidError.of(info.key, "may not be any: give a value", "not_accepted")
    check_value(info, value)


def _fits(memory: ContextMemory, info: Info, item: InfoEntry) -> bool:
    sign = (id(info), item.hash, item.source.kind)
    if _checked.get(sign) is not info:
        if _faults(info, item):
            return False
        _checked[sign] = info
        if len(_checked) > MAX_CHECKED:
            _checked.pop(next(iter(_checked)), None)
    return not list(_unfit_sources(memory, info))


def _migrate(
    definitions: Definitions, memory: ContextMemory, info: Info, item: InfoEntry, now: datetime
) -> ContextMemory:
    value = migrated(info, item.value)
    if value is not item.value:
        update = {"value": value, "hash": digest(value), "version": memory.version + 1, "status": "collected"}
        return replace_item(memory, info.key, item.model_copy(update={**update, "error": None}), "migrate", now)
    error = _reason(definitions, memory, info, item)
    if (item.status, item.error) == ("pending", error):
        return memory
    pending = item.model_copy(update={"status": "pending", "error": error})
    return replace_item(memory, info.key, pending, "fail", now)


def _reason(definitions: Definitions, memory: ContextMemory, info: Info, item: InfoEntry, language: str = "en") -> str:
    if faults := _faults(info, item):
        return reason_text(reason_of("value_unfit", details=fields_text(faults, language)), language)
    names = ", ".join(display_name(key, definitions, language) for key in _unfit_sources(memory, info))
    return reason_text(reason_of("source_unfit", names=names), language)


def _faults(info: Info, item: InfoEntry) -> tuple[FieldError, ...]:
    is_given = item.source.kind in PERSON_SOURCES
    if is_given and info.kind not in ("ask", "static"):
        return (FieldError(info.key, "is obtained in another way now", "not_accepted"),)
    try:
        (check_answer if is_given else check_value)(info, item.value)
    except InvalidError as error:
        return tuple(error.errors)
    return ()


def _unfit_sources(memory: ContextMemory, info: Info) -> Iterable[str]:
    return (key for key in info.sources if key in memory.items and is_unfit(memory.items[key]))
