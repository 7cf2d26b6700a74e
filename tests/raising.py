"""Errors that tests expect by their code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ringi.errors import RingiError


@contextmanager
def raises_code(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Run a block that must raise an error with this code."""
    with pytest.raises(RingiError, match=match) as caught:
        yield caught
    assert caught.value.code == code, repr(caught.value)
