"""An assistant: definitions, a front model and workflows, turned into the agents that Ringi runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ringi import Agent
from ringi.runs import State, no_output
from ringi_apps.assistant.background import build_ask_graph, build_execute_graph, build_plan_graph
from ringi_apps.assistant.conversation_graph import build_conversation_graph
from ringi_apps.assistant.declarations import in_language
from ringi_apps.assistant.settings import AssistantSettings

MESSAGE_SCHEMA = {
    "type": "object",
    "properties": {"role": {"enum": ["user"]}, "content": {"type": "string"}, "id": {"type": "string"}},
    "required": ["role", "content"],
    "additionalProperties": False,
}
INPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "title": "Messages", "minItems": 1, "items": MESSAGE_SCHEMA},
        "event": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "args": {"type": "object"}},
            "required": ["type"],
        },
    },
    "oneOf": [{"required": ["messages"]}, {"required": ["event"]}],
    "additionalProperties": False,
}
JOB_SCHEMA = {
    "type": "object",
    "properties": {"job": {"type": "object"}},
    "required": ["job"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class AssistantAgent(Agent):
    """The agent that runs the conversation of an assistant."""

    assistant: Assistant = field(kw_only=True)


@dataclass(frozen=True)
class Assistant(AssistantSettings):
    """An assistant that talks with people, collects values, makes plans and executes approved plans.

    Args:
      name: The agent's name. The background agents are named `NAME.plan`, `NAME.ask` and `NAME.execute`.
      definitions: The infos, actions and handlers.
      model: A LangChain chat model that supports tool calls. It is called once for each message of a person.
      workflows: The functions or graphs that do the work, by the `workflow` of their actions.
      title: The name that people see.
      description: One sentence about the assistant, for people.
      prompt: Instructions for the model, added to those of Ringi.
      confirms_in_words: True if a person may approve a plan by a sentence that names its hash. For text-only channels.
      light: True if the model only chooses the next agent, by one field, and replies.
      call_timeout: The seconds until the workflow of an immediate action is cancelled. Increase it for a slow model.
      result_limit: The maximum number of characters of each fetched value and earlier answer that the model receives,
        100 by default. With a higher limit, a large model can resolve “the second one”; it is read again in each turn.

    Raises:
      DefinitionError: An action needs a workflow, and `workflows` has none for it; `call_timeout` is not above 0, or
        `result_limit` is below 0.
    """

    def agents(self) -> list[Agent]:
        """Return the agents to serve: the conversation first, then the three background agents.

        Returns:
          A list to serve, for example as `agents` in the module of `ringi serve --agents MODULE`.
        """
        front = AssistantAgent(
            self.name,
            build_conversation_graph(self),
            title=in_language(self.title, "en"),
            description=in_language(self.description, "en"),
            input_schema=INPUT_SCHEMA,
            input=build_input,
            output=thread_values,
            assistant=self,
            subgraphs=True,
        )
        builders = {"plan": build_plan_graph, "ask": build_ask_graph, "execute": build_execute_graph}
        return [front, *(self._background_agent(kind, build(self)) for kind, build in builders.items())]

    def _background_agent(self, kind: str, graph: object) -> Agent:
        return Agent(
            f"{self.name}.{kind}",
            graph,
            input_schema=JOB_SCHEMA,
            output=no_output,
            is_internal=True,
            subgraphs=True,
        )


def build_input(input: dict[str, Any]) -> dict[str, Any]:
    """Return a run's input in the form that the conversation's graph takes."""
    events, messages = [input["event"]] if "event" in input else [], input.get("messages", [])
    return {
        "messages": messages,
        "words": messages[-1]["content"] if messages else None,
        "events": events,
        "reply": "",
        "tried": [],
        "todo": {},
    }


def thread_values(state: State) -> dict[str, Any]:
    """Return the values that the thread shows. The memory is left out, as each event would store it again."""
    return {"version": (state.get("memory") or {}).get("version", 0), "language": state.get("language") or "en"}
