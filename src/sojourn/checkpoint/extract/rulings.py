"""What the user lays down in any wording: speech acts with a value that nobody could guess (K-10).

A rule is known by its form and not by its topic: a modal, an order or an agreement beside such a value; a correction by
saying that something said before does not hold.
"""

import re

from sojourn.checkpoint.extract.rare import codes, labelled, measures, prose, telling

RULE = 4.0
"""What a rule or a correction weighs."""
FACT = 3.0
"""A statement that gives something its value."""
ADVICE = 2.0

_LEAD = (
    r"^(?:(?:please|pls|kindly|also|and|so|then|ok(?:ay)?|now|but|again|oh|just|hey|btw|by the way|one more(?: thing)?"
    r"|another thing"
    r"|remember|note|fyi|heads.?up|for the record|mind you|going forward|from (?:now|here) on(?:wards?)?|in future"
    r"|as agreed|as before|finally|lastly|first|second(?:ly)?|third(?:ly)?|next|otherwise"
    r"|for .{1,30}?,)\b[\s,:;–—-]*(?:that )?)*"
)
_ORDER = re.compile(
    _LEAD
    + r"(?:use|keep|put|write|name|call|set|make|store|send|go with|take|treat|target|deploy|ship|point|bind|listen|sign|tag"
    r"|quote|cite|reference|include|mention|base|compare|log|leave|drop|replace|switch|move|rename|pin|freeze|lock|limit"
    r"|cap"
    r"|route|mark|label|prefix|address|assign|hand|give|mount|publish|push|pull|save|place|file|stick|stay|hold|spell|stamp"
    r"|charge|bill|cc|copy|report|refer|rely|count|start|stop|wait|allow|accept|reject|block|ban|skip|read|load|export"
    r"|import"
    r"|expose|serve|host|guard|gate|hide|wrap|schedule|run|roll|release|merge|branch|cut|never|always|only|do not"
    r"|don['’]t|let)\b",
    re.I,
)
_SETTING = re.compile(_LEAD + r"(?:use|set|keep|limit|cap|listen|bind|go with|make|pin|fix|stick|stay)\b", re.I)
_MODAL = re.compile(
    r"\b(?:must|shall|ha(?:s|ve) (?:got )?to|needs? (?:to|not)|ought to|may (?:only|not)|can only|cannot|can['’]t"
    r"|won['’]t|supposed to"
    r"|required|requires?|mandatory|allowed|permitted|forbidden|prohibited|off.limits|reserved|never|always|only|exactly"
    r"|strictly"
    r"|nothing else|no(?:body| one| other)|(?:in|under) (?:every|all|any|no) \w+|whatever happens|without exception"
    r"|at all times"
    r"|every|each|(?:is|are) to\b|fixed (?:at|to)|expected to|make sure|see to it|be sure|ensure|not? (?:to"
    r"|be) (?:touched|changed"
    r"|edited)|agreed|agreement|decided|settled|signed off|insists?|demands?|policy|rule|convention|standard is|mandates?"
    r"|promised"
    r"|(?:keep|bear|have) in mind|remember|don['’]t forget|note that|mind that|belongs?|goes? (?:to|into|in|under|through"
    r"|on|by)"
    r"|hands? off|at (?:most|least)|(?:not?|never) (?:more|less|fewer)|up to|from (?:now|here) on(?:wards?)?"
    r"|until further notice|going forward|leave .{1,40} alone)\b"
    r"|必须|只能|只有|只用|只许|只准|只认|一律|统一|务必|一定|记住|记得|牢记|记下|别忘|注意|约定|规定|商定|说好|讲好|定为"
    r"|定在|定成|定的是|固定"
    r"|为准|要用|得用|请用|须|应当|应该|需要|不许|不得|不能|不准|不可|不要|别(?:动|碰|改|用|再)|禁止|全部|所有|凡是"
    r"|都(?:用|要|走|放|写|是|得)"
    r"|每(?:次|个|条|一)|以后|今后|从现在起|往后|交给|归|指定|仅",
    re.I,
)
_ADVISES = re.compile(
    r"\b(?:should|could|might|may want|prefer(?:s|red|ably)?|avoid|double.check|consider|ideally|probably|maybe|perhaps"
    r"|would be (?:nice"
    r"|good|better)|try to)\b|最好|尽量|建议|可以考虑|也许|可能|优先",
    re.I,
)
"""What weakens a rule to advice, unless it binds elsewhere."""
_DECLARES = re.compile(
    r"\b(?:our|the|one|my|a|house|team) (?:convention|rule|policy|standard|agreement|deal)(?: (?:here"
    r"|for .{1,30}?))?(?: is|:|,)"
    r"|(?:规矩|约定|规范|惯例)(?:是|[:：，])",
    re.I,
)
_REQUESTS = re.compile(
    _LEAD
    + r"(?:look|check|see|read|open|run|show|list|find|search|fix|add|implement|test|explain|tell|review|try|debug|investigate"
    r"|refactor|tidy|clean|continue|go on|go ahead|analy[sz]e|compare|update|rewrite|create|build|help|give me|i (?:get"
    r"|got|see|saw|have)"
    r"|there (?:is|are)|it (?:says|shows|fails|prints))\b(?!:)"
    r"|^(?:请|帮我?|麻烦)*(?:看|查|跑|读|修|找|运行|检查|解释|继续|分析|测试|加|写个|实现|重构)",
    re.I,
)
"""A piece of work that is asked for, or a report of what happened: it lays nothing down."""
_SAYS_WRONG = re.compile(
    r"\b(?:scratch|strike|disregard|forget|ignore|discard|scrap|drop) (?:that|this|what|it\b|my|our|the (?:earlier"
    r"|previous|last|old|above)"
    r"|whatever|everything)"
    r"|\b(?:I|we|I['’]d|we['’]d) (?:was|were|had|have|got|misspoke|mistyped|misread|mixed|gave|told|said|made"
    r"|messed)\b.{0,40}?\b(?:wrong"
    r"|mistaken(?:ly)?|mistake|typo|mixed|incorrect(?:ly)?|by accident|misspoke|outdated|confused|up the)\b"
    r"|\b(?:I|we) (?:misspoke|mistyped|misremembered|take (?:that|it) back|changed (?:my|our) minds?)\b"
    r"|\bmy (?:bad|mistake|error|fault)\b|\b(?:on )?second thoughts?\b|^\W*(?:small |quick |one )?(?:correction|erratum"
    r"|amendment)\b|\bto correct"
    r"|\bcorrection\s*[:,–—-]|\b(?:wrong|old|stale|void|obsolete|outdated|overruled|superseded|withdrawn|invalid"
    r"|null) (?:now|by now|already)\b"
    r"|\b(?:is|are|was|became) (?:now )?(?:void|obsolete|outdated|superseded|overruled|withdrawn)\b|\bno, (?:it|the|that"
    r"|not)\b"
    r"|更正|纠正|勘误|修正一下|说错|搞错|弄错|记错|写错|打错|讲错|看错|作废|不算数?|收回|撤回|推翻|失效|忘掉|忘了(?:我"
    r"|之前)|别管|说的不对|有误|取消"
    r"|(?:之前|刚才|刚刚|上次|前面|原来|先前)[^，。,]{0,12}(?:错|不对|不算|作废|别|忽略|改)",
    re.I,
)
"""That something said or held before does not hold."""
_CHANGES = re.compile(
    r"\b(?:has|have|had|been|was|were|is|are|got|gets|just|now) (?:been |now |just )*(?:changed?|moved|renamed|replaced"
    r"|revised|raised|lowered"
    r"|switched|updated|bumped|shifted|extended|postponed|brought forward|swapped|reassigned)\b|\b(?:is|are|becomes?"
    r"|lives?|goes|it['’]s|runs) now\b"
    r"|\bnow (?:is|it['’]s|lives?|goes|becomes|runs|reads|means)\b|\bas of (?:today|now)\b|\b(?:switch|change|move|swap"
    r"|update|bump|rename)\b.{1,60}?\b(?:to|for|into)\b"
    r"|\b(?:moved|changed|switched|renamed|bumped|raised|lowered|extended|postponed|pushed|went)\b.{0,40}?\b(?:to|from|up|down|back)\b"
    r"|\bmake (?:it|that)\b|\bactually\b|\binstead\b|\bturns out\b|\bno longer\b|\b(?:any ?more|any longer)\b"
    r"|\bin place of\b|\brather than\b"
    r"|\breplac(?:es|ed|ing)\b|\bsupersedes?\b|\boverrides?\b|\bused to be\b|\b(?:is|are) out(?=[,;.]| and)"
    r"|改[为成用到走在叫作名期由]|改一下|换[成到为用]|变[成更为]|调[整到为成]|移到|挪到|替换|提前到|推迟到|延[期后]到"
    r"|现在(?:是|用|叫|在|改|要|变)|应(?:为|该是)|改而|不再|而不是|不是[^，。]{1,30}，?而?是",
    re.I,
)
"""That something is otherwise now: a correction beside a value."""
_ASKS = re.compile(
    r"[?？][)\"'”）]*\s*$|[吗呢][。.!！]?$"
    r"|^(?:so |and |but |ok )?(?:what|why|how|where|when|who|which) (?:is|are|does|do|did|can|could|would|will|should"
    r"|about|if|to)\b"
    r"|^(?:is|are|does|did|can|could|would|will|should|have|has) (?:it|this|that|the|there|we|they|i|he|she|any|these"
    r"|those)\b"
    r"|^do (?:we|they|you|i|any)\b",
    re.I,
)
_SHORTEST, _LONGEST = 4, 400
_SHORT = 140
"""Characters."""


def ruling(sentence: str) -> float:
    """How surely a sentence of the user lays something down: RULE, FACT, ADVICE; 0 = it does not."""
    if not _SHORTEST <= len(sentence) <= _LONGEST or _ASKS.search(sentence):
        return 0.0
    if not prose(sentence):
        return FACT if labelled(sentence) and codes(sentence) else 0.0
    if _SAYS_WRONG.search(sentence):
        return RULE
    values, numbers = codes(sentence), measures(sentence)
    if (values or numbers) and _CHANGES.search(sentence):
        return RULE
    if (values or numbers) and _MODAL.search(sentence):
        return RULE
    if values and _ORDER.search(sentence):
        return RULE
    if _DECLARES.search(sentence):
        return FACT
    if _REQUESTS.search(sentence):
        return 0.0
    if values:
        return ADVICE if _ADVISES.search(sentence) else FACT
    return FACT if numbers and (_SETTING.search(sentence) or (telling(numbers) and len(sentence) <= _SHORT)) else 0.0
