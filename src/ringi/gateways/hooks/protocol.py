"""The words of coding agents that both paths of a hook use."""

READING = (
    *("AskUserQuestion", "Glob", "Grep", "LS", "ListAgents", "NotebookRead", "Read", "TodoWrite", "ToolSearch"),
    *("get_goal", "request_user_input", "update_plan", "view_image"),
)
"""The tools that only read files or keep the agent's own notes: without a policy, the client decides about them."""
BEFORE = "PreToolUse"
"""The event before a call."""
APPROVED = {"permissionDecision": "allow", "permissionDecisionReason": "approved in Ringi"}
