"""How checkpoints hold images: by their digests, so that each version of a graph's state does not repeat their bytes.

The bytes of an image stand as base64 in whatever LangGraph writes of a state. Here the known ones are taken out of
what is written, and put back when it is read: the graph never sees the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

SHORTENED = "+ringi.images"
"""What the type of a shortened value ends with."""
MARK = b"\0ringi.image:"


class ImageSerializer(JsonPlusSerializer):
    """LangGraph's own serializer, which leaves out the images of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[bytes, bytes] = {}

    def know(self, texts: Mapping[str, str]) -> None:
        """Learn the images of the thread, in base64 by their digests."""
        self._texts = {MARK + digest.encode() + b"\0": text.encode() for digest, text in texts.items()}

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return a value without the images that are known."""
        kind, data = super().dumps_typed(obj)
        # Text that looks like a mark would become an image when it is read.
        if not self._texts or MARK in data:
            return kind, data
        shorter = data
        for mark, text in self._texts.items():
            shorter = shorter.replace(text, mark)
        return (kind, data) if shorter == data else (f"{kind}{SHORTENED}", shorter)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return a value with its images."""
        kind, whole = data
        if kind.endswith(SHORTENED):
            kind = kind.removesuffix(SHORTENED)
            for mark, text in self._texts.items():
                whole = whole.replace(mark, text)
        return super().loads_typed((kind, whole))
