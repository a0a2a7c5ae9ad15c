"""What generateContent refuses."""

import base64
import json
import re
from typing import Any
from urllib.parse import parse_qs

from provider import pictures
from provider.memory import Memory
from provider.refusal import Body, Refused
from provider.terms import Terms

_TOP = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
    "labels", "model", "store", "serviceTier",
}  # fmt: skip
_CONFIG = {
    "temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "responseLogprobs", "logprobs",
    "presencePenalty", "frequencyPenalty", "seed", "responseMimeType", "responseSchema", "responseJsonSchema",
    "responseModalities", "mediaResolution", "speechConfig", "audioTimestamp", "thinkingConfig", "imageConfig",
    "enableEnhancedCivicAnswers",
}  # fmt: skip
_PART = {
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "videoMetadata",
    "mediaResolution",
    "partMetadata",
}
_DATA = ("text", "functionCall", "functionResponse", "inlineData", "fileData")
_CALL = {"id", "name", "args"}
_RESPONSE = {"id", "name", "response", "parts", "willContinue", "scheduling"}
_DECLARATION = {"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"}
_SCHEMA = {
    "additionalProperties", "defs", "ref", "anyOf", "default", "description", "enum", "example", "format", "items",
    "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "nullable",
    "pattern", "properties", "propertyOrdering", "required", "title", "type",
}  # fmt: skip
_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$")
_NAME_RULE = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), "
    "colons (:), or dashes (-), with a maximum length of 64."
)
_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_DUMMIES = (*_WORDS, *(base64.b64encode(word.encode()).decode() for word in _WORDS))


def check_head(headers: dict[str, str], query: str, terms: Terms) -> None:
    """The key: a missing one is 403, a wrong one 400, as the service has it."""
    if terms.key is None:
        return
    key = headers.get("x-goog-api-key") or parse_qs(query).get("key", [""])[0]
    if not key:
        raise Refused(
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API "
            "consumer identity to call this API.",
            403,
        )
    if key != terms.key:
        detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
        raise Refused("API key not valid. Please pass a valid API key.", extra={"details": [detail]})


def check(body: Body, terms: Terms, memory: Memory) -> None:
    """Raises Refused for the first thing that is wrong. ``body["model"]`` is the name from the path."""
    model = body["model"]
    if terms.models is not None and model not in terms.models:
        raise Refused(
            f"models/{model} is not found for API version v1beta, or is not supported for generateContent. Call "
            "ListModels to see the list "
            "of available models and their supported methods.",
            404,
        )
    _known(body, _TOP - set(terms.refuse_fields), "")
    _known(body.get("generationConfig") or {}, _CONFIG - set(terms.refuse_fields), "generation_config")
    _check_tools(body)
    system = body.get("systemInstruction")
    if system is not None:
        _known(system, {"parts", "role"}, "system_instruction")
        _check_parts(system, "system_instruction", f"{_REQUEST}.system_instruction")
    contents = body.get("contents")
    if not contents:
        raise Refused(f"* {_REQUEST}.contents: contents is not specified\n")
    for at, content in enumerate(contents):
        _known(content, {"parts", "role"}, f"contents[{at}]")
        if content.get("role", "user") not in ("user", "model"):
            raise Refused("Please use a valid role: user, model.")
        _check_parts(content, f"contents[{at}]", f"{_REQUEST}.contents[{at}]")
    _check_turns(contents)
    _check_signatures(contents, model, memory)
    count = sum("inlineData" in part for content in contents for part in content["parts"])
    if count > terms.images_most:
        raise Refused(
            f"The number of images ({count}) exceeds the maximum number of images allowed ({terms.images_most})."
        )  # guessed


_REQUEST = "GenerateContentRequest"


def _known(value: Any, names: set[str], where: str) -> None:
    if not isinstance(value, dict):
        raise Refused(f"Invalid JSON payload received. Proto field is not repeating, cannot start list at '{where}'.")
    for name in value:
        if name not in names:
            at = f" at '{where}'" if where else ""
            raise Refused(f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.')


def _check_tools(body: Body) -> None:
    names = []
    for at, tool in enumerate(body.get("tools") or []):
        for place, one in enumerate(tool.get("functionDeclarations") or []):
            where = f"tools[{at}].function_declarations[{place}]"
            _known(one, _DECLARATION, where)
            if not isinstance(one.get("name"), str) or not _NAME.match(one["name"]):
                raise Refused(f"* {_REQUEST}.{where}.name: {_NAME_RULE}\n")
            if "parameters" in one and "parametersJsonSchema" in one:
                raise Refused(f"* {_REQUEST}.{where}: only one of parameters and parameters_json_schema may be set.\n")
            if "parameters" in one:
                _check_schema(one["parameters"], f"{where}.parameters")
            names.append(one["name"])
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Refused(f"Duplicate function declaration found: {twice}")
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if config.get("mode") == "ANY" and not names:
        raise Refused("Function calling config is set without function_declarations.")


def _check_schema(schema: Any, where: str) -> None:
    """``parameters`` is Google's own schema message, not any JSON Schema."""
    _known(schema, _SCHEMA, where)
    for name, one in (schema.get("properties") or {}).items():
        _check_schema(one, f"{where}.properties[{name}]")
    if "items" in schema:
        _check_schema(schema["items"], f"{where}.items")
    for at, one in enumerate(schema.get("anyOf") or []):
        _check_schema(one, f"{where}.any_of[{at}]")


def _check_parts(content: Body, where: str, full: str) -> None:
    parts = content.get("parts")
    if not parts:
        raise Refused(f"* {full}.parts: contents.parts must not be empty.\n")
    for at, part in enumerate(parts):
        spot = f"{where}.parts[{at}]"
        _known(part, _PART, spot)
        kinds = [name for name in _DATA if name in part]
        signed_end = "thoughtSignature" in part and part.get("text") == ""
        if len(kinds) != 1 or (part.get("text") == "" and not signed_end):
            raise Refused(f"* {full}.parts[{at}].data: required oneof field 'data' must have one initialized field\n")
        if kinds == ["text"] and not signed_end and not part["text"].strip():
            raise Refused(
                "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again."
            )
        if kinds == ["functionCall"]:
            _check_call(part["functionCall"], spot, full, at)
        elif kinds == ["functionResponse"]:
            _check_response(part["functionResponse"], spot, full, at)
        elif kinds == ["inlineData"]:
            _check_blob(part["inlineData"], spot)
        signature = part.get("thoughtSignature")
        if signature is not None and pictures.decode(pictures.plain(signature)) is None and signature not in _DUMMIES:
            raise Refused(
                f"Invalid value at '{spot}.thought_signature' (TYPE_BYTES), Base64 decoding failed for \"{signature}\""
            )


def _check_call(call: Body, spot: str, full: str, at: int) -> None:
    _known(call, _CALL, f"{spot}.function_call")
    if not call.get("name"):
        raise Refused(f"* {full}.parts[{at}].function_call.name: Name cannot be empty.\n")
    if not isinstance(call.get("args", {}), dict):
        raise Refused(
            f"Invalid value at '{spot}.function_call.args' (type.googleapis.com/google.protobuf.Struct), "
            f"{json.dumps(call['args'])}"
        )


def _check_response(response: Body, spot: str, full: str, at: int) -> None:
    _known(response, _RESPONSE, f"{spot}.function_response")
    if not response.get("name"):
        raise Refused(f"* {full}.parts[{at}].function_response.name: Name cannot be empty.\n")
    if not isinstance(response.get("response"), dict):
        value = json.dumps(response.get("response"))
        raise Refused(
            f"Invalid value at '{spot}.function_response.response' (type.googleapis.com/google.protobuf.Struct), {value}"
        )
    for place, part in enumerate(response.get("parts") or []):
        if "inlineData" in part:
            _check_blob(part["inlineData"], f"{spot}.function_response.parts[{place}]")


def _check_blob(blob: Body, spot: str) -> None:
    _known(blob, {"mimeType", "data", "displayName"}, f"{spot}.inline_data")
    raw = pictures.decode(pictures.plain(blob.get("data") or ""))
    if not raw:
        raise Refused(f"Invalid value at '{spot}.inline_data.data' (TYPE_BYTES), Base64 decoding failed")
    mime = blob.get("mimeType", "")
    if not mime.startswith("image/"):
        raise Refused(f"Unsupported MIME type: {mime}")
    if pictures.media_type(raw) != mime or pictures.size(raw) is None:
        raise Refused("Unable to process input image. Please retry or report in the issue tracker")


def _kind(content: Body) -> str:
    if content.get("role", "user") == "model":
        return "call" if any("functionCall" in part for part in content["parts"]) else "model"
    return "response" if any("functionResponse" in part for part in content["parts"]) else "user"


def _check_turns(contents: list[Body]) -> None:
    kinds = [_kind(content) for content in contents]
    for at, kind in enumerate(kinds):
        before = kinds[at - 1] if at else ""
        if kind == "call" and before not in ("user", "response"):
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if kind == "response" and before != "call":
            raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
        if before == "call" and kind != "response":
            raise Refused(_COUNTS)
        if kind == "response":
            _check_answers(contents[at - 1]["parts"], contents[at]["parts"])
        side, side_before = kind in ("call", "model"), before in ("call", "model")
        if (not at and side) or (at and side == side_before):
            raise Refused("Please ensure that multiturn requests alternate between user and model.")
    if kinds[-1] not in ("user", "response"):
        raise Refused("Please ensure that multiturn requests ends with a user role or a function response.")


_COUNTS = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


def _check_answers(calls: list[Body], answers: list[Body]) -> None:
    asked = [part["functionCall"] for part in calls if "functionCall" in part]
    got = [part["functionResponse"] for part in answers if "functionResponse" in part]
    ids = [call["id"] for call in asked if call.get("id")]
    if len(asked) != len(got):
        raise Refused(_COUNTS)
    if len(set(ids)) < len(ids):
        raise Refused("Please ensure that function call ids are unique.")  # wording guessed
    if sorted((one["name"], one.get("id", "")) for one in asked) != sorted((one["name"], one.get("id", "")) for one in got):
        raise Refused("Please ensure that function response name and id match those of the function call.")  # wording guessed


_FREE = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "labels", "partMetadata")
"""Fields whose content is no message of the protocol."""


def plain_names(value: Any) -> Any:
    """The body with the names of its fields as the protocol's JSON has them: the service takes ``snake_case`` too."""
    if isinstance(value, list):
        return [plain_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {}
    for name, one in value.items():
        camel = re.sub(r"(?<=[a-z])_([a-z])", lambda found: found[1].upper(), name)
        if camel in _FREE:
            plain[camel] = one
        elif camel == "properties" and isinstance(one, dict):
            plain[camel] = {key: plain_names(schema) for key, schema in one.items()}
        else:
            plain[camel] = plain_names(one)
    return plain


def call_key(name: str, arguments: Any) -> str:
    """What a call is known by when it comes back."""
    return f"{name} {json.dumps(arguments or {}, sort_keys=True, ensure_ascii=False)}"


def _check_signatures(contents: list[Body], model: str, memory: Memory) -> None:
    running = max((at for at, content in enumerate(contents) if _kind(content) == "user"), default=0)
    for at, content in enumerate(contents):
        if content.get("role", "user") != "model":
            continue
        first = True
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            call = part.get("functionCall")
            key = call_key(call["name"], call.get("args")) if call else "text"
            if (
                signature is not None
                and signature not in _DUMMIES
                and memory.google.get(pictures.plain(signature)) != (model, key)
            ):
                raise Refused("Unable to submit request because Thought signature is not valid.")
            if call:
                given = memory.google_calls.get(key) if first else None
                if signature is None and given is not None and at > running and memory.google[given][0] == model:
                    raise Refused(
                        "Function call is missing a thought_signature in functionCall parts. This is required for "
                        "tools to work correctly, "
                        "and missing thought_signature may lead to degraded model performance. Additional data, function call "
                        f"`default_api:{call['name']}` , position {at + 1}. "
                        "Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
                    )
                first = False
