from __future__ import annotations

import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from ringi.base.canonical_json import canonical
from ringi.errors import InvalidError

TEXTS = st.text(st.characters(exclude_categories=()), max_size=6)
NUMBERS = st.integers() | st.floats() | st.floats(1e-5, 1e17) | st.sampled_from([0.0001, 1e16, -0.0, 2**53, 40.0])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(VALUES)
@example(float("nan"))
@example({"a": [1.5, -2e-7, 1e16, 2**53]})
@example({"\ue000": 1, "\U0001f600": 2})
@example({1: "a", "b": 2})
def test_the_quick_way_writes_what_rfc_8785_writes_and_refuses_what_it_refuses(value: object) -> None:
    assert written(value) == reference(value)


def written(value: object) -> bytes | None:
    try:
        return canonical(value)
    except InvalidError:
        return None


def reference(value: object) -> bytes | None:
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
