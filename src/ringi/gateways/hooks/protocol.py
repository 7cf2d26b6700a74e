"""What both paths of a hook share: the words of coding agents, and the place of the policy."""

from __future__ import annotations

from pathlib import Path

READING = (
    *("AskUserQuestion", "Glob", "Grep", "LS", "ListAgents", "NotebookRead", "Read", "TodoWrite", "ToolSearch"),
    *("get_goal", "request_user_input", "update_plan", "view_image"),
)
"""The tools that only read files or keep the agent's own notes: without a policy, the client decides about them."""
BEFORE = "PreToolUse"
"""The event before a call."""
APPROVED = {"permissionDecision": "allow", "permissionDecisionReason": "approved in Ringi"}


def hook_policy_path(chosen: str | None, folder: Path) -> Path | None:
    """Return the path of the policy: the chosen one, else `.ringi/policy.toml` if there is one.

    Args:
        chosen: The path that an option or the setting gives.
        folder: The folder that paths are relative to.
    """
    default = folder / ".ringi" / "policy.toml"
    return folder / chosen if chosen else default if default.exists() else None
