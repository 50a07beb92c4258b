"""What a learner's code may not do: an audit hook that sees files, imports and processes.

This file runs in the learner's process, in a namespace of its own: what the hook needs is in its
closure, so it imports nothing, and no name that it uses can be replaced from outside. What is
refused ends the process: the traceback of an error would show the hook to whoever catches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FORBIDDEN = (  # events of the interpreter that learners' engines have no use for
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn"),
    *("os.spawn", "subprocess.Popen", "socket.", "pty.", "signal.pthread_kill", "os.remove"),
    *("os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod"),
    *("os.chown", "shutil.", "sys.addaudithook", "ctypes.call_function", "ctypes.dlsym"),
    *("ctypes.string_at", "ctypes.cdata", "os.chdir", "os.utime", "os.chflags", "os.lockf"),
    *("os.scandir", "sqlite3.", "tempfile.", "urllib.", "http.", "ftplib.", "smtplib."),
    *("os.setxattr", "os.removexattr", "webbrowser.", "syslog.", "sys._current_"),
)  # fmt: skip
UNHEARD = ("mkfifo", "mknod")  # functions of os that raise no event
CLOSED_MODULES = (
    *("simpleautodiff", "jax", "torch", "tensorflow", "autograd", "casadi", "sympy"),
    *("posix", "_posixsubprocess", "_posixshmem", "_multiprocessing", "_gdbm", "_dbm", "_curses"),
    "gc",
)  # libraries; modules in C that start processes and make files unheard; what finds the hook
WRITING = 0b11  # os.O_WRONLY | os.O_RDWR


def make_watch(
    folders: Sequence[str],
    library: str,
    realpath: Callable[[Any], str],
    end: Callable[[str], None],
) -> Callable[[str, tuple[Any, ...]], None]:
    """Return the hook: the folders may be read, but not the library, and nothing is written."""
    readable = [realpath(folder) for folder in folders]
    nothing = realpath("/dev/null")
    forbidden, closed, writing = FORBIDDEN, CLOSED_MODULES, WRITING

    def refuse(what: str) -> None:
        end(what)

    def plain(path: Any) -> str:
        """Return a path as text without methods of its own."""
        return bytes.decode(path) if isinstance(path, bytes) else str.__str__(path)

    def is_in(real: str, folder: str) -> bool:
        return real == folder or real.startswith(folder.rstrip("/") + "/")

    def is_open(real: str) -> bool:
        if is_in(real, library) or is_in(real, "/proc"):
            return False
        return real == nothing or any(is_in(real, folder) for folder in readable)

    def judge(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            given, mode, flags = args
            if isinstance(given, int):
                return
            path = plain(given)
            if mode is None and not path.startswith("/"):  # it may be relative to any folder
                refuse(f"os.open of {path}")
            real = realpath(path)
            if (any(c in (mode or "r") for c in "wax+") or flags & writing) and real != nothing:
                refuse(f"writing {path}")
            if not is_open(real):
                refuse(f"reading {path}")
        elif event == "os.listdir":  # which the import of a package, such as NumPy, does
            if not is_open(realpath(plain(args[0] or "."))):
                refuse(event)
        elif event == "import":
            names = plain(args[0]).split(".")  # the last says what a file in C makes
            if names[0] in closed or names[-1] in closed:
                refuse(f"import {args[0]}")
        elif event.startswith(forbidden):
            refuse(event)

    def watch(event: str, args: tuple[Any, ...]) -> None:
        try:
            judge(event, args)
        except BaseException:  # such as that of a path that is none
            end(f"what raises the event {event}")

    return watch
