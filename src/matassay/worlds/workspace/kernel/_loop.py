"""The persistent Python of a workspace: runs cell after cell until its input closes.

This file never runs as part of MatAssay. Its text is handed to the workspace's interpreter, so it imports nothing but
the standard library, and little of that, since every module costs time at the start. What it says is not trusted on
the other side.

Arguments: the numbers of three open files: where requests come from, where replies go, where all that is printed goes.
A message is four bytes of length, most significant first, and as many bytes of JSON.
"""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import io
import json
import linecache
import os
import re
import signal
import stat
import sys
import traceback
import types
import warnings

TYPE_CHECKING = False  # as `typing` has it, which costs 5 ms of every start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Name of this file in tracebacks: `matassay.worlds.workspace.kernel.client` compiles it under this name.
HERE = "<kernel>"

MAX_VALUE = 100_000
"""Longest text of a value or of closing words, characters."""
MAX_TRACEBACK = 10_000
"""Longest traceback, characters."""
MAX_SHELL = 200_000
"""Longest output of a shell command, bytes."""
MAX_FIGURES = 8
"""Figures of one cell that are shown."""
MAX_PICTURES = 6_000_000
"""Sum of the pictures of one cell, bytes."""
MAX_SIDE = 1600
"""Longest side of a figure, pixels."""
MIN_DPI = 20.0
"""A figure that would need fewer pixels per inch to fit is left out: its text could not be read."""
MAX_FOUND = 200
"""Lines that a search gives."""
MAX_LISTED = 2000
"""Names that a listing gives."""
MAX_SEARCHED = 20_000_000
"""Largest file that is searched, bytes."""


class Text(str):
    """Text that shows itself as it is when it is the value of a cell."""

    exit_code: int | None

    def __new__(cls, text: str, exit_code: int | None = None) -> Text:
        self = super().__new__(cls, text)
        self.exit_code = exit_code
        return self

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # other processes do not know this class


def shortened(text: str, limit: int) -> str:
    """Beginning and end of a text, with a word on how much is left out."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\n... [{len(text) - limit} characters left out] ...\n{text[len(text) - (limit - head) :]}"


class Kernel:
    """Everything that lasts from cell to cell."""

    def __init__(self, requests: int, replies: int, words: int) -> None:
        # Copies out of reach of a cell's own redirections; none of them is handed on to a new program.
        self.requests, self.replies, self.words = os.dup(requests), os.dup(replies), os.dup(words)
        for file in {requests, replies, words} - {0, 1, 2}:
            os.close(file)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.pid = os.getpid()
        self.cell = 0
        self.armed = False
        self.final: str | None = None
        self.pictures: list[str] = []
        self.left_out = 0
        for stream in (sys.stdout, sys.stderr):
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self.streams = sys.stdout, sys.stderr
        self.redirect()
        # What a cell defines belongs to a `__main__` of its own, where `pickle` and `multiprocessing` look for it.
        self.own = sys.modules["__main__"]
        main = types.ModuleType("__main__")
        self.space = main.__dict__
        self.space["__builtins__"] = builtins
        sys.modules["__main__"] = main
        os.register_at_fork(after_in_child=self.leave)

    def leave(self) -> None:
        """In a copy of this process: it must neither take requests nor hold the pipes open."""
        os.close(self.requests)
        os.close(self.replies)

    def redirect(self) -> None:
        """Let all that is printed go where it belongs, whatever the cell before has done to it."""
        os.dup2(self.words, 1)
        os.dup2(self.words, 2)
        sys.stdout, sys.stderr = self.streams

    def receive(self) -> dict[str, Any] | None:
        """The next request; None once there is no one to send one."""
        length = self.read(4)
        data = self.read(int.from_bytes(length, "big")) if length else b""
        return json.loads(data) if data else None

    def read(self, count: int) -> bytes:
        """As many bytes; fewer if the pipe is closed."""
        data = b""
        while len(data) < count:
            chunk = os.read(self.requests, count - len(data))
            if not chunk:
                return b""
            data += chunk
        return data

    def send(self, message: dict[str, Any]) -> None:
        """Answer."""
        data = json.dumps(message).encode()
        view = memoryview(len(data).to_bytes(4, "big") + data)
        while view:
            view = view[os.write(self.replies, view) :]

    def interrupt(self, *_: object) -> None:
        """Stop the cell that is running; between cells there is nothing to stop."""
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def serve(self) -> None:
        """Run cells until the input closes."""
        signal.signal(signal.SIGINT, self.interrupt)
        self.send({"ready": self.pid, "python": sys.version.split()[0]})
        while (request := self.receive()) is not None:
            reply = self.run(str(request["code"]))
            if os.getpid() != self.pid:
                os._exit(0)  # a cell forked, and this is the copy
            self.flush()
            self.redirect()
            os.write(self.words, bytes.fromhex(request["mark"]))
            self.send(reply)

    def run(self, code: str) -> dict[str, Any]:
        """Run one cell; whatever it raises is part of the reply."""
        self.cell += 1
        self.final, self.pictures, self.left_out = None, [], 0
        signal.signal(signal.SIGINT, self.interrupt)
        reply: dict[str, Any] = {"ok": True, "value": "", "error": None}
        try:
            self.armed = True
            reply["value"] = self.execute(code, f"<cell {self.cell}>")
            self.figures()
        except BaseException as error:  # noqa: BLE001 - also SystemExit and KeyboardInterrupt: they end the cell only
            self.armed = False
            if not (isinstance(error, SystemExit) and error.code in (None, 0)):
                reply["ok"], reply["error"] = False, told(error, code)
        finally:
            self.armed = False
        if reply["error"] and reply["error"]["name"] != "KeyboardInterrupt":
            with contextlib.suppress(Exception):  # the cell's own error is what matters
                self.figures()
        return {**reply, "final": self.final, "displays": self.pictures, "left_out": self.left_out}

    def execute(self, code: str, name: str) -> str:
        """Run the statements; the text of the last one's value, if it is an expression."""
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        assert isinstance(tree, ast.Module)
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr) or code.rstrip().endswith(";"):
            last = None
        else:
            tree.body.pop()
        exec(compile(tree, name, "exec", dont_inherit=True), self.space)  # noqa: S102 - that is what it is for
        if last is None:
            return ""
        expression = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
        value = eval(expression, self.space)  # noqa: S307 - likewise
        if value is None:
            return ""
        self.space["_"] = value
        return "" if self.picture(value) else shortened(repr(value), MAX_VALUE)

    def picture(self, value: object) -> bool:
        """Show a value that can draw itself; whether it could."""
        draw = getattr(type(value), "_repr_png_", None)
        data = draw(value) if draw else None
        if isinstance(data, bytes):
            self.add(data)
        return isinstance(data, bytes)

    def add(self, png: bytes) -> None:
        """Keep a picture for the reply, unless there are too many."""
        if len(self.pictures) < MAX_FIGURES and sum(map(len, self.pictures)) + 4 * len(png) // 3 <= MAX_PICTURES:
            self.pictures.append(base64.b64encode(png).decode())
        else:
            self.left_out += 1

    def figures(self) -> None:
        """Show and close all figures that are open."""
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        numbers: list[int] = pyplot.get_fignums()
        if not numbers:
            return
        try:
            for number in numbers[:MAX_FIGURES]:
                if png := drawn(pyplot.figure(number)):
                    self.add(png)
                else:
                    self.left_out += 1
            self.left_out += len(numbers[MAX_FIGURES:])
        finally:
            pyplot.close("all")

    def flush(self) -> None:
        """Bring out what lies in buffers, those of C libraries included."""
        for stream in (sys.stdout, sys.stderr, *self.streams):
            with contextlib.suppress(Exception):  # a stream that a cell closed or made up
                stream.flush()
        if ctypes := sys.modules.get("ctypes"):
            with contextlib.suppress(Exception):  # it is the cell's module, not ours
                ctypes.CDLL(None).fflush(None)


def drawn(figure: Any) -> bytes:
    """PNG of a figure, of bounded size whatever the figure's; empty if it is too large for that."""
    width, height = figure.get_size_inches()
    dpi = min(100.0, MAX_SIDE / max(width, height))
    if dpi < MIN_DPI:
        return b""
    tight = figure.get_tightbbox()  # a text far away from everything must not blow the picture up
    fits = 0 < tight.width <= 1.5 * width and 0 < tight.height <= 1.5 * height
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, bbox_inches="tight" if fits else None)
    return out.getvalue()


def told(error: BaseException, code: str) -> dict[str, str]:
    """Name, words and traceback of what a cell raised, without the frames of this file."""
    try:
        value = str(error)
    except Exception:  # noqa: BLE001 - an exception whose own text fails
        value = "(its text cannot be made)"
    try:
        described = traceback.TracebackException.from_exception(error, compact=True)
        hide(described, set())
        text = "".join(described.format())
    except Exception as second:  # noqa: BLE001 - hostile or broken exceptions
        text = f"{type(error).__name__}: {value}\n(no traceback: {type(second).__name__})\n"
    if isinstance(error, SyntaxError) and re.search(r"^\s*[!%]\w", code, re.MULTILINE):
        text += "(This is plain Python: no lines with ! or %. Shell commands: shell('...').)\n"
    return {
        "name": type(error).__name__,
        "value": shortened(value, 2000),
        "traceback": shortened(text, MAX_TRACEBACK),
    }


def hide(described: Any, seen: set[int]) -> None:
    """Take the frames of this file out of a described exception and of those that it comes from."""
    if described is None or id(described) in seen:
        return
    seen.add(id(described))
    described.stack[:] = [frame for frame in described.stack if frame.filename != HERE]
    for other in (described.__cause__, described.__context__, *(getattr(described, "exceptions", None) or ())):
        hide(other, seen)


# --- what a cell can call without importing it ------------------------------------------------------------------------


def read_file(path: str) -> Text:
    """The text of a file."""
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs time at the start
        return Text(file.read())


def write_file(path: str, text: str | bytes) -> None:
    """Write text (or bytes) to a file; folders on the way are made."""
    if folder := os.path.dirname(os.fspath(path)):  # noqa: PTH120 - see read_file
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - likewise
    data = text if isinstance(text, bytes) else str(text).encode()
    with open(path, "wb") as file:  # noqa: PTH123 - likewise
        file.write(data)


def walk(path: str) -> Iterator[str]:
    """Names below a folder in order: files and, with a slash at the end, folders; links are not followed."""
    for folder, inside, names in os.walk(path):
        inside.sort()
        for name in sorted([*names, *(i + "/" for i in inside)]):
            yield os.path.normpath(os.path.join(folder, name)) + "/" * name.endswith("/")  # noqa: PTH118 - likewise


def list_files(path: str = ".") -> list[str]:
    """Names of the files and folders below a folder, in order; folders end with a slash."""
    found: list[str] = []
    for name in walk(path):
        if len(found) == MAX_LISTED:
            return [*sorted(found), "... (more are left out)"]
        found.append(name)
    return sorted(found)


def search(pattern: str, path: str = ".") -> Text:
    """Lines of text files that match a regular expression, as ``file:number: line``."""
    wanted = re.compile(pattern)
    found = []
    for name in [os.fspath(path)] if os.path.isfile(path) else walk(path):  # noqa: PTH113 - see read_file
        for number, line in lines(name):
            if wanted.search(line):
                found.append(f"{name}:{number}: {line[:300]}")
                if len(found) == MAX_FOUND:
                    return Text("\n".join([*found, f"... (stopped after {MAX_FOUND} lines)"]))
    return Text("\n".join(found) or "(nothing found)")


def lines(name: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file; none of anything else."""
    try:
        known = os.stat(name)  # noqa: PTH116 - see read_file
        if not stat.S_ISREG(known.st_mode) or known.st_size > MAX_SEARCHED:
            return
        with open(name, "rb") as file:  # noqa: PTH123 - likewise
            data = file.read()
    except OSError:
        return
    if b"\0" in data[:4096]:
        return
    yield from enumerate(data.decode("utf-8", "replace").splitlines(), 1)


def shell(command: str, timeout: float | None = None) -> Text:
    """Run a shell command; what it printed, and its ``exit_code``. Stopped after ``timeout`` seconds."""
    import tempfile

    # Into a file, not a pipe: a program left in the background would hold a pipe open.
    with tempfile.TemporaryFile() as out:
        code = run_command(command, timeout, out)
        size = out.seek(0, os.SEEK_END)
        out.seek(0)
        data = out.read(MAX_SHELL // 2)
        if size > MAX_SHELL:
            data += b"\n... [%d bytes left out] ...\n" % (size - MAX_SHELL)
            out.seek(size - MAX_SHELL // 2)
        data += out.read(MAX_SHELL // 2)
    text = data.decode("utf-8", "replace")
    if code is None:
        text += f"\n[stopped after {timeout} s]"
    elif code:
        text += f"\n[exit code {code}]"
    return Text(text.lstrip("\n") if not data else text, code)


def run_command(command: str, timeout: float | None = None, out: Any = None) -> int | None:
    """Run a command in a session of its own, so that it can be stopped with all that it started; None: it was."""
    import subprocess

    bash = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"  # noqa: PTH110 - see read_file
    errors = None if out is None else subprocess.STDOUT
    process = subprocess.Popen(  # noqa: S603 - that is what it is for
        [bash, "-c", command], stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
    )
    try:
        return process.wait(timeout)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise


def system(command: Any) -> int:
    """`os.system` that an interrupt stops: the original lets the command run on."""
    code = run_command(os.fsdecode(command)) or 0
    return -code if code < 0 else code << 8


def start(numbers: list[int]) -> None:
    """Begin."""
    kernel = Kernel(*numbers)
    sys.path.insert(0, "")  # not earlier: a module in the workspace must not stand in for one that this file imports
    sys.argv = [""]
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("XDG_CACHE_HOME", "/tmp/.cache")  # noqa: S108 - out of the folder that is the agent's work
    os.environ.setdefault("MPLCONFIGDIR", "/tmp/.cache/matplotlib")  # noqa: S108 - likewise
    warnings.filterwarnings("ignore", ".*is non-interactive, and thus cannot be shown")

    def final_answer(text: object = "") -> None:
        """Declare that the task is done; the cell runs to its end."""
        kernel.final = shortened(str(text), MAX_VALUE)

    def display(*values: object) -> None:
        """Print values, or show those that are pictures."""
        for value in values:
            if not kernel.picture(value):
                sys.stdout.write(f"{value!r}\n")

    for helper in (read_file, write_file, list_files, search, shell, final_answer, display):
        setattr(builtins, helper.__name__, helper)
    os.system = system
    kernel.serve()


if __name__ == "__main__":
    start([int(number) for number in sys.argv[1:4]])
