"""An agent that learns from its answers only what a person approved; with a demo about wood."""

from ringi_apps.engrammer.engrammer import Engrammer
from ringi_apps.engrammer.note_search import SearchResult, normalize_text, search_terms
from ringi_apps.engrammer.notes import NOTES_SCHEMA, FolderNotes, Note, Notes, SqliteNotes
from ringi_apps.engrammer.roles import (
    GENERATOR_PROMPT_START,
    GET_NOTE_TOOL,
    REFLECTOR_PROMPT_START,
    SEARCH_NOTES_TOOL,
    BulletTag,
    RawInsight,
    Reflection,
)
from ringi_apps.engrammer.settings import Case, Signal

__all__ = [
    "GENERATOR_PROMPT_START",
    "GET_NOTE_TOOL",
    "NOTES_SCHEMA",
    "REFLECTOR_PROMPT_START",
    "SEARCH_NOTES_TOOL",
    "BulletTag",
    "Case",
    "Engrammer",
    "FolderNotes",
    "Note",
    "Notes",
    "RawInsight",
    "Reflection",
    "SearchResult",
    "Signal",
    "SqliteNotes",
    "normalize_text",
    "search_terms",
]
