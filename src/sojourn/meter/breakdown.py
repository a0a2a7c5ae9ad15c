"""Where a request's tokens go, in categories that add up to the level (M-4)."""

from sojourn.meter.estimate import estimate_image, estimate_text, estimate_value, total
from sojourn.wire import About, CallPart, ImagePart, ModelRequest, ReasoningPart, ResultPart, TextPart, Tool, WirePart

_MCP = "mcp__"
"""How the names of tools from MCP servers begin."""
_RENAMED = {"result": "results", "image": "images", "skill": "skills"}


def breakdown(request: ModelRequest, level: int) -> dict[str, int]:
    """Tokens by category; the values add up to ``level`` (tokens, not negative) exactly.

    Categories, in order of first appearance: ``tools``, ``mcp tools``, ``system``, ``tool prompt``, ``skills``,
    ``context``, ``reminder/<source>``, ``opening/<section>``, ``user``, ``assistant``, ``results``, ``images``.
    Each unit of the request stands in exactly one. What the estimate is off is spread in proportion (largest remainder).
    A request without any weight puts its level under ``other``.
    """
    weights: dict[str, int] = {}
    for category, tokens in _units(request):
        if tokens > 0:
            weights[category] = weights.get(category, 0) + tokens
    return _share(level, weights or {"other": 1})


def _units(request: ModelRequest) -> list[tuple[str, int]]:
    units = [("mcp tools" if tool.name.startswith(_MCP) else "tools", _tool(tool)) for tool in request.tools]
    units += [(_category(block.about), block.about.tokens or _text(block.text)) for block in request.system]
    for message in request.messages:
        for part in message.parts:
            units += _part(part)
    return units


def _category(about: About) -> str:
    if about.kind in ("reminder", "opening"):
        return f"{about.kind}/{about.name}" if about.name else about.kind
    if about.kind in ("system", "context") and about.name == "skills":
        return "skills"
    if about.kind == "system" and about.name in ("tools", "tool prompt"):
        return "tool prompt"
    return _RENAMED.get(about.kind, about.kind)


def _part(part: WirePart) -> list[tuple[str, int]]:
    match part:
        case ImagePart():
            return [("images", part.about.tokens or estimate_image(None, part.media_type, 0))]
        case ResultPart():
            return _result(part)
        case TextPart():
            return [(_category(part.about), part.about.tokens or _text(part.text))]
        case ReasoningPart():
            return [(_category(part.about), part.about.tokens or _text(part.text) + -(-len(part.redacted) // 4))]
        case CallPart():
            own = part.about.tokens or _text(part.name) + total(estimate_value(part.arguments))
            return [(_category(part.about), own)]


def _result(part: ResultPart) -> list[tuple[str, int]]:
    """Its contents, each where it belongs; the result's own number only where no text in it has one."""
    units = [unit for content in part.content for unit in _part(content)]
    texts = [content for content in part.content if isinstance(content, TextPart)]
    if part.about.tokens and not any(content.about.tokens for content in texts):
        units = [unit for unit in units if unit[0] == "images"] + [(_category(part.about), part.about.tokens)]
    return units


def _tool(tool: Tool) -> int:
    return tool.about.tokens or _text(tool.name) + _text(tool.description) + total(estimate_value(tool.schema))


def _text(text: str) -> int:
    return total(estimate_text(text))


def _share(level: int, weights: dict[str, int]) -> dict[str, int]:
    """Largest remainder; of equal remainders the earlier category gets the token."""
    whole = sum(weights.values())
    shares = {category: level * weight // whole for category, weight in weights.items()}
    left = level - sum(shares.values())
    for category in sorted(weights, key=lambda name: -(level * weights[name] % whole))[:left]:
        shares[category] += 1
    return shares
