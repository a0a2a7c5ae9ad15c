"""What a host of the Messages API asks for beside the body's shape, and its own conditions."""

from provider.anthropic_pieces import TOOL, assistant, body, image, system, user
from provider.pieces import png
from provider.raw import heads, post, refusal
from provider.server import Provider


def test_head() -> None:
    with Provider(["x"], models={"m"}) as provider:
        assert post(provider, "anthropic", body(), headers=heads("anthropic", None))[:2] == (
            401,
            {
                "type": "error",
                "error": {"type": "authentication_error", "message": "x-api-key header is required"},
                "request_id": "req_000001",
            },
        )
        status, answer, _ = post(provider, "anthropic", body(), headers=heads("anthropic", "other"))
        assert (status, answer["error"]["message"]) == (401, "invalid x-api-key")
        plain = {name: value for name, value in heads("anthropic").items() if name != "anthropic-version"}
        status, answer, _ = post(provider, "anthropic", body(), headers=plain)
        assert (status, answer["error"]["message"]) == (400, "anthropic-version: header is required")
        status, answer, _ = post(provider, "anthropic", {**body(), "model": "n"})
        assert (status, answer["error"]) == (404, {"type": "not_found_error", "message": "model: n"})
        status, answer, _ = post(provider, "anthropic", b"{")
        assert (status, answer["error"]["message"]) == (400, "The request body is not valid JSON")
        bearer = {**plain, "anthropic-version": "2023-06-01", "authorization": "Bearer test-key"}
        del bearer["x-api-key"]
        assert post(provider, "anthropic", body(), headers=bearer)[0] == 200


def test_counting_takes_no_max_tokens() -> None:
    with Provider() as provider:
        assert refusal(provider, "count", body()) == "max_tokens: Extra inputs are not permitted"
        counted = {
            name: value for name, value in body(user("x" * 40), system="y" * 8, tools=[TOOL]).items() if name != "max_tokens"
        }
        schema = len('{"type":"object","properties":{}}')
        assert post(provider, "count", counted)[1] == {"input_tokens": (4 + 10) + 2 + (8 + 1 + 2 + -(-schema // 4))}
        assert provider.requests == []


def test_conditions_of_the_host() -> None:
    with Provider(lambda seen: "x") as provider:
        late = body(user("Hi"), system("x"))
        assert refusal(provider, "anthropic", late) == "messages.1: role 'system' is not supported on this model"
    with Provider(
        lambda seen: "x", prefill=True, refuse_fields=["top_k"], output_in_limit=True, limit=1_000, body_bytes=20_000
    ) as provider:
        assert refusal(provider, "anthropic", body(user("Hi"), assistant("So"))) == ""
        assert refusal(provider, "anthropic", body(user("Hi"), assistant("So "))) == (
            "messages: final assistant content cannot end with trailing whitespace"
        )
        assert refusal(provider, "anthropic", body(top_k=1)) == "top_k: Extra inputs are not permitted"
        assert refusal(provider, "anthropic", body(max_tokens=995)) == ""
        assert refusal(provider, "anthropic", body(max_tokens=996)).startswith(
            "input length and `max_tokens` exceed context limit: 5 + 996 > 1000, decrease input length or `max_tokens`"
        )
        status, answer, _ = post(provider, "anthropic", body(user("x" * 20_001)))
        assert (status, answer["error"]["type"]) == (413, "request_too_large")


def test_a_picture_counts_by_the_length_of_its_base64() -> None:
    with Provider(lambda seen: "x", image_base64=1_000) as provider:
        fitting = png(1, 1, filling=750 - 33)
        assert len(fitting) == 1_000
        assert refusal(provider, "anthropic", body(user(image(fitting)))) == ""
        assert refusal(provider, "anthropic", body(user(image(png(1, 1, filling=753 - 33))))) == (
            "messages.0.content.0.image.source.base64: image exceeds 0 MB maximum: 1004 bytes > 1000 bytes"
        )
