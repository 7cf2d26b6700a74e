"""What a hostile or broken model might write wherever it may write, and an agent that says all of it."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from ringi import Action, ask
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

ELSEWHERE = "https://evil.example"
STRIKE = "window.struck=1"
"""Sets what the test looks for when any of these texts is run as code."""
FAMILIES = {
    "tags": f"</script><script>{STRIKE}</script><img src=x onerror={STRIKE}><svg/onload={STRIKE}>"
    f"<iframe srcdoc='<script>parent.{STRIKE}</script>'></iframe><style>*{{display:none}}</style>\"'><input autofocus>",
    "links": f"[a](javascript:{STRIKE}) ![b]({ELSEWHERE}/b.png) <javascript:{STRIKE}> [c](data:text/html,<b>1</b>) "
    f"[d](//evil.example/d) <a href='{ELSEWHERE}'>e</a> <img src={ELSEWHERE}/f.png> [g](vbscript:x) "
    f"![h](data:image/svg+xml,x) [i]: {ELSEWHERE}/i.png ![i] [https://bank.example]({ELSEWHERE}) <{ELSEWHERE}>",
    "templates": f"{{{{constructor.constructor('{STRIKE}')()}}}} ${{{STRIKE}}} <%= {STRIKE} %> #{{{STRIKE}}} %s {{0}} "
    f"&lt;script&gt;{STRIKE}&lt;/script&gt; &#x3c;img src=x onerror={STRIKE}&#x3e; \\u003cb\\u003e javascript&colon;",
    "bidi": "pay \u202egnp.exe\u202c to \u2066bob\u2069 \u200fand\u200e \u061cme \u202dnow",
    "unseen": "de\u200blete\u2060 \ufeffall\u00ad \u180efiles\u3164 ok\U000e0041\U000e0042 "
    "\u200d\u2028line\u2029 \ue000\U000f0000",
    "controls": "safe\rrm -rf \x1b[31mred\x1b[0m \x07\x08\x7f\x85 \x9b2J",
    "stacked": "Z" + "\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307" * 12 + "algo",
    "long": "W" * 400,
    "lines": "one\n" * 40 + "approved by ann, 10:02",
    "names": "__proto__",
}


def written(family: str, where: str, most: int = 20_000) -> str:
    """Return the text of a family for one place, marked with the place's name, cut to what the place takes."""
    return f"«{where}» {FAMILIES[family]}"[:most]


def endless(family: str) -> str:
    """Return as much of a family as a description may have."""
    text = written(family, "description")
    return (text + "\n\n" + FAMILIES[family] * (20_000 // len(FAMILIES[family])))[:20_000]


def keyed(family: str, where: str) -> dict[str, Any]:
    """Return an object whose keys and values, also far inside, are of a family."""
    key, value = written(family, f"{where}-key", 200), written(family, f"{where}-value")
    deep = {"__proto__": {"polluted": value}, "constructor": value, "toString": value, "deep": [{key: [value]}]}
    return {key: value, "": value, "number": 1, **deep}


def fields(family: str) -> list[dict[str, Any]]:
    """Return the ten fields with all their words of a family."""
    words = {
        "help": written(family, "help", 2_000),
        "placeholder": written(family, "placeholder", 2_000),
    }
    options = [
        {"value": written(family, f"value{n}", 300), "label": written(family, f"option{n}", 500)} for n in range(3)
    ]
    chosen = {"options": options}
    own: dict[str, dict[str, Any]] = {
        "text": {"default": written(family, "default")},
        "textarea": {"default": written(family, "default")},
        "select": chosen | {"default": options[0]["value"]},
        "multiselect": chosen | {"default": [each["value"] for each in options]},
        "radio": chosen,
        "checkbox": chosen,
        "number": {},
        "slider": {"min": 0, "max": 9},
        "date": {},
        "boolean": {},
    }
    names = {"text": "__proto__", "textarea": "constructor", "number": "toString"}
    return [
        {"type": type, "name": names.get(type, type), "label": written(family, f"label-{type}", 500), **words, **more}
        for type, more in own.items()
    ]


def asks(family: str) -> dict[str, dict[str, Any]]:
    """Return one request of each kind, with all its words of a family."""
    args = keyed(family, "arg")
    words: dict[str, Any] = {"title": written(family, "title", 500), "description": endless(family)}
    buttons: dict[str, Any] = {"approve": {"label": written(family, "button", 100)}, "reject": {"label": "Reject"}}
    about = {"type": "string", "title": written(family, "arg-title"), "description": written(family, "arg-words")}
    known = {name: about for name in args if isinstance(args[name], str)}
    schema = {"type": "object", "title": written(family, "schema"), "properties": known}
    action = {"name": written(family, "action", 200), "args": args, "schema": schema}
    # Names of people and groups have no invisible characters.
    assignee, group = ("".join(filter(str.isprintable, written(family, each, 200))) for each in ("assignee", "group"))
    people = {"assignee": assignee, "groups": [group]}
    task = {"task": written(family, "task"), "summary": written(family, "summary"), **keyed(family, "context")}
    return {
        "approval": words | people | {"actions": buttons, "action": action, "context": keyed(family, "context")},
        "form": words | {"form": {"fields": fields(family)}},
        "question": words | {"context": keyed(family, "context")},
        "finish": words | {"kind": "finish", "context": task},
    }


class State(TypedDict, total=False):
    """What the agent knows: what it shall say, and what it said."""

    family: str
    messages: list[AnyMessage]


def agents() -> list[Agent]:
    """Return the agent that speaks, calls, shows, asks and fails in one family's words."""

    async def speak(state: State) -> State:
        family = state["family"]
        get_stream_writer()({"name": written(family, "custom"), "value": keyed(family, "custom")})
        call = {"name": written(family, "tool", 200), "args": keyed(family, "tool"), "id": "call-1"}
        model = ScriptedModel(script=lambda _: AIMessage(written(family, "message"), tool_calls=[call]))
        answer = await model.ainvoke("speak")
        return {"messages": [answer, ToolMessage(written(family, "result"), tool_call_id="call-1")]}

    def stop(state: State) -> State:
        family = state["family"]
        request = ask(
            written(family, "asked", 500),
            description=written(family, "explained"),
            action=Action(written(family, "call", 200), keyed(family, "call")),
        )
        raise RuntimeError(written(family, "error") + str(request.status))

    graph = StateGraph(State)
    graph.add_node("speak", speak)
    graph.add_node("stop", stop)
    for one, next in [(START, "speak"), ("speak", "stop"), ("stop", END)]:
        graph.add_edge(one, next)
    return [
        Agent(
            "hostile",
            graph.compile(),
            title=written("tags", "agent"),
            description=written("links", "agent-words"),
            input_schema={"type": "object", "properties": {"family": {"type": "string"}}, "required": ["family"]},
            input=lambda values: {"family": values["family"], "messages": []},
            output=lambda state: keyed(state["family"], "state") if state.get("family") else {},
        )
    ]
