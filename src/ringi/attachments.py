"""Files that people attach to requests: their bytes are in streams beside the request, their digest is in the answer.

The files of a request are numbered by one stream that says only how large each is. Each file has a stream of its own:
first what is known of it, then its bytes. Erasing raises the fence of these streams, so that no upload under way can
bring a file back.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import unicodedata
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from ringi.domain.media import media_type_of, picture_of
from ringi.errors import FenceError, FieldError, InvalidError, NotFoundError, UnreadableError, UnsupportedError
from ringi.field import Attachment
from ringi.field_parts import MAX_FILE, AttachedFile
from ringi.misfit import MisfitError, shown
from ringi.record import Frozen, Key
from ringi.request import Request
from ringi.stream import Stream, StreamItem

MAX_FILES = 20
"""How many times a file can be attached to one request."""
MAX_TOTAL = 4 * MAX_FILE
"""Bytes of all files of one request."""
MAX_NAME, MAX_SUFFIX = 120, 20
CHUNK = 192 * 1024
"""Bytes of one item; in base64 it has no padding but the last."""
PAGE = 8
ERASED = 1
"""The fence of what is erased; files are written with fence 0."""
NO_STREAM = "this inbox has no stream to keep files in: open it with ringi.open"
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Controls, marks that change the direction of text, and what is no character."""


class Stored(Frozen):
    """What is known of a file, before its bytes."""

    field: str
    by: str
    at: datetime
    file: AttachedFile


class Attachments:
    """The files of all requests of one store."""

    def __init__(self, stream: Stream | None) -> None:
        self._opened = stream

    @property
    def _stream(self) -> Stream:
        if self._opened:
            return self._opened
        raise UnsupportedError(NO_STREAM)

    async def add(self, request: Request, field: str, name: str, content: bytes, *, by: str, at: datetime) -> Stored:
        """Store a file durably and return what is known of it.

        Raises `InvalidError` for what the field does not take and beyond the limits of a request, `NotFoundError` for
        a request that was erased meanwhile.
        """
        name = clean_name(name)
        # In a thread: ten megabytes must not keep everybody else waiting.
        media_type = await asyncio.to_thread(checked_type, field_of(request, field), name, content)
        sha256 = (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()
        try:
            number = await self._numbered(request.key, field, len(content))
            file = AttachedFile(number=number, name=name, size=len(content), media_type=media_type, sha256=sha256)
            stored = Stored(field=field, by=by, at=at, file=file)
            parts = await asyncio.to_thread(list, chunks_of(content))
            items = [StreamItem(stored.model_dump(mode="json")), *map(StreamItem, parts)]
            await self._stream.append(file_key(request.key, number), items, fence=0)
        except FenceError:
            raise NotFoundError("request", request.id) from None
        return stored

    async def find(self, key: Key, number: int) -> Stored | None:
        """Return what is known of a file; None where there is none, or none any more.

        Raises `UnreadableError` for a file that was damaged, as `read` does.
        """
        with damage_as_unreadable("attachment", f"{key.id}/{number}"):
            items = await self._stream.read(file_key(key, number), 0, 1)
            return Stored.model_validate(items[0].event) if items else None

    async def content(self, request: Request, number: int) -> bytes:
        """Return a file's bytes, checked against the answer that names it; raise `NotFoundError` without one."""
        stored = await self.find(request.key, number)
        if not stored:
            raise NotFoundError("attachment", f"{request.id}/{number}")
        named = [file for _, file in files_in(request, answer_of(request)) if file["number"] == number]
        content = b"".join([part async for part in self.read(request.key, number)])
        if hashlib.sha256(content).hexdigest() != (named or [stored.file])[0]["sha256"]:
            raise UnreadableError("attachment", f"{request.id}/{number}", "its bytes are not those that were attached")
        return content

    async def read(self, key: Key, number: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a file in parts; of one that is not there, none."""
        after = 1
        while True:
            with damage_as_unreadable("attachment", f"{key.id}/{number}"):
                items = await self._stream.read(file_key(key, number), after, PAGE)
                parts = [base64.b64decode(item.event["data"]) for item in items]
            if not items:
                return
            for part in parts:
                yield part
            after = items[-1].number

    async def check(self, request: Request, data: Mapping[str, Any] | None, by: str) -> None:
        """Raise `InvalidError` unless each file that an answer names was attached to this field by who answers."""
        errors = []
        for field, file in files_in(request, data):
            stored = await self.find(request.key, file["number"])
            if not stored or (stored.field, stored.by, stored.file) != (field, by, file):
                errors.append(FieldError(field, "names no file that you attached here: attach it again"))
        if errors:
            raise InvalidError(errors)

    async def misfits(self, request: Request) -> AsyncGenerator[str, None]:
        """Yield what is wrong with the files that the answer of a request names."""
        for field, file in files_in(request, answer_of(request)):
            try:
                wrong = await self._misfit(request.key, file)
            except UnreadableError:
                wrong = "cannot be read"
            if wrong:
                yield f"the file attached as {field} {wrong}"

    async def _misfit(self, key: Key, file: AttachedFile) -> str:
        stored, size, sha256 = await self.find(key, file["number"]), 0, hashlib.sha256()
        async for part in self.read(key, file["number"]):
            size += len(part)
            sha256.update(part)
        if not stored or not size:
            return "is missing"
        return "" if sha256.hexdigest() == file["sha256"] and stored.file == file else "was changed"

    async def is_from(self, key: Key, person: str) -> bool:
        """Whether a person attached a file to a request, sent with an answer or not."""
        for number in range(1, len(await self._sizes(key) if self._opened else ()) + 1):
            if (stored := await self.find(key, number)) and stored.by == person:
                return True
        return False

    async def delete(self, key: Key, number: int) -> None:
        """Forget one file for good."""
        await self._stream.delete(file_key(key, number), fence=ERASED)

    async def erase(self, key: Key, keep: Collection[int] = ()) -> None:
        """Forget all files of an ended request but those to keep, and take no more."""
        last = await self._stream.append(index_key(key), [], fence=ERASED)
        for number in range(1, min(last, MAX_FILES) + 1):
            if number not in keep:
                await self.delete(key, number)
        await self._stream.delete(index_key(key), fence=ERASED)

    async def _numbered(self, key: Key, field: str, size: int) -> int:
        index = index_key(key)
        refuse_beyond(await self._sizes(key), field, size)
        number = await self._stream.append(index, [StreamItem({"size": size})], fence=0)
        # Others may have done the same meanwhile: each sees all that were before it.
        refuse_beyond((await self._sizes(key))[: number - 1], field, size)
        return number

    async def _sizes(self, key: Key) -> list[int]:
        with damage_as_unreadable("attachments", key.id):
            items = await self._stream.read(index_key(key), 0, MAX_FILES)
            return [int(item.event["size"]) for item in items]


@contextmanager
def damage_as_unreadable(kind: str, id: str) -> Iterator[None]:
    """Raise `UnreadableError` for what was damaged in the streams of a request."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(kind, id, f"{type(error).__name__}: it was damaged") from error


def index_key(key: Key) -> Key:
    """Return the key of the stream that numbers the files of a request; no thread is called so."""
    return Key(key.tenant, f"attachments/{key.id}")


def file_key(key: Key, number: int) -> Key:
    """Return the key of the stream that holds one file."""
    return Key(key.tenant, f"attachments/{key.id}/{number}")


def chunks_of(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file as JSON."""
    for start in range(0, len(content), CHUNK):
        yield {"data": base64.b64encode(content[start : start + CHUNK]).decode()}


def fields_of(request: Request) -> dict[str, Attachment]:
    """Return the fields of a request that take files."""
    fields = request.form.fields if request.form else ()
    return {field.name: field for field in fields if isinstance(field, Attachment)}


def field_of(request: Request, name: str) -> Attachment:
    """Return the field that takes a file, or raise `InvalidError`."""
    fields = fields_of(request)
    if name not in fields:
        known = ", ".join(fields) or "there is none"
        raise InvalidError.of("field", f"{shown(name)} is no field for a file: choose one of the form's ({known})")
    return fields[name]


def files_in(request: Request, data: Mapping[str, Any] | None) -> Iterator[tuple[str, AttachedFile]]:
    """Yield the files that an answer names, with their fields; what names none is for the form to refuse."""
    for name, field in fields_of(request).items():
        with suppress(MisfitError):
            yield name, field.accept((data or {}).get(name))


def answer_of(request: Request) -> Mapping[str, Any] | None:
    """Return the data of a request's answer."""
    return request.response.data if request.response else None


def numbers_in(request: Request) -> set[int]:
    """Return the numbers of the files that a request's answer names."""
    return {file["number"] for _, file in files_in(request, answer_of(request))}


def names_files(data: Mapping[str, Any] | None) -> bool:
    """Whether an answer may name files; no form takes a file that has no digest."""
    return any(isinstance(value, dict) and "sha256" in value for value in (data or {}).values())


def checked_type(field: Attachment, name: str, content: bytes) -> str:
    """Return the media type of a file, or raise `InvalidError` when its field does not take it."""
    picture = picture_of(content)
    media_type = media_type_of(content, name, picture)
    try:
        field.check_file(len(content), media_type)
    except MisfitError as error:
        raise InvalidError.of(field.name, str(error)) from None
    if picture and picture.is_too_large:
        what = f"is {picture.width} × {picture.height} pixels: send a smaller image"
        raise InvalidError.of(field.name, what)
    return media_type


def refuse_beyond(sizes: Sequence[int], field: str, size: int) -> None:
    """Raise `InvalidError` when a request takes no file more, or none of this size."""
    if len(sizes) >= MAX_FILES:
        raise InvalidError.of(field, f"{MAX_FILES} files were attached to this request: it takes no more")
    if sum(sizes) + size > MAX_TOTAL:
        raise InvalidError.of(field, f"the files of this request would be over {MAX_TOTAL} bytes: send a smaller one")


def clean_name(name: str) -> str:
    """Return a file's name without its folders and without characters that hide or mean something to a system."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    seen = "".join("_" if c in '<>:"|?*' else c for c in last if unicodedata.category(c) not in HIDDEN)
    whole = seen.strip(" .")
    stem, dot, ending = whole.rpartition(".")
    suffix = dot + ending if dot and len(ending) <= MAX_SUFFIX else ""
    return ((stem if suffix else whole)[: MAX_NAME - len(suffix)] + suffix).strip(" .") or "file"
