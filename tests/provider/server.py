"""A strict provider of models on loopback: four protocols, each with its provider's refusals, caches and bills."""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from provider import (
    anthropic_rules,
    anthropic_speak,
    chat_rules,
    chat_speak,
    gemini_rules,
    gemini_speak,
    responses_rules,
    responses_speak,
)
from provider.answer import Answer, Event, Speak, output_tokens
from provider.cache import Clock, cache_of
from provider.memory import Memory
from provider.places import GOOGLE, api_of, family, lost, models_list
from provider.prompt import prompt_of
from provider.refusal import GATEWAY_PAGE, Refused, overflow, refusal_of
from provider.reply import Call, Fault, Reply
from provider.seen import Bill, Break, Seen, Unit
from provider.terms import Api, Terms
from provider.web import Connection, Gone, Server

__all__ = ["Bill", "Break", "Call", "Fault", "Provider", "Reply", "Seen", "Terms", "Unit"]

Script = Sequence[Reply | str] | Callable[[Seen], Reply | str]

_SPEAK: dict[str, Speak] = {
    "anthropic": anthropic_speak.speak,
    "chat": chat_speak.speak,
    "responses": responses_speak.speak,
    "gemini": gemini_speak.speak,
}
_BROKEN = b'{"type": "content_block_delta", "index": 0, "delta": {"text": "cut of'


class Provider:
    """``with Provider(["Hello.", Reply(calls=[Call("read", {"path": "a"})])]) as provider: ...``

    ``script``: answers in the order of the requests, or a function from what was seen to the answer (called from the
    server's threads, one at a time); a string is an answer of that text. Every field of ``Terms`` is an argument too.
    Requests to ``/v1/models`` and for counting use up no answer, refused ones neither. ``url`` is where it listens;
    ``base_url(api)`` what that protocol's SDK wants. An error inside the script, or a request that finds the script at its
    end, is answered with 500 and raised again on leaving.
    """

    def __init__(self, script: Script = (), **terms: Any) -> None:
        self.terms = Terms(**terms)
        self.clock = Clock()
        self.memory = Memory()
        self.seen: list[Seen] = []
        self.failures: list[Exception] = []
        self._script = script if callable(script) else list(script)
        self._faults: list[Fault] = []
        self._arrived = threading.Condition(threading.RLock())
        self._caches = {
            api: cache_of(api, self.terms.dialect, self.clock, self.terms.cache_ttl, self.terms.cache_minimum) for api in _SPEAK
        }
        self._server = Server(self._handle)

    # -- life

    def __enter__(self) -> "Provider":
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._server.stop()
        if kind is None and self.failures:
            raise self.failures[0]

    @property
    def url(self) -> str:
        """``http://127.0.0.1:<port>``."""
        return self._server.url

    def base_url(self, api: Api) -> str:
        """What the official SDK of that protocol takes as its base URL."""
        return self.url + ("/v1" if api in ("chat", "responses") else "")

    # -- for tests

    def then(self, *replies: Reply | str) -> None:
        """More answers behind the script's."""
        with self._arrived:
            assert isinstance(self._script, list), "a function as script takes no further answers"
            self._script.extend(replies)

    def fail_next(self, times: int, fault: Fault | str, **fields: Any) -> None:
        """The next requests to a model meet this fault. Those that begin to answer do not use up the script's answer."""
        made = Fault(fault, **fields) if isinstance(fault, str) else fault  # type: ignore[arg-type]
        with self._arrived:
            self._faults += [made] * times

    def wait(self, count: int, timeout: float = 10.0) -> list[Seen]:
        """Waits until that many requests to a model have arrived, and gives them all. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived within {timeout} s")
            return self.requests

    def settle(self, timeout: float = 10.0) -> None:
        """Waits until every request has been answered to its end, or its client is known to be gone. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: all(seen.done for seen in self.seen), timeout):
                raise TimeoutError("requests still open: " + ", ".join(str(seen.number) for seen in self.seen if not seen.done))

    @property
    def requests(self) -> list[Seen]:
        """The requests to a model, without counting and listing."""
        return [seen for seen in self.seen if seen.api in _SPEAK]

    @property
    def refused(self) -> list[Seen]:
        """Requests that broke a rule."""
        return [seen for seen in self.seen if seen.problems]

    def bill(self, seen: Iterable[Seen] | None = None) -> float:
        """What the input of all requests (or of those given) cost, in units of one fresh input token."""
        return sum(round(one.bill.cost * 100) for one in (self.requests if seen is None else seen)) / 100

    def breaks(self, seen: Iterable[Seen] | None = None) -> list[Break]:
        """Accepted requests that do not extend the one before them as units, settings included.

        Without an argument, requests of one protocol and model follow each other; give the requests of one session where
        there are several.
        """
        last: dict[tuple[str, str], Seen] = {}
        found = []
        for one in self.requests if seen is None else seen:
            if one.problems or not one.units:
                continue
            key = (one.api, one.model if seen is None else "")
            before = last.get(key)
            last[key] = one
            if before is not None and (index := _first_difference(before, one)) is not None:
                now = one.units[index] if index < len(one.units) else None
                found.append(Break(before, one, index, before.units[index], now))
        return found

    # -- one request

    def _handle(self, connection: Connection) -> None:
        seen = self._record(connection)
        try:
            self._answer_or_refuse(connection, seen)
        except Gone:
            seen.gone = True
        except Exception as error:  # noqa: BLE001 - whatever a script raises belongs to the test
            self.failures.append(error)
            seen.fault = repr(error)
            body = json.dumps({"error": {"message": repr(error)}}).encode()
            self._send(connection, seen, 500, body, {"x-should-retry": "false"})
        finally:
            with self._arrived:
                seen.done = True
                self._arrived.notify_all()

    def _answer_or_refuse(self, connection: Connection, seen: Seen) -> None:
        try:
            self._answer(connection, seen)
        except Refused as refused:
            seen.problems.append(refused.message)
            self._refuse(connection, seen, refused)

    def _record(self, connection: Connection) -> Seen:
        with self._arrived:
            seen = Seen(
                number=len(self.seen) + 1,
                api=api_of(connection.method, connection.path),
                method=connection.method,
                path=connection.path,
                query=connection.query,
                headers=connection.headers,
                raw=connection.body,
                at=self.clock.now,
            )
            self.seen.append(seen)
            self._arrived.notify_all()
        return seen

    def _answer(self, connection: Connection, seen: Seen) -> None:
        self._check_head(seen)
        if seen.api == "models":
            return self._send_json(connection, seen, models_list(seen, self.terms))
        if seen.api == "":
            raise lost(seen)
        self._read_body(seen)
        fault = self._next_fault(seen)
        if fault is not None and not fault.in_stream:
            return self._fail(connection, seen, fault)
        body = self._check_body(seen)
        prompt = prompt_of("anthropic" if seen.api == "count" else seen.api, body)
        seen.units = prompt.units
        if seen.api == "count":
            return self._send_json(connection, seen, {"input_tokens": prompt.tokens})
        self._check_length(seen, prompt.tokens)
        with self._arrived:
            reply = self._reply(seen, used=fault is None)
        fault = fault or reply.fault
        self._server.sleep(reply.delay)
        if fault is not None and not fault.in_stream:
            return self._fail(connection, seen, fault)
        with self._arrived:
            found = self._caches[seen.api].look(prompt)
            read = found.bill
            seen.bill = Bill(read.fresh, read.read, read.write, read.long_write, output_tokens(reply))
            seen.read_units = prompt.units[: found.units]
            answer = _SPEAK[seen.api](seen, reply, seen.bill, self.memory, self.terms)
            seen.usage = answer.usage
        if seen.stream:
            return self._stream(connection, seen, answer, reply, fault)
        self._whole(connection, seen, answer, fault)

    def _check_head(self, seen: Seen) -> None:
        match family(seen):
            case "anthropic":
                if len(seen.raw) > self.terms.body_bytes:
                    raise Refused("Request exceeds the maximum size", 413)
                anthropic_rules.check_head(seen.headers, self.terms)
            case "gemini":
                gemini_rules.check_head(seen.headers, seen.query, self.terms)
            case _ if seen.api:
                chat_rules.check_head(seen.headers, self.terms)

    def _read_body(self, seen: Seen) -> None:
        try:
            body = json.loads(seen.raw)
        except ValueError:
            raise Refused("The request body is not valid JSON", param=None) from None
        if not isinstance(body, dict):
            raise Refused("Input should be a valid dictionary")
        seen.body = body
        if google := GOOGLE.match(seen.path):
            seen.model = google[1]
            seen.stream = "streamGenerateContent" in seen.path
        else:
            model = body.get("model")
            seen.model = model if isinstance(model, str) else ""
            seen.stream = bool(body.get("stream"))

    def _check_body(self, seen: Seen) -> dict[str, Any]:
        """The body as the rules read it."""
        body = seen.body
        match seen.api:
            case "anthropic":
                anthropic_rules.check(body, self.terms, self.memory)
            case "count":
                anthropic_rules.check(body, self.terms, self.memory, counting=True)
            case "chat":
                chat_rules.check(body, self.terms, self.memory)
            case "responses":
                responses_rules.check(body, self.terms, self.memory)
            case _:
                body = {**gemini_rules.plain_names(body), "model": seen.model}
                gemini_rules.check(body, self.terms, self.memory)
        return body

    def _check_length(self, seen: Seen, tokens: int) -> None:
        limit = self.terms.limit
        most = seen.body.get("max_tokens") or 0
        if tokens > limit:
            raise overflow(seen.api, self.terms, tokens)
        if self.terms.output_in_limit and tokens + most > limit:
            if seen.api == "anthropic":
                raise Refused(
                    f"input length and `max_tokens` exceed context limit: {tokens} + {most} > {limit}, decrease input "
                    "length or `max_tokens` "
                    "and try again"
                )
            raise overflow(seen.api, self.terms, tokens + most)

    def _next_fault(self, seen: Seen) -> Fault | None:
        with self._arrived:
            if seen.api not in _SPEAK or not self._faults:
                return None
            fault = self._faults.pop(0)
            seen.fault = fault.kind
            return fault

    def _reply(self, seen: Seen, *, used: bool) -> Reply:
        """The script's answer; ``used`` = False leaves it for the next request."""
        if callable(self._script):
            reply = self._script(seen)
        elif not self._script:
            if not used:
                return Reply("An answer that will not be finished.")
            raise AssertionError(f"the script has no answer for request {seen.number}: {seen.last[:300]}")
        else:
            reply = self._script.pop(0) if used else self._script[0]
        reply = Reply(reply) if isinstance(reply, str) else reply
        seen.fault = seen.fault or (reply.fault.kind if reply.fault else "")
        return reply

    # -- what leaves

    def _send(
        self, connection: Connection, seen: Seen, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        seen.status = status
        try:
            connection.send(status, {"content-type": "application/json", **(headers or {})}, body)
        except Gone:
            seen.gone = True

    def _send_json(self, connection: Connection, seen: Seen, body: Any) -> None:
        self._send(connection, seen, 200, json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def _refuse(self, connection: Connection, seen: Seen, refused: Refused) -> None:
        if (
            refused.code == "context_length_exceeded"
            and seen.stream
            and seen.api == "responses"
            and self.terms.overflow_in_stream
        ):
            self._begin(connection, seen)
            for event in responses_speak.failed(seen, self.memory, refused.code, refused.message):
                connection.write(_frame(event, "\n"))
            return connection.end()
        body = json.dumps(refused.body(family(seen), seen.number)).encode()
        self._send(connection, seen, refused.status, body, {"request-id": f"req_{seen.number:06d}", **refused.headers})

    def _begin(self, connection: Connection, seen: Seen) -> None:
        seen.status = 200
        connection.begin(
            200,
            {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "request-id": f"req_{seen.number:06d}",
            },
        )

    def _fail(self, connection: Connection, seen: Seen, fault: Fault) -> None:
        seen.fault = fault.kind
        match fault.kind:
            case "hang":
                connection.hang()
            case "close":
                connection.close()
            case "bad json":
                self._send(connection, seen, 200, b'{"id": "broken", "content": [')
            case "empty":
                kind = "text/event-stream" if seen.stream else "application/json"
                self._send(connection, seen, 200, b"", {"content-type": kind})
            case "502 html":
                self._send(connection, seen, 502, GATEWAY_PAGE, {"content-type": "text/html"})
            case _:
                used = seen.bill.input or sum(unit.tokens for unit in seen.units)
                self._refuse(connection, seen, refusal_of(fault, seen.api, self.terms, used))

    def _stream(self, connection: Connection, seen: Seen, answer: Answer, reply: Reply, fault: Fault | None) -> None:
        self._begin(connection, seen)
        for number, event in enumerate(answer.events):
            if fault is not None and number == min(fault.after, len(answer.events) - 1):
                return self._break_off(connection, answer, fault)
            connection.write(_frame(event, answer.new_line))
            self._server.sleep(reply.pause)
        connection.write(answer.end)
        connection.end()

    def _break_off(self, connection: Connection, answer: Answer, fault: Fault) -> None:
        match fault.kind:
            case "hang mid":
                connection.hang()
            case "cut":
                connection.close()
            case "bad event":
                connection.write(b"data: " + _BROKEN + 2 * answer.new_line.encode())
                connection.end()
            case _:
                connection.write(_frame(answer.error(fault.code, fault.message), answer.new_line))
                connection.end()

    def _whole(self, connection: Connection, seen: Seen, answer: Answer, fault: Fault | None) -> None:
        body = json.dumps(answer.whole, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if fault is None:
            return self._send(connection, seen, 200, body, {"request-id": f"req_{seen.number:06d}"})
        seen.status = 200
        connection.head(200, {"content-type": "application/json", "content-length": str(len(body))})
        connection.raw(body[: len(body) // 2])
        if fault.kind == "hang mid":
            connection.hang()
        connection.close()


def _frame(event: Event, new_line: str) -> bytes:
    name, data = event
    head = f"event: {name}{new_line}" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}{new_line}{new_line}".encode("utf-8", "surrogatepass")


def _first_difference(before: Seen, after: Seen) -> int | None:
    for index, unit in enumerate(before.units):
        if index >= len(after.units) or after.units[index].data != unit.data:
            return index
    return None
