"""A query for each table, view and macro that shows what it is good for."""

from __future__ import annotations


def _parsed(text: str) -> dict[str, str]:
    """``name: query`` lines."""
    pairs = (line.strip().split(": ", 1) for line in text.splitlines() if line.strip())
    return dict(pairs)


EXAMPLES = _parsed("""
    process: SELECT process, rank, device_kind, ended FROM process
    version: SELECT package, version FROM version WHERE package = 'python'
    capture_fault: SELECT text, log FROM capture_fault
    capture_window: SELECT session, steps, ended_by, bytes FROM capture_window
    outlier: SELECT step, duration_ns / typical_ns AS times FROM outlier ORDER BY times DESC
    environment: SELECT name, value, set_by FROM environment
    metric: SELECT name, samples, accumulator, unit FROM metric ORDER BY accumulator DESC
    counter: SELECT name, value FROM counter ORDER BY value DESC LIMIT 10
    step: SELECT index, duration_ns / 1e6 AS ms, compilations FROM step WHERE NOT tail
    cut: SELECT step, ended_by, duration_ns, launches FROM cut
    enclosing_loop: SELECT line, loop_file, first_line FROM enclosing_loop WHERE depth = 0
    processor_use: SELECT thread, max(wait_ns) AS waited_ns FROM processor_use GROUP BY thread
    judged_part: SELECT (end_ns - begin_ns) / 1e9 AS seconds FROM judged_part
    step_period: SELECT process, thread, barriers FROM step_period
    optimizer: SELECT file, line FROM optimizer
    ignore_comment: SELECT file, line, text FROM ignore_comment
    reading_line: SELECT call, purpose FROM reading_line
    replacement: SELECT op, instead FROM replacement
    unrecorded: SELECT what FROM unrecorded
    preparation: SELECT file FROM preparation
    idle_optimizer: SELECT file, line FROM idle_optimizer
    empty_pass: SELECT batch_size, drop_last, file, line FROM empty_pass
    loader: SELECT batch_size, workers, drop_last, file, line FROM loader
    compilation: SELECT index, file, line, duration_ns FROM compilation ORDER BY duration_ns DESC
    compile_phase: SELECT phase, sum(duration_ns) AS ns FROM compile_phase GROUP BY phase
    graph_break: SELECT file, line, reason FROM graph_break ORDER BY count DESC
    compile_limit: SELECT compiled, name, what, argument FROM compile_limit
    repeated_line: SELECT file, line, op, copies FROM repeated_line
    key_change: SELECT what, argument, was, now FROM key_change WHERE what <> 'nothing'
    launch: SELECT file, line, count FROM launch WHERE steps = 0 ORDER BY count DESC
    read_origin: SELECT file, line, sum(late) / sum(count) AS late FROM read_origin GROUP BY ALL
    execution: SELECT file, line, count(*) AS launches FROM execution GROUP BY file, line
    host_sync: SELECT kind, file, line, sum(count) AS reads FROM host_sync GROUP BY kind, file, line
    data_wait: SELECT sum(duration_ns) / sum(count) AS ns_a_batch FROM data_wait
    transfer: SELECT file, line, count(*) AS shapes FROM transfer GROUP BY file, line
    upload: SELECT file, line, sum(bytes) / count(*) AS bytes_a_step FROM upload GROUP BY file, line
    state_save: SELECT step, duration_ns FROM state_save
    fallback: SELECT op, file, line, count FROM fallback
    fallback_count: SELECT name, sum(value) AS times FROM fallback_count GROUP BY name
    timeline: SELECT file, events, complete, steps_from FROM timeline
    plane: SELECT plane, name, kind FROM plane
    line: SELECT name, events FROM line WHERE main
    event: SELECT name, sum(self_ns) AS ns FROM event GROUP BY name ORDER BY ns DESC LIMIT 10
    event_stat: SELECT name, count(*) AS n FROM event_stat GROUP BY name
    timeline_step: SELECT step, duration_ns, wait_ns, tracing_ns FROM timeline_step WHERE steady
    host_segment: SELECT activity, sum(duration_ns) AS ns FROM host_segment GROUP BY activity
    region: SELECT path, sum(self_ns) AS ns FROM region GROUP BY path
    compiled_part: SELECT compile_id, avg(duration_ns) AS ns FROM compiled_part GROUP BY compile_id
    split_call: SELECT frame, parts, part, count, between_ns FROM split_call
    device_execution: SELECT execution, begin_ns - launched_ns AS queued_ns FROM device_execution
    device: SELECT name, busy_ns / (busy_ns + idle_ns) AS busy FROM device
    device_step: SELECT step, busy_ns, idle_input_ns FROM device_step
    idle_gap: SELECT reason, sum(duration_ns) AS ns FROM idle_gap GROUP BY reason
    scope_time: SELECT scope, share FROM scope_time ORDER BY self_ns DESC
    scope_of: SELECT DISTINCT scope_of(op_name) AS scope FROM hlo_instruction
    eager_op: SELECT place, name, sum(duration_ns) FROM eager_op GROUP BY ALL ORDER BY 3 DESC
    kernel_site: SELECT hlo_op, file, line FROM kernel_site WHERE share > 0.5
    host_op: SELECT name, sum(launches) FROM host_op GROUP BY name ORDER BY 2 DESC LIMIT 10
    device_launch: SELECT how, sum(kernels), sum(calls) FROM device_launch GROUP BY how
    device_op: SELECT hlo_op, count, self_ns FROM device_op ORDER BY self_ns DESC LIMIT 10
    host_sample: SELECT file, line, sum(count) AS samples FROM host_sample GROUP BY file, line
    hlo_module: SELECT program_id, name, instructions FROM hlo_module ORDER BY instructions DESC
    hlo_instruction: SELECT opcode, count(*) AS n FROM hlo_instruction GROUP BY opcode
    hlo_frame: SELECT DISTINCT file, line, function FROM hlo_frame
    hlo_parameter: SELECT number, type, shape, file, line FROM hlo_parameter WHERE sent
    source_line: SELECT file, line, text FROM source_line
    recompilation: SELECT index, kind, was, now, file, line FROM recompilation
    graph_change: SELECT index, nature, op, file, line FROM graph_change WHERE nth = 0
    operator_trait: SELECT op FROM operator_trait WHERE trait = 'sized_by_data'
    own_counter: SELECT value FROM counter, own_counter WHERE starts_with(name, prefix)
    metric_meaning: SELECT name FROM metric_meaning WHERE meaning = 'compile' ORDER BY rank
    cause_meaning: SELECT sentence FROM cause_meaning WHERE meaning = 'barrier'
    reading_helper: SELECT package, function, cure FROM reading_helper

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
    fallback_op: SELECT op, file, line, per_step, cost_ns FROM fallback_op WHERE often
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
