"""Files that people attach to requests: streams beside the request hold their bytes, the answer holds their digest.

One index stream numbers the files of a request, with the owner, field and size of each. Each file has a stream of its
own: first its metadata, then its bytes. An erasure raises the fence of these streams, so that no upload in progress can
restore a file.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from ringi.base.extras import UnsupportedError
from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, safe_repr
from ringi.contracts.backend import Stream, StreamItem, read_whole_stream
from ringi.domain.media import detect_media_type, read_image_header
from ringi.domain.record import Key, UnreadableError
from ringi.domain.request import Request
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError, FieldError, InvalidError, NotFoundError
from ringi.forms.field_parts import MAX_FILE, AttachedFile
from ringi.forms.fields import Attachment

Read = Callable[[], Awaitable[Request]]
MAX_FILES = 20
"""The maximum number of one person's files at a request."""
MAX_TOTAL = 4 * MAX_FILE
"""The maximum total bytes of one person's files at a request."""
MAX_UPLOADS = 200
"""The maximum number of times that one person can attach a file to a request."""
PEOPLE = 10
"""The total limits of a request are those of one person times this number."""
MAX_NAME, MAX_SUFFIX = 120, 20
CHUNK = 192 * 1024
"""Bytes of one stream item; a multiple of three, so that base64 needs padding only in the last item."""
PAGE = 8
REPLACED, SENT, ERASED = 1, 2, 3
"""Fences of a file. It is written with fence 0; a higher fence keeps a file in an answer from being replaced."""
NOT_ATTACHED = "is not a file that you attached here: attach it again"
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories to remove: control characters, text direction marks, and code points without a character."""


class StoredFile(StrictModel):
    """The metadata of a file, stored before its bytes."""

    field: str
    by: str
    at: datetime
    file: AttachedFile


class IndexedFile(NamedTuple):
    """One file in the index of a request."""

    number: int
    field: str
    by: str
    size: int
    is_gone: bool = False


class Files(ABC):
    """Files in the streams of one store."""

    kind: ClassVar[str]

    def __init__(self, stream: Stream | None) -> None:
        self._opened = stream

    @property
    def _stream(self) -> Stream:
        if self._opened:
            return self._opened
        raise UnsupportedError("this inbox has no stream for files: open it with ringi.open")

    @abstractmethod
    async def _metadata(self, key: Key, number: int) -> AttachedFile | None:
        """Return the reference to a stored file; None if there is none."""

    async def read(self, key: Key, number: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a file in parts; none if it does not exist."""
        after = 1
        while True:
            with damage_as_unreadable(self.kind, f"{key.id}/{number}"):
                items = await self._stream.read(file_key(key, number, self.kind), after, PAGE)
                parts = [base64.b64decode(item.event["data"]) for item in items]
            if not items:
                return
            for part in parts:
                yield part
            after = items[-1].number

    async def _misfit(self, key: Key, file: AttachedFile) -> str:
        """Return the fault of a stored file, compared with the reference to it; empty if there is none."""
        size, sha256 = 0, hashlib.sha256()
        try:
            stored = await self._metadata(key, file["number"])
            async for part in self.read(key, file["number"]):
                size += len(part)
                sha256.update(part)
        except UnreadableError:
            return "cannot be read"
        if not stored or not size:
            return "is missing"
        return "" if sha256.hexdigest() == file["sha256"] and stored == file else "was changed"


class Attachments(Files):
    """The files of all requests of one store."""

    kind = "attachment"

    async def add(
        self, request: Request, field: str, name: str, content: bytes, *, by: str, at: datetime, read: Read
    ) -> AttachedFile:
        """Store a file durably; it replaces the file that this person attached to the field before.

        Args:
            request: The request to attach the file to.
            field: The name of the form field.
            name: The name of the file.
            content: The bytes of the file.
            by: The person who attaches the file.
            at: The time of the upload.
            read: Returns the current version of the request.

        Returns:
            The reference to the file for an answer's data.

        Raises:
            InvalidError: The field rejects the file, or a limit is exceeded.
            ConflictError: The request ended during the upload (`final`).
        """
        name, key = clean_file_name(name), request.key
        # In a thread: hashing ten megabytes must not block the event loop.
        media_type = await asyncio.to_thread(check_file_type, find_file_field(request, field), name, content)
        sha256 = (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()
        parts = await asyncio.to_thread(list, encode_file_chunks(content))
        file = None
        with suppress(FenceError):
            number = await self._numbered(key, field, by, len(content))
            new = AttachedFile(number=number, name=name, size=len(content), media_type=media_type, sha256=sha256)
            stored = StoredFile(field=field, by=by, at=at, file=new)
            items = [StreamItem(stored.model_dump(mode="json")), *map(StreamItem, parts)]
            await self._stream.append(file_key(key, number), items, fence=0)
            file = new
        request = await read()
        if request.is_final and not (file and file["number"] in file_numbers_in_answer(request)):
            if file:
                await self.delete(key, file["number"])
            raise ConflictError.ended(request.id, request.status, request.winner)
        if not file:  # The same person attached another file at the same time.
            raise InvalidError.of(field, NOT_ATTACHED, "file_missing")
        return file

    async def find(self, key: Key, number: int) -> StoredFile | None:
        """Return the metadata of a file; None if it does not exist or was deleted.

        Raises `UnreadableError` for a damaged file, as `read` does.
        """
        with damage_as_unreadable(self.kind, f"{key.id}/{number}"):
            items = await self._stream.read(file_key(key, number), 0, 1)
            return StoredFile.model_validate(items[0].event) if items else None

    async def content(self, request: Request, number: int) -> bytes:
        """Return a file's bytes, verified against the answer that names it; raise `NotFoundError` if there is none."""
        stored = await self.find(request.key, number)
        if not stored:
            raise NotFoundError("attachment", f"{request.id}/{number}")
        named = [file for _, file in files_in_answer(request, request_answer_data(request)) if file["number"] == number]
        content = b"".join([part async for part in self.read(request.key, number)])
        if hashlib.sha256(content).hexdigest() != (named or [stored.file])[0]["sha256"]:
            raise UnreadableError("attachment", f"{request.id}/{number}", "its bytes are not those that were attached")
        return content

    async def _metadata(self, key: Key, number: int) -> AttachedFile | None:
        stored = await self.find(key, number)
        return stored.file if stored else None

    async def check(
        self, request: Request, data: Mapping[str, Any] | None, by: str, *, read: Read, refuse: Callable[[Request], Any]
    ) -> None:
        """Raise `InvalidError` unless the person who answers attached each file in the answer to this field.

        Afterwards no other upload replaces these files, unless `refuse` rejects the answer. If the request ended in the
        meantime, nothing is raised here.
        """
        files = list(files_in_answer(request, data))
        errors = [field for field, file in files if not await self._is_there(request, field, by, file)]
        if not errors:
            refuse(request)
            for _, file in files:
                with suppress(FenceError):
                    await self._stream.append(file_key(request.key, file["number"]), [], fence=SENT)
            errors = [field for field, file in files if not await self._is_there(request, field, by, file)]
        if errors and not (await read()).is_final:
            raise InvalidError([FieldError(field, NOT_ATTACHED, "file_missing") for field in errors])

    async def _is_there(self, request: Request, field: str, by: str, file: AttachedFile) -> bool:
        with suppress(UnreadableError):
            stored = await self.find(request.key, file["number"])
            return bool(stored and (stored.field, stored.by, stored.file) == (field, by, file))
        return False

    async def misfits(self, request: Request) -> AsyncGenerator[str, None]:
        """Yield the faults of the files that the answer of a request names."""
        for field, file in files_in_answer(request, request_answer_data(request)):
            if wrong := await self._misfit(request.key, file):
                yield f"the file attached as {field} {wrong}"

    async def is_from(self, key: Key, person: str) -> bool:
        """Return whether a person attached a file that no answer of theirs names."""
        return bool(self._opened) and any(upload.by == person for upload in await self._uploads(key))

    async def delete(self, key: Key, number: int) -> None:
        """Delete one file permanently."""
        await self._stream.delete(file_key(key, number), fence=ERASED)

    async def erase(self, request: Request, keep: Collection[int] = ()) -> None:
        """Delete all files of an ended request except those in `keep`, and accept no more."""
        index = file_numbers_stream_key(request.key)
        last = await self._stream.append(index, [], fence=ERASED)
        try:
            numbers = {upload.number for upload in await self._uploads(request.key) if not upload.is_gone}
        except UnreadableError:
            numbers = set(range(1, last + 1))
        for number in sorted((numbers | file_numbers_in_answer(request)) - set(keep)):
            await self.delete(request.key, number)
        await self._stream.delete(index, fence=ERASED)

    async def end(self, request: Request) -> None:
        """Delete the files that the answer of an ended request does not name; idempotent."""
        if self._opened and file_fields_of_request(request):
            await self.erase(request, file_numbers_in_answer(request))

    async def _numbered(self, key: Key, field: str, by: str, size: int) -> int:
        index, uploads = file_numbers_stream_key(key), await self._uploads(key)
        earlier = {each.number for each in uploads if (each.field, each.by) == (field, by) and not each.is_gone}
        left = [each._replace(is_gone=each.is_gone or each.number in earlier) for each in uploads]
        refuse_files_beyond_limit(left, field, by, size)
        if gone := [number for number in sorted(earlier) if await self._is_replaced(key, number)]:
            await self._stream.append(index, [StreamItem({"gone": gone})], fence=0)
        number = await self._stream.append(index, [StreamItem({"size": size, "field": field, "by": by})], fence=0)
        try:
            # Others may have attached files at the same time: each sees all entries before its own.
            before = [each for each in await self._uploads(key) if each.number < number]
            refuse_files_beyond_limit(before, field, by, size)
        except InvalidError:
            await self._stream.append(index, [StreamItem({"gone": [number]})], fence=0)
            raise
        return number

    async def _is_replaced(self, key: Key, number: int) -> bool:
        try:
            await self._stream.delete(file_key(key, number), fence=REPLACED)
        except FenceError:
            return False  # An answer names the file.
        return True

    async def _uploads(self, key: Key) -> list[IndexedFile]:
        with damage_as_unreadable("attachments", key.id):
            events = {
                item.number: item.event for item in await read_whole_stream(self._stream, file_numbers_stream_key(key))
            }
            gone = {number for event in events.values() for number in event.get("gone", ())}
            return [
                IndexedFile(number, event["field"], event["by"], int(event["size"]), number in gone)
                for number, event in events.items()
                if "gone" not in event
            ]


@contextmanager
def damage_as_unreadable(kind: str, id: str) -> Iterator[None]:
    """Raise `UnreadableError` for damage in the streams of a request."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(kind, id, f"{type(error).__name__}: it was damaged") from error


def file_numbers_stream_key(key: Key) -> Key:
    """Return the key of the stream that numbers the files of a request; no thread can have this id."""
    return Key(key.tenant, f"attachments/{key.id}")


def file_key(key: Key, number: int, kind: str = "attachment") -> Key:
    """Return the key of the stream with one file."""
    return Key(key.tenant, f"{kind}s/{key.id}/{number}")


def encode_file_chunks(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file as JSON."""
    for start in range(0, len(content), CHUNK):
        yield {"data": base64.b64encode(content[start : start + CHUNK]).decode()}


def file_fields_of_request(request: Request) -> dict[str, Attachment]:
    """Return the file fields of a request."""
    fields = request.form.fields if request.form else ()
    return {field.name: field for field in fields if isinstance(field, Attachment)}


def find_file_field(request: Request, name: str) -> Attachment:
    """Return the file field of this name, or raise `InvalidError`."""
    fields = file_fields_of_request(request)
    if name not in fields:
        known = ", ".join(fields) or "there is none"
        raise InvalidError.of("field", f"{safe_repr(name)} is not a file field: choose one of the form's ({known})")
    return fields[name]


def files_in_answer(request: Request, data: Mapping[str, Any] | None) -> Iterator[tuple[str, AttachedFile]]:
    """Yield the files that an answer names, with their fields; invalid references are left to the form's validation."""
    for name, field in file_fields_of_request(request).items():
        with suppress(FieldValidationError):
            yield name, field.accept((data or {}).get(name))


def request_answer_data(request: Request) -> Mapping[str, Any] | None:
    """Return the data of a request's answer."""
    return request.response.data if request.response else None


def file_numbers_in_answer(request: Request) -> set[int]:
    """Return the numbers of the files that a request's answer names."""
    return {file["number"] for _, file in files_in_answer(request, request_answer_data(request))}


def may_name_files(data: Mapping[str, Any] | None) -> bool:
    """Return whether an answer may name files; no form accepts a file without a digest."""
    return any(isinstance(value, dict) and "sha256" in value for value in (data or {}).values())


def check_file_type(field: Attachment, name: str, content: bytes) -> str:
    """Return the media type of a file, or raise `InvalidError` if its field rejects the file."""
    picture = read_image_header(content)
    media_type = detect_media_type(content, name, picture)
    try:
        field.check_file(len(content), media_type)
    except FieldValidationError as error:
        raise InvalidError([error.at(field.name)]) from None
    if picture and picture.is_too_large:
        what = f"is {picture.width} × {picture.height} pixels: send a smaller image"
        raise InvalidError.of(field.name, what, "image_pixels")
    return media_type


def refuse_files_beyond_limit(uploads: Sequence[IndexedFile], field: str, by: str, size: int) -> None:
    """Raise `InvalidError` if another file of this size exceeds the limits of a person or of the request."""
    for some, people in (([upload for upload in uploads if upload.by == by], 1), (uploads, PEOPLE)):
        sizes = [upload.size for upload in some if not upload.is_gone]
        for count, most in ((len(sizes), MAX_FILES * people), (len(some), MAX_UPLOADS * people)):
            if count >= most:
                why = f"{most} files were attached to this request: it accepts no more"
                raise InvalidError.of(field, why, "too_many_files")
        if sum(sizes) + size > (most := MAX_TOTAL * people):
            why = f"the files of this request would exceed {most} bytes: send a smaller file"
            raise InvalidError.of(field, why, "too_many_files")


def clean_file_name(name: str) -> str:
    """Return a file's name without folders and without characters that are invisible or special to a system."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    seen = "".join("_" if c in '<>:"|?*' else c for c in last if unicodedata.category(c) not in HIDDEN)
    whole = seen.strip(" .")
    stem, dot, ending = whole.rpartition(".")
    suffix = dot + ending if dot and len(ending) <= MAX_SUFFIX else ""
    return ((stem if suffix else whole)[: MAX_NAME - len(suffix)] + suffix).strip(" .") or "file"
