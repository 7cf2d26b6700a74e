"""Detects the media type of a file from its bytes; the sender's claim is ignored."""

from __future__ import annotations

import struct
from pathlib import PurePosixPath
from typing import NamedTuple

from ringi.forms.field_parts import MEDIA_TYPES

MAX_SIDE = 10_000
MAX_PIXELS = 25_000_000
"""The maximum number of pixels: a small file can expand to an image that exhausts the viewer's memory."""

MAX_SEGMENTS = 10_000
"""The maximum number of JPEG segments before the size; usual files have a few dozen."""
MAX_GIF_PARTS = 100_000
"""The maximum number of GIF blocks, and of their data parts; usual parts have 255 bytes."""

PNG, GIFS, JPEG = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a"), b"\xff\xd8\xff"
OFFICE = dict(zip((".docx", ".xlsx", ".pptx"), MEDIA_TYPES[-3:], strict=True))
TEXTS = {".csv": "text/csv", ".json": "application/json"}
UNKNOWN = "application/octet-stream"
NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})


class ImageHeader(NamedTuple):
    """An image as its header describes it."""

    media_type: str
    width: int
    height: int

    @property
    def is_too_large(self) -> bool:
        """Return whether the image would need too much memory to draw."""
        return max(self.width, self.height) > MAX_SIDE or self.width * self.height > MAX_PIXELS


def read_image_header(content: bytes) -> ImageHeader | None:
    """Return the image in the bytes: PNG, JPEG, GIF or WebP; None for any other format, SVG included."""
    try:
        if content.startswith(PNG) and content[12:16] == b"IHDR":
            return ImageHeader("image/png", *struct.unpack(">II", content[16:24]))
        if content.startswith(GIFS):
            return _gif(content)
        if content.startswith(JPEG):
            return _jpeg(content)
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            return _webp(content)
    except struct.error:
        pass
    return None


def _gif(content: bytes) -> ImageHeader | None:
    """Return the size that all frames need: a frame may be larger than the screen in the header."""
    width, height, flags = struct.unpack("<HHB", content[6:11])
    at, parts = 13 + _colors(flags), 0
    while parts < MAX_GIF_PARTS and (kind := content[at : at + 1]) in (b"!", b","):
        at += 2
        if kind == b",":
            left, top, frame_width, frame_height, flags = struct.unpack("<HHHHB", content[at - 1 : at + 8])
            width, height = max(width, left + frame_width), max(height, top + frame_height)
            at += 9 + _colors(flags)
        while parts < MAX_GIF_PARTS and content[at : at + 1] not in (b"\0", b""):
            at += 1 + content[at]
            parts += 1
        at += 1
        parts += 1
    # Some readers skip an unknown block and draw the data after it, so it is rejected.
    return ImageHeader("image/gif", width, height) if parts < MAX_GIF_PARTS and kind in (b";", b"") else None


def _colors(flags: int) -> int:
    """Return the size in bytes of the color table that these flags announce."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _jpeg(content: bytes) -> ImageHeader | None:
    at = 2
    for _ in range(MAX_SEGMENTS):
        if at + 9 > len(content) or content[at] != 0xFF:
            return None
        kind, (length,) = content[at + 1], struct.unpack(">H", content[at + 2 : at + 4])
        if 0xC0 <= kind <= 0xCF and kind not in NO_FRAME:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return ImageHeader("image/jpeg", width, height)
        at += 2 + length
    return None


def _webp(content: bytes) -> ImageHeader | None:
    kind = content[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(content[n : n + 3], "little") + 1 for n in (24, 27))
        return ImageHeader("image/webp", width, height)
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", content[21:25])
        return ImageHeader("image/webp", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", content[26:30])
        return ImageHeader("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None


def detect_media_type(content: bytes, name: str, picture: ImageHeader | None) -> str:
    """Return one of `MEDIA_TYPES`, detected from the bytes; the name only distinguishes text and archive formats.

    `picture` is the image in the bytes, if any.
    """
    suffix = PurePosixPath(name.lower()).suffix
    if picture:
        return picture.media_type
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    if content.startswith(b"PK\x03\x04"):
        return OFFICE.get(suffix, "application/zip")
    try:
        is_text = b"\0" not in content and bool(content.decode())
    except UnicodeDecodeError:
        is_text = False
    return TEXTS.get(suffix, "text/plain") if is_text else UNKNOWN
