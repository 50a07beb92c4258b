"""A process of its own that explains formulas: unlike a thread, it can be stopped at any moment.

`Worker` is the server's side. Run as a module, this is the other side: it reads a request on each
line of standard input and writes its answer as one line, within limits of time and of memory.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from simpleautodiff.display.explorer.explain_request import explain
from simpleautodiff.errors import AutodiffError, FormulaError

MEMORY = 1 << 30  # bytes of data that the process may hold


class Worker:
    """Explain requests in another process, one at a time, each within `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: bytes) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to a request; stop the process if it is late."""
        if not self._lock.acquire(timeout=self.seconds):
            return HTTPStatus.SERVICE_UNAVAILABLE, {"error": "busy with another formula"}
        try:
            return self._ask(request)
        finally:
            self._lock.release()

    def _ask(self, request: bytes) -> tuple[int, dict[str, Any]]:
        process = self._start()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self.seconds, end)
        timer.daemon = True
        timer.start()
        try:
            answer = _exchange(process, request)
        finally:
            timer.cancel()
        if answer:
            status, content = json.loads(answer)
            return status, content
        self.stop()
        why = f"it took more than {self.seconds:g} seconds" if late.is_set() else "it was stopped"
        return HTTPStatus.SERVICE_UNAVAILABLE, {"error": why}

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self.seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert self._process.stdout is not None
            self._process.stdout.readline()  # ready: loading does not count as time of a request
        return self._process

    def stop(self) -> None:
        """Stop the process; the next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with process:  # closes its pipes and waits for it
                pass


def _exchange(process: subprocess.Popen[bytes], request: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request + b"\n")
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return b""


def answer_request(text: str | bytes) -> tuple[int, dict[str, Any]]:
    """Return the status and the answer to the text of a request.

    Examples
    --------
    >>> answer_request('{"formula": "x**2", "at": {"x": "two"}}')
    (400, {'error': "the value of x is 'two', which is not a number"})
    """
    try:
        request = json.loads(text, parse_constant=_refuse_constant)
    except FormulaError as error:
        return HTTPStatus.BAD_REQUEST.value, {"error": str(error)}
    except (ValueError, RecursionError):
        return HTTPStatus.BAD_REQUEST.value, {"error": "the request is not JSON"}
    try:
        return HTTPStatus.OK.value, explain(request)
    except AutodiffError as error:
        return HTTPStatus.BAD_REQUEST.value, {"error": str(error)}
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        return HTTPStatus.BAD_REQUEST.value, {"error": f"it cannot be computed: {error}"}


def _refuse_constant(name: str) -> Any:
    raise FormulaError(f"{name} is not JSON: write it as a text")


def _limit(seconds: float) -> None:
    """Bound the memory of this process, and its time from now on; where the system can."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + 2 * seconds) + 2
    with suppress(ValueError, OSError):  # a lower limit of the system's stays
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(
            resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1])
        )


def main() -> None:
    """Answer the requests on standard input, a line each, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    seconds = float(sys.argv[1])
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever prints does not answer
    out.write(b"\n")
    out.flush()
    for line in sys.stdin.buffer:
        _limit(seconds)
        out.write(json.dumps(answer_request(line)).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
