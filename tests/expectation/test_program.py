"""``xladoctor.expect`` in a program without pytest: late, in forks, beside a capture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE, ROOT, line_of, run, write

pytestmark = LIVE

PROGRAM = f"""{ON_DEVICE}
import json
import xladoctor
from xladoctor.expectation import UnmetExpectation

def step(size, read=False):
    inputs = torch.ones(size, 8).to(device)
    result = inputs @ weights
    torch_xla.sync()
    return result.sum().item() if read else None

def unmet(**bounds):
    def failing(function, *arguments):
        try:
            with xladoctor.expect(**bounds):
                function(*arguments)
        except UnmetExpectation as error:
            return str(error)
    return failing

for _ in range(3):
    step(3)
said = {{"late": unmet(compilations=0)(step, 4), "compared": unmet(compilations=0)(step, 5)}}
settings = dict(os.environ)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    with xladoctor.expect(host_syncs=0):
        pass
    os.write(writer, b"counted")
    os._exit(0)
os.waitpid(child, 0)
said["fork"] = os.read(reader, 20).decode()
with xladoctor.capture("out", report=False):
    said["captured"] = unmet(host_syncs=0)(step, 3, True)
    for size in (6, 7):
        step(size)
    said["shape"] = unmet(compilations=0)(step, 8)
said["after"] = unmet(compilations=0)(step, 9)
with xladoctor.expect(compilations=0, host_syncs=0, fallbacks=0):
    step(9)
assert dict(os.environ) == settings
print(json.dumps(said))
"""


@pytest.mark.thorough
def test_program(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROGRAM)
    (tmp_path / "temporary").mkdir()
    settings = {"TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(ROOT)}

    done = run(sys.executable, program, cwd=tmp_path, env=settings)

    assert done.status == 0, done.stderr
    texts = {key: " ".join(text.split()) for key, text in json.loads(done.stdout).items()}
    assert "Graph of a call site whose earlier graphs are not known" in texts["late"]
    assert "xladoctor.expect(compilations=100)" in texts["late"]
    assert texts["fork"] == "counted"
    sent = f"XD101 Input whose shape keeps changing train.py:{line_of(program, 'inputs =')} in step"
    for key, sizes in {"compared": (4, 5), "after": (8, 9)}.items():
        assert sent in texts[key]
        assert "last from f32[{},8] to f32[{},8]".format(*sizes) in texts[key]
    assert f"train.py:{line_of(program, 'return result')} in step" in texts["captured"]
    assert "1 compilation" in texts["shape"]
    assert (tmp_path / "out/diagnosis.json").exists()
    assert list((tmp_path / "temporary").glob("xladoctor-expect-*")) == []


TORCH_ALONE = """
import torch
import xladoctor
from xladoctor.errors import XladoctorError
step = torch.compile(lambda x: (x * 2).sum(), backend="eager")
with xladoctor.expect(compilations=1, fallbacks=0):
    step(torch.ones(3))
with xladoctor.expect(compilations=0):
    step(torch.ones(3)).item()
for bounds in ({"compilations": 0}, {"host_syncs": 0}):
    try:
        with xladoctor.expect(**bounds):
            step(torch.ones(4))
    except (AssertionError, XladoctorError) as error:
        print(error)
"""


@pytest.mark.thorough
def test_compiled_functions_of_torch_alone(tmp_path: Path) -> None:
    done = run(
        sys.executable,
        write(tmp_path, "train.py", TORCH_ALONE),
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )

    assert done.status == 0, done.stderr
    assert "XD101  Argument whose shape keeps changing" in done.stdout
    assert "XLA" not in done.stdout
    assert "host_syncs cannot be expected: reads in programs of PyTorch alone" in done.stdout
