"""One command and its programs: made up of the files that processes leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xladoctor.recording.interface import RunDirectory
from xladoctor.recording.programs import split

MANIFEST = {"command": ["bash", "both.sh"], "script": "both.sh", "ended": {"status": 0}}
SHELL = 10


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    (tmp_path / "run.json").write_text(json.dumps(MANIFEST))
    return RunDirectory(tmp_path)


def process(
    run: RunDirectory,
    pid: int,
    parent: int = SHELL,
    main: str | None = "/home/ada/train.py",
    **changes: Any,
) -> Path:
    """A captured process; ``steps`` is the text of its step log."""
    folder = run.path / f"process-{pid}"
    folder.mkdir()
    (folder / "steps.jsonl").write_text(changes.pop("steps", ""))
    record = {
        "pid": pid,
        "parent": parent,
        "began_ns": pid,
        "main": main,
        "used_device": True,
        "argv": [main, "--epochs", "3"],
        **changes,
    }
    (folder / "process.json").write_text(json.dumps(record))
    return folder


def log(run: RunDirectory, *processes: tuple[int, int]) -> None:
    lines = "".join(f"{pid} {parent} started\n" for pid, parent in processes)
    (run.path / "python.log").write_text(lines)


def split_into(run: RunDirectory) -> dict[str, list[str]]:
    """By the name of each run, its processes; by "." where nothing was moved."""
    return {
        str(part.path.relative_to(run.path)): [folder.name for folder in part.processes()]
        for part in split(run)
    }


def test_one_program_stays_where_it_is(run: RunDirectory) -> None:
    process(run, 20)
    log(run, (20, SHELL))
    assert split_into(run) == {".": ["process-20"]}
    assert json.loads(run.manifest.read_text()) == MANIFEST


def test_no_process_at_all(run: RunDirectory) -> None:
    assert split_into(run) == {".": []}


def test_two_programs_in_turn_are_two_runs_in_the_order_of_their_start(run: RunDirectory) -> None:
    process(run, 20, main="/home/ada/evaluate.py", began_ns=900)
    process(run, 30, began_ns=5)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {"1-train": ["process-30"], "2-evaluate": ["process-20"]}
    assert run.processes() == []


def test_each_run_has_its_own_manifest(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 30, main="/home/ada/evaluate.py")
    log(run, (20, SHELL), (30, SHELL))
    train, _ = split(run)
    written = json.loads(train.manifest.read_text())
    assert written.pop("own_crc32")
    for key in ("files", "crc32"):
        assert set(written.pop(key)) == {"process-20/process.json", "process-20/steps.jsonl"}
    assert written == {
        **MANIFEST,
        "command": ["/home/ada/train.py", "--epochs", "3"],
        "script": "/home/ada/train.py",
        "part_of": run.path.name,
    }
    assert json.loads(run.manifest.read_text()) == MANIFEST


def test_same_script_twice(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 30)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {"1-train": ["process-20"], "2-train": ["process-30"]}


def test_program_without_a_script(run: RunDirectory) -> None:
    process(run, 20, main=None, argv=["-c"])
    process(run, 30, main=None, argv=[])
    log(run, (20, SHELL), (30, SHELL))
    runs = split(run)
    assert [part.path.name for part in runs] == ["1-program", "2-program"]
    commands = [json.loads(part.manifest.read_text())["command"] for part in runs]
    assert commands == [["-c"], MANIFEST["command"]]


def test_workers_of_a_launcher_are_one_program(run: RunDirectory) -> None:
    """As `torchrun` makes them: the launcher itself uses no device."""
    for pid in (21, 22, 23):
        process(run, pid, parent=20)
    log(run, (20, SHELL), (21, 20), (22, 20), (23, 20))
    assert split_into(run) == {".": ["process-21", "process-22", "process-23"]}


def test_two_launchers_are_two_programs_with_their_workers(run: RunDirectory) -> None:
    for pid, parent in ((21, 20), (22, 20), (31, 30), (32, 31)):
        process(run, pid, parent)
    log(run, (20, SHELL), (21, 20), (22, 20), (30, SHELL), (31, 30), (32, 31))
    assert split_into(run) == {
        "1-train": ["process-21", "process-22"],
        "2-train": ["process-31", "process-32"],
    }


def test_shell_between_two_python_processes_parts_them(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 30, parent=25)  # a shell that 20 started
    log(run, (20, SHELL), (30, 25))
    assert len(split(run)) == 2


def test_last_command_of_a_shell_that_becomes_it_is_a_program_of_its_own(run: RunDirectory) -> None:
    """It has the shell's number, which is the parent of what the shell started before."""
    process(run, 30, parent=20)
    process(run, 31, parent=30)  # a worker
    process(run, 20, main="/home/ada/evaluate.py", began_ns=900)
    log(run, (30, 20), (31, 30), (20, SHELL))
    assert split_into(run) == {
        "1-train": ["process-30", "process-31"],
        "2-evaluate": ["process-20"],
    }


def test_forked_children_say_who_their_parent_is_in_their_record(run: RunDirectory) -> None:
    """They start no interpreter, so that the log knows nothing of them."""
    process(run, 21, parent=20)
    process(run, 22, parent=20)
    log(run, (20, SHELL))
    assert split_into(run) == {".": ["process-21", "process-22"]}


def test_forked_child_of_a_forked_child(run: RunDirectory) -> None:
    process(run, 21, parent=20)
    process(run, 22, parent=21)
    process(run, 30)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {"1-train": ["process-21", "process-22"], "2-train": ["process-30"]}


def test_process_that_did_not_use_xla_is_no_program(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 30, used_device=False)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {".": ["process-20", "process-30"]}


def test_process_that_was_killed_never_said_that_it_used_device(run: RunDirectory) -> None:
    process(run, 20, used_device=False, steps='{"event": "step"}\n')
    process(run, 30)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {"1-train": ["process-20"], "2-train": ["process-30"]}


def test_process_number_that_came_twice(run: RunDirectory) -> None:
    folder = process(run, 20)
    folder.rename(folder.with_name("process-20-2"))
    process(run, 20)
    process(run, 30, main="/home/ada/evaluate.py")
    log(run, (20, SHELL), (30, SHELL), (20, 30))
    assert set(split_into(run)) == {"1-train", "2-evaluate"}


# Timelines


def window(session: str, pid: int) -> dict[str, Any]:
    return {"session": session, "file": f"vm_{pid}.xplane.pb"}


def timeline(run: RunDirectory, session: str, pid: int) -> Path:
    path = run.path / "plugins" / "profile" / session / f"vm_{pid}.xplane.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"%d" % pid)
    return path


def timelines(run: RunDirectory) -> list[str]:
    return sorted(str(path.relative_to(run.path)) for path in run.path.rglob("*.xplane.pb"))


def test_timelines_go_along(run: RunDirectory) -> None:
    process(run, 20, windows=[window("s", 20), window("s-outlier", 20)])
    process(run, 30, windows=[window("s", 30), {"begin_ns": 5}])
    for session, pid in (("s", 20), ("s-outlier", 20), ("s", 30)):
        timeline(run, session, pid)
    log(run, (20, SHELL), (30, SHELL))

    split(run)

    assert timelines(run) == [
        "1-train/plugins/profile/s-outlier/vm_20.xplane.pb",
        "1-train/plugins/profile/s/vm_20.xplane.pb",
        "2-train/plugins/profile/s/vm_30.xplane.pb",
    ]


def test_timeline_that_was_lost_is_no_obstacle(run: RunDirectory) -> None:
    process(run, 20, windows=[window("s", 20)])
    process(run, 30)
    log(run, (20, SHELL), (30, SHELL))
    assert len(split(run)) == 2
    assert timelines(run) == []


def test_timeline_of_a_process_that_was_killed_goes_along(run: RunDirectory) -> None:
    """Its record is of the beginning and names no window."""
    process(run, 20, used_device=False, steps='{"event": "step"}\n', windows=[])
    process(run, 30)
    timeline(run, "s", 20)
    log(run, (20, SHELL), (30, SHELL))
    split(run)
    assert timelines(run) == ["1-train/plugins/profile/s/vm_20.xplane.pb"]


# Damage


@pytest.mark.parametrize(
    "text",
    [b"", b"20\n30 \n", b"20 x started\n\x00\xff\n30", b"\n\n", b"20 10 started\n30 10 fault \xc3"],
)
def test_damaged_log_parts_processes_that_do_not_know_each_other(
    run: RunDirectory, text: bytes
) -> None:
    process(run, 20)
    process(run, 30)
    (run.path / "python.log").write_bytes(text)
    assert len(split(run)) == 2


def test_without_a_log_the_records_are_what_is_known(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 21, parent=20)
    assert split_into(run) == {".": ["process-20", "process-21"]}


def test_circle_of_parents_ends(run: RunDirectory) -> None:
    process(run, 20, parent=21)
    process(run, 21, parent=20)
    log(run, (20, 21), (21, 20))
    assert len(split(run)) in (1, 2)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"pid": 30}', '{"used_device": true}'])
def test_damaged_record_is_of_no_program(run: RunDirectory, text: str) -> None:
    process(run, 20)
    folder = process(run, 30)
    (folder / "process.json").write_text(text)
    log(run, (20, SHELL), (30, SHELL))
    assert split_into(run) == {".": ["process-20", "process-30"]}


def test_run_directory_that_is_gone_is_an_error_of_the_system(run: RunDirectory) -> None:
    process(run, 20)
    process(run, 30)
    run.manifest.unlink()
    with pytest.raises(FileNotFoundError):
        split(run)
