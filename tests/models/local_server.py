"""A small server on a free port of this machine, which answers given paths and remembers what it was sent."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Asked(ThreadingHTTPServer):
    daemon_threads = True
    answers: dict[str, Any]
    delay: float
    seen: list[tuple[str, dict[str, str]]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has gone: that is what some tests are about."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Asked

    def do_GET(self) -> None:
        self.server.seen.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
        time.sleep(self.server.delay)
        answer = self.server.answers.get(self.path)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(answers: dict[str, Any], delay: float = 0.0) -> Iterator[Asked]:
    server = Asked(("127.0.0.1", 0), _Handler)
    server.answers, server.delay, server.seen = answers, delay, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def listing(*names: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]}
