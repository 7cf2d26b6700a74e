"""An agent that answers, looks back at its answers, and learns what a person approved: nothing else."""

from ringi.engrammer.engrammer import Engrammer
from ringi.engrammer.notes import NOTES_SCHEMA, FolderNotes, Note, Notes, SqliteNotes
from ringi.engrammer.roles import ANSWERING, GET, REFLECTING, SEARCH, BulletTag, RawInsight, Reflection
from ringi.engrammer.searching import Found, plain, terms_of
from ringi.engrammer.settings import Case, Signal

__all__ = [
    "ANSWERING",
    "GET",
    "NOTES_SCHEMA",
    "REFLECTING",
    "SEARCH",
    "BulletTag",
    "Case",
    "Engrammer",
    "FolderNotes",
    "Found",
    "Note",
    "Notes",
    "RawInsight",
    "Reflection",
    "Signal",
    "SqliteNotes",
    "plain",
    "terms_of",
]
