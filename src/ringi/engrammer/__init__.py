"""An agent that answers, looks back at its answers, and learns what a person approved: nothing else."""

from ringi.engrammer.engrammer import Engrammer, Signal
from ringi.engrammer.notes import FolderNotes, Note, Notes, SqliteNotes
from ringi.engrammer.trying import Case

__all__ = ["Case", "Engrammer", "FolderNotes", "Note", "Notes", "Signal", "SqliteNotes"]
