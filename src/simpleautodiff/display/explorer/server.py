"""A local server for a page in which one types a formula and watches its derivative.

It serves this machine alone: it listens on the loopback address, and rejects requests that name
another host or come from another page. Formulas are read by the library's own parser; nothing is
evaluated by Python's. Sizes and times are limited.
"""

from __future__ import annotations

import json
import math
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from simpleautodiff.display.explorer.files import read_asset, read_scripts
from simpleautodiff.display.explorer.page import describe_formula
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.display.tables.tables import adjoints_table, tangents_table, values_table
from simpleautodiff.errors import AutodiffError, FormulaError
from simpleautodiff.program.formula import parse
from simpleautodiff.program.program import Program

HOSTS = ("127.0.0.1", "localhost")
MAX_BODY = 64_000
SECONDS = 10.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FORM = """
html, body { margin: 0; height: 100%; background: light-dark(#fdfcf9, #15171b); }
:root { color-scheme: light dark; }
body { display: flex; flex-direction: column; }
"""
_one_at_a_time = threading.Semaphore()


def explain(request: Any) -> dict[str, Any]:
    """Answer `{"formula": "x**2", "at": {"x": 3}}` with the program and its tables.

    Examples
    --------
    >>> answer = explain({"formula": "x**2", "at": {"x": 3}})
    >>> answer["adjoints"], answer["program"]["title"]
    ({'x': 6.0}, 'x**2')
    """
    if not isinstance(request, dict) or not isinstance(request.get("formula"), str):
        raise FormulaError('a request is {"formula": "...", "at": {"x": 2}}')
    formula, names = parse(request["formula"])
    if not names:
        raise FormulaError("the formula has no variable, so there is nothing to differentiate")
    values = _values(names, request.get("at", {}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program, title, code, _ = describe_formula(formula, values)
        data = make_document(program, title, code)
        adjoints = Program.adjoints(program)
    told = dict.fromkeys(str(warning.message).partition(" (at ")[0] for warning in caught)
    return {
        "program": data,
        "tables": _tables(program),
        "value": data["nodes"][data["outputs"][0]]["value"],
        "adjoints": {name: _to_plain(adjoints[name]) for name in names},
        "warnings": list(told),
    }


def _tables(program: Program) -> dict[str, Any]:
    inputs = [program.names[node] for node in program.inputs]
    return {
        "values": str(values_table(program)),
        "tangents": {name: str(tangents_table(program, name)) for name in inputs[:8]},
        "adjoints": str(adjoints_table(program)),
    }


def _to_plain(number: Any) -> Any:
    number = float(number)
    return number if math.isfinite(number) else str(number)


def _values(names: list[str], at: Any) -> list[float]:
    if not isinstance(at, dict):
        raise FormulaError('"at" gives each variable a number, such as {"x": 2}')
    missing = [name for name in names if name not in at]
    if missing:
        raise FormulaError(f"no value for {', '.join(missing)}")
    unknown = [str(name)[:40] for name in at if name not in names]
    if unknown:
        raise FormulaError(
            f"{unknown[0]!r} is not in the formula; its variables are {', '.join(names)}"
        )
    return [_read_number(name, at[name]) for name in names]


def _read_number(name: str, value: Any) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        return float(value)
    except (ValueError, OverflowError):
        raise FormulaError(
            f"the value of {name} is {str(value)[:40]!r}, which is not a number"
        ) from None


def run_within(seconds: float, work: Callable[[], dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """Do some work within a time limit, one job at a time; return a status and an answer."""
    answer: list[tuple[int, dict[str, Any]]] = []
    if not _one_at_a_time.acquire(timeout=seconds):
        return HTTPStatus.SERVICE_UNAVAILABLE, {"error": "busy with another formula"}

    def run() -> None:
        try:
            answer.append((HTTPStatus.OK, work()))
        except AutodiffError as error:
            answer.append((HTTPStatus.BAD_REQUEST, {"error": str(error)}))
        except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
            answer.append((HTTPStatus.BAD_REQUEST, {"error": f"it cannot be computed: {error}"}))
        finally:
            _one_at_a_time.release()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    late = HTTPStatus.SERVICE_UNAVAILABLE, {"error": f"it took more than {seconds:g} seconds"}
    return answer[0] if answer else late


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

    server_version = "simpleautodiff"
    sys_version = ""
    timeout = SECONDS
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
        size = self.headers.get("Content-Length", "")
        if self.path in self.FILES:
            return self._refuse_method()
        if self.path != self.QUESTION:
            return self._answer(HTTPStatus.NOT_FOUND, {"error": f"POST {self.QUESTION}"})
        if not size.isdigit() or len(size) > 12:
            return self._answer(HTTPStatus.LENGTH_REQUIRED, {"error": "the length is not given"})
        if int(size) > MAX_BODY:
            error = f"the request has {int(size):,} bytes; {MAX_BODY:,} are read"
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": error})
        if self.headers.get_content_type() != "application/json":
            error = "the Content-Type is application/json"
            return self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": error})
        try:
            request = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            return self._answer(HTTPStatus.BAD_REQUEST, {"error": "the request is not JSON"})
        except OSError:
            self.close_connection = True
            return None
        return self._answer(*run_within(SECONDS, lambda: explain(request)))

    def _is_welcome(self) -> bool:
        """Reject requests that name another host, or come from another page."""
        port = self.connection.getsockname()[1]
        allowed = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in allowed and (
            origin is None or urlsplit(origin).netloc in allowed
        ):
            return True
        self._answer(HTTPStatus.FORBIDDEN, {"error": "this page is for this machine alone"})
        return False

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve the explorer on this machine until it is interrupted.

    Parameters
    ----------
    port
        The port; 0 takes any free one.
    ready
        Called with the address once the page can be opened; by default the address is printed.

    Examples
    --------
    >>> serve(ready=print)  # doctest: +SKIP
    http://127.0.0.1:41235/
    """
    with make_server(port) as server:
        (ready or _announce)(f"http://127.0.0.1:{server.server_address[1]}/")
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)


def make_server(port: int = 0) -> ThreadingHTTPServer:
    """Return the server, which listens but does not answer yet."""
    return _Server(("127.0.0.1", port), Handler)


def _announce(address: str) -> None:
    print(f"The explorer is at {address}  (Ctrl-C ends it)", flush=True)
