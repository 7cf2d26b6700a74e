"""The page recognizes the errors of JSON Schema by their text: a new version of the validator must not change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringi.errors import InvalidError
from ringi.forms.json_schema import check_instance

ERRORS = json.loads(Path(__file__).with_name("schema_errors.json").read_text("utf-8"))["errors"]


@pytest.mark.parametrize(("schema", "value", "message"), ERRORS)
def test_an_error_of_a_schema_has_the_text_that_the_page_translates(schema: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        check_instance(schema, value, field="data")
    assert [error.message for error in caught.value.errors] == [message]
