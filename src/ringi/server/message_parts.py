"""User messages in the formats of each protocol: text and images.

Images arrive as bytes: `file` parts of the AI SDK, `image` and older `binary` parts of AG-UI, content blocks of
LangChain. URLs are never fetched; a message may refer only to images of the same conversation, by their own URL.
"""

from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ringi.base.validation import safe_repr
from ringi.domain.thread import Thread
from ringi.errors import InvalidError, NotFoundError
from ringi.files.images import FIELD, MAX_IMAGE, MAX_IMAGES, Images, NewImage, refuse_many_images
from ringi.forms.field_parts import AttachedFile

MAX_ENCODED = 4 * -(-MAX_IMAGE // 3)
MAX_ENCODED_IMAGES = MAX_IMAGES * MAX_ENCODED
"""Bytes that the images of one message add to a call."""
DATA_URL = re.compile(r"data:[^,;]{0,100}(?:;[^,;]{0,100}){0,4};base64,", re.I)
OWN_IMAGE = re.compile(r"/(?!/)(?:[^?#]*/)?v1/threads/([^/?#]+)/images/([0-9]{1,9})\Z")
FOREIGN_URL = "images are not fetched from URLs: send the bytes, as base64 or as a data: URL"
IMAGE_TYPES = ("file", "image", "binary", "image_url")
"""Of the AI SDK and LangChain; of AG-UI and LangChain; of AG-UI before 1.0; and of LangChain, in OpenAI's format."""
MessagePart = dict[str, Any]


class UserMessage(NamedTuple):
    """One message of a person."""

    text: str
    images: tuple[NewImage | str, ...] = ()
    """Each as bytes, or as its URL in this conversation."""


class ImageSource(NamedTuple):
    """The source of an image in a message part."""

    name: object = None
    data: object = None
    """Base64."""
    url: object = None


def image_source(part: MessagePart) -> ImageSource:
    """Return the source of an image in a part, whose type is one of `IMAGE_TYPES`."""
    if part["type"] == "file":
        return ImageSource(part.get("filename"), part.get("base64", part.get("data")), part.get("url"))
    if part["type"] == "image_url":
        value = part.get("image_url")
        return ImageSource(url=value.get("url") if isinstance(value, dict) else value)
    source, metadata = part.get("source"), part.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    name = part.get("filename") or about.get("filename") or about.get("name")
    if isinstance(source, dict):
        is_data = source.get("type") in ("data", "base64")
        value = source.get("value", source.get("data"))
        return ImageSource(name, data=value) if is_data else ImageSource(name, url=value or "?")
    return ImageSource(name, part.get("base64") or part.get("data"), part.get("url") or part.get("id"))


def parse_user_message(content: object) -> UserMessage:
    """Return the content of a message, which is text or a list of parts; raise `InvalidError` for anything else."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    kinds = [part.get("type") if isinstance(part, dict) else None for part in parts]
    # Before any of them is decoded, or read from the store.
    refuse_many_images(sum(kind in IMAGE_TYPES for kind in kinds))
    texts, images = list[str](), list[NewImage | str]()
    for part, kind in zip(parts, kinds, strict=True):
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind in IMAGE_TYPES:
            images.append(parse_image(image_source(part)))
        else:
            raise InvalidError.of(FIELD, f"a part of type {safe_repr(kind)} is not supported: send text or images")
    text = "\n".join(texts).strip()
    if not text and not images:
        raise InvalidError.of(FIELD, "the newest message is empty: send some text", "message_empty")
    return UserMessage(text, tuple(images))


def parse_image(source: ImageSource) -> NewImage | str:
    """Return an image or its URL; its bytes determine its type."""
    data = source.data
    if not data and isinstance(source.url, str):
        head = DATA_URL.match(source.url)
        if not head:
            return source.url
        data = source.url[head.end() :]
    if not isinstance(data, str):
        why = "a part has no bytes: send an image as base64 or as a data: URL"
        raise InvalidError.of(FIELD, why, "image_missing")
    return NewImage(source.name if isinstance(source.name, str) else "image", decode_base64_image(data))


def decode_base64_image(text: str) -> bytes:
    """Return the bytes of an image in base64, or raise `InvalidError`."""
    if len(text) > MAX_ENCODED:
        why = f"an image has more than {MAX_IMAGE} bytes: send a smaller one"
        raise InvalidError.of(FIELD, why, "image_size", max_bytes=MAX_IMAGE)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        why = f"an image is not valid base64 ({error}): encode it again"
        raise InvalidError.of(FIELD, why, "image_missing") from None


async def stored_image(images: Images, thread: Thread | None, url: str) -> NewImage:
    """Return an image of this conversation by its URL; raise `InvalidError` for any other URL."""
    found = OWN_IMAGE.match(url)
    if not found:
        raise InvalidError.of(FIELD, FOREIGN_URL, "image_missing")
    try:
        if not thread or unquote(found[1]) != thread.id or int(found[2]) not in (thread.images or ()):
            raise NotFoundError("image", url)
        file = await images.find(thread.key, int(found[2]))
    except NotFoundError:
        why = "names an image that is not in this conversation: send its bytes"
        raise InvalidError.of(FIELD, why, "image_missing") from None
    return NewImage(file["name"], await images.content(thread.key, file))


def image_url_for_page(base: str, thread_id: str, number: int) -> str:
    """Return the URL of an image, under Ringi's base path."""
    return f"{base}/v1/threads/{quote(thread_id, safe='')}/images/{number}"


def image_as_ai_sdk_part(base: str, thread_id: str, file: AttachedFile) -> MessagePart:
    """Return an image as a part of the AI SDK."""
    url = image_url_for_page(base, thread_id, file["number"])
    return {"type": "file", "mediaType": file["media_type"], "filename": file["name"], "url": url}
