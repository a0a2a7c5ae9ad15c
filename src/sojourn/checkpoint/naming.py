"""What a section may be called: its name, its title, what a model or a person is likely to write (K-2, K-3)."""

import re
import unicodedata

from sojourn.base import Section
from sojourn.window import SCHEMA

_ALSO = {
    Section.INTENT: "intents, request, requests, user request, user requests, 意图, 用户意图, 请求, 用户请求, 需求, 用户需求",
    Section.NEXT: "next steps, next action, next actions, 下一步, 下一步骤, 下一步行动, 接下来, 后续步骤",
    Section.FRONTIER: "progress, current work, work in progress, 前沿, 进展, 进度, 当前进展, 当前进度, 当前工作",
    Section.DIRECTIVES: "directive, user directives, rules, instructions, constraints, 指令, 用户指令, 指示, 要求, 约束, 规则",
    Section.FILES: "file, files and code, key files, 文件, 相关文件, 文件和代码, 文件与代码",
    Section.KNOWLEDGE: "fact, facts, finding, findings, known facts, 知识, 事实, 发现, 已知事实",
    Section.ERRORS: "error, errors and fixes, 错误, 报错, 错误与修复, 错误和修复",
    Section.RESOURCES: "resource, live state, live resources, 资源, 运行状态, 现场状态",
    Section.DECISIONS: "decision, design decisions, 决定, 决策, 设计决策",
}
_NAMES = {
    name.casefold(): rule.section
    for rule in SCHEMA
    for name in (rule.section.value, rule.title, *_ALSO[rule.section].split(", "))
}
_MOST = 60
"""Characters of a name, decoration included."""
_NUMBER = re.compile(r"^\(?\d{1,2}(?:[.)、:]|\s)\s*")
_ASIDE = re.compile(r"\s*[(\[][^()\[\]]*[)\]]$")
_MARKS = " \t*_#`~\"'<>:"


def section_named(text: str) -> Section | None:
    """The section of that name, whatever stands around it: ``## **6. Knowledge** (2,000):``; None = there is none."""
    if len(text) > _MOST:
        return None
    name = unicodedata.normalize("NFKC", text).strip(_MARKS)
    name = _NUMBER.sub("", name).strip(_MARKS)
    return _NAMES.get(_ASIDE.sub("", name).strip(_MARKS).casefold())
