"""Which line of a Python stack is named."""

from __future__ import annotations

import pytest

from xladoctor.ingest.frames import NOWHERE, CallSite, Folders, Frame

SITE = "/home/ada/venv/lib/python3.11/site-packages"
PYTHON = "/usr/lib/python3.11"
KNOWN = Folders(standard=(PYTHON,), installed=(SITE,))
UNKNOWN = Folders()
USER = Frame("/home/ada/train.py", 41, "train")
OUTER = Frame("/home/ada/main.py", 3, "main")
TORCH = Frame(f"{SITE}/torch/_tensor.py", 9, "item")
XLA = Frame(f"{SITE}/torch_xla/torch_xla.py", 87, "sync")
LIBRARY = Frame(f"{SITE}/transformers/trainer.py", 500, "training_step")
THREADING = Frame(f"{PYTHON}/threading.py", 982, "run")
WRAPPER = Frame("/opt/xladoctor/recording/bootstrap/_xladoctor/adapter.py", 73, "wrapper")


def test_innermost_line_of_the_user_is_named_with_what_it_called() -> None:
    site = KNOWN.locate([TORCH, USER, OUTER, THREADING])
    assert site == CallSite(USER.file, 41, "train", via="item")


def test_of_several_framework_functions_the_outermost_is_what_the_user_called() -> None:
    assert KNOWN.locate([TORCH, XLA, USER]).via == "sync"


def test_line_of_a_library_is_named_with_the_user_s_line_that_led_there() -> None:
    site = KNOWN.locate([XLA, LIBRARY, TORCH, USER, OUTER])
    assert site == CallSite(LIBRARY.file, 500, "training_step", USER.file, 41, "train", "sync")


def test_library_without_a_user_s_line_stands_alone() -> None:
    assert KNOWN.locate([XLA, LIBRARY, THREADING]) == CallSite(
        LIBRARY.file, 500, "training_step", via="sync"
    )


def test_wrapper_of_the_capture_is_neither_named_nor_called() -> None:
    assert KNOWN.locate([WRAPPER, USER]) == CallSite(USER.file, 41, "train")


@pytest.mark.parametrize("frames", [[], [XLA], [THREADING, WRAPPER]])
def test_stack_without_anybody_s_line_is_nowhere(frames: list[Frame]) -> None:
    assert KNOWN.locate(frames) in (NOWHERE, CallSite(via="sync"))
    assert KNOWN.locate(frames).file is None


def test_main_script_is_the_user_s_even_where_packages_are_installed() -> None:
    main = Frame(f"{SITE}/torch/distributed/run.py", 1, "<module>")
    assert KNOWN.locate([main]) == NOWHERE
    assert Folders((PYTHON,), (SITE,), main.file).locate([main]).file == main.file


@pytest.mark.parametrize("folders", [KNOWN, UNKNOWN], ids=["known folders", "unknown folders"])
@pytest.mark.parametrize(
    ("file", "machinery", "user"),
    [
        (f"{SITE}/torch/nn/modules/module.py", True, False),
        (f"{SITE}/torch_xla/torch_xla.py", True, False),
        (f"{SITE}/torchgen/api.py", True, False),
        (f"{SITE}/torchvision/ops/boxes.py", False, False),
        (f"{SITE}/six.py", False, False),
        (f"{PYTHON}/contextlib.py", True, False),
        ("/usr/lib/python3/dist-packages/yaml/loader.py", False, False),
        ("/home/ada/torch/train.py", False, True),
        ("/home/ada/site-packages.py", False, True),
        ("/content/train.py", False, True),
        ("train.py", False, True),
        ("<frozen importlib._bootstrap>", True, False),
        ("<string>", True, False),
        ("<ipython-input-3-0123456789ab>", False, True),
        (WRAPPER.file, True, False),
    ],
)
def test_origin_of_a_file(folders: Folders, file: str, machinery: bool, user: bool) -> None:
    assert (folders.is_machinery(file), folders.is_user(file)) == (machinery, user)


def test_folder_named_like_the_standard_library_s_is_the_user_s() -> None:
    assert KNOWN.is_user(f"{PYTHON}-project/train.py")


def test_columns_are_those_that_every_table_with_a_call_site_has() -> None:
    assert CallSite("a.py", 1, "f", via="sync").columns() == {
        "file": "a.py",
        "line": 1,
        "function": "f",
        "user_file": None,
        "user_line": None,
        "user_function": None,
        "via": "sync",
    }


DECORATOR = Frame(f"{SITE}/typing_extensions.py", 3140, "wrapper")


def test_decorator_of_a_library_is_not_named_where_a_user_s_line_called_it() -> None:
    assert KNOWN.locate([XLA, DECORATOR, USER]) == CallSite(*USER, via="sync")
    assert KNOWN.locate([LIBRARY, DECORATOR, USER]) == CallSite(*LIBRARY, *USER)
    assert KNOWN.locate([XLA, DECORATOR]) == CallSite(*DECORATOR, via="sync")


def test_line_of_the_user_stays_named_whatever_its_function_is_called() -> None:
    own = Frame("/home/ada/tools.py", 5, "wrapper")
    assert KNOWN.locate([XLA, own, USER]) == CallSite(*own, via="sync")


def test_what_the_capture_saw_of_the_code_counts_more_than_names() -> None:
    seen = {(LIBRARY.file, LIBRARY.line): True, (DECORATOR.file, DECORATOR.line): False}
    folders = Folders((PYTHON,), (SITE,), passing=seen)

    assert folders.locate([XLA, LIBRARY, USER]) == CallSite(*USER, via="sync")
    assert folders.locate([XLA, DECORATOR, USER]) == CallSite(*DECORATOR, *USER, via="sync")


@pytest.mark.parametrize(
    "file",
    [
        "/workspaces/dk3/pytorch/xla/torch_xla/core/xla_model.py",
        "/root/pytorch/torch/nn/modules/module.py",
    ],
)
def test_checkout_of_a_framework_is_the_frameworks(file: str) -> None:
    assert Folders().is_machinery(file)
    assert not Folders(installed=("/venv/lib/packages",)).is_machinery(file)
    user = Frame("/workspaces/dk3/pytorch/xla/examples/train.py", 48, "train")
    assert Folders().locate([Frame(file, 7, "mark_step"), user]).line == 48
