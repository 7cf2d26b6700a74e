"""The assistant for quick questions: it answers at once and asks for no approval."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ringi.assistant import Action, Assistant, Definitions, Info
from ringi.demo.assistant.answers import workflows
from ringi.demo.assistant.office import Office
from ringi.demo.assistant.speaker import ScriptedAssistant

PROMPT = "You answer quick questions of the people of a small company."
DEFINITIONS = Definitions(
    infos=(
        Info(
            "user_query",
            title={"en": "Question", "ja": "質問", "zh": "问题"},
            description={"en": "What you want to know", "ja": "知りたいこと", "zh": "想知道的内容"},
            schema={"type": "string", "minLength": 1, "maxLength": 500},
        ),
    ),
    actions=(
        Action(
            "faq",
            "immediate",
            label={"en": "Answer from the FAQ", "ja": "FAQ回答", "zh": "常见问题解答"},
            description={
                "en": "Answers a frequent question",
                "ja": "ユーザーの質問に対して即座に回答",
                "zh": "立即回答用户的问题",
            },
            workflow="faqWorkflow",
            requires=("user_query",),
        ),
        Action(
            "search",
            "immediate",
            label={"en": "Search", "ja": "データ検索", "zh": "数据搜索"},
            description={
                "en": "Searches projects, leads, notes and more",
                "ja": "検索クエリに対して即座に結果を返す",
                "zh": "立即返回搜索结果",
            },
            workflow="dataSearchWorkflow",
            requires=("user_query",),
        ),
        Action(
            "calculation",
            "immediate",
            label={"en": "Calculate", "ja": "計算処理", "zh": "计算"},
            description={
                "en": "Calculates",
                "ja": "数式や計算要求に対して即座に結果を返す",
                "zh": "立即返回计算结果",
            },
            workflow="calculationWorkflow",
            requires=("user_query",),
        ),
        Action(
            "cancel",
            "cancel",
            label={"en": "Start over", "ja": "最初からやり直す", "zh": "重新开始"},
            description={"en": "Clears the question", "ja": "質問を消去", "zh": "清除问题"},
        ),
    ),
)
SPEAKER = ScriptedAssistant.of("helper", PROMPT)


def assistant(model: BaseChatModel, office: Office, name: str = "helper") -> Assistant:
    """Return the assistant for a model and a database."""
    return Assistant(
        name,
        DEFINITIONS,
        model,
        workflows=workflows(office),
        title={"en": "Quick questions", "ja": "即時の質問", "zh": "快速问答"},
        description={
            "en": "Answers at once; say 'how do I reset my password?', 'search for warehouse' or '15% of 2400'.",
            "ja": "質問、検索、計算にすぐ答えます。",
            "zh": "立即回答问题、搜索和计算。",
        },
        prompt=PROMPT,
    )
