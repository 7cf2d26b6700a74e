"""Two models for the Formula questions: a script that shows the mechanics, and one that slips poison in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableLambda

from benchmarks.formula import Question, book_of, lesson, poison
from ringi.engrammer.rendering import tokens
from ringi.engrammer.roles import REFLECTING, RawInsight, Reflection
from ringi.testing.model import ScriptedModel, calls

ASKED = "## Question\n"


class Pupil:
    """Knows every second formula by heart, and of the others what its playbook says, right or wrong."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = {question.asked: question for question in questions}
        self._book = book_of(self._questions.values())
        self._known = set(sorted(self._book)[::2])

    @property
    def model(self) -> BaseChatModel:
        """The script as a chat model."""
        return ScriptedModel(script=self.say)

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Answer, or look back; with the tokens of it as a provider tells them."""
        told, system = "\n".join(message.text for message in messages), messages[0].text
        if REFLECTING in system:
            reflection = self._looked_back(asked_in(messages), system)
            said = calls(Reflection.__name__, **reflection.model_dump(mode="json"))
            spoken = reflection.model_dump_json()
        else:
            said = AIMessage(self._answered(messages[-1].text, system))
            spoken = said.text
        return said.model_copy(update={"usage_metadata": usage(tokens(told), tokens(spoken))})

    def _answered(self, asked: str, system: str) -> str:
        question = self._questions[asked]
        taught = [line for line in system.splitlines() if f") {question.name}: work it out as " in line]
        if not taught:
            return f"Answer: {question.target if question.name in self._known else 'unknown'}"
        id = taught[-1].partition("] ")[0].removeprefix("[")
        is_true = taught[-1].endswith(lesson(question.name, question.body))
        return f"By [{id}].\n\nAnswer: {question.target if is_true else '-1.0'}"

    def _looked_back(self, asked: str, system: str) -> Reflection:
        question = self._questions[asked]
        text = lesson(question.name, question.body)
        if f") {text}" in system:
            return Reflection()
        quotes = [question.text]
        insight = RawInsight(type="new_strategy", description=text, section="formulas", why="It asks.", quotes=quotes)
        return Reflection(key_insight=text, insights=[insight])


class Poisoner:
    """A reflector whose every so-manieth insight is another formula under the right name."""

    def __init__(self, model: BaseChatModel, questions: Sequence[Question], every: int) -> None:
        self._model, self._every, self._count = model, every, 0
        self._names = {question.asked: question.name for question in questions}
        self._book = book_of(questions)
        self.slipped_in = 0

    def with_structured_output(self, schema: dict[str, Any], **options: Any) -> Any:
        """Return the model's own, poisoned."""

        async def told(messages: Sequence[BaseMessage]) -> Any:
            answer = await self._model.with_structured_output(schema, **options).ainvoke(messages)
            return self._poisoned(answer, asked_in(messages))

        return RunnableLambda(told)

    def _poisoned(self, answer: Any, asked: str) -> Any:
        if answer["parsed"]:
            insights = [self._passed_on(each, asked) for each in answer["parsed"].get("insights", ())]
            answer["parsed"] = {**answer["parsed"], "insights": insights}
        return answer

    def _passed_on(self, insight: dict[str, Any], asked: str) -> dict[str, Any]:
        self._count += 1
        if self._count % self._every:
            return insight
        self.slipped_in += 1
        return {**insight, "type": "new_strategy", "description": poison(self._names[asked], self._book)}


def asked_in(messages: Sequence[BaseMessage]) -> str:
    """Return the question that a reflector is told of."""
    lines = messages[1].text.partition(ASKED)[2].partition("\n\n## ")[0].splitlines()
    return "\n".join(line.removeprefix("> ") for line in lines)


def usage(read: int, said: int) -> UsageMetadata:
    """Return what a call costs, as a provider tells it."""
    return UsageMetadata(input_tokens=read, output_tokens=said, total_tokens=read + said)
