"""HTTP/1.1 on loopback, one thread a connection, that can also fail in all the ways a network can."""

import select
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


class Gone(Exception):
    """The client closed its end, or the server is closing."""


class Connection:
    """One request and the way back."""

    def __init__(self, handler: "_Handler", body: bytes) -> None:
        self._handler = handler
        self.method = handler.command
        self.path, _, self.query = handler.path.partition("?")
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body

    def head(self, status: int, headers: dict[str, str]) -> None:
        """The status line and headers."""
        lines = [f"HTTP/1.1 {status} {self._handler.responses[status][0] if status in self._handler.responses else 'Error'}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """A whole answer."""
        self.head(status, {**headers, "content-length": str(len(body))})
        self.raw(body)

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """The head of an answer in chunks."""
        self.head(status, {**headers, "transfer-encoding": "chunked"})

    def write(self, data: bytes) -> None:
        """One chunk; nothing for no bytes."""
        if self.client_gone():
            raise Gone
        if data:
            self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """The last chunk."""
        self.raw(b"0\r\n\r\n")

    def raw(self, data: bytes) -> None:
        """Bytes as they are. Raises Gone."""
        try:
            self._handler.wfile.write(data)
        except OSError:
            self._handler.close_connection = True
            raise Gone from None

    def client_gone(self) -> bool:
        """Whether the client closed its end: there is something to read, and it is the end."""
        try:
            ready, _, _ = select.select([self._handler.connection], [], [], 0)
            return bool(ready) and not self._handler.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def hang(self) -> None:
        """Says nothing more until the client goes away or the server closes; always raises Gone."""
        self._handler.close_connection = True
        stopping = cast(Server, self._handler.server).stopping
        while not stopping.wait(0.02):
            if self.client_gone():
                break
        raise Gone

    def close(self) -> None:
        """Ends the connection here."""
        self._handler.close_connection = True
        try:
            self._handler.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _go(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        cast(Server, self.server).handle_request_of(Connection(self, self.rfile.read(length)))

    do_GET = do_POST = do_PUT = do_DELETE = _go

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


class Server(ThreadingHTTPServer):
    """Listens from the start on, answers from ``start`` to ``stop``; every thread is over when ``stop`` returns."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, handle: Callable[[Connection], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.handle_request_of = handle
        self.stopping = threading.Event()
        self._open: set[Any] = set()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """``http://127.0.0.1:<port>``."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        """Begins to answer."""
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, name="provider")
        self._thread.start()

    def stop(self) -> None:
        """Closes every connection and waits for their threads."""
        self.stopping.set()
        self.shutdown()
        with self._guard:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self.server_close()
        if self._thread is not None:
            self._thread.join()

    def sleep(self, seconds: float) -> None:
        """Real time; over at once when the server closes."""
        if seconds > 0:
            self.stopping.wait(seconds)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle of its request is nothing to report."""
        del request, client_address
