"""The files that a call of a client never touches unasked: those of Ringi, and those that name hooks and gates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

OWN_FILES = re.compile(
    r"\.ringi\b|\.(?:claude|codex|cursor|vscode)\b[^\"]{0,200}\.(?:json|toml)\b|\.mcp\.json\b|\.claude\.json\b", re.I
)


def names_own_files(args: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a call name the files of Ringi, with its policy and tokens, or a client's.

    Args:
        args: The arguments by name.
    """
    return OWN_FILES.search(json.dumps(args, ensure_ascii=False)) is not None
