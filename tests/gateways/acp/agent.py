"""An agent on the official SDK: it asks for permission, and writes what it runs to the file `ran` in its folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import acp
from acp.schema import AgentCapabilities, AllowedOutcome, Implementation, PermissionOption, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Shell:
    """Runs the commands of a prompt, which is JSON: `{"commands": […], "options": […]}` or `{"form": …}`."""

    client: Any
    capabilities: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        self.capabilities = client_capabilities
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_info=Implementation(name="shell agent", version="1"),
            agent_capabilities=AgentCapabilities(load_session=True),
        )

    async def new_session(self, cwd: str, **_: Any) -> Any:
        self.folder = Path(cwd)
        return acp.NewSessionResponse(session_id="s1")

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> Any:
        self.folder = Path(cwd)
        return acp.LoadSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> Any:
        wanted = json.loads(prompt[0].text)
        if form := wanted.get("form"):
            schema = acp.ElicitationSchema.model_validate(form["schema"])
            mode = acp.ElicitationFormSessionMode(session_id=session_id, requested_schema=schema)
            result = await self.client.create_elicitation(form["message"], mode)
            await self._say(session_id, result.model_dump_json())
            return acp.PromptResponse(stop_reason="end_turn")
        runs = [
            self._run(session_id, f"call-{number}", command, wanted.get("options", ("always", "once", "no")))
            for number, command in enumerate(wanted["commands"])
        ]
        await asyncio.gather(*runs)
        return acp.PromptResponse(stop_reason="end_turn")

    async def _run(self, session: str, id: str, command: str, options: Any) -> None:
        start = acp.start_tool_call(id, f"`{command}`", kind="execute", raw_input={"command": command})
        await self.client.session_update(session, start)
        # As some agents do: the request itself does not repeat what the call is.
        outcome = await self.client.request_permission(
            session, ToolCallUpdate(tool_call_id=id), [each for each in OPTIONS if each.option_id in options]
        )
        allowed = isinstance(outcome.outcome, AllowedOutcome) and outcome.outcome.option_id
        if allowed in ("once", "always"):
            with (self.folder / "ran").open("a") as file:
                file.write(f"{command}\n")
        await self._say(session, f"{command}: {allowed}")
        status: Any = "completed" if allowed in ("once", "always") else "failed"
        await self.client.session_update(session, acp.update_tool_call(id, status=status))

    async def _say(self, session: str, text: str) -> None:
        await self.client.session_update(session, acp.update_agent_message_text(text))


if __name__ == "__main__":
    agent: Any = Shell()
    asyncio.run(acp.run_agent(agent))
