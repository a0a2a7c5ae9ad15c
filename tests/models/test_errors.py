"""What providers really answer, in their published formats, and what it means (A-2)."""

# ruff: noqa: E501 - bodies stand as they come

import email.utils
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import ErrorKind
from sojourn.models.errors import classify
from sojourn.wire import ModelError

OVERFLOW, MALFORMED = ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST
RATE, OVERLOADED, AUTH = ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.AUTH_FAILED
REFUSED, UNAVAILABLE = ErrorKind.REFUSED, ErrorKind.UNAVAILABLE


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def openai(message: str, *, code: Any = None, type: str = "invalid_request_error", param: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def gemini(code: int, status: str, message: str, details: Any = ()) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def zai(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def openrouter(code: int, raw: str, name: str = "Upstream") -> dict[str, Any]:
    return {"error": {"message": "Provider returned error", "code": code, "metadata": {"raw": raw, "provider_name": name}}}


def error(status: int | None, body: Any, headers: dict[str, str] | None = None) -> ModelError:
    return classify(
        status=status, body=body if isinstance(body, str) else json.dumps(body, ensure_ascii=False), headers=headers or {}
    )


PER_DAY = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
    },
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
]
PER_MINUTE = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateContentInputTokensPerModelPerMinute"}],
    },
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
]
GEMINI_QUOTA = "You exceeded your current quota, please check your plan and billing details."

OVERFLOWS: list[tuple[int | None, Any, int | None, int | None]] = [
    # status, body, limit, used
    (400, anthropic("invalid_request_error", "prompt is too long: 270000 tokens > 200000 maximum"), 200_000, 270_000),
    (
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
        ),
        200_000,
        188_240,
    ),
    (413, anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB."), None, None),
    (429, anthropic("rate_limit_error", "Extra usage is required for long context requests."), None, None),
    (400, anthropic("invalid_request_error", "The long context beta is not yet available for this subscription."), None, None),
    (
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (120000 in the messages, "
            "10000 in the completion). Please reduce the length of the messages or completion.",
            code="context_length_exceeded",
            param="messages",
        ),
        128_000,
        120_000,
    ),
    (
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 129100 tokens.",
            code="context_length_exceeded",
        ),
        128_000,
        129_100,
    ),
    (400, openai("Your input exceeds the context window of this model. Please adjust your input and try again.", code="context_length_exceeded"), None, None),
    (None, {"type": "error", "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model.", "param": "input"}, None, None),
    (
        400,
        openai("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens. Please reduce the length of the messages.", code="context_length_exceeded"),
        272_000,
        300_123,
    ),
    (
        400,
        openai("Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.", code="string_above_max_length"),
        None,
        None,
    ),
    (
        429,
        openai("Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40321. The input or output tokens must be reduced in order to run successfully.", code="rate_limit_exceeded", type="tokens"),
        30_000,
        40_321,
    ),
    (413, openai("Request too large for model `llama-3.3-70b-versatile` in organization `org_x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.", code="rate_limit_exceeded", type="tokens"), 6_000, 9_000),
    (400, openai("Please reduce the length of the messages or completion.", code="context_length_exceeded", param="messages"), None, None),
    (400, gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), 1_048_576, 1_200_000),
    (400, gemini(400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576."), 1_048_576, None),
    (400, gemini(400, "INVALID_ARGUMENT", "Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count and try again."), 32_768, 40_000),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9001, "n_ctx": 8192}}, 8_192, 9_001),
    (400, {"error": {"code": 400, "message": "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it", "type": "exceed_context_size_error"}}, 8_192, 9_001),
    (500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}, None, None),
    (500, {"error": {"code": 500, "message": "input is too large to process. increase the physical batch size", "type": "server_error"}}, None, None),
    (
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.", "type": "BadRequestError", "param": None, "code": 400},
        4_096,
        4_000,
    ),
    (400, openai("This model's maximum context length is 8192 tokens. However, your request has 8500 input tokens. Please reduce the length of the input messages.", type="BadRequestError", code=400), 8_192, 8_500),
    (400, openai("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000).", type="BadRequestError", code=400), 8_192, 6_000),
    (400, openai("This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your prompt contains at least 28673 input tokens, for a total of at least 32769 tokens.", type="BadRequestError", code=400), 32_768, 28_673),
    (400, {"error": "prompt too long; exceeded max context length by 123 tokens"}, None, None),
    (500, {"error": "the input length exceeds the context length"}, None, None),
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}, 4_096, 5_000),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}, None, None),
    (400, openai("This model's maximum context length is 65536 tokens. However, you requested 85000 tokens (77000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion."), 65_536, 77_000),
    (400, zai("1261", "Prompt exceeds max length"), None, None),
    (400, zai("1261", "Prompt 超长"), None, None),
    (400, openai("Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)"), 262_144, 270_000),
    (400, openai("This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (140000 of text input, 10000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", code=400), 131_072, 140_000),
    (400, openrouter(400, '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}', "Anthropic"), 200_000, 213_462),
    (400, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}, 131_072, 537_812),
    (400, {"object": "error", "message": "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_prompt_too_long", "code": "3051"}, 32_768, 65_673),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 1000 `max_new_tokens`", "error_type": "validation"}, 8_193, 8_000),
    (400, {"code": "InvalidParameter", "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", "request_id": "a1"}, 129_024, None),
    (200, {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}}, None, None),
    (400, {"message": "Input is too long for requested model."}, None, None),
    (400, openai("prompt token count of 137500 exceeds the limit of 128000", code="model_max_prompt_tokens_exceeded"), 128_000, 137_500),
    (400, {"message": "too many tokens: size limit exceeded by 1200 tokens. Try using shorter or fewer inputs."}, None, None),
    (400, "context window exceeded: used 270k of 262k", 262_000, 270_000),
    (413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><center>nginx</center></body></html>", None, None),
    (413, "", None, None),
    (400, "", None, None),
]  # fmt: skip


@pytest.mark.design("A-2", "C-10", "M-2")
@pytest.mark.report(121)
@pytest.mark.parametrize(("status", "body", "limit", "used"), OVERFLOWS)
def test_overflows(status: int | None, body: Any, limit: int | None, used: int | None) -> None:
    got = error(status, body)
    assert got.kind is OVERFLOW, str(got)
    assert (got.limit, got.used) == (limit, used)
    assert "new window" in got.next_step
    if limit and used:
        assert f"{used:,} of {limit:,} tokens" in str(got)


OTHERS: list[tuple[int | None, Any, ErrorKind, str]] = [
    # status, body, kind, in the message or the next step
    # the account: a repetition does not help
    (400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), AUTH, "credit"),
    (429, openai("You exceeded your current quota, please check your plan and billing details.", code="insufficient_quota", type="insufficient_quota"), AUTH, "credit"),
    (402, openai("Insufficient Balance", type="unknown_error", code="invalid_request_error"), AUTH, "credit"),
    (402, {"error": {"message": "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1200.", "code": 402}}, AUTH, "credit"),
    (402, {"error": {"message": "Prompt tokens limit exceeded: 12000 > 3000, which exceeds the model's context length you can afford", "code": 402}}, AUTH, "credit"),
    (429, zai("1113", "余额不足或无可用资源包,请充值。"), AUTH, "credit"),
    (429, zai("1308", "Usage limit reached for 5 hour. Your limit will reset at 2026-11-30 08:00:00"), AUTH, "2026-11-30 08:00:00"),
    (429, openai("Your account org-x is suspended, please check your plan and billing details", type="exceeded_current_quota_error"), AUTH, "credit"),
    (429, gemini(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA, PER_DAY), AUTH, "credit or quota"),
    (429, {"error": {"message": "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day", "code": 429}}, AUTH, "credit"),
    (429, {"message": "Too many tokens per day, please wait before trying again."}, AUTH, "quota"),
    (400, {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}, AUTH, "credit"),
    (403, {"code": "The caller does not have permission", "error": "Your team has either used all available credits or reached its monthly spending limit."}, AUTH, "credit"),
    # the key
    (401, anthropic("authentication_error", "invalid x-api-key"), AUTH, "refused the key"),
    (401, openai("Incorrect API key provided: sk-proj-abcdefghijkl. You can find your API key at the platform.", code="invalid_api_key"), AUTH, "[key]"),
    (400, gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [{"reason": "API_KEY_INVALID"}]), AUTH, "refused the key"),
    (403, anthropic("permission_error", "Your API key does not have permission to use the specified resource."), AUTH, "forbids"),
    (403, openai("Country, region, or territory not supported", code="unsupported_country_region_territory", type="request_forbidden"), AUTH, "not supported"),
    (403, {"message": "The security token included in the request is invalid.", "__type": "UnrecognizedClientException"}, AUTH, "security token"),
    (403, gemini(403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before or it is disabled."), AUTH, "forbids"),
    (400, openai("Incorrect API key provided: xai-AbCdEfGhIjKlMn.", code="Client specified an invalid argument"), AUTH, "[key]"),
    (401, {"error": {"message": "User not found.", "code": 401}}, AUTH, "sojourn models"),
    (401, "", AUTH, "refused the key"),
    (403, "", AUTH, "forbids"),
    (None, anthropic("authentication_error", "OAuth token has expired"), AUTH, "refused the key"),
    # the model's name, the address
    (404, anthropic("not_found_error", "model: claude-nonsense-9"), AUTH, "sojourn models"),
    (404, openai("The model `gpt-99` does not exist or you do not have access to it.", code="model_not_found"), AUTH, "does not know this model"),
    (404, gemini(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent."), AUTH, "sojourn models"),
    (404, {"error": "model 'qwen9' not found"}, AUTH, "sojourn models"),
    (404, {"error": {"message": "model \"qwen9\" not found, try pulling it first", "type": "api_error", "param": None, "code": None}}, AUTH, "does not know this model"),
    (404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "param": None, "code": 404}, AUTH, "sojourn models"),
    (400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}, AUTH, "sojourn models"),
    (400, zai("1211", "Unknown Model, please check the model code."), AUTH, "does not know this model"),
    (400, openai("Model Not Exist"), AUTH, "does not know this model"),
    (400, {"object": "error", "message": "Invalid model: mistral-gigantic", "type": "invalid_model", "code": "1500"}, AUTH, "sojourn models"),
    (422, {"error": {"message": "model 'x' not found"}}, AUTH, "does not know this model"),
    (403, {"error": {"message": "The model x is not available to this project", "code": "model_not_found"}}, AUTH, "does not know this model"),
    (404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}, AUTH, "does not know this model"),
    (404, {"error": "No models loaded. Please load a model in the developer page or use the 'lms load' command."}, AUTH, "sojourn models"),
    (400, {"message": "The provided model identifier is invalid."}, AUTH, "does not know this model"),
    (404, {"detail": "Not Found"}, AUTH, "--base-url"),
    (404, "404 page not found", AUTH, "--base-url"),
    (404, "<!DOCTYPE html><html><head><title>Not here</title></head></html>", AUTH, "--base-url"),
    (200, "<!doctype html>\n<html><title>Welcome</title><body>hi</body></html>", AUTH, "--base-url"),
    (405, {"detail": "Method Not Allowed"}, AUTH, "--base-url"),
    (301, "", AUTH, "--base-url"),
    (501, "", AUTH, "no such service"),
    # rates
    (429, anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 40,000 input tokens per minute."), RATE, "rate limit"),
    (429, openai("Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Please try again in 6s.", code="rate_limit_exceeded", type="tokens"), RATE, "rate limit"),
    (429, gemini(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA, PER_MINUTE), RATE, "rate limit"),
    (429, gemini(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), RATE, "rate limit"),
    (429, openai("Your account org-x request reached max request: 3, please try again after 1 seconds", type="rate_limit_reached_error"), RATE, "rate limit"),
    (429, zai("1302", "High concurrency usage of this API, please reduce concurrency or contact customer service"), RATE, "rate limit"),
    (429, {"message": "Too many tokens, please wait before trying again.", "__type": "ThrottlingException"}, RATE, "rate limit"),
    (400, {"message": "Too many requests, please wait before trying again.", "__type": "ThrottlingException"}, RATE, "rate limit"),
    (429, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later."}, RATE, "rate limit"),
    (429, {"message": "Requests rate limit exceeded"}, RATE, "rate limit"),
    (429, openrouter(429, "deepseek/deepseek-r1:free is temporarily rate-limited upstream. Please retry shortly."), RATE, "temporarily"),
    (200, {"error": {"code": 429, "message": "Rate limit exceeded"}}, RATE, "rate limit"),
    (429, "", RATE, "rate limit"),
    (None, anthropic("rate_limit_error", "Slower, please."), RATE, "rate limit"),
    (503, "Rate limit exceeded", RATE, "rate limit"),
    (200, {"base_resp": {"status_code": 1002, "status_msg": "rate limit exceeded(RPM)"}}, RATE, "rate limit"),
    (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, AUTH, "credit"),
    (401, zai("1002", "Invalid Authentication Token"), AUTH, "refused the key"),
    # overloads
    (529, anthropic("overloaded_error", "Overloaded"), OVERLOADED, "overloaded"),
    (None, anthropic("overloaded_error", "Overloaded"), OVERLOADED, "overloaded"),
    (200, anthropic("overloaded_error", "Overloaded"), OVERLOADED, "overloaded"),
    (503, gemini(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), OVERLOADED, "overloaded"),
    (429, openai("The engine is currently overloaded, please try again later", type="engine_overloaded_error"), OVERLOADED, "overloaded"),
    (429, zai("1305", "The API is currently receiving too many calls, please try again later"), OVERLOADED, "overloaded"),
    (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}, OVERLOADED, "overloaded"),
    (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, OVERLOADED, "Loading model"),
    (503, openai("Slow down", code="slow_down", type="server_error"), OVERLOADED, "overloaded"),
    (529, "", OVERLOADED, "overloaded"),
    # outages
    (500, anthropic("api_error", "Internal server error"), UNAVAILABLE, "500"),
    (None, anthropic("api_error", "Internal server error"), UNAVAILABLE, "connection"),
    (500, openai("The server had an error while processing your request. Sorry about that!", type="server_error"), UNAVAILABLE, "500"),
    (502, "<html><head><title>502 Bad Gateway</title></head><body></body></html>", UNAVAILABLE, "502 Bad Gateway"),
    (500, "<html><title>Media gateway</title></html>", UNAVAILABLE, "Media gateway"),
    (503, "upstream connect error or disconnect/reset before headers", UNAVAILABLE, "503"),
    (504, gemini(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."), UNAVAILABLE, "504"),
    (408, "", UNAVAILABLE, "408"),
    (409, "", UNAVAILABLE, "409"),
    (425, "", UNAVAILABLE, "425"),
    (499, "", UNAVAILABLE, "499"),
    (None, {"error": {"code": 502, "message": "Provider went away"}}, UNAVAILABLE, "status 502"),
    (None, "Connection refused", UNAVAILABLE, "connection"),
    (None, "", UNAVAILABLE, "connection"),
    (500, {"error": "error parsing tool call: raw='{\"a\": ' err=unexpected end of JSON input"}, UNAVAILABLE, "call"),
    (400, openai("Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", code="tool_use_failed"), UNAVAILABLE, "call that the model made"),
    (200, "not json", UNAVAILABLE, "cannot be read"),
    # filters
    (400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), REFUSED, "filter"),
    (400, {"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "code": "content_filter", "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, REFUSED, "filter"),
    (400, openai("Content Exists Risk"), REFUSED, "filter"),
    (400, {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}, REFUSED, "filter"),
    (400, zai("1301", "系统检测到输入或生成内容可能包含不安全或敏感内容"), REFUSED, "filter"),
    (400, openai("The request was rejected because it was considered high risk", type="content_filter"), REFUSED, "filter"),
    (403, {"error": {"message": "Your chosen model requires moderation and your input was flagged for \"violence\"", "code": 403}}, REFUSED, "filter"),
    (400, openai("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", code="invalid_prompt"), REFUSED, "filter"),
    # the request
    (400, anthropic("invalid_request_error", "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message."), MALFORMED, "at messages.4"),
    (400, anthropic("invalid_request_error", "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_02."), MALFORMED, "at messages.0.content.1"),
    (400, anthropic("invalid_request_error", "messages: text content blocks must be non-empty"), MALFORMED, "non-empty"),
    (400, anthropic("invalid_request_error", "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"), MALFORMED, "alternate"),
    (400, anthropic("invalid_request_error", "messages.9.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."), MALFORMED, "messages.9.content.0"),
    (400, anthropic("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"), MALFORMED, "signature"),
    (400, anthropic("invalid_request_error", "A maximum of 4 blocks with cache_control may be provided. Found 5."), MALFORMED, "Found 5"),
    (400, anthropic("invalid_request_error", "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x"), MALFORMED, "64000"),
    (400, anthropic("invalid_request_error", "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"), MALFORMED, "picture at messages.3.content.1.image.source.base64"),
    (400, anthropic("invalid_request_error", "messages.12.content.26.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"), MALFORMED, "messages.12.content.26"),
    (400, anthropic("invalid_request_error", "Too much media: 0 document pages + 101 images > 100"), MALFORMED, "picture"),
    (413, openai("Image payload for messages[2] is larger than what is taken"), MALFORMED, "picture at messages[2]"),
    (400, openai("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1", param="messages.[3].role"), MALFORMED, "tool_calls"),
    (400, openai("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param="messages.[2].role"), MALFORMED, "role 'tool'"),
    (400, openai("No tool output found for function call call_abc.", param="input"), MALFORMED, "No tool output"),
    (400, openai("Item 'rs_1' of type 'reasoning' was provided without its required following item.", param="input"), MALFORMED, "rs_1"),
    (400, openai("Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 60 instead.", code="string_above_max_length"), MALFORMED, "at messages[1].tool_calls[0].id"),
    (400, gemini(400, "INVALID_ARGUMENT", "Please ensure that function call turn comes immediately after a user turn or after a function response turn."), MALFORMED, "function call turn"),
    (400, gemini(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature in functionCall parts."), MALFORMED, "thought_signature"),
    (400, openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"), MALFORMED, "reasoning_content"),
    (500, {"error": {"code": 500, "message": "Conversation roles must alternate user/assistant/user/assistant/...", "type": "server_error"}}, MALFORMED, "alternate"),
    (500, {"error": {"code": 500, "message": "jinja template error: No user query found in messages.", "type": "server_error"}}, MALFORMED, "No user query"),
    (400, openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", code="unsupported_parameter"), MALFORMED, "max_completion_tokens"),
    (400, anthropic("invalid_request_error", "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\"."), MALFORMED, "adaptive"),
    (400, openai("The model `llama-2` has been decommissioned and is no longer supported.", code="model_decommissioned"), AUTH, "does not know this model"),
    (422, {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}]}, MALFORMED, "Field required"),
    (400, {"object": "error", "message": "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "type": "invalid_request_error", "code": "3230"}, MALFORMED, "last role"),
    (None, anthropic("invalid_request_error", "tools.0: bad"), MALFORMED, "tools.0"),
]  # fmt: skip


@pytest.mark.design("A-2", "C-10")
@pytest.mark.report(60, 63, 64, 122)
@pytest.mark.parametrize(("status", "body", "kind", "told"), OTHERS)
def test_the_rest(status: int | None, body: Any, kind: ErrorKind, told: str) -> None:
    got = error(status, body)
    assert got.kind is kind, (got.kind, str(got))
    assert told in f"{got} {got.next_step}", (str(got), got.next_step)
    assert (got.limit, got.used) == (None, None)
    assert got.next_step or got.kind is MALFORMED


@pytest.mark.design("A-2")
def test_the_table_is_long_enough() -> None:
    assert len(OVERFLOWS) + len(OTHERS) >= 140


@pytest.mark.design("A-3")
@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"Retry-After": " 2.5 "}, "", 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "0"}, "", 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, "", 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({}, openai("Please try again in 20s.", code="rate_limit_exceeded"), 20.0),
        ({}, openai("Please try again in 86ms.", code="rate_limit_exceeded"), 0.086),
        ({}, openai("on tokens per day (TPD): Limit 100000, Used 99000, Requested 3000. Please try again in 1h2m3.5s.", code="rate_limit_exceeded"), 3723.5),
        ({}, openai("please try again after 1 seconds", type="rate_limit_reached_error"), 1.0),
        ({}, openai("Retry after 5 minutes"), 300.0),
        ({}, gemini(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA, PER_MINUTE), 34.0),
        ({}, gemini(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA + " Please retry in 34.074824224s."), 34.074824224),
        ({"retry-after": "3"}, openai("Please try again in 20s."), 3.0),
        ({}, openai("Rate limit reached."), None),
    ],
)  # fmt: skip
def test_how_long_to_wait(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    got = error(429, body, headers)
    assert got.kind is RATE, str(got)
    assert got.retry_after == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.design("A-3")
def test_a_date_without_the_server_s_clock() -> None:
    got = error(503, "", {"retry-after": email.utils.formatdate(time.time() + 60, usegmt=True)})
    assert got.kind is UNAVAILABLE
    assert got.retry_after is not None
    assert 50 < got.retry_after <= 60


@pytest.mark.design("A-2")
def test_only_what_may_be_asked_again_names_a_wait() -> None:
    assert error(401, "", {"retry-after": "7"}).retry_after is None
    assert error(400, "prompt is too long", {"retry-after": "7"}).retry_after is None


@pytest.mark.design("A-2")
def test_no_page_no_key_one_line() -> None:
    page = "<!DOCTYPE html>\n<html><head><title>Bad\n Gateway</title></head><body>" + "<p>x</p>" * 9_000 + "</body></html>"
    assert str(error(502, page)) == "the provider failed (status 502): Bad Gateway"
    for secret in ("sk-ant-api03-abcDEF123456", "xai-AbCdEf123456789", "AIzaSyA-123456789abcdef", "gsk_abcdefgh12345678",
                   "Bearer abcdef.ghijk", "0123456789abcdef0123456789abcdef.AbCdEfGhIjKl", "ab12****wxyz"):  # fmt: skip
        told = str(error(401, openai(f"Incorrect API key provided: {secret}")))
        assert secret not in told
        assert "[key]" in told
    long = str(error(400, openai("word\n" * 1_000)))
    assert "\n" not in long
    assert long == "the provider does not take the request: " + ("word " * 1_000)[:397] + "..."
    assert str(error(400, openai("x" * 400))).endswith(": " + "x" * 400)


@pytest.mark.design("A-2")
def test_numbers_that_cannot_be_tokens_are_left_out() -> None:
    assert error(400, "prompt is too long: 999999999999 tokens > 0 maximum").limit is None
    assert error(400, "prompt is too long: 999999999999 tokens > 0 maximum").used is None
    assert error(400, "prompt is too long: 1,200,000 tokens > 1,000,000 maximum").limit == 1_000_000
    assert error(400, "context length exceeded, used 1.5M of 1M").used == 1_500_000


_ANY = st.one_of(
    st.text(max_size=300),
    st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "code", "type", "detail", "status", "n_ctx", "raw", "x"]), inner, max_size=4),
        max_leaves=12,
    ).map(json.dumps),
)  # fmt: skip


@pytest.mark.design("A-2")
@settings(max_examples=150, deadline=None)
@given(
    st.none() | st.integers(100, 999),
    _ANY,
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date", "Retry-After"]), st.text(max_size=30), max_size=3
    ),
)
def test_nothing_makes_it_fail(status: int | None, body: str, headers: dict[str, str]) -> None:
    got = classify(status=status, body=body, headers=headers)
    assert isinstance(got.kind, ErrorKind)
    assert str(got)
    assert "\n" not in str(got)
    assert len(str(got)) < 700
    assert got.retry_after is None or got.retry_after >= 0


@pytest.mark.design("A-2")
@pytest.mark.parametrize(
    "body",
    [
        "prompt " * 1_000_000, "{" * 500_000, "[" * 500_000, '{"error":' * 200_000, "<" * 500_000, "messages.1" * 100_000,
        "1" * 1_000_000, "model " * 200_000, "\x00" * 1_000, '{"message": "' + "\\u0000" * 9_000, "try again in " * 90_000,
    ],
)  # fmt: skip
def test_huge_bodies_are_quick(body: str) -> None:
    began = time.process_time()
    for status in (None, 200, 400, 404, 429, 500):
        assert str(classify(status=status, body=body))
    assert time.process_time() - began < 3
