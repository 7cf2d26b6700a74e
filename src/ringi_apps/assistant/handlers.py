"""Runs the handlers that fetch infos, with a cache and one shared call for identical concurrent requests."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ringi.base import Clock, canonical, digest, jsonable, reason_of, without_password
from ringi.errors import InvalidError, RingiError
from ringi.forms import MAX_LABEL, MAX_OPTIONS, Option
from ringi_apps.assistant.declarations import Choices, InfoHandler, in_language
from ringi_apps.assistant.definitions import Definitions

log = logging.getLogger(__name__)

MAX_CACHED = 1000
"""The maximum number of cached results; the least recently used is evicted first."""
RETRY_PAUSE = 0.1
"""Approximate seconds before the second attempt; doubled before each further attempt."""
MAX_ERROR_LENGTH = 300
"""The maximum number of characters of an error that are reported."""


class Scope(NamedTuple):
    """The tenant and conversation that a result belongs to; cached results are never shared between scopes."""

    tenant: str
    person: str


class FetchedValue(NamedTuple):
    """The result of a handler as plain JSON. It is shared and must not be changed."""

    value: Any
    observed_at: datetime
    """The time at which the call began, so a value is never newer than this."""


class HandlerError(RingiError):
    """A value could not be fetched. Trying again is safe."""

    @classmethod
    def of_failure(cls, handler: InfoHandler, why: str, attempts: int) -> HandlerError:
        """Return the error of the last attempt."""
        if attempts == 1:
            return cls(reason_of("handler_failed_once", handler=handler.name, why=why))
        return cls(reason_of("handler_failed", handler=handler.name, times=attempts, why=why))

    @classmethod
    def of_invalid_options(cls, choices: Choices, why: str) -> HandlerError:
        """Return the error of a result that is not a list of options."""
        return cls(reason_of("handler_no_options", handler=choices.handler, details=why))


FetchKey = tuple[str, str, Scope]


@dataclass
class _PendingCall:
    task: asyncio.Task[FetchedValue]
    waiters: int = 0


class Handlers:
    """Runs the handlers of an assistant, with a cache in this process."""

    def __init__(self, definitions: Definitions, clock: Clock) -> None:
        self._definitions, self._clock = definitions, clock
        self._cache: dict[FetchKey, tuple[FetchedValue, datetime]] = {}
        self._pending: dict[FetchKey, _PendingCall] = {}

    async def run(
        self, name: str, params: Mapping[str, Any], scope: Scope, *, max_age: float | None = None
    ) -> FetchedValue:
        """Return the result of a handler, at most `max_age` seconds old if given, or raise `HandlerError`.

        Identical concurrent calls share one run; it is cancelled when the last caller leaves. Errors are not cached.
        """
        handler = self._definitions.handlers_by_name.get(name)
        if handler is None:
            names = ", ".join(sorted(self._definitions.handlers_by_name)[:10]) or "none yet"
            remedy = f"define an InfoHandler with this name, or use one of these: {names}"
            raise HandlerError(f"Handler not found: {name}: {remedy}")
        for param in handler.required_params:
            if param not in params:
                what = f"Required parameter missing: {param}"
                raise HandlerError(f"{what}: handler {name} requires it; add it to params")
        key = (name, digest(jsonable(params)), scope)
        return self._cached_result(key, max_age) or await self._join_call(key, handler, params)

    async def options(self, choices: Choices, scope: Scope, language: str = "en") -> tuple[Option, ...]:
        """Return the current options: distinct items that pass the filters, in order, up to the maximum.

        A label that is given by language is returned in this language.
        """
        found: dict[tuple[type, Any], Option] = {}
        for option in _options(choices, await self._items(choices, scope), language):
            found.setdefault((type(option.value), option.value), option)
            if len(found) >= min(choices.max_items, MAX_OPTIONS):
                break
        return tuple(found.values())

    async def is_choice(self, choices: Choices, value: object, scope: Scope) -> bool:
        """Tell whether a value, or each value of a list, is a current option, including those beyond the maximum."""
        items = await self._items(choices, scope)
        offered = {(type(option.value), option.value) for option in _options(choices, items, "en")}
        values = value if isinstance(value, list) else [value]
        return all(isinstance(each, Hashable) and (type(each), each) in offered for each in values)

    async def _items(self, choices: Choices, scope: Scope) -> list[Any]:
        fetched = await self.run(choices.handler, choices.params, scope)
        if not isinstance(fetched.value, list):
            raise HandlerError.of_invalid_options(
                choices, f"{type(fetched.value).__name__} is not a list: return a list of items"
            )
        return fetched.value

    def _cached_result(self, key: FetchKey, max_age: float | None) -> FetchedValue | None:
        if key not in self._cache:
            return None
        fetched, until = self._cache[key]
        if max_age is not None:
            until = min(until, fetched.observed_at + timedelta(seconds=max_age))
        # If the clock was set back, the cached result would look fresh for too long.
        if not fetched.observed_at <= self._clock() < until:
            return None
        self._cache[key] = self._cache.pop(key)
        return fetched

    def _store(self, key: FetchKey, fetched: FetchedValue, seconds: float) -> None:
        self._cache.pop(key, None)
        if len(self._cache) >= MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[key] = fetched, fetched.observed_at + timedelta(seconds=seconds)

    async def _join_call(self, key: FetchKey, handler: InfoHandler, params: Mapping[str, object]) -> FetchedValue:
        call = self._pending.get(key)
        if call is None or call.task.done():
            call = self._pending[key] = _PendingCall(asyncio.create_task(self._run_and_cache(key, handler, params)))
        call.waiters += 1
        try:
            await asyncio.wait((call.task,))
        finally:
            call.waiters -= 1
            if not call.waiters:
                call.task.cancel()
                # Another call may have started and ended since.
                if self._pending.get(key) is call:
                    del self._pending[key]
        if call.task.cancelled():
            raise HandlerError.of_failure(handler, "it cancelled itself", 1)
        return call.task.result()

    async def _run_and_cache(self, key: FetchKey, handler: InfoHandler, params: Mapping[str, object]) -> FetchedValue:
        fetched = await _call_with_retries(handler, params, self._clock)
        if handler.cache_duration:
            self._store(key, fetched, handler.cache_duration)
        return fetched


async def _call_with_retries(handler: InfoHandler, params: Mapping[str, object], clock: Clock) -> FetchedValue:
    attempts = 0
    while True:
        attempts += 1
        began = clock()
        try:
            async with asyncio.timeout(handler.timeout) as limit:
                value = jsonable(await handler.handler(dict(params)))
            canonical(value)
            return FetchedValue(value, began)
        except Exception as error:
            # Do not retry if the handler turned its cancellation into another error.
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError from error
            if attempts >= handler.max_attempts:
                log.warning("handler %s failed", handler.name, exc_info=error)
                no_answer = reason_of("handler_no_answer", seconds=f"{handler.timeout:g}")
                own = f"{type(error).__name__}: {without_password(str(error))}"[:MAX_ERROR_LENGTH]
                why = no_answer if limit.expired() else own
                raise HandlerError.of_failure(handler, why, attempts) from error
        await asyncio.sleep(RETRY_PAUSE * 2 ** (attempts - 1) * random.uniform(0.5, 1.5))


def _options(choices: Choices, items: Iterable[Any], language: str) -> Iterator[Option]:
    for item in items:
        fields = item if isinstance(item, dict) else {choices.value: item}
        if all(_passes(fields.get(name), values) for name, values in choices.filters.items()):
            yield _option(choices, fields, language)


def _passes(value: object, values: object) -> bool:
    return value in values if isinstance(values, list | tuple | set | frozenset) else bool(value == values)


def _option(choices: Choices, fields: Mapping[str, object], language: str) -> Option:
    try:
        value = fields[choices.value]
        label = fields.get(choices.label) or value
        words = in_language(label, language) if isinstance(label, Mapping) else str(label)
        return Option(value=value, label=words[:MAX_LABEL])
    except KeyError:
        raise HandlerError.of_invalid_options(
            choices, f"an item has no field {choices.value!r}: set value= to another field"
        ) from None
    except InvalidError as error:
        why = f"{value!r} is not a valid option ({error.errors[0].message}): set value= to another field"
        raise HandlerError.of_invalid_options(choices, why) from error
