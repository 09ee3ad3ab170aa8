"""Environments with the compiler of a release of JAX, in the user's cache folder.

Each is made beside the others and renamed as a whole: what a killed installation leaves is never
used. A virtual environment can be moved, as its interpreter finds what lies beside it.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from xladoctor.cache_folder import cache_folder
from xladoctor.tpu_check.compiler import interpreter
from xladoctor.tpu_check.compiler.interpreter import Compiler, NoCompilerError

_KEPT, _NEW = "jax-", "new-"
_PIP = ("-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check")
_VERSION = re.compile(r"\d+(\.\d+){1,3}", re.ASCII)
#: What pip says of a release for other interpreters, with and without an index.
_NEEDS = r"\b{} Requires-Python ([^;\s]+)|different Python: \S+ not in '(.+?)'"
_OTHERS = tuple(f"python3.{minor}" for minor in range(14, 9, -1) if minor != sys.version_info[1])
_INSTEAD = "or name an interpreter that has this compiler: --python FILE"
#: What an installation takes, and whose libtpu is.
_TAKES = "downloads about 350 MB, and takes 1.3 GB in {folder}"
_TERMS = "libtpu, which is in it, is Google's, and licensed for use with Google Cloud"


def of_release(version: str, agree: Callable[[str], bool], say: Callable[[str], None]) -> Compiler:
    """The compiler that a release of JAX pins, in its environment, which is made if there is none.

    Args:
        version: of JAX.
        agree: asks whether to install what a sentence describes.
        say: says what takes long.

    Raises:
        NoCompilerError: it is not agreed to, or cannot be installed.
    """
    if not _VERSION.fullmatch(version):
        raise NoCompilerError(f"{version!r} is not a release of JAX", "such as --jax 0.9.0")
    folder = cache_folder("tpu_compilers")
    if folder is None:
        raise NoCompilerError("the cache cannot be written", f"set XDG_CACHE_HOME, {_INSTEAD}")
    python = _python(folder / f"{_KEPT}{version}")
    if not python.exists():
        takes = _TAKES.format(folder=folder)
        if not agree(f"An environment with jax[tpu]=={version} {takes}. {_TERMS}."):
            raise NoCompilerError(f"jax[tpu]=={version} is not installed", f"agree, {_INSTEAD}")
        with (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not python.exists():  # as no other process has made it meanwhile
                _make(version, folder, say)
    return replace(interpreter.find_compiler(python), stated=True)


def of_job(compiler: Compiler, recorded: Mapping[str, str]) -> Compiler:
    """The compiler of a run's versions, if there is an environment with it; otherwise the given."""
    if compiler.stated or compiler.is_of(recorded):
        return compiler
    matching = (each for each in _kept(recorded.get("jax", "")) if each.is_of(recorded))
    return next(matching, compiler)


def usual() -> Compiler:
    """The compiler of the interpreter that runs this, or else of the newest environment.

    Raises:
        NoCompilerError: there is none.
    """
    try:
        return interpreter.find_compiler(None)
    except NoCompilerError:
        for compiler in _kept("*"):
            return compiler
        raise


def _kept(version: str) -> Iterator[Compiler]:
    """The compilers in environments for a version, or a pattern of versions; the newest first."""
    folder = cache_folder("tpu_compilers")
    found = folder.glob(f"{_KEPT}{version}") if folder and version else ()
    for environment in sorted(found, key=_numbers, reverse=True):
        with suppress(NoCompilerError):
            yield interpreter.find_compiler(_python(environment))


def _numbers(environment: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", environment.name)]


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"


def _make(version: str, folder: Path, say: Callable[[str], None]) -> None:
    """Make the environment, with the first interpreter that the release supports."""
    for left in folder.glob(f"{_NEW}*"):  # by installations that were killed
        shutil.rmtree(left, ignore_errors=True)
    reason = ""
    for python in (sys.executable, *filter(None, map(shutil.which, _OTHERS))):
        with TemporaryDirectory(prefix=_NEW, dir=folder, ignore_cleanup_errors=True) as new:
            failure = _failure([python, "-I", "-m", "venv", new])
            if failure and python != sys.executable:
                continue
            say(f"installing jax[tpu]=={version} for {python}, which takes minutes")
            failure = failure or _failure(
                [str(_python(Path(new))), *_PIP, f"jax[tpu]=={version}", "flatbuffers"]
            )
            if not failure:
                interpreter.find_compiler(_python(Path(new)))
                shutil.rmtree(folder / f"{_KEPT}{version}", ignore_errors=True)
                Path(new).rename(folder / f"{_KEPT}{version}")
                return
        if needs := re.search(_NEEDS.format(re.escape(version)), failure):
            reason = f"it needs Python {needs[1] or needs[2]}, and none is on the PATH"
        elif re.search("No matching distribution found for (libtpu|jaxlib)", failure):
            reason = reason or "it is not made for any Python on the PATH"
        else:
            reason = failure.splitlines()[-1]
            break
    what = f"jax[tpu]=={version} cannot be installed: {reason}"
    raise NoCompilerError(what, f"fix that, {_INSTEAD}")


def _failure(command: list[str]) -> str:
    """What a command says when it fails; empty if it does not."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            errors="replace",
            stdin=subprocess.DEVNULL,
            text=True,
        )
    except OSError as error:
        return str(error)
    said = f"{done.stdout}\n{done.stderr}".strip()
    return (said or f"status {done.returncode}") if done.returncode else ""
