"""A query for each view and macro that shows what it is good for."""

from __future__ import annotations


def _parsed(text: str) -> dict[str, str]:
    """``name: query`` lines."""
    pairs = (line.strip().split(": ", 1) for line in text.splitlines() if line.strip())
    return dict(pairs)


EXAMPLES = _parsed("""
    scope_time: SELECT scope, share FROM scope_time ORDER BY self_ns DESC
    scope_of: SELECT DISTINCT scope_of(op_name) AS scope FROM hlo_instruction

    measured: SELECT samples, accumulator FROM measured WHERE meaning = 'upload'
    reported: SELECT process, compiled, launched, uploads FROM reported
    compile_record: SELECT process FROM compile_record
    runtime_counts: SELECT process FROM runtime_counts
    operator_counts: SELECT process FROM operator_counts
    operator_record: SELECT process FROM operator_record
    compile_times: SELECT process FROM compile_times
    reported_piling: SELECT process, operations FROM reported_piling
    loop: SELECT process, thread, steps, duration_ns / steps AS ns_a_step FROM loop WHERE steps > 0
    lead: SELECT compile_ns / duration_ns AS compiling FROM lead
    steady_step: SELECT median(duration_ns) / 1e6 AS ms FROM steady_step
    captured_loop: SELECT process FROM captured_loop
    read_in_loop: SELECT kind, file, line, count_a_step FROM read_in_loop WHERE share_of_steps > 0.5
    logged_read: SELECT file, line, count, barriers FROM logged_read
    logged_cut: SELECT file, line, share FROM logged_cut
    upload_record: SELECT process FROM upload_record
    read_record: SELECT process FROM read_record
    read_finding: SELECT file, line, purpose, seen_by, share_of_steps FROM read_finding
    graph_size: SELECT max(instructions) AS largest FROM graph_size
    eager_launches: SELECT process, launches, operators FROM eager_launches
    launch_record: SELECT process FROM launch_record
    barrier_record: SELECT process FROM barrier_record
    missing_barrier: SELECT process, thread, optimizer_steps, barriers FROM missing_barrier
    compiled_again: SELECT index, kind, was, now FROM compiled_again WHERE kind IS NOT NULL
    late_compilation: SELECT what, count(*) AS n FROM late_compilation GROUP BY what
    explained_compilation: SELECT index, seconds, cause.kind FROM explained_compilation
    compiled_site: SELECT file, line, compilations, graphs, kinds FROM compiled_site
    fallback_in_loop: SELECT op, count, per_step FROM fallback_in_loop
    fallback_op: SELECT op, file, line, per_step, cost_ns FROM fallback_op WHERE per_step >= 1
    named_fallback: SELECT op FROM named_fallback
    computing: SELECT pass, count(*) AS n FROM computing WHERE product GROUP BY pass
    repetition: SELECT file, line, copies, part FROM repetition WHERE NOT layers
    batches_in_graph: SELECT program_id, count FROM batches_in_graph
    reloading: SELECT process FROM reloading
    steady_loop: SELECT duration_ns / steps AS ns_a_step FROM steady_loop
    processor_wait: SELECT process, share FROM processor_wait WHERE share > 0.1
    steady_timeline: SELECT idle_input_ns / duration_ns AS idle_for_input FROM steady_timeline
    host_line: SELECT file, line, share FROM host_line WHERE kind = 'tracing' AND rank <= 5
    hottest_lines: SELECT kind, lines FROM hottest_lines
    input_signal: SELECT process FROM input_signal
    account: SELECT python_ns / (ended_at - began_at) AS python FROM account
    time_line: SELECT part, file, line, share FROM time_line ORDER BY part, share DESC
    consumer: SELECT name, file, line, value FROM consumer ORDER BY name, value DESC
    pod_part: SELECT process, part, ns / 1e6 AS ms FROM pod_part WHERE ns > median_ns + 6 * mad_ns
    pod_straggler: SELECT name, kind, part, excess_ns / 1e6 AS ms FROM pod_straggler

    warmup: SELECT count(*) AS steps FROM step WHERE NOT tail AND ordinal >= warmup()
    has_trait: SELECT name FROM counter WHERE has_trait(name, 'sized_by_data')
    site: SELECT count(*) AS steps, unnest(site(step)) FROM step GROUP BY site(step)
    caller: SELECT line, unnest(caller(upload)) FROM upload
    commonest_caller: SELECT line, unnest(commonest_caller(upload, count)) FROM upload GROUP BY line
    related: SELECT unnest(related(optimizer, 'used')) FROM optimizer
    sizes_by_data: SELECT name FROM counter WHERE sizes_by_data(name)
    processor_wait_of: SELECT process, processor_wait_of(process) AS share FROM process
    claim: SELECT file, line, claim('remove', 'read', file, line) AS claim FROM host_sync
    also: SELECT unnest(also(site(optimizer), 'used')) FROM optimizer
    rows_of: SELECT rows_of(was) AS was, rows_of(now) AS now FROM recompilation
    recompiled: SELECT file, line, count, cause FROM recompiled(['input_shape'], 1, 0)
""")
