"""Secrets never pass, ordinary code does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.checkpoint import MARK, redact

SECRETS = [
    ("export OPENAI_API_KEY=sk-proj-abcdEFGH1234567890abcd", "sk-proj-abcdEFGH1234567890abcd"),
    ("key sk-ant-abcdefghij0123456789 in use", "abcdefghij0123456789"),
    ("GITHUB: ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("aws AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
    ("slack xoxb-123456789012-abcdefGHIJKL", "xoxb-123456789012-abcdefGHIJKL"),
    ("google AIzaSyA-1234567890abcdefghijklmnopqrs", "AIzaSyA-1234567890abcdefghijklmnopqrs"),
    ("stripe sk_live_4242424242abcdef", "sk_live_4242424242abcdef"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.abcdefgh", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.abcdefgh"),
    ("Authorization: Bearer abcdef1234567890xyz", "abcdef1234567890xyz"),
    ("postgres://admin:hunter2@db.local:5432/app", "hunter2"),
    ("redis://:s3cr3t@cache:6379", "s3cr3t"),
    ("password = 'correct-horse'", "correct-horse"),
    ('"password": "tr0ub4dor"', "tr0ub4dor"),
    ("password: hunter2", "hunter2"),
    ("DB_PASSWORD=hunter", "hunter"),
    ("MY_SECRET=abcdefgh", "abcdefgh"),
    ("client_secret: 'abc123def'", "abc123def"),
    ("login --password hunter2 now", "hunter2"),
    ("api key is 9f8e7d6c5b4a", "9f8e7d6c5b4a"),
    ("数据库密码是 hunter2", "hunter2"),
    ("密钥:a1b2c3d4e5", "a1b2c3d4e5"),
]

PLAIN = [
    "def login(password: str, token: str | None = None) -> bool:",
    "token = get_token(request)",
    "password = os.environ['DB_PASSWORD']",
    "const apiKey = process.env.API_KEY",
    "tokens: 1234, max_tokens: 4096",
    "the token is invalid",
    "if password is None:",
    "https://example.org/a/b?c=1",
    "a task-runner and a disk-image",
    "secret = config.secret",
    "passwordHash := hashPassword(input)",
    "基本的令牌桶算法",
]


@pytest.mark.design("K-6")
@pytest.mark.report(130)
@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secret_is_replaced(text: str, secret: str) -> None:
    clean = redact(f"before\n{text}\nafter")
    assert secret not in clean
    assert MARK in clean
    assert clean.startswith("before\n")
    assert clean.endswith("\nafter")


@pytest.mark.design("K-6")
@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.design("K-6")
def test_what_stands_around_a_secret_stays() -> None:
    assert redact("postgres://admin:hunter2@db.local:5432/app") == f"postgres://admin:{MARK}@db.local:5432/app"
    assert redact("password: 'correct-horse' # old") == f"password: '{MARK}' # old"
    assert redact("curl -H 'Authorization: Bearer abcdef1234567890' x") == f"curl -H 'Authorization: Bearer {MARK}' x"


@pytest.mark.design("K-6")
def test_private_key_goes_with_all_its_lines() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc/def+ghi=\n-----END RSA PRIVATE KEY-----"
    assert redact(f"a\n{key}\nb") == f"a\n{MARK}\nb"
    assert redact("x\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nmore") == f"x\n{MARK}"


@pytest.mark.design("K-6")
def test_text_whose_lower_case_is_longer_is_still_redacted() -> None:
    assert "hunter2" not in redact("İİİ\npassword: hunter2")


@pytest.mark.design("K-6")
@settings(max_examples=80, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 :=\"'\n@/.-_passwordtokenskey"), max_size=120))
def test_twice_is_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.design("K-6")
@pytest.mark.report(131)
@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200))
def test_never_fails(text: str) -> None:
    assert isinstance(redact(text), str)


@pytest.mark.design("K-6")
@settings(max_examples=60, deadline=None)
@given(
    st.from_regex(r"[A-Za-z0-9]{20,40}", fullmatch=True),
    st.sampled_from(["sk-", "ghp_", "npm_", "glpat-"]),
    st.text(max_size=30),
)
def test_issued_keys_never_pass(body: str, prefix: str, around: str) -> None:
    secret = prefix + body + "0123456789"
    assert secret not in redact(f"{around} {secret} {around}")
