"""The foundations: strict models, canonical JSON, clocks and metrics."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi.base.canonical_json import JsonObject, canonical, digest, jsonable
    from ringi.base.clock import Clock, utc_now
    from ringi.base.failpoints import failpoint
    from ringi.base.model import StrictModel
    from ringi.base.outages import OutageError, report_outages
    from ringi.base.settings import SettingError, fresh_sign_in, without_password
    from ringi.base.texts import Sentence, fields_text, reason_of, reason_text, sentences_text

__all__ = [
    "Clock",
    "JsonObject",
    "OutageError",
    "Sentence",
    "SettingError",
    "StrictModel",
    "canonical",
    "digest",
    "failpoint",
    "fields_text",
    "fresh_sign_in",
    "jsonable",
    "reason_of",
    "reason_text",
    "report_outages",
    "sentences_text",
    "utc_now",
    "without_password",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "canonical_json": "JsonObject canonical digest jsonable",
        "clock": "Clock utc_now",
        "failpoints": "failpoint",
        "model": "StrictModel",
        "outages": "OutageError report_outages",
        "settings": "SettingError fresh_sign_in without_password",
        "texts": "Sentence fields_text reason_of reason_text sentences_text",
    },
)
