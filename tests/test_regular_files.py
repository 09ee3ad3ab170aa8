"""Only regular files of a size that can be are opened, whoever asks."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from tests.ingest.test_run_directory import MANIFEST, add_process, write
from xladoctor import regular_files
from xladoctor.configuration.interface import ConfigurationError
from xladoctor.configuration.load import load_configuration
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import RuleError
from xladoctor.errors import XladoctorError
from xladoctor.evidence.load import load
from xladoctor.gate import baseline
from xladoctor.gate.interface import GateError
from xladoctor.ingest.regular import defect
from xladoctor.regular_files import (
    UnfitFileError,
    lines_of,
    open_regular,
    open_text,
    read_bytes,
    read_json,
    read_text,
)

OF_RUN = ("run.json", "sources.json", "python.log")
OF_PROCESS = (
    "process.json",
    "steps.jsonl",
    "call_sites.json",
    "host_samples.json",
    "processor.jsonl",
    "metrics.txt",
    "analysis.log",
    "analysis-0.log",
    "faults.log",
    "modules.xplane.pb",
)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


UNFIT = pytest.mark.parametrize("replace", [pipe, device])
Replace = Callable[[Path], None]


def test_what_is_no_regular_file_says_what_it_is(tmp_path: Path) -> None:
    pipe(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        unfit = {
            tmp_path / "pipe": "a pipe",
            Path("/dev/zero"): "a device",
            tmp_path: "a directory",
            tmp_path / "socket": "a socket",
        }
        for file, what in unfit.items():
            with pytest.raises(UnfitFileError, match=f"^{what}, not a regular file$"):
                open_regular(file, 10)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none", 10)


def test_a_link_to_a_regular_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "a\nb\nc\n"


def test_a_file_is_as_large_as_the_limit_and_no_larger(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (1 << 20))
    assert len(read_bytes(path, 1 << 20)) == 1 << 20
    path.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(UnfitFileError, match=r"^larger than 1 MiB, which no such file is$"):
        read_bytes(path, 1 << 20)


def test_a_file_without_a_size_is_read_up_to_the_limit() -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    assert b"VmHWM" in read_bytes(Path("/proc/self/status"))
    with pytest.raises(UnfitFileError):
        read_bytes(Path("/proc/self/status"), 10)


def test_a_file_that_has_nothing_to_read_yet_is_refused() -> None:
    """``/proc/kmsg`` is one, regular by its mode; here a pipe is taken for it."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    path = Path(f"/proc/self/fd/{reading}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular_files, "_check", lambda *_: None)
        with pytest.raises(UnfitFileError, match="nothing to read at the moment"):
            read_bytes(path)
        with open_text(path) as file, pytest.raises(UnfitFileError, match="nothing to read"):
            file.readline()
    os.close(writing)
    os.close(reading)


def test_json_that_is_nested_too_deeply_is_no_json(tmp_path: Path) -> None:
    write(tmp_path / "run.json", "[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(tmp_path / "run.json")


def test_of_an_endless_line_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_files, "LINE", 4)
    assert list(lines_of(StringIO("ab\n123456789\ncde\nf"))) == ["ab\n", "1234", "cde\n", "f"]
    assert list(lines_of(StringIO("123456789"))) == ["1234"]


@UNFIT
@pytest.mark.parametrize("name", OF_RUN)
def test_a_run_whose_file_is_none_is_read_or_refused(
    tmp_path: Path, name: str, replace: Replace
) -> None:
    write(tmp_path / "run.json", MANIFEST)
    add_process(tmp_path, 42)
    replace(tmp_path / name)
    if name == "run.json":
        with pytest.raises(XladoctorError, match=r"run\.json: cannot be read: .* regular file"):
            load(str(tmp_path))
        return
    notes = "\n".join(load(str(tmp_path)).notes)
    assert name == "python.log" or f"{name}: cannot be read" in notes


@UNFIT
@pytest.mark.parametrize("name", OF_PROCESS)
def test_a_process_whose_file_is_none_is_read_without_it(
    tmp_path: Path, name: str, replace: Replace
) -> None:
    write(tmp_path / "run.json", MANIFEST)
    add_process(tmp_path, 41)
    replace(add_process(tmp_path, 42) / name)
    notes = "\n".join(load(str(tmp_path)).notes)
    assert f"{name}: " in notes
    assert re.search("not a (regular|plain) file", notes)


def test_what_is_wrong_is_told_without_the_path_which_python_would_quote() -> None:
    assert defect(PermissionError(13, "Permission denied", "caf\udce9")) == "Permission denied"
    assert defect(ValueError("nested too deep")) == "nested too deep"


@UNFIT
def test_python_log_that_is_none_says_so_where_nothing_was_captured(
    tmp_path: Path, replace: Replace
) -> None:
    write(tmp_path / "run.json", MANIFEST)
    replace(tmp_path / "python.log")
    with pytest.raises(XladoctorError, match=r"python\.log: cannot be read \(a .*regular file"):
        load(str(tmp_path))


@UNFIT
@pytest.mark.parametrize(
    "name",
    ["host.xplane.pb", "run.log", "run.log.gz", "module_0001.jit_f.before_optimizations.hlo.pb"],
)
def test_evidence_that_is_no_regular_file_is_refused(
    tmp_path: Path, name: str, replace: Replace
) -> None:
    replace(tmp_path / name)
    with pytest.raises(XladoctorError, match=r": .*(not a regular file|nothing in it)"):
        load(str(tmp_path / name))
    with pytest.raises(XladoctorError):
        load(str(tmp_path))


@UNFIT
def test_configuration_baseline_and_rules_are_regular_files(
    tmp_path: Path, replace: Replace
) -> None:
    path = tmp_path / "XD999-x.yaml"
    replace(path)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        load_configuration(path)
    with pytest.raises(GateError, match="not a regular file"):
        baseline.read(path)
    with pytest.raises(RuleError, match="not a regular file"):
        load_rules(tmp_path)
