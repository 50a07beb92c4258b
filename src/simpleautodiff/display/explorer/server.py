"""A local server for a page in which one types a formula and watches its derivative.

It serves this machine alone: it listens on the loopback address, and rejects requests that name
another host or come from another page. Formulas are read by the library's own parser, in a process
of their own; nothing is evaluated by Python's. Sizes, times and memory are limited.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import quote

from simpleautodiff.display.explorer.files import read_asset, read_scripts
from simpleautodiff.display.explorer.formula_process import Worker

HOSTS = ("127.0.0.1", "localhost")
OWN_SITES = ("same-origin", "none")  # our own page, or an address that was typed
MAX_BODY = 64_000
REQUEST_SECONDS = 10.0
SAFE = "*()/,=:[]!~'"  # what an address may hold as it is, after its #
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FORM = """
html, body { margin: 0; height: 100%; background: light-dark(#fdfcf9, #15171b); }
:root { color-scheme: light dark; }
body { display: flex; flex-direction: column; }
"""


class Handler(BaseHTTPRequestHandler):
    """Serve three files and one query; reject everything else."""

    FILES: ClassVar[dict[str, tuple[str, Callable[[], str]]]] = {
        "/": ("text/html", lambda: read_asset("home.html")),
        "/explorer.css": (
            "text/css",
            lambda: FORM + read_asset("home.css") + read_asset("explorer.css"),
        ),
        "/explorer.js": ("text/javascript", lambda: _script()),
    }
    QUESTION = "/api/explain"

    server: Server
    server_version = "simpleautodiff"
    sys_version = ""
    timeout = REQUEST_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the page, its style or its script; for HEAD, only the headers."""
        if not self._is_welcome():
            return
        path = self.path.partition("?")[0]
        if path in self.FILES:
            content_type, text = self.FILES[path]
            self._send(HTTPStatus.OK, content_type, text().encode())
        elif path == self.QUESTION:
            self._refuse_method()
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is no such page"})

    do_HEAD = do_GET

    def _other(self) -> None:
        """Answer any other path: list what is served."""
        if self._is_welcome():
            self._refuse_method()

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _other

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer requests that are malformed, or have an unknown method, as JSON."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            return self._other()
        self.close_connection = True
        return self._answer(code, {"error": message or HTTPStatus(code).phrase})

    def _refuse_method(self) -> None:
        allowed = "POST" if self.path == self.QUESTION else "GET, HEAD"
        error = f"{self.command} is not answered here; {allowed} is"
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, {"error": error}, Allow=allowed)

    def do_POST(self) -> None:
        """Answer a formula with its program."""
        if not self._is_welcome():
            return
        size = self._only("Content-Length")
        if self.path in self.FILES:
            return self._refuse_method()
        if self.path != self.QUESTION:
            return self._answer(HTTPStatus.NOT_FOUND, {"error": f"POST {self.QUESTION}"})
        if not (size.isascii() and size.isdigit()) or len(size) > 12:
            return self._answer(HTTPStatus.LENGTH_REQUIRED, {"error": "the length is not given"})
        if int(size) > MAX_BODY:
            error = f"the request has {int(size):,} bytes; {MAX_BODY:,} are read"
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": error})
        if self.headers.get_content_type() != "application/json":
            error = "the Content-Type is application/json"
            return self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": error})
        try:
            request = self.rfile.read(int(size))
        except OSError:
            self.close_connection = True
            return None
        line = b" ".join(request.splitlines())  # JSON has no line breaks in its strings
        return self._answer(*self.server.worker.ask(line))

    def _is_welcome(self) -> bool:
        """Reject requests that name another host or several, or come from another page."""
        port = self.connection.getsockname()[1]
        allowed = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())
        origins = self.headers.get_all("Origin", [])
        if (
            self._only("Host") in allowed
            and all(origin in {f"http://{host}" for host in allowed} for origin in origins)
            and all(site in OWN_SITES for site in self.headers.get_all("Sec-Fetch-Site", []))
            and "Transfer-Encoding" not in self.headers
        ):
            return True
        self._answer(HTTPStatus.FORBIDDEN, {"error": "this page is for this machine alone"})
        return False

    def _only(self, name: str) -> str:
        """Return the value of a header, or "" unless it is there exactly once."""
        values = self.headers.get_all(name, [])
        return values[0] if len(values) == 1 else ""

    def _answer(self, status: int, answer: dict[str, Any], **headers: str) -> None:
        if status != HTTPStatus.OK:
            self.close_connection = True  # the rest of the request is not read
        self._send(status, "application/json", json.dumps(answer).encode(), **headers)

    def _send(self, status: int, content_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        for name, text in headers.items():
            self.send_header(name, text)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: the terminal belongs to the user."""


def _script() -> str:
    return f'(() => {{\n"use strict";\n{read_scripts()}\n{read_asset("home.js")}}})();\n'


class Server(ThreadingHTTPServer):
    """The server, with the process that explains formulas."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.worker = Worker(REQUEST_SECONDS)

    def server_close(self) -> None:
        """Stop listening, and stop the process."""
        super().server_close()
        self.worker.stop()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in one line what went wrong; nothing if the connection broke."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"simpleautodiff: a request failed: {error!r}", file=sys.stderr)


def serve(port: int = 0, ready: Callable[[str], None] | None = None, place: str = "") -> None:
    """Serve the explorer on this machine until it is interrupted.

    Parameters
    ----------
    port
        The port; 0 takes any free one.
    ready
        Called with the address once the page can be opened; by default the address is printed.
    place
        Where the page opens, as `write_place` writes it.

    Examples
    --------
    >>> serve(ready=print)  # doctest: +SKIP
    http://127.0.0.1:41235/
    """
    with suppress(KeyboardInterrupt), make_server(port) as server:
        (ready or _announce)(f"http://127.0.0.1:{server.server_address[1]}/{place}")
        server.serve_forever(poll_interval=0.2)


def write_place(formula: str, point: dict[str, Any]) -> str:
    """Return the end of an address that opens the page at a formula and a point.

    Examples
    --------
    >>> write_place("x*y + 1", {"x": 2.0, "y": 0.5})
    '#formula=x*y%20%2B%201&at=x=2,y=0.5'
    """
    at = ",".join(f"{name}={str(value).removesuffix('.0')}" for name, value in point.items())
    return f"#formula={quote(formula, safe=SAFE)}&at={quote(at, safe=SAFE)}"


def make_server(port: int = 0) -> Server:
    """Return the server, which listens but does not answer yet."""
    return Server(port)


def _announce(address: str) -> None:
    print(f"The explorer is at {address}  (Ctrl-C ends it)", flush=True)
