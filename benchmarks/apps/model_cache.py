"""A folder with the answers of a model, so that a bench that was stopped does not ask it again."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_core.outputs import ChatGeneration


class FolderCache(BaseCache):
    """A cache for LangChain's models that writes one file for each call, and counts the calls that it cannot answer.

    The file's name depends on the prompt and on the settings of the model, but not on the address of its server. Use it
    only at temperature 0, with one folder for each server. Without a folder, it only counts.
    """

    def __init__(self, folder: Path | None) -> None:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.calls = 0
        self.began = time.monotonic()
        """The time of the first call that the cache could not answer."""

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the answer of an equal call, or None."""
        path = self._path(prompt, llm_string)
        if path and path.exists():
            return [ChatGeneration(message=each) for each in messages_from_dict(json.loads(path.read_text("utf-8")))]
        if not self.calls:
            self.began = time.monotonic()
        self.calls += 1
        return None

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Write the answer of a call, whole or not at all."""
        messages = [each.message for each in return_val if isinstance(each, ChatGeneration)]
        if path := self._path(prompt, llm_string):
            draft = path.with_suffix(".part")
            draft.write_text(json.dumps(messages_to_dict(messages), ensure_ascii=False), "utf-8")
            draft.replace(path)

    def clear(self, **_: Any) -> None:
        """Remove all answers."""
        for path in self._folder.glob("*.json") if self._folder else ():
            path.unlink()

    def _path(self, prompt: str, llm_string: str) -> Path | None:
        digest = hashlib.sha256(json.dumps([prompt, llm_string]).encode()).hexdigest()
        return self._folder / f"{digest}.json" if self._folder else None
