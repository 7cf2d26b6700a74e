"""Images in messages: streams beside the thread hold their bytes, the thread's events hold their digests.

One stream numbers the images of a thread, and each image has a stream of its own, like an attached file. Images are
written under the fence that the thread gets when their run starts. An erasure in progress uses the earlier fence, so it
cannot delete them; a later erasure uses that fence and can. An image counts only if the thread lists its number: an
image whose run never started is never read. If there is no thread, or an erased one, a thread without a run is saved
before any image. So an erasure finds each image, and an erasure that finds no thread may delete any image it finds.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ringi.base.validation import FieldValidationError
from ringi.contracts.backend import StreamItem, read_whole_stream
from ringi.domain.media import detect_media_type, read_image_header
from ringi.domain.record import Key, UnreadableError
from ringi.domain.thread import FenceError
from ringi.errors import InvalidError, NotFoundError, UnavailableError
from ringi.files.attachments import Files, clean_file_name, damage_as_unreadable, encode_file_chunks, file_key
from ringi.forms.field_parts import AttachedFile, attached_file

MAX_IMAGES = 4
"""The maximum number of images in one message."""
MAX_IMAGE = 5 * 1024 * 1024
"""The maximum size of an image in bytes."""
MAX_OF_THREAD = 100
MAX_TOTAL = MAX_IMAGES * MAX_IMAGE
"""The maximum total bytes of a thread's images: a client that sends the whole history with each message repeats
them."""
IMAGES = "ringi_images"
"""The key under which a message of a run's input names its images; only Ringi writes it."""
FIELD = "messages"


class NewImage(NamedTuple):
    """An image as the client sends it."""

    name: str
    content: bytes


class Images(Files):
    """The images of all threads of one store."""

    kind = "image"

    async def add(
        self, key: Key, images: Sequence[NewImage], *, fence: int, listed: Collection[int] = ()
    ) -> list[AttachedFile]:
        """Store the images of one message durably, and return their references for the message.

        `listed` contains the numbers that the thread lists. Raises `InvalidError` if a limit of the thread is exceeded,
        `FenceError` if the thread was erased or started again.
        """
        await self.unlisted(key, images, listed)
        sizes = [StreamItem({"size": len(image.content)}) for image in images]
        last = await self._stream.append(image_index_key(key), sizes, fence=fence)
        files = [image_reference(last - len(images) + n, image) for n, image in enumerate(images, 1)]
        try:
            for file, image in zip(files, images, strict=True):
                items = [StreamItem({"file": file}), *map(StreamItem, encode_file_chunks(image.content))]
                await self._stream.append(image_key(key, file["number"]), items, fence=fence)
        except Exception:
            with suppress(UnavailableError):
                await self.release(key, [file["number"] for file in files], fence=fence)
            raise
        return files

    async def unlisted(self, key: Key, new: Sequence[NewImage], listed: Collection[int]) -> list[int]:
        """Return the numbers of the images that a thread does not list.

        Raises `InvalidError` if the thread cannot take the new images in addition to the listed ones.
        """
        known = await self._sizes(key)
        sizes = [known[number] for number in known if number in listed]
        refuse_images_beyond_limit(sizes, [len(image.content) for image in new])
        return [number for number in known if number not in listed]

    async def release(self, key: Key, numbers: Sequence[int], *, fence: int) -> None:
        """Delete images whose run did not start, and reject further writes of them under this fence."""
        for number in numbers:
            with suppress(FenceError):
                await self._stream.delete(image_key(key, number), fence=fence + 1)
        with suppress(FenceError):
            await self._stream.append(image_index_key(key), [StreamItem({"freed": n}) for n in numbers], fence=fence)

    async def find(self, key: Key, number: int) -> AttachedFile:
        """Return the metadata of an image, or raise `NotFoundError`."""
        if found := await self._metadata(key, number):
            return found
        raise NotFoundError("image", f"{key.id}/{number}")

    async def content(self, key: Key, file: AttachedFile) -> bytes:
        """Return the bytes of an image; raise `UnreadableError` unless they match the message."""
        content = b"".join([part async for part in self.read(key, file["number"])])
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            raise UnreadableError("image", f"{key.id}/{file['number']}", "its bytes are not those that were sent")
        return content

    async def misfits(self, key: Key, files: Sequence[AttachedFile]) -> AsyncGenerator[str, None]:
        """Yield the faults of the images that messages of a thread name."""
        for file in files:
            if wrong := await self._misfit(key, file):
                yield f"the image {file['number']} {wrong}"

    async def erase(self, key: Key, *, fence: int) -> bool:
        """Delete all images of a thread except those written under a higher fence; return False if there were none."""
        streams = await self._streams(key, fence) if self._opened else []
        for stream in streams:
            with suppress(FenceError):
                await self._stream.delete(stream, fence=fence)
        return bool(streams)

    async def _streams(self, key: Key, fence: int) -> list[Key]:
        try:
            numbers = [item.number for item in await self._index(key)]
        except UnreadableError:
            # Damaged, but its end is known.
            numbers = list(range(1, await self._stream.append(image_index_key(key), [], fence=fence) + 1))
        return [*(image_key(key, number) for number in numbers), image_index_key(key)] if numbers else []

    async def _metadata(self, key: Key, number: int) -> AttachedFile | None:
        with damage_as_unreadable(self.kind, f"{key.id}/{number}"):
            items = await self._stream.read(image_key(key, number), 0, 1)
            return attached_file(items[0].event["file"]) if items else None

    async def _sizes(self, key: Key) -> dict[int, int]:
        items = await self._index(key)
        with damage_as_unreadable("images", key.id):
            sizes = {item.number: int(item.event["size"]) for item in items if "freed" not in item.event}
            for item in items:
                sizes.pop(item.event.get("freed", 0), None)
        return sizes

    async def _index(self, key: Key) -> list[StreamItem]:
        with damage_as_unreadable("images", key.id):
            return await read_whole_stream(self._stream, image_index_key(key))


def image_index_key(key: Key) -> Key:
    """Return the key of the stream that numbers the images of a thread; no thread can have this id."""
    return Key(key.tenant, f"images/{key.id}")


def image_key(key: Key, number: int) -> Key:
    """Return the key of the stream with one image."""
    return file_key(key, number, "image")


def image_reference(number: int, image: NewImage) -> AttachedFile:
    """Return the reference to an image for a message."""
    name, sha256 = clean_file_name(image.name), hashlib.sha256(image.content).hexdigest()
    media_type = detect_media_type(image.content, name, read_image_header(image.content))
    return AttachedFile(number=number, name=name, size=len(image.content), media_type=media_type, sha256=sha256)


def refuse_many_images(count: int) -> None:
    """Raise `InvalidError` for more images than one message may have."""
    if count > MAX_IMAGES:
        why = f"a message accepts at most {MAX_IMAGES} images: send the others in the next message"
        raise InvalidError.of(FIELD, why, "too_many_images", max=MAX_IMAGES)


def check_images(images: Sequence[NewImage]) -> None:
    """Raise `InvalidError` for an invalid or too large image, or for too many in one message."""
    refuse_many_images(len(images))
    for image in images:
        name, size, picture = clean_file_name(image.name), len(image.content), read_image_header(image.content)
        if not 0 < size <= MAX_IMAGE:
            what = f"{name!r} has {size} bytes: send an image of 1 to {MAX_IMAGE} bytes"
            raise InvalidError.of(FIELD, what, "image_size", max_bytes=MAX_IMAGE)
        if picture is None:
            found = detect_media_type(image.content, name, None)
            what = f"{name!r} is {found} by its content: send a PNG, JPEG, GIF or WebP image"
            raise InvalidError.of(FIELD, what, "image_type")
        if picture.is_too_large:
            what = f"{name!r} is {picture.width} × {picture.height} pixels: send a smaller image"
            raise InvalidError.of(FIELD, what, "image_pixels")


def refuse_images_beyond_limit(known: Sequence[int], sizes: Sequence[int]) -> None:
    """Raise `InvalidError` if a thread with images of the known sizes cannot take more images of these sizes."""
    remedy = "send the message without images, or begin another conversation"
    if len(known) + len(sizes) > MAX_OF_THREAD:
        why = f"a conversation accepts at most {MAX_OF_THREAD} images: {remedy}"
        raise InvalidError.of(FIELD, why, "conversation_images")
    if sum(known) + sum(sizes) > MAX_TOTAL:
        why = f"the images of this conversation would exceed {MAX_TOTAL} bytes: {remedy}"
        raise InvalidError.of(FIELD, why, "conversation_images")


def messages_in_run_input(input: Mapping[str, object]) -> list[Any]:
    """Return the messages of a run's input, if any."""
    messages = input.get("messages")
    return messages if isinstance(messages, list) else []


def images_named_by_message(message: object) -> list[AttachedFile]:
    """Return the images that a message names."""
    found = message.get(IMAGES) if isinstance(message, dict) else None
    files = []
    for each in found if isinstance(found, list) else ():
        with suppress(FieldValidationError):
            files.append(attached_file(each))
    return files


def images_in_run(run: object) -> Iterator[AttachedFile]:
    """Return the images that the messages of a run name; `run` has the form that an event contains."""
    input = run.get("input") if isinstance(run, dict) else None
    for message in messages_in_run_input(input) if isinstance(input, dict) else ():
        yield from images_named_by_message(message)


def refuse_named_images(input: Mapping[str, object]) -> None:
    """Raise `InvalidError` for an input that names images: the sender must send the images themselves."""
    for n, message in enumerate(messages_in_run_input(input)):
        if isinstance(message, dict) and IMAGES in message:
            raise InvalidError.of(f"input.messages[{n}].{IMAGES}", "is reserved: send the images themselves")


def check_newest_message_images(input: Mapping[str, object]) -> None:
    """Raise `InvalidError` unless the newest message of an input can have images: a person's text message."""
    messages = messages_in_run_input(input)
    newest = messages[-1] if messages else None
    if not isinstance(newest, dict) or newest.get("role") != "user" or not isinstance(newest.get("content"), str):
        field = f"input.messages[{len(messages) - 1}]" if messages else "input.messages"
        why = 'images belong to the newest message: send it as {"role": "user", "content": text}'
        raise InvalidError.of(field, why)


def input_with_images(input: dict[str, Any], files: Sequence[AttachedFile]) -> dict[str, Any]:
    """Return an input whose newest message names these images."""
    *earlier, newest = messages_in_run_input(input)
    return {**input, "messages": [*earlier, {**newest, IMAGES: list(files)}]}
