"""What is kept of each host of a large pod."""

from __future__ import annotations

from xladoctor.evidence.schema import TABLES
from xladoctor.pods.kept import KEPT

#: What a report on many hosts has no use for, or what is too much of each.
_LEFT_OUT = """
other_name environment tried_patch metric counter cut enclosing_loop processor_use judged_part
read_origin graph_break split_collective compile_limit key_change repeated_line captured_constant
traced_line logged_constant logged_warning execution fallback fallback_count host_sync upload
state_save optimizer idle_optimizer loader empty_pass transfer kept_graph plane line event
event_stat host_segment
compiled_part split_call device_execution device_launch kernel_site host_op eager_op
hlo_instruction hlo_frame hlo_parameter memory_buffer source_file ignore_comment graph_change
tpu_graph tpu_peak_buffer
tpu_operation tpu_product tpu_buffer pod_process operator_trait frontend_trait own_counter
metric_meaning cause_meaning reading_helper reading_line unrecorded preparation replacement
replaced_name start_up flattening call_array argument_use live_memory memory_holder
placement communication redivided
full_copy argument_reshard
"""


def test_each_table_is_kept_or_left_out_on_purpose() -> None:
    assert len(set(KEPT)) == len(KEPT)
    assert TABLES.keys() - set(KEPT) == set(_LEFT_OUT.split())
