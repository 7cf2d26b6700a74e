"""Large values of checkpoints are compressed, and every value that was ever written is readable."""

from __future__ import annotations

import base64
import os
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ringi.backends.fenced_saver import COMPRESSED, SAMPLE, SMALL, CompactSerializer

TALK = [kind(f"message {n}", id=str(n)) for n in range(200) for kind in (HumanMessage, AIMessage)]
MEDIA = {"image": base64.b64encode(os.urandom(4 * SAMPLE)).decode()}


@pytest.mark.parametrize("value", [TALK, MEDIA, "short", "x" * SMALL, b"", None, {"messages": TALK, **MEDIA}])
def test_every_value_comes_back(value: Any) -> None:
    written = CompactSerializer().dumps_typed(value)
    assert CompactSerializer().loads_typed(written) == value
    assert len(written[1]) <= len(JsonPlusSerializer().dumps_typed(value)[1])


def test_a_conversation_takes_a_fraction_and_a_value_that_does_not_shrink_is_left_alone() -> None:
    plain, compact = JsonPlusSerializer(), CompactSerializer()
    assert len(compact.dumps_typed(TALK)[1]) * 4 < len(plain.dumps_typed(TALK)[1])
    assert compact.dumps_typed(TALK)[0].endswith(COMPRESSED)
    for value in (MEDIA, "short"):
        assert compact.dumps_typed(value) == plain.dumps_typed(value)


def test_what_was_written_before_and_plainly_is_readable() -> None:
    compact, plain = CompactSerializer(), CompactSerializer()
    plain.is_plain = True
    assert plain.dumps_typed(TALK) == JsonPlusSerializer().dumps_typed(TALK)
    assert compact.loads_typed(plain.dumps_typed(TALK)) == plain.loads_typed(compact.dumps_typed(TALK)) == TALK


def test_a_known_image_is_left_out_before_a_value_is_compressed() -> None:
    serializer, image = CompactSerializer(), MEDIA["image"]
    serializer.know({"d" * 64: image.encode()})
    written = serializer.dumps_typed([*TALK, image])
    assert len(written[1]) < SAMPLE
    assert serializer.loads_typed(written) == [*TALK, image]
