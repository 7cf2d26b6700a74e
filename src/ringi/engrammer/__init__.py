"""An agent that answers, looks back at its answers, and learns what a person approved: nothing else."""

from ringi.engrammer.engrammer import Engrammer
from ringi.engrammer.notes import FolderNotes, Note, Notes, SqliteNotes
from ringi.engrammer.settings import Case, Signal

__all__ = ["Case", "Engrammer", "FolderNotes", "Note", "Notes", "Signal", "SqliteNotes"]
