"""The foundations: strict models, canonical JSON, clocks and metrics."""

from ringi.base.canonical_json import canonical, digest, jsonable
from ringi.base.clock import Clock, utc_now
from ringi.base.failpoints import failpoint
from ringi.base.model import StrictModel
from ringi.base.settings import FRESH_SIGN_IN, read_seconds
from ringi.base.texts import Sentence, fields_text, reason_of, reason_text, sentences_text

__all__ = [
    "FRESH_SIGN_IN",
    "Clock",
    "Sentence",
    "StrictModel",
    "canonical",
    "digest",
    "failpoint",
    "fields_text",
    "jsonable",
    "read_seconds",
    "reason_of",
    "reason_text",
    "sentences_text",
    "utc_now",
]
