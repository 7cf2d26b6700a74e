"""Texts that explain why an action is not possible and what to do next, in three languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ringi.base import fields_text
from ringi.base import reason_text as own_reason_text
from ringi_apps.assistant.availability import BlockedReason, Fix
from ringi_apps.assistant.declarations import Info, in_language
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory_ops import RejectedOp

REASONS: dict[str, Mapping[str, str]] = {
    "MISSING_INFO": {
        "en": "waiting for: {name}",
        "ja": "「{name}」を待っています",
        "zh": "正在等待：{name}",
    },
    "STALE_INFO": {
        "en": "out of date: {name}",
        "ja": "「{name}」が古くなっています",
        "zh": "已过时：{name}",
    },
    "ERROR_INFO": {
        "en": "could not be obtained: {name}",
        "ja": "「{name}」を取得できませんでした",
        "zh": "无法获取：{name}",
    },
    "DEPENDENCY": {
        "en": "must be completed first: {name}",
        "ja": "先に「{name}」を完了する必要があります",
        "zh": "需要先完成：{name}",
    },
    "NO_PLAN": {
        "en": "there is no plan yet: {name}",
        "ja": "計画がまだありません:「{name}」",
        "zh": "还没有计划：{name}",
    },
    "PLAN_OBSOLETE": {
        "en": "the plan is out of date, this changed: {name}",
        "ja": "「{name}」が変わったため、計画が古くなっています",
        "zh": "计划已过时，以下信息已更改：{name}",
    },
    "AWAITING_APPROVAL": {
        "en": "waiting for approval: {name}",
        "ja": "「{name}」の承認を待っています",
        "zh": "正在等待批准：{name}",
    },
    "NOT_ASKED": {
        "en": "its approval has not been requested: {name}",
        "ja": "「{name}」の承認は依頼されていません",
        "zh": "尚未请求批准：{name}",
    },
    "ALREADY_RUNNING": {
        "en": "already running: {name}",
        "ja": "「{name}」は実行中です",
        "zh": "正在运行：{name}",
    },
}
REASONS["WORKFLOW"] = REASONS["DEPENDENCY"]
FIXES: dict[str, Mapping[str, str]] = {
    "ask": {"en": "Answer: {name}", "ja": "「{name}」を入力", "zh": "填写：{name}"},
    "run_handler": {"en": "Fetch: {name}", "ja": "「{name}」を取得", "zh": "获取：{name}"},
    "run_action": {"en": "{name}", "ja": "{name}", "zh": "{name}"},
    "wait": {"en": "Wait for: {name}", "ja": "「{name}」の完了を待つ", "zh": "等待：{name}"},
    "reapprove": {"en": "Ask again: {name}", "ja": "「{name}」の承認を再依頼", "zh": "再次请求批准：{name}"},
    "approve": {"en": "Approve: {name}", "ja": "「{name}」を承認", "zh": "批准：{name}"},
}
REFUSALS: dict[str, Mapping[str, str]] = {
    "UNKNOWN": {"en": "{name} is not defined here", "ja": "「{name}」は定義されていません", "zh": "未定义：{name}"},
    "NOT_ASKED": {
        "en": "{name} is obtained in another way and cannot be entered",
        "ja": "「{name}」は別の方法で取得するため、入力できません",
        "zh": "{name} 由其他方式获取，不能直接填写",
    },
    "INVALID": {
        "en": "this is not a valid value of {name} ({why})",
        "ja": "「{name}」の値として正しくありません ({why})",
        "zh": "不是 {name} 的有效值（{why}）",
    },
    "NEWER": {
        "en": "{name} has changed in the meantime",
        "ja": "「{name}」はその間に変更されました",
        "zh": "{name} 在此期间已被更改",
    },
    "REQUIRED": {
        "en": "{name} is required and cannot be left out",
        "ja": "「{name}」は必須のため、省略できません",
        "zh": "{name} 为必填，不能省略",
    },
    "NOT_OFFERED": {
        "en": "{name} must be one of its choices",
        "ja": "「{name}」は選択肢の中から選ぶ必要があります",
        "zh": "{name} 必须从选项中选择",
    },
    "NOT_ANY": {
        "en": "{name} cannot be left open and needs a value",
        "ja": "「{name}」は「どれでもよい」にはできず、値が必要です",
        "zh": "{name} 不能是“都可以”，需要具体的值",
    },
}
NEXT_STEPS: dict[str, Mapping[str, str]] = {
    "ask": {
        "en": "Tell me {name}, or ask me for a form.",
        "ja": "「{name}」を教えてください。フォームでの入力も依頼できます。",
        "zh": "请告诉我{name}，也可以让我提供表单。",
    },
    "run_handler": {
        "en": "Ask me to fetch {name} again.",
        "ja": "「{name}」の再取得を依頼してください。",
        "zh": "请让我重新获取{name}。",
    },
    "run_action": {"en": "Press “{name}”.", "ja": "「{name}」を押してください。", "zh": "请按“{name}”。"},
    "wait": {
        "en": "Wait until “{name}” has ended.",
        "ja": "「{name}」の完了をお待ちください。",
        "zh": "请等待“{name}”结束。",
    },
    "reapprove": {
        "en": "On the plan of “{name}”, ask for its approval again.",
        "ja": "「{name}」の計画で、承認をもう一度依頼してください。",
        "zh": "请在“{name}”的计划中再次请求批准。",
    },
    "approve": {
        "en": "Press “{name}” to approve it.",
        "ja": "「{name}」を押して承認してください。",
        "zh": "请按“{name}”以批准。",
    },
    "choose": {
        "en": "Choose one of these: {name}.",
        "ja": "次の中から選んでください: {name}。",
        "zh": "请从以下选项中选择：{name}。",
    },
    "tell": {
        "en": "You can tell me: {name}.",
        "ja": "お聞きできるのは次の情報です: {name}。",
        "zh": "您可以告诉我：{name}。",
    },
    "do": {
        "en": "This is what I can do here: {name}.",
        "ja": "ここでできることは次のとおりです: {name}。",
        "zh": "我在这里可以做的是：{name}。",
    },
    "criticise": {
        "en": "Tell me what should be different in the plan.",
        "ja": "計画のどこを変えるか教えてください。",
        "zh": "请告诉我计划中需要更改的内容。",
    },
    "correct": {
        "en": "Correct its source values: {name}.",
        "ja": "元になっている情報を訂正してください: {name}。",
        "zh": "请更正其来源信息：{name}。",
    },
    "operator": {
        "en": "Only the operator of this assistant can change it.",
        "ja": "変更できるのは、このアシスタントの管理者だけです。",
        "zh": "只有此助手的管理员可以更改。",
    },
    "again": {
        "en": "Check the current value of {name}, and tell me again if it should change.",
        "ja": "「{name}」の現在の内容を確認し、変更が必要であればもう一度お伝えください。",
        "zh": "请查看{name}的当前内容，如需更改请再说一次。",
    },
}
"""The next step of a person, by kind of fix."""
ACTION_STEPS = ("run_action", "approve", "reapprove", "do")
"""The steps whose names are actions; an info may have the same name."""
MAX_NAMES = 5
"""The maximum number of names in a sentence."""
SEPARATORS = {"ja": "。", "zh": "；"}


def reason_text(reason: BlockedReason, definitions: Definitions, language: str) -> str:
    """Return a reason in a language."""
    return in_language(REASONS[reason.code], language).format(name=display_name(reason.key, definitions, language))


def reasons_text(reasons: Iterable[BlockedReason], definitions: Definitions, language: str) -> str:
    """Return all reasons as one sentence."""
    separator = SEPARATORS.get(language.partition("-")[0], "; ")
    return separator.join(dict.fromkeys(reason_text(each, definitions, language) for each in reasons))


def fix_label(fix: Fix, definitions: Definitions, language: str) -> str:
    """Return the label of a fix in a language."""
    return in_language(FIXES[fix.kind], language).format(name=display_name(fix.ref, definitions, language))


def rejected_operation_text(rejection: RejectedOp, definitions: Definitions, language: str) -> str:
    """Return the reason why an operation was rejected, in a language."""
    name = display_name(rejection.op.key, definitions, language)
    why = fields_text(rejection.errors, language) if rejection.errors else own_reason_text(rejection.reason, language)
    return in_language(REFUSALS[rejection.code], language).format(name=name, why=why)


def next_step_text(kind: str, names: Sequence[str], definitions: Definitions, language: str) -> str:
    """Return the next step of a person, in a language."""
    separator = "、" if language.partition("-")[0] in ("ja", "zh") else ", "
    actions = definitions.actions_by_id if kind in ACTION_STEPS else {}
    labels = [
        actions[name].name_in(language) if name in actions else display_name(name, definitions, language)
        for name in names[:MAX_NAMES]
    ]
    labels += ["…"] if len(names) > MAX_NAMES else []
    return in_language(NEXT_STEPS[kind], language).format(name=separator.join(labels))


def next_step_after(rejection: RejectedOp, definitions: Definitions, language: str) -> str:
    """Return the next step after a rejected operation, in a language."""
    return next_step_text(*_next_step(rejection, definitions), definitions, language)


def _next_step(rejection: RejectedOp, definitions: Definitions) -> tuple[str, Sequence[str]]:
    key = rejection.op.key
    info = definitions.infos_by_key.get(key)
    if info is None:
        askable = [
            each.key for each in definitions.infos if each.kind == "ask" and each.key not in definitions.sole_producers
        ]
        return ("tell", askable) if askable else ("do", [each.id for each in definitions.actions])
    if rejection.code == "NOT_OFFERED" and rejection.offered:
        return "choose", rejection.offered
    if rejection.code == "NEWER":
        return "again", [key]
    if rejection.code == "NOT_ASKED":
        return _way_to_obtain(info, definitions)
    return "ask", [key]


def _way_to_obtain(info: Info, definitions: Definitions) -> tuple[str, Sequence[str]]:
    if info.key in definitions.plan_actions:
        return "criticise", []
    if maker := definitions.sole_producers.get(info.key):
        return "run_action", [maker.id]
    ways: dict[str, tuple[str, Sequence[str]]] = {
        "handler": ("run_handler", [info.key]),
        "derived": ("correct", info.inputs),
    }
    return ways.get(info.kind, ("operator", []))


def display_name(key: str, definitions: Definitions, language: str) -> str:
    """Return the title of an info, action or workflow; the name itself if it is not defined."""
    for named in (definitions.infos_by_key, definitions.actions_by_id, definitions.workflows):
        if key in named:
            return named[key].name_in(language)
    return key
