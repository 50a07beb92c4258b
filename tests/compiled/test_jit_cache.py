"""Objects on disk: kept, found again, bounded, and never trusted when anything is odd."""

import contextlib
import itertools
import os
import stat
import subprocess
import sys
import threading

import pytest

from simpleautodiff.cli import main
from simpleautodiff.compiled.native import compile as engine, disk_cache as cache

TEXT = "define double @f(double %x) {\n  %y = fadd double %x, 1.0\n  ret double %y\n}"
needs_owners = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", str(tmp_path / "objects"))
    return tmp_path / "objects"


def kept(place):
    (path,) = place.glob("*.object")
    return path


def built(key="program", text=TEXT, level=1):
    return engine.build(text, level=level, names=["f"], key=key)


def test_an_object_is_found_again(place):
    first, second = built(), built()
    assert [first.from_cache, second.from_cache] == [False, True]
    assert second.ir == TEXT
    assert "f:" in second.asm()


def test_a_text_that_is_not_needed_is_not_written(place):
    built()
    code = engine.build(lambda: pytest.fail("written"), level=1, names=["f"], key="program")
    assert code.from_cache
    assert engine.build(lambda: TEXT, level=2, names=["f"], key="program").ir == TEXT


def test_without_a_key_nothing_is_kept(place):
    assert not built(key=None).from_cache
    assert not built(key=None).from_cache
    assert not place.exists()


def test_another_process_finds_it(place):
    built()
    program = (
        "from simpleautodiff.compiled.native import compile as engine; import sys;"
        f"print(engine.build({TEXT!r}, level=1, names=['f'], key='program').from_cache)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "True", answer.stderr


@pytest.mark.parametrize(
    "other",
    [
        {"key": "another program"},
        {"level": 2},
        {"host": ("another processor", "+sse2")},
        {"host": (engine.host()[0], "+sse2")},
        {"version": ("another emitter",)},
    ],
)
def test_the_key_says_all_that_an_object_depends_on(place, monkeypatch, other):
    built()
    if "host" in other:
        monkeypatch.setattr(engine, "host", lambda: other["host"])
    if "version" in other:
        monkeypatch.setattr(engine, "_identify_emitter", lambda: other["version"])
    monkeypatch.setattr(engine, "_identify", engine._identify.__wrapped__)
    assert not built(other.get("key", "program"), level=other.get("level", 1)).from_cache


def test_nothing_is_read_for_a_key_when_the_cache_is_off(monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, "off")
    monkeypatch.setattr(engine, "_identify", lambda: pytest.fail("the key was computed"))
    assert not built().from_cache


def test_the_emitter_is_known_by_all_files_that_write_code(tmp_path, monkeypatch):
    (tmp_path / "part").mkdir()
    writer, other = tmp_path / "part" / "writer.py", tmp_path / "part" / "notes.txt"
    writer.write_text("one")
    monkeypatch.setattr(engine, "__file__", str(tmp_path / "part" / "compile.py"))
    first = engine._identify_emitter.__wrapped__()
    other.write_text("not a module")
    assert engine._identify_emitter.__wrapped__() == first
    writer.write_text("another")
    assert engine._identify_emitter.__wrapped__() != first


def test_parts_of_a_key_do_not_run_together():
    assert cache.digest("a", "bc") != cache.digest("ab", "c")
    assert cache.digest(1, 2) != cache.digest(12)
    assert cache.digest(1) != cache.digest("1")


@needs_owners
def test_the_directory_and_the_files_are_private(place):
    built()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept(place).stat().st_mode) == 0o600
    assert [path.suffix for path in place.iterdir()] == [".object"]


def test_a_changed_byte_anywhere_is_noticed(place):
    key = cache.digest("program")
    content = bytes(range(256)) * 4
    cache.store(key, content)
    good = kept(place).read_bytes()
    assert cache.load(key) == content
    for at in range(len(good)):
        kept(place).write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
        assert cache.load(key) is None, at
    kept(place).write_bytes(good)
    assert cache.load(key) == content


def test_a_cut_or_extended_file_is_noticed(place):
    key = cache.digest("program")
    cache.store(key, b"content" * 20)
    good = kept(place).read_bytes()
    for damaged in [*(good[:size] for size in range(len(good))), good + b"\0"]:
        kept(place).write_bytes(damaged)
        assert cache.load(key) is None


def test_a_damaged_object_is_compiled_again_and_replaced(place):
    built()
    good = kept(place).read_bytes()
    kept(place).write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert not built().from_cache
    assert kept(place).read_bytes() == good
    assert built().from_cache


def test_the_content_of_another_key_is_not_used(place):
    one, other = cache.digest("one"), cache.digest("other")
    cache.store(one, b"of one")
    os.replace(kept(place), place / f"{other}.object")
    assert cache.load(other) is None


@needs_owners
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_used(place, mode):
    built()
    kept(place).chmod(mode)
    assert not built().from_cache


@needs_owners
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_may_write_is_not_used(place, mode):
    built()
    before = kept(place).read_bytes()
    place.chmod(mode)
    assert not built().from_cache
    assert not built("another program").from_cache
    assert kept(place).read_bytes() == before


@needs_owners
def test_what_belongs_to_somebody_else_is_not_used(place, monkeypatch):
    built()
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    assert not built().from_cache


@needs_owners
def test_links_are_not_followed(place, tmp_path):
    built()
    path = kept(place)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.load(path.stem) is None
    real = place.rename(tmp_path / "real")
    place.symlink_to(real)
    assert not built().from_cache


def test_where_nothing_can_be_written_all_still_works(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", str(tmp_path / "file" / "objects"))
    assert not built().from_cache
    assert not built().from_cache


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_does_not_hang(place):
    built()
    path = kept(place)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cache.load(path.stem) is None


def test_an_interrupted_or_failed_write_leaves_nothing(place, monkeypatch):
    for error in (KeyboardInterrupt, OSError(28, "No space left on device")):

        def fail(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with contextlib.suppress(KeyboardInterrupt):
                cache.store("0" * 64, b"content")
        assert list(place.iterdir()) == []
    cache.store("0" * 64, b"content")
    assert cache.load("0" * 64) == b"content"


FULL = """
import resource, signal, sys
from simpleautodiff.compiled.native import disk_cache as cache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache.store("a" * 64, bytes(100_000))
print(cache.load("a" * 64), list(cache.folder().iterdir()))
"""


@needs_owners
def test_a_disk_that_is_full_in_the_middle_of_a_file_keeps_nothing(place):
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("None []\n", "")


def test_many_writers_and_readers_see_whole_objects_alone(place):
    contents = [bytes([i]) * 50_000 for i in range(4)]
    keys = [cache.digest(i) for i in range(4)]
    seen, stop = [], threading.Event()

    def write(i):
        for _ in range(40):
            cache.store(keys[i], contents[i])

    def read():
        while not seen or not stop.is_set():
            seen.extend(cache.load(key) in (None, content) for key, content in both)

    both = list(zip(keys, contents, strict=True))
    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(i,)) for i in [0, 1, 2, 3, 0, 1]]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert seen
    assert all(seen)
    assert [cache.load(key) for key in keys] == contents
    assert not list(place.glob("*.part"))


BITS = """
import struct, sys, numpy as np, simpleautodiff as ad
c = struct.unpack("<d", bytes.fromhex(sys.argv[1]))[0]
x, a = np.array([2.0, 3.0]), np.array([c, c])
f, g, h = (ad.jit(f) for f in (lambda x: np.copysign(x, c), lambda x: x * c, lambda x: x * a))
for _ in range(2000):  # until the code is compiled and kept
    found = [f(2.0), g(2.0), h(x)]
wanted = [np.copysign(2.0, c), 2.0 * c, x * a]
print(*[np.asarray(y).tobytes() == np.asarray(z).tobytes() for y, z in zip(found, wanted)])
"""
CONSTANTS = {
    "zero": "0000000000000000",
    "minus zero": "0000000000000080",
    "nan": "000000000000f87f",
    "minus nan": "000000000000f8ff",
    "another nan": "010000000000f87f",
    "a tenth": "9a9999999999b93f",
    "the next number": "9b9999999999b93f",
}


@pytest.mark.slow
def test_constants_that_differ_in_one_bit_share_no_object(place):
    for name, bits in CONSTANTS.items():
        done = subprocess.run([sys.executable, "-c", BITS, bits], capture_output=True, text=True)
        assert done.stdout == "True True True\n", (name, done.stderr)


@pytest.mark.parametrize("word", ["", "0", "off", "OFF"])
def test_it_can_be_turned_off(monkeypatch, word):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", word)
    assert cache.folder() is None
    assert not built().from_cache
    assert not built().from_cache
    assert cache.contents() == (None, 0, 0)


@pytest.mark.parametrize(
    ("platform", "variable", "end"),
    [
        ("linux", "XDG_CACHE_HOME", "told/simpleautodiff"),
        ("linux", None, ".cache/simpleautodiff"),
        ("darwin", None, "Library/Caches/simpleautodiff"),
        ("win32", "LOCALAPPDATA", "told/simpleautodiff"),
    ],
)
def test_the_usual_places(monkeypatch, tmp_path, platform, variable, end):
    monkeypatch.delenv("SIMPLEAUTODIFF_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "told"))
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.folder() == tmp_path / end


def test_what_was_not_used_for_the_longest_time_goes_first(place, monkeypatch):
    digests = map(cache.digest, itertools.count())
    keys = list(itertools.islice((key for key in digests if key[0] == "0"), 4))
    monkeypatch.setattr(cache, "LIMIT", 3500)
    for number, key in enumerate(keys[:3]):
        cache.store(key, bytes(1000))
        os.utime(place / f"{key}.object", (number, number))
    assert cache.load(keys[0]) is not None  # used now, so no longer the oldest
    cache.store(keys[3], bytes(1000))
    assert [cache.load(key) is not None for key in keys] == [True, False, True, True]
    assert cache.contents().size <= 3500


def test_large_objects_come_from_disk(place):
    many = "\n".join(
        f"define double @f{i}(double %x) {{\n  %y = fadd double %x, {i}.0\n  ret double %y\n}}"
        for i in range(400)
    )
    built(text=f"{TEXT}\n{many}")
    assert kept(place).stat().st_size > 20_000
    assert built().from_cache


def test_the_command_tells_and_clears(place, capsys):
    built()
    size = kept(place).stat().st_size
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{place}\n1 object, {size} bytes\n"
    assert main(["cache", "--clear"]) == 0
    assert "removed 1 object" in capsys.readouterr().out
    assert not list(place.iterdir())
    assert main(["cache"]) == 0
    assert "0 objects, 0 bytes" in capsys.readouterr().out


def test_the_command_says_that_nothing_is_kept(monkeypatch, capsys):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == "SIMPLEAUTODIFF_CACHE says that nothing is kept\n"


def test_what_is_kept_is_at_most_256_mebibytes():
    assert cache.LIMIT == 256 * 1024 * 1024
