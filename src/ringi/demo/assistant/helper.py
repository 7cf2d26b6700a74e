"""The assistant for quick questions: it answers at once and asks for no approval."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ringi.assistant import Action, Assistant, Definitions, Info
from ringi.demo.assistant.answers import workflows
from ringi.demo.assistant.office import Office
from ringi.demo.assistant.speaker import GREETING, THANKS, ReplyRule, ScriptedAssistant

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
SPEAKER = ScriptedAssistant(
    PROMPT,
    rules=(
        THANKS,
        ReplyRule(
            GREETING,
            {
                "en": "Hello! Ask me a question, let me search for something, or give me a calculation.",
                "ja": "こんにちは。質問、検索、計算を承ります。",
                "zh": "您好！我可以回答问题、搜索和计算。",
            },
        ),
        ReplyRule(
            r"\bwho are you\b|\bwhat can you do\b|何ができ|あなたは誰|你是谁|你能做什么",
            {
                "en": "I answer frequent questions, search the data of the office, and do arithmetic.",
                "ja": "よくある質問への回答、データの検索、計算ができます。",
                "zh": "我可以回答常见问题、搜索数据、进行计算。",
            },
        ),
        ReplyRule(
            r"\b(?:search|look)(?: for)?[: ]+(.+)|\bfind[: ]+(.+)|^(.+?)(?:を|について)?(?:検索|探し|調べ)"
            r"|(?:搜索|查找)[：:\s]*(.+)|^\s*([a-z-]{3,16}|[^\W\d_a-z\u3040-\u309f]{2,12})\s*$",
            {"en": "Searching for “{value}”.", "ja": "「{value}」を検索します。", "zh": "搜索“{value}”。"},
            op="correct",
            key="user_query",
            action="search",
        ),
        ReplyRule(
            r"^(?!.*\d{4}[-/]\d{1,2}[-/]\d{1,2}).*[\d)０-９）]\s*(?:[-+*/^×÷−＋－＊／]|%\s*(?:of\b|の)|の\s*[\d.]+\s*%)\s*[-(\d０-９（]?",
            {"en": "I'll calculate that.", "ja": "計算します。", "zh": "我来计算。"},
            op="correct",
            key="user_query",
            action="calculation",
        ),
        ReplyRule(
            r"\b(?:calculate|compute|work out)\b|計算して|计算",
            {"en": "I'll calculate that.", "ja": "計算します。", "zh": "我来计算。"},
            op="correct",
            key="user_query",
            action="calculation",
        ),
        ReplyRule(
            r"",
            {"en": "I'll look that up.", "ja": "お調べします。", "zh": "我来查一下。"},
            op="correct",
            key="user_query",
            action="faq",
        ),
    ),
    otherwise="",
)


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
