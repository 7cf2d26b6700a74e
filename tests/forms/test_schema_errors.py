"""The errors of JSON Schema carry codes: a new version of the validator must not change what people read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringi.base.texts import field_error_text
from ringi.errors import InvalidError
from ringi.forms.json_schema import check_instance

ERRORS = json.loads(Path(__file__).with_name("schema_errors.json").read_text("utf-8"))["errors"]


@pytest.mark.parametrize(("schema", "value", "message", "code", "params"), ERRORS)
def test_an_error_of_a_schema_has_a_code_and_a_text(
    schema: Any, value: Any, message: str, code: str, params: dict[str, Any]
) -> None:
    with pytest.raises(InvalidError) as caught:
        check_instance(schema, value, field="data")

    (error,) = caught.value.errors
    assert (error.message, error.code, error.params) == (message, code, params)
    assert "…" not in field_error_text(error, "ja")
