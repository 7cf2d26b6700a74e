"""Two models for the Formula questions: a script that knows a book of formulas, and a reflector that adds poison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableLambda

from benchmarks.apps.formula import Question, book_of, lesson, poison
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.engrammer.rendering import estimate_tokens
from ringi_apps.engrammer.roles import REFLECTOR_PROMPT_START, RawInsight, Reflection

ASKED = "## Question\n"


class Pupil:
    """A script that knows every second formula, and takes the others from its playbook, right or wrong."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = {question.text: question for question in questions}
        self._book = book_of(self._questions.values())
        self._known = set(sorted(self._book)[::2])

    @property
    def model(self) -> BaseChatModel:
        """The script as a chat model."""
        return ScriptedModel(script=self.say)

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Answer or reflect, with token counts like a provider's."""
        prompt, system = "\n".join(message.text for message in messages), messages[0].text
        if REFLECTOR_PROMPT_START in system:
            reflection = self._reflect(question_in(messages), system)
            message = tool_call(Reflection.__name__, **reflection.model_dump(mode="json"))
            output = reflection.model_dump_json()
        else:
            answer = self._answer(messages[-1].text, system)
            message = tool_call("Answer", **answer)
            output = json.dumps(answer)
        return message.model_copy(update={"usage_metadata": usage(estimate_tokens(prompt), estimate_tokens(output))})

    def _answer(self, asked: str, system: str) -> dict[str, str]:
        question = self._questions[asked]
        taught = [line for line in system.splitlines() if f") {question.name}: work it out as " in line]
        if not taught:
            return {"formula": "", "expression": question.target if question.name in self._known else "unknown"}
        id = taught[-1].partition("] ")[0].removeprefix("[")
        is_true = taught[-1].endswith(lesson(question.name, question.body))
        return {"formula": f"By [{id}].", "expression": question.target if is_true else "-1.0"}

    def _reflect(self, asked: str, system: str) -> Reflection:
        question = self._questions[asked]
        text = lesson(question.name, question.body)
        if f") {text}" in system:
            return Reflection()
        quotes = [question.text]
        insight = RawInsight(type="new_strategy", description=text, section="formulas", why="It asks.", quotes=quotes)
        return Reflection(key_insight=text, insights=[insight])


class Poisoner:
    """A reflector whose every n-th insight is another formula under the right name."""

    def __init__(self, model: BaseChatModel, questions: Sequence[Question], every: int) -> None:
        self._model, self._every, self._count = model, every, 0
        self._names = {question.text: question.name for question in questions}
        self._book = book_of(questions)
        self.poison_count = 0

    def with_structured_output(self, schema: dict[str, Any], **options: Any) -> Any:
        """Return the model's own structured output, poisoned."""

        async def invoke(messages: Sequence[BaseMessage]) -> Any:
            answer = await self._model.with_structured_output(schema, **options).ainvoke(messages)
            return self._poison_answer(answer, question_in(messages))

        return RunnableLambda(invoke)

    def _poison_answer(self, answer: Any, asked: str) -> Any:
        if answer["parsed"]:
            insights = [self._poison_insight(each, asked) for each in answer["parsed"].get("insights", ())]
            answer["parsed"] = {**answer["parsed"], "insights": insights}
        return answer

    def _poison_insight(self, insight: dict[str, Any], asked: str) -> dict[str, Any]:
        self._count += 1
        if self._count % self._every:
            return insight
        self.poison_count += 1
        return {**insight, "type": "new_strategy", "description": poison(self._names[asked], self._book)}


def question_in(messages: Sequence[BaseMessage]) -> str:
    """Return the question in a reflector's prompt."""
    lines = messages[1].text.partition(ASKED)[2].partition("\n\n## ")[0].splitlines()
    return "\n".join(line.removeprefix("> ") for line in lines)


def usage(input_tokens: int, output_tokens: int) -> UsageMetadata:
    """Return the token counts of a call in a provider's format."""
    return UsageMetadata(
        input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=input_tokens + output_tokens
    )
