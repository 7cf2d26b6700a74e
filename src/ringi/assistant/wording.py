"""Why an action is not possible and what helps, in the words of each language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ringi.assistant.availability import Fix, Reason
from ringi.assistant.definitions import Definitions, in_language
from ringi.assistant.ops import Refusal

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
        "en": "needs to be done before: {name}",
        "ja": "先に「{name}」を完了する必要があります",
        "zh": "需要先完成：{name}",
    },
    "WORKFLOW": {
        "en": "needs to be done before: {name}",
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
        "en": "nobody is asked to approve it: {name}",
        "ja": "「{name}」の承認は依頼されていません",
        "zh": "尚未请求批准：{name}",
    },
    "ALREADY_RUNNING": {
        "en": "already running: {name}",
        "ja": "「{name}」は実行中です",
        "zh": "正在运行：{name}",
    },
}
FIXES: dict[str, Mapping[str, str]] = {
    "ask": {"en": "Answer: {name}", "ja": "「{name}」を入力", "zh": "填写：{name}"},
    "run_handler": {"en": "Fetch: {name}", "ja": "「{name}」を取得", "zh": "获取：{name}"},
    "run_action": {"en": "{name}", "ja": "{name}", "zh": "{name}"},
    "wait": {"en": "Wait for: {name}", "ja": "「{name}」の完了を待つ", "zh": "等待：{name}"},
    "reapprove": {"en": "Ask again: {name}", "ja": "「{name}」の承認を再依頼", "zh": "再次请求批准：{name}"},
    "approve": {"en": "Approve: {name}", "ja": "「{name}」を承認", "zh": "批准：{name}"},
}
REFUSALS: dict[str, Mapping[str, str]] = {
    "UNKNOWN": {"en": "{name} is not known here", "ja": "「{name}」は定義されていません", "zh": "未定义：{name}"},
    "NOT_ASKED": {
        "en": "{name} is obtained in another way and cannot be said",
        "ja": "「{name}」は別の方法で取得するため、入力できません",
        "zh": "{name} 由其他方式获取，不能直接填写",
    },
    "INVALID": {
        "en": "this cannot be the value of {name} ({why})",
        "ja": "「{name}」の値として正しくありません ({why})",
        "zh": "不是 {name} 的有效值（{why}）",
    },
    "NEWER": {
        "en": "{name} was changed meanwhile",
        "ja": "「{name}」はその間に変更されました",
        "zh": "{name} 在此期间已被更改",
    },
    "REQUIRED": {
        "en": "{name} is required and cannot be left out",
        "ja": "「{name}」は必須のため、省略できません",
        "zh": "{name} 为必填，不能省略",
    },
    "NOT_OFFERED": {
        "en": "{name} has to be one of its choices, and this is none of them",
        "ja": "「{name}」は選択肢の中から選ぶ必要があります",
        "zh": "{name} 必须从选项中选择",
    },
}
BETWEEN = {"ja": "。", "zh": "；"}


def reason_in(reason: Reason, definitions: Definitions, language: str) -> str:
    """Return why an action is not possible, in a language."""
    return in_language(REASONS[reason.code], language).format(name=name_of(reason.key, definitions, language))


def reasons_in(reasons: Iterable[Reason], definitions: Definitions, language: str) -> str:
    """Return all reasons in one sentence."""
    between = BETWEEN.get(language.partition("-")[0], "; ")
    return between.join(dict.fromkeys(reason_in(each, definitions, language) for each in reasons))


def fix_in(fix: Fix, definitions: Definitions, language: str) -> str:
    """Return what helps, in a language."""
    return in_language(FIXES[fix.kind], language).format(name=name_of(fix.ref, definitions, language))


def refusal_in(refusal: Refusal, definitions: Definitions, language: str) -> str:
    """Return why an operation changed nothing, in a language."""
    name = name_of(refusal.op.key, definitions, language)
    return in_language(REFUSALS[refusal.code], language).format(name=name, why=refusal.why)


def name_of(key: str, definitions: Definitions, language: str) -> str:
    """Return what people call an info, an action or a workflow; its own name where nothing defines it."""
    for found in (definitions.infos_by_key, definitions.actions_by_id, definitions.workflows):
        if key in found:
            return found[key].name_in(language)
    return key
