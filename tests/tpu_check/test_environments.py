"""Environments for releases of JAX: from wheels in a folder, by the interpreter that runs this."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from xladoctor.tpu_check.compiler import environments
from xladoctor.tpu_check.compiler.interpreter import Compiler, NoCompilerError

WHEELS = {
    "jax-1.0.0": "Provides-Extra: tpu\nRequires-Dist: jaxlib==1.0.0\n"
    'Requires-Dist: libtpu==0.0.9; extra == "tpu"\n',
    "jax-1.1.0": "Requires-Python: >=3.99\n",
    "jaxlib-1.0.0": "",
    "libtpu-0.0.9": "",
    "flatbuffers-1": "",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of environments; wheels are found in a folder, and no index is asked."""
    for wheel, needs in WHEELS.items():
        name, version = wheel.split("-")
        with zipfile.ZipFile(tmp_path / f"{wheel}-py3-none-any.whl", "w") as file:
            info = f"{wheel}.dist-info"
            said = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
            file.writestr(f"{info}/METADATA", said)
            file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            file.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "_OTHERS", ())
    return tmp_path / "cache" / "xladoctor" / "tpu_compilers"


def of_release(version: str, *, agrees: bool = True) -> Compiler:
    return environments.of_release(version, lambda _: agrees, lambda _: None)


def test_an_environment_is_made_once_and_then_used_offline(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "new-1" / "bin").mkdir(parents=True)  # of an installation that was killed
    (cache / "new-1" / "bin" / "python").touch()
    made = of_release("1.0.0")
    assert (made.versions, made.stated) == (
        {"jax": "1.0.0", "jaxlib": "1.0.0", "libtpu": "0.0.9"},
        True,
    )
    assert sorted(each.name for each in cache.iterdir()) == ["jax-1.0.0", "lock"]
    monkeypatch.setattr(environments, "_make", pytest.fail)
    assert of_release("1.0.0", agrees=False) == made

    recorded = {"jax": "1.0.0", "jaxlib": "1.0.0"}
    other = Compiler(Path("python"), "2", "3", "1")
    assert environments.of_job(other, recorded).python == made.python
    assert environments.of_job(other, {"jax": "1.0.0", "jaxlib": "2.0.0"}) is other
    assert environments.usual().python == made.python  # as the one that runs this has no libtpu


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.1.0", "it needs Python >=3.99, and none is on the PATH"),
        ("2.0.0", "No matching distribution found for jax"),
        ("../1.0.0", "is not a release of JAX"),
    ],
)
def test_what_cannot_be_installed_leaves_nothing(cache: Path, version: str, words: str) -> None:
    with pytest.raises(NoCompilerError, match=words):
        of_release(version)
    assert not [*cache.glob("*/")]


def test_nothing_is_installed_unless_it_is_agreed(cache: Path) -> None:
    with pytest.raises(NoCompilerError, match="is not installed"):
        of_release("1.0.0", agrees=False)
    assert not [*cache.glob("*/")]
