"""The persistent Python: what cells do, what they may do wrong, and what hostile ones try."""

from __future__ import annotations

import asyncio
import io
import json
import os
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from matassay.core import EnvironmentFailure
from matassay.worlds.workspace.kernel import Kernel, client
from matassay.worlds.workspace.kernel._picture import MAX_BYTES, MAX_SIDE, safe_png
from matassay.worlds.workspace.kernel._words import Kept, Words, readable
from matassay.worlds.workspace.kernel.client import CellError, CellResult, ending, loop_source
from tests.unit.workspace.plain import PlainWorkspace


@pytest.fixture
async def workspace(tmp_path):
    made = PlainWorkspace(tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def kernel(workspace):
    made = await Kernel.start(workspace, output_limit=20_000)
    yield made
    await made.close()


async def value(kernel, code):
    result = await kernel.run(code, timeout=30)
    assert result.ok, result.report()
    return result.value


# --- cells ------------------------------------------------------------------------------------------------------------


async def test_cells_share_one_interpreter(kernel):
    assert (await kernel.run("x = 20; y = []")).report() == ""
    assert await value(kernel, "y.append(1)\nx + len(y) + 21") == "42"
    assert await value(kernel, "_") == "42"
    assert await value(kernel, "x;") == ""
    assert await value(kernel, "None") == ""
    assert await value(kernel, "") == ""
    assert await value(kernel, "__name__, [type(_)]") == "('__main__', [<class 'int'>])"
    assert kernel.starts == 1


async def test_output_keeps_the_order_of_all_who_print(kernel):
    code = "import sys, os, subprocess\nprint('one')\nsubprocess.run(['echo', 'two'])\nprint('three', file=sys.stderr)\nos.write(1, b'four\\n')\nos.system('echo five')\nprint('six', end='')"
    result = await kernel.run(code, timeout=30)
    assert result.stdout == "one\ntwo\nthree\nfour\nfive\nsix"
    assert result.bytes_printed == len(result.stdout)


async def test_printed_value_and_error_are_all_reported(kernel):
    result = await kernel.run("print('before')\ndef f(a):\n    raise ValueError(f'bad {a}')\nf(1)")
    assert not result.ok
    assert result.error == CellError(
        "ValueError",
        "bad 1",
        'Traceback (most recent call last):\n  File "<cell 1>", line 4, in <module>\n    f(1)\n'
        "  File \"<cell 1>\", line 3, in f\n    raise ValueError(f'bad {a}')\nValueError: bad 1\n",
    )
    assert result.report() == "before\n" + result.error.traceback.rstrip()
    assert await value(kernel, "1 + 1") == "2"


@pytest.mark.parametrize(
    ("code", "name", "lines"),
    [
        ("read_file('nowhere')", "FileNotFoundError", 4),
        ("1 +", "SyntaxError", 4),
        ("x = (", "SyntaxError", 4),
        ("raise SystemExit(2)", "SystemExit", 4),
        ("'\\ud800'.encode()", "UnicodeEncodeError", 4),
        ("x = 'a\0b'", "SyntaxError", 1),
    ],
)
async def test_tracebacks_show_the_cell_alone(kernel, code, name, lines):
    result = await kernel.run(code)
    assert result.error.name == name
    assert "kernel" not in result.error.traceback
    assert "ast.py" not in result.error.traceback
    assert len(result.error.traceback.splitlines()) <= lines + 1  # Python 3.13 marks one line more
    assert not result.died


async def test_chained_exceptions_and_those_without_a_text(kernel):
    result = await kernel.run("try:\n    1/0\nexcept ZeroDivisionError as e:\n    read_file('/nowhere')")
    assert "During handling" in result.error.traceback
    assert "<kernel>" not in result.error.traceback
    result = await kernel.run("class Mute(Exception):\n    def __str__(self): raise RuntimeError\nraise Mute")
    assert result.error.name == "Mute"
    assert "Mute" in result.error.traceback
    result = await kernel.run("def f(): f()\nf()")
    assert result.error.name == "RecursionError"
    assert len(result.error.traceback) < 2000
    result = await kernel.run("raise ValueError('x' * 1_000_000)")
    assert len(result.error.value) < 2100
    assert len(result.error.traceback) < 10_100


async def test_the_end_of_a_script_is_no_error(kernel):
    result = await kernel.run("print(1)\nimport sys; sys.exit()\nprint(2)")
    assert (result.ok, result.stdout) == (True, "1\n")


async def test_words_of_notebooks_get_an_explanation(kernel):
    result = await kernel.run("%matplotlib inline\nx = 1")
    assert "shell('...')" in result.error.traceback


async def test_input_is_empty_and_modules_of_the_folder_can_be_imported(kernel):
    assert (await kernel.run("input()")).error.name == "EOFError"
    await kernel.run("write_file('mine.py', 'answer = 42')")
    assert await value(kernel, "import mine; mine.answer") == "42"
    # Neither do they stand in the way of a new start.
    await kernel.run("write_file('json.py', '1/0'); write_file('sitecustomize.py', '1/0')")
    await kernel.restart()
    assert await value(kernel, "1") == "1"


async def test_functions_of_a_cell_reach_other_processes(kernel):
    await kernel.run("def square(x):\n    return x * x")
    code = "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as pool:\n    r = pool.map(square, range(4))\nr"
    assert await value(kernel, code) == "[0, 1, 4, 9]"


async def test_nothing_of_the_kernel_leaks_into_cells(kernel):
    assert await value(kernel, "sorted(n for n in dir() if not n.startswith('__'))") == "[]"
    assert await value(kernel, "import sys; sys.argv, sys.path[0]") == "([''], '')"
    # This file's own `from __future__ import annotations` does not hold for cells.
    assert (await kernel.run("def f(x: nonsense): pass")).error.name == "NameError"


# --- helpers ----------------------------------------------------------------------------------------------------------


async def test_helpers(kernel, tmp_path):
    await kernel.run("write_file('a/b/c.txt', 'alpha\\nbeta\\n'); write_file('raw', b'\\0alpha')")
    assert (tmp_path / "a/b/c.txt").read_text() == "alpha\nbeta\n"
    assert await value(kernel, "read_file('a/b/c.txt')") == "alpha\nbeta\n"
    assert await value(kernel, "list_files()") == "['a/', 'a/b/', 'a/b/c.txt', 'raw']"
    assert await value(kernel, "list_files('a/b')") == "['a/b/c.txt']"
    assert await value(kernel, "search('l.ha')") == "a/b/c.txt:1: alpha"  # not in binary files
    assert await value(kernel, "search('eta', 'a/b/c.txt')") == "a/b/c.txt:2: beta"
    assert await value(kernel, "search('gamma')") == "(nothing found)"
    assert (
        await value(kernel, "import pickle; type(pickle.loads(pickle.dumps(read_file('a/b/c.txt'))))")
        == "<class 'str'>"
    )
    await kernel.run("search = 5; del search")
    assert await value(kernel, "search('beta')") == "a/b/c.txt:2: beta"


async def test_search_and_listing_end(kernel):
    await kernel.run(
        "write_file('many', 'x\\n' * 1000)\nfor i in range(2100): write_file(f'd/{i:04}', '')\nimport os; os.mkfifo('pipe')"
    )
    found = (await value(kernel, "search('x')")).splitlines()
    assert (len(found), found[-1]) == (201, "... (stopped after 200 lines)")
    assert await value(kernel, "len(list_files())") == "2001"


async def test_shell(kernel):
    assert await value(kernel, "shell('echo out; echo err >&2; exit 3')") == "out\nerr\n\n[exit code 3]"
    assert await value(kernel, "r = shell('true'); r == '', r.exit_code") == "(True, 0)"
    result = await kernel.run("r = shell('echo begun; sleep 60', timeout=1)\nr.exit_code, str(r)")
    assert result.value == "(None, 'begun\\n\\n[stopped after 1 s]')"
    # A program left in the background is not waited for, and what it prints later is not lost.
    result = await kernel.run("shell('sleep 60 & echo here')")
    assert (result.value, result.seconds < 30) == ("here\n", True)
    result = await kernel.run("t = shell('seq 200000'); len(t), t.splitlines()[-1]")
    assert result.value.endswith("'200000')")
    assert eval(result.value)[0] < 201_000


async def test_final_answer(kernel):
    result = await kernel.run("final_answer(f'done {1 + 1}')\nprint('and on')")
    assert (result.final, result.stdout) == ("done 2", "and on\n")
    assert (await kernel.run("1")).final is None
    assert (await kernel.run("final_answer()")).final == ""


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def plots(kernel):
    await kernel.run("import matplotlib.pyplot as plt", timeout=60)
    return kernel


async def test_plots_come_out(plots):
    result = await plots.run("plt.figure(figsize=(4, 3)); plt.plot([1, 2]); plt.show(); plt.figure(); 7", timeout=60)
    assert result.ok
    assert (result.stdout, result.value) == ("", "7")
    assert [d.media_type for d in result.displays] == ["image/png"] * 2
    image = Image.open(io.BytesIO(result.displays[0].data))
    assert 250 < image.width < 450
    assert 200 < image.height < 350
    assert (await plots.run("plt.get_fignums()")).value == "[]"
    # One that is left by a cell that raises, one of absurd size, and too many.
    assert len((await plots.run("plt.plot([1]); 1/0", timeout=60)).displays) == 1
    result = await plots.run("plt.figure(figsize=(40, 2)); plt.text(1e3, 0, 'far away')", timeout=60)
    (display,) = result.displays
    assert MAX_SIDE - 100 < Image.open(io.BytesIO(display.data)).width <= MAX_SIDE
    assert not (await plots.run("plt.figure(figsize=(5000, 2))", timeout=60)).displays
    result = await plots.run("for i in range(10): plt.figure(figsize=(1, 1))", timeout=60)
    assert len(result.displays) == 8
    assert result.notes == ("2 pictures left out: too many, too large or damaged",)
    result = await plots.run("class P:\n    def _repr_png_(self): return b'no picture'\nP()")
    assert result.notes == ("1 picture left out: too many, too large or damaged",)


def png(width, height, data=None):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height))) if data is None else data
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_pictures_are_made_anew():
    good = png(20, 10)
    made = safe_png(good)
    assert made is not None
    assert Image.open(io.BytesIO(made)).size == (20, 10)
    assert Image.open(io.BytesIO(safe_png(png(4000, 100)))).size == (1568, 39)
    noise = io.BytesIO()
    Image.frombytes("RGB", (1500, 1500), os.urandom(3 * 1500 * 1500)).save(noise, "PNG")
    assert len(safe_png(noise.getvalue())) <= MAX_BYTES < len(noise.getvalue())
    for bad in (
        b"",
        b"GIF89a",
        good[:40],
        png(100_000, 100_000, b""),
        png(20, 10, b"junk"),
        png(0, 10, b""),
        good.replace(b"IHDR", b"JUNK"),
    ):
        assert safe_png(bad) is None


@given(st.integers(0, 80), st.binary(min_size=1, max_size=4))
def test_damaged_pictures_raise_nothing(place, junk):
    data = png(6, 5)
    broken = data[:place] + junk + data[place + len(junk) :]
    assert safe_png(broken) is None or Image.open(io.BytesIO(safe_png(broken))).format == "PNG"


# --- much output ------------------------------------------------------------------------------------------------------


async def test_output_is_cut_in_its_middle_and_counted(kernel):
    result = await kernel.run("print('first'); print('x' * 5_000_000); print('last')", timeout=60)
    assert result.bytes_printed == 5_000_012
    assert result.stdout.startswith("first\nxxx")
    assert result.stdout.endswith("xxx\nlast\n")
    assert f"[{5_000_012 - 20_000} bytes of output left out]" in result.stdout
    assert len(result.stdout) < 20_100
    short = result.report(500)
    assert len(short) < 600
    assert short.startswith("first")
    assert short.endswith("last")
    assert len((await kernel.run("'y' * 5_000_000")).value) < 100_200


async def test_code_that_holds_the_interpreter_while_it_prints_does_not_stand_still(kernel):
    # A C library that writes more than a pipe holds without letting another thread run.
    code = "import ctypes\nwrite = ctypes.PyDLL(None).write\nfor _ in range(40): write(1, b'z' * 10_000, 10_000)"
    result = await kernel.run(code, timeout=20)
    assert (result.ok, result.bytes_printed) == (True, 400_000)


async def test_what_lies_in_buffers_of_c_comes_out(kernel):
    result = await kernel.run("import ctypes; ctypes.CDLL(None).printf(b'from C\\n');", timeout=20)
    assert result.stdout == "from C\n"


async def test_a_cell_may_maltreat_its_streams(kernel):
    await kernel.run("import sys, os; sys.stdout = None; os.close(1); os.close(2)")
    result = await kernel.run("print('back'); import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert result.stdout == "back\n"
    result = await kernel.run("while True: pass", timeout=0.2)
    assert (result.interrupted, result.died) == (True, False)


async def test_late_output_of_a_background_program_is_the_next_cells(kernel, tmp_path):
    await kernel.run("import subprocess, os\nos.mkfifo('go')\np = subprocess.Popen('cat go; echo late', shell=True)")
    result = await kernel.run("open('go', 'w').write('now\\n'); p.wait()", timeout=20)
    assert (result.stdout, result.value) == ("now\nlate\n", "0")


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(2, 40))
def test_kept_is_beginning_and_end(parts, limit):
    kept, whole = Kept(limit), b"".join(parts)
    for part in parts:
        kept.add(part)
    assert kept.total == len(whole)
    if len(whole) <= limit:
        assert kept.text() == readable(whole.decode("utf-8", "replace"))
    else:
        head, tail = whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :]
        note = f"\n... [{len(whole) - limit} bytes of output left out] ...\n"
        assert kept.text() == note.join(readable(p.decode("utf-8", "replace")) for p in (head, tail))


@given(st.lists(st.integers(1, 7), max_size=30))
async def test_marks_are_found_however_the_stream_is_cut(cuts):
    words, mark = Words(1000), b"MARK!"
    stream = b"early MAR MARK" + mark + b"late"
    words.begin(mark)
    for cut in cuts:
        words.feed(stream[:cut])
        stream = stream[cut:]
    words.feed(stream)
    assert words.marked.is_set()
    assert words.end().text() == "early MAR MARK"
    words.begin(mark)
    words.feed(b"!" + mark)
    assert words.end().text() == "late!"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        ("a\rb\rc\nd\r\n", "c\nd\n"),
        ("\x00\x07bell\tend\x7f", "bell\tend"),
        ("\ud800", "�"),
        ("\x1b[" * 100_000, ""),
        ("a\r" * 100_000 + "b", "b"),
        ("x" * 1_000_000, "x" * 1_000_000),
    ],
)
def test_readable(text, seen):
    assert readable(text).lstrip("[") == seen


# --- interruption, death ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(60)",
        "import os; os.system('sleep 60; sleep 60')",
        "shell('sleep 60')",
        "import subprocess; subprocess.run('sleep 60', shell=True)",
        "import re; re.match('(a+)+b', 'a' * 40)",
    ],
)
async def test_a_cell_that_is_too_slow_is_stopped_and_its_state_is_kept(kernel, code):
    await kernel.run("x = 5")
    result = await kernel.run(f"print('begun')\n{code}", timeout=1)
    assert (result.ok, result.interrupted, result.died) == (False, True, False)
    assert result.error.name == "KeyboardInterrupt"
    assert result.stdout == "begun\n"
    assert "[interrupted: the cell ran longer than its limit of 1 s]" in result.report()
    assert 1 <= result.seconds < 30
    assert await value(kernel, "x") == "5"


async def test_a_cell_that_cannot_be_stopped_is_ended_and_files_are_kept(kernel):
    await kernel.run("write_file('kept', 'yes')")
    code = "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass"
    result = await kernel.run(code, timeout=0.2)
    assert (result.ok, result.interrupted, result.died, result.exit_code) == (False, True, True, None)
    assert "did not stop within 3 s" in result.report()
    assert "variables and imports are gone, files are kept" in result.report()
    assert await value(kernel, "read_file('kept')") == "yes"
    assert kernel.starts == 2


async def test_interrupt_from_outside(kernel):
    await kernel.interrupt()  # without a cell nothing happens
    running = asyncio.create_task(kernel.run("print('here' * 9)\nimport time; time.sleep(60)"))
    while not kernel._words._kept.total:
        await asyncio.sleep(0)
    await kernel.interrupt()
    result = await running
    assert (result.interrupted, result.error.name, result.died) == (True, "KeyboardInterrupt", False)


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [
        ("import os; os._exit(3)", 3, "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, "signal SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", -11, "signal SIGSEGV"),
    ],
)
async def test_death_is_reported(kernel, code, exit_code, words):
    result = await kernel.run(f"print('last words')\n{code}", timeout=20)
    assert (result.ok, result.died, result.exit_code, result.error.name) == (False, True, exit_code, "KernelDied")
    assert result.stdout.startswith("last words\n")
    assert f"the Python process ended ({words})" in result.report()
    assert await value(kernel, "1") == "1"


async def test_copies_of_the_process_neither_answer_nor_hide_its_death(kernel):
    result = await kernel.run("import os\npid = os.fork()\nif pid == 0: print('child')\nelse: os.waitpid(pid, 0)")
    assert (result.ok, result.stdout) == (True, "child\n")
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nelse:\n    os._exit(4)"
    result = await kernel.run(code, timeout=20)
    assert (result.died, result.exit_code, result.seconds < 30) == (True, 4, True)


async def test_cancelling_leaves_nothing_running(kernel):
    task = asyncio.create_task(kernel.run("import time; time.sleep(60)"))
    while not kernel._busy:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await value(kernel, "1") == "1"
    assert kernel.starts == 2


async def test_one_cell_at_a_time_and_no_endless_code(kernel):
    task = asyncio.create_task(kernel.run("1"))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="running already"):
        await kernel.run("2")
    await task
    result = await kernel.run("#" * (client.MAX_CODE + 1))
    assert result.error.name == "CodeTooLong"


# --- a kernel that lies -----------------------------------------------------------------------------------------------

#: Puts a message of the cell's own in front of the true reply.
FORGE = "import gc, os, json\nk = [o for o in gc.get_objects() if type(o).__name__ == 'Kernel'][0]\n"


def forged(message):
    return f"{FORGE}k.send(json.loads({json.dumps(message)!r}))\nk.replies = os.open(os.devnull, os.O_WRONLY)"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"\xff\xff\xff\xff", "announced 4294967295 bytes"),
        (b"\0\0\0\x03[1]", "not a JSON object"),
        (b"\0\0\0\x03{x}", "not valid JSON"),
        (b"\0\0\0\x02\xff\xff", "not valid JSON"),
        ((100_000).to_bytes(4, "big") + b"[" * 100_000, "not"),
    ],
)
async def test_a_reply_that_makes_no_sense_ends_it(kernel, header, words):
    result = await kernel.run(
        f"{FORGE}for i in range(0, {len(header)}, 4096): os.write(k.replies, {header!r}[i:i+4096])", timeout=20
    )
    assert result.died
    assert words in result.report()
    assert await value(kernel, "1") == "1"


@pytest.mark.parametrize("part", ["[],", "{},", "1,"])
async def test_a_reply_of_a_million_parts_is_not_read(kernel, part):
    code = f"""{FORGE}data = b"[" + {part.encode()!r} * 1_000_000 + b"1]"
left = memoryview(len(data).to_bytes(4, "big") + data)
while left: left = left[os.write(k.replies, left):]"""
    result = await kernel.run(code, timeout=20)
    assert result.died
    assert "too many parts" in result.report()


async def test_a_long_text_of_brackets_is_no_million_parts(kernel):
    result = await kernel.run("final_answer('[{,' * 50_000); '[{,' * 50_000", timeout=20)
    assert result.ok


async def test_fields_of_a_wrong_type_count_as_absent(kernel):
    message = {
        "ok": 1, "value": ["x"], "final": {"a": 1}, "error": "no", "left_out": True,
        "displays": [1, None, "%%%", "AAAA", {"a": 1}], "died": True, "seconds": -1e9,
    }  # fmt: skip
    result = await kernel.run(forged(message), timeout=20)
    assert (result.ok, result.value, result.final, result.error, result.displays) == (False, "", None, None, ())
    assert result.notes == ("2 pictures left out: too many, too large or damaged",)
    assert result.seconds >= 0


async def test_text_of_a_forged_reply_is_made_fit_to_be_kept(kernel):
    message = {"ok": True, "value": "a\ud800\x1b[31mb\0" + "v" * 500_000, "error": None, "final": "f" * 500_000}
    result = await kernel.run(forged(message), timeout=20)
    assert result.value.startswith("a�bv")
    assert len(result.value) <= len(result.final) == client.MAX_TEXT


async def test_an_interpreter_that_does_not_start(tmp_path):
    for python, words in (("/bin/false", "exit code 1"), ("/nowhere/python3", "No such file")):
        workspace = PlainWorkspace(tmp_path, python)
        with pytest.raises(EnvironmentFailure, match=f"(?s)does not start.*{words}"):
            await Kernel.start(workspace)
        await workspace.close()


async def test_a_restart_that_fails_is_the_agents(kernel, workspace):
    await kernel.run("import os; os._exit(0)")
    workspace.python = "/bin/false"
    result = await kernel.run("1")
    assert result.error.name == "KernelNotStarted"
    workspace.python = os.sys.executable
    assert await value(kernel, "1") == "1"


# --- the report -------------------------------------------------------------------------------------------------------


def test_report_keeps_the_end_when_it_is_cut():
    error = CellError("E", "v", "T" * 3000)
    text = CellResult(ok=False, stdout="p" * 50_000, error=error, notes=("n",)).report(10_000)
    assert len(text) < 10_200
    assert text.startswith("ppp")
    assert text.endswith("T\n[n]")
    assert "43000 characters left out" not in text
    assert len(CellResult(ok=True, stdout="", value="v" * 50_000).report(1000)) < 1100
    assert CellResult(ok=True, stdout="").report() == ""


def test_endings_and_source():
    assert [ending(c) for c in (0, 1, -9, 139, 255, None)] == [
        "exit code 0", "exit code 1", "signal SIGKILL", "signal SIGSEGV", "exit code 255", "exit code unknown",
    ]  # fmt: skip
    assert len(loop_source().encode()) < 60_000  # one argument of a program holds 128 KiB
