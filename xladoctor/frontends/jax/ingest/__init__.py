"""Readers of what JAX itself writes: compile logs, transfer logs, alarms of slow compilations,
warnings of captured constants and of donations."""

from xladoctor.frontends.jax.ingest.compile_log import CompileLog
from xladoctor.frontends.jax.ingest.constant_warnings import ConstantWarnings
from xladoctor.frontends.jax.ingest.donation_warnings import DonationWarnings
from xladoctor.frontends.jax.ingest.slow_alarm import SlowAlarm
from xladoctor.frontends.jax.ingest.transfer_log import TransferLog
from xladoctor.ingest.formats import Formats

FORMATS = Formats(
    expected=(
        "what JAX logs of its compilations (JAX_LOG_COMPILES=1) or of transfers"
        " (jax.transfer_guard)",
    ),
    logs=(CompileLog, TransferLog, SlowAlarm, ConstantWarnings, DonationWarnings),
)
