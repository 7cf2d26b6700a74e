"""Forms, their JSON Schema, and the repair of forms that a model wrote."""

from ringi.forms.arguments import CallCheck
from ringi.forms.field_parts import MAX_LABEL, Option
from ringi.forms.fields import MAX_OPTIONS
from ringi.forms.json_schema import InstanceCheck, check_instance, check_json, check_schema

__all__ = [
    "MAX_LABEL",
    "MAX_OPTIONS",
    "CallCheck",
    "InstanceCheck",
    "Option",
    "check_instance",
    "check_json",
    "check_schema",
]
