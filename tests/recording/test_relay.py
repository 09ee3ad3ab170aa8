"""Standard error while graphs compile: each byte goes where it would, and is heard."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.compiler_output import MARK

ROOT = Path(__file__).parents[2]
SAID = MARK.decode() + " of x"
LAUNCHER = """
import sys
from pathlib import Path
from tests.recording.test_launcher import run
sys.exit(run(Path(sys.argv[1]), sys.executable, sys.argv[2]).status)
"""
HEAD = f"""
import json, os, signal, subprocess, sys, threading
sys.path.insert(0, {str(ROOT / "xladoctor/recording/bootstrap")!r})
from _xladoctor.compiler_output import CompilerOutput
output = CompilerOutput()
def write(text): os.write(2, text.encode())
"""


def launched(tmp_path: Path, body: str, stderr: Any = subprocess.PIPE) -> Any:
    """Run a program under the launcher; standard output is what it heard."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + body)
    command = [sys.executable, "-c", LAUNCHER, str(tmp_path / "run"), str(program)]
    return subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, timeout=60, check=False
    )


LISTEN = f"""
output.begin()
write('before\\n\\xff half ')
write('a line: {SAID}\\n')
said = output.end()
write('after\\n')
print(json.dumps([said, output.unheard]))
"""
WRITTEN = f"before\n\xff half a line: {SAID}\nafter\n".encode()


def test_a_pipe_gets_each_byte_in_order(tmp_path: Path) -> None:
    ended = launched(tmp_path, LISTEN)
    assert ended.stderr == WRITTEN
    assert json.loads(ended.stdout) == [{SAID: 1}, ""]


def test_a_file_is_read_back(tmp_path: Path) -> None:
    with (tmp_path / "err.txt").open("wb") as file:
        ended = launched(tmp_path, LISTEN, stderr=file)
    assert (tmp_path / "err.txt").read_bytes() == WRITTEN
    assert json.loads(ended.stdout) == [{SAID: 1}, ""]


def test_a_terminal_is_one_again(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    ended = launched(tmp_path, LISTEN + "write(str(os.isatty(2)))", stderr=theirs)
    assert os.read(ours, 4096).replace(b"\r", b"") == WRITTEN + b"True"
    assert json.loads(ended.stdout) == [{SAID: 1}, ""]


def test_a_descriptor_that_is_not_the_launchers_is_left_alone(tmp_path: Path) -> None:
    elsewhere = "r, w = os.pipe(); os.dup2(w, 2)\n" + LISTEN + "print(os.read(r, 99))"
    ended = launched(tmp_path, elsewhere)
    assert ended.stderr == b""
    heard, read = ended.stdout.decode().splitlines()
    assert json.loads(heard)[0] == {}
    assert "neither a file nor" in json.loads(heard)[1]
    assert SAID in read


def test_what_is_written_before_a_signal_is_passed_on(tmp_path: Path) -> None:
    ended = launched(
        tmp_path, "output.begin()\nwrite('F check failed')\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    assert ended.stderr == b"F check failed"
    assert ended.returncode == 128 + signal.SIGKILL


def test_a_flood_neither_blocks_nor_is_lost(tmp_path: Path) -> None:
    flood = f"""
output.begin()
for number in range(4000): write('%06d' % number + 'x' * 1017 + '\\n')
write('{SAID}\\n')
print(json.dumps([output.end(), output.unheard]))
"""
    ended = launched(tmp_path, flood)
    lines = ended.stderr.decode().splitlines()
    assert [int(line[:6]) for line in lines[:-1]] == [*range(4000)]
    assert json.loads(ended.stdout) == [{SAID: 1}, ""]


FORK = """
if not os.fork():
    write('child\\n' if os.fstat(2).st_ino == own else 'relayed')
    os._exit(0)
os.wait()
"""
START = """
code = "import os; os.write(2, b'child' if os.fstat(2).st_ino == %d else b'relayed')" % own
subprocess.run([sys.executable, '-c', code])
write('\\n')
"""


@pytest.mark.parametrize("start", [FORK, START], ids=["fork", "subprocess"])
def test_children_have_the_programs_own_descriptor(tmp_path: Path, start: str) -> None:
    begin = "own = os.fstat(2).st_ino\noutput.begin()\nassert os.fstat(2).st_ino != own"
    end = "output.end()\nassert os.fstat(2).st_ino == own"
    ended = launched(tmp_path, f"{begin}\n{start}\n{end}")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == b"child\n"


def test_two_threads_compile_at_once(tmp_path: Path) -> None:
    body = f"""
output.begin()
other = threading.Thread(target=lambda: (output.begin(), write('{SAID}\\n'), output.end()))
other.start(); other.join()
write('end\\n')
output.end()
print(json.dumps(output.unheard))
"""
    ended = launched(tmp_path, body)
    assert ended.stderr == f"{SAID}\nend\n".encode()


def test_a_silenced_compiler_is_not_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    ended = launched(tmp_path, LISTEN)
    assert "TF_CPP_MIN_LOG_LEVEL=3 silences" in json.loads(ended.stdout)[1]
