"""Compress large values of checkpoints.

LangGraph writes a message of a hundred characters as five hundred bytes, most of which each message repeats.
"""

from __future__ import annotations

import zlib
from typing import Any

from ringi.backends.image_serde import ImageSerializer

COMPRESSED = "+ringi.zlib"
"""The suffix of the type of a compressed value."""
SMALL = 2_000
"""Bytes up to which a value is not compressed."""
SAMPLE = 16_000
"""The number of first bytes that must shrink to half: media and encrypted data would cost time and save nothing."""
LEVEL = 1


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
