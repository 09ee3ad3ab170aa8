"""Executables of a TPU, as the compiler's module after optimization describes them."""

from xladoctor.tpu_check.executable.read import Executable, read_executable

__all__ = ["Executable", "read_executable"]
