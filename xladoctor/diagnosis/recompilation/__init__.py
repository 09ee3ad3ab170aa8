"""Why a call site compiled again: input, constant or operation, and the line that it comes from."""

from xladoctor.diagnosis.recompilation.explain import explain

__all__ = ["explain"]
