"""How checkpoints are written: large values compressed, and images by their digest.

LangGraph writes a message of a hundred characters as five hundred bytes, most of which each message repeats. It writes
an image's bytes as base64 within a state. Here the known images are removed from the written data, and restored on
reading: the graph sees no difference.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ringi.errors import NotFoundError

SHORTENED = "+ringi.images"
"""The suffix of the type of a shortened value."""
MARK = b"\0ringi.image:"
ESCAPED = MARK + b"="
"""Replaces text that looks like a mark but was written by others."""
MARKED = re.compile(re.escape(MARK) + rb"(?:=|([0-9a-f]{64})\0)")
HEAD = 10
"""Characters that identify the beginning of an image: its format takes up as many."""
COMPRESSED = "+ringi.zlib"
"""The suffix of the type of a compressed value."""
SMALL = 2_000
"""Bytes up to which a value is not compressed."""
SAMPLE = 16_000
"""The number of first bytes that must shrink to half: media and encrypted data would cost time and save nothing."""
LEVEL = 1


class ImageSerializer(JsonPlusSerializer):
    """LangGraph's own serializer, which omits the images of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.know({})

    def know(self, texts: Mapping[str, bytes]) -> None:
        """Register the images of the thread, in base64 by their digests."""
        self._texts, self._heads = texts, defaultdict[bytes, list[tuple[bytes, str]]](list)
        # The longest first: an image may begin with another complete image.
        for digest, text in sorted(texts.items(), key=lambda item: -len(item[1])):
            self._heads[text[:HEAD]].append((text, digest))
        self._begins = re.compile(b"|".join(map(re.escape, [MARK, *self._heads])))

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return a serialized value without the known images."""
        kind, data = super().dumps_typed(obj)
        shorter = b"".join(self._shortened(data)) if self._texts else data
        return (kind, data) if len(shorter) == len(data) else (f"{kind}{SHORTENED}", shorter)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return a value with its images; raise `NotFoundError` if an image is unknown."""
        kind, whole = data
        if kind.endswith(SHORTENED):
            kind, whole = kind.removesuffix(SHORTENED), MARKED.sub(self._restored, whole)
        return super().loads_typed((kind, whole))

    def _shortened(self, data: bytes) -> Iterator[bytes]:
        done = start = 0
        while found := self._begins.search(data, start):
            start, end, mark = found.start(), found.end(), ESCAPED
            if found[0] != MARK:
                known = ((text, digest) for text, digest in self._heads[found[0]] if data.startswith(text, start))
                text, digest = next(known, (b"", ""))
                if not text:
                    start += 1
                    continue
                end, mark = start + len(text), MARK + digest.encode() + b"\0"
            yield data[done:start]
            yield mark
            done = start = end
        yield data[done:]

    def _restored(self, found: re.Match[bytes]) -> bytes:
        if not found[1]:
            return MARK
        digest = found[1].decode()
        if digest not in self._texts:
            raise NotFoundError("image", digest)
        return self._texts[digest]


class CompactSerializer(ImageSerializer):
    """LangGraph's own serializer, which also compresses large values."""

    is_plain = False
    """True to write values as LangGraph does, so that its own savers can read them. Both forms are always readable."""

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return a serialized value, compressed if it is large and if that pays."""
        kind, data = super().dumps_typed(obj)
        if self.is_plain or len(data) <= SMALL:
            return kind, data
        sample = data[:SAMPLE]
        if len(zlib.compress(sample, LEVEL)) * 2 > len(sample):
            return kind, data
        return f"{kind}{COMPRESSED}", zlib.compress(data, LEVEL)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return a value; raise `NotFoundError` if one of its images is unknown."""
        kind, whole = data
        if kind.endswith(COMPRESSED):
            kind, whole = kind.removesuffix(COMPRESSED), zlib.decompress(whole)
        return super().loads_typed((kind, whole))
