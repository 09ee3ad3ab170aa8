-- Internal: Steps in which the program waits for all work of the device anyway, before a read or after it. A read
-- that launches a graph waits for that one besides. A barrier that is asked to wait does so until the
-- graph is handed over, not until it has run: a read after it may take as long as the graph.
CREATE TABLE waiting_step AS
SELECT process, thread, index FROM step
WHERE NOT tail AND launches = 0 AND (process, thread, index) IN (
    SELECT (process, thread, step) FROM host_sync WHERE kind = 'wait' AND NOT tail AND NOT closure
);

-- Internal: Lines that wait for values of an earlier step. Nine tenths of their reads at least came after the line that
-- made the value had launched again. Or, in steady steps of the timeline, nine tenths of their waits
-- at least, by time, were for a launch that was not the latest, and the device had still work when the host launched
-- again. Such waits leave the device no pause that they could have prevented. `pausing`: the share of the rest.
CREATE TABLE wait_behind AS
WITH call AS (
    SELECT process, call, any_value(h.file) AS file, any_value(h.line) AS line, min(h.begin_ns) AS begin_ns,
           coalesce(sum(h.duration_ns) FILTER (h.activity = 'wait'), 0) AS waited_ns, max(h.awaits) AS awaits
    FROM host_segment h JOIN timeline_step t USING (process, step)
    WHERE t.steady AND h.region = 'read' AND h.line IS NOT NULL
    GROUP BY process, call
),
launch AS (
    SELECT process, execution, launched_ns, max(end_ns) OVER so_far AS done_ns,
           lead(launched_ns) OVER so_far AS next_ns
    FROM device_execution WINDOW so_far AS (PARTITION BY process ORDER BY execution)
),
late AS (
    SELECT process, file, line FROM read_origin GROUP BY ALL
    HAVING sum(count) >= warmup() AND sum(late) >= 0.9 * sum(count)
)
SELECT process, file, line, 0.0 AS pausing FROM late
UNION ALL
SELECT c.process, c.file, c.line,
       1 - sum(c.waited_ns) FILTER (c.awaits < l.execution AND l.done_ns >= l.next_ns) / sum(c.waited_ns) AS pausing
FROM call c ASOF JOIN launch l ON l.process = c.process AND l.launched_ns <= c.begin_ns
WHERE l.next_ns IS NOT NULL AND c.waited_ns > 0 AND (c.process, c.file, c.line) NOT IN (FROM late)
GROUP BY c.process, c.file, c.line
HAVING pausing <= 0.1;

-- Internal: Whether a line is a condition.
CREATE MACRO asks(text_) AS regexp_matches(
    text_, '^\s*(assert\b|(if|elif|while)\b.*:\s*(#.*)?$)'
);

-- Internal: Reads in a loop with what they are for: one purpose for each line, as its reads are fixed together.
--   progress, metric, log: for a progress bar or a tracker, a metric, a line of text
--   helper: for a check that a function of the framework makes by itself
--   condition: for what the program does next
--   free: for nothing that can be measured, here or elsewhere
-- and NULL, nothing that the evidence tells. Free are reads of values of an earlier step, those in steps
-- that wait for the device anyway, and those in next to none of the steps, and of their time: with a read, a step lasts at most three times
-- as long, on any device: the host's part, the device's after it, and once more what of it the value needs. Here both
-- must take next to no time as well. `pausing`: of reads of an earlier step's values, the share of the time after which
-- the device had nothing to do.
CREATE TABLE read_for AS
WITH text AS (SELECT file, line, any_value(text) AS text FROM source_line GROUP BY ALL),
waiting AS (
    SELECT h.process, h.thread, h.file, h.line, bool_and(w.index IS NOT NULL) AS waits,
           sum(s.duration_ns - s.compile_ns) AS busy_ns
    FROM (SELECT DISTINCT process, thread, file, line, step FROM host_sync WHERE NOT tail AND NOT closure) h
    LEFT JOIN waiting_step w
        ON w.process = h.process AND w.thread = h.thread AND w.index = h.step
    LEFT JOIN step s ON s.process = h.process AND s.thread = h.thread AND s.index = h.step AND NOT s.tail
    GROUP BY ALL
),
looked_up AS (
    SELECT r.*, t.text, line_of(t.text, r.function, r.kind, TRUE) AS by_call,
           line_of(t.text, r.function, r.kind, FALSE) AS by_method
    FROM read_in_loop r LEFT JOIN text t ON t.file = r.file AND t.line = r.line
    WHERE r.kind <> 'wait'  -- which gets no value
),
known AS (
    SELECT * EXCLUDE (text, purpose, cure, by_call, by_method), coalesce(
        if(purpose IS NULL, NULL, {'purpose': purpose, 'cure': cure}),
        by_call,
        if(kind = 'bool' OR asks(text), {'purpose': 'condition', 'cure': cure}, NULL),
        by_method,
        if(kind NOT IN ('repr', 'format') AND regexp_matches(text, '^\s*([rR]?[fF]|[fF][rR])["'']'),
           {'purpose': 'log', 'cure': cure}, NULL),
        {'purpose': NULL, 'cure': cure}
    ) AS told
    FROM looked_up
),
by_line AS (
    SELECT *, max(told.purpose) OVER line AS purpose, coalesce(told.cure, max(told.cure) OVER line) AS cure,
           max(share_of_all) OVER line AS share, sum(count_a_step) OVER line AS reads_a_step,
           sum(duration_ns + compile_ns) OVER line AS blocked_ns,
           if(sum(compile_ns) OVER line = 0, pausing, NULL) AS pausing
    FROM known LEFT JOIN wait_behind USING (process, file, line)
    WINDOW line AS (PARTITION BY process, thread, file, line)
)
SELECT b.* EXCLUDE (told, purpose, share, reads_a_step, blocked_ns),
    coalesce(w.waits, FALSE) AS waits,
    if(pausing IS NOT NULL OR (greatest(share, w.busy_ns / nullif(l.duration_ns - l.compile_ns, 0)) * reads_a_step <= 0.01
        OR w.waits)  -- so that a fix gains 2%, at most
       AND blocked_ns <= 0.01 * (l.duration_ns - l.compile_ns),  -- less than two runs differ by
       'free', purpose) AS purpose
FROM by_line b
JOIN loop l ON l.process = b.process AND l.thread = b.thread
LEFT JOIN waiting w ON w.process = b.process AND w.thread = b.thread AND w.file = b.file
    AND w.line = b.line;

-- Internal: Those that only the kind of the read tells of.
CREATE TABLE plain_read AS SELECT * FROM read_for WHERE purpose IS NULL;

-- Internal: Lines that read for a purpose, or for none that is known, as rows of a rule; `kinds_`: only
-- reads of these kinds. `each_`: share of the steps above which a read
-- stalls the device; below `often_` and `rare_` (of all steps) it is worth knowing, no more; up to
-- `seldom_`, or in fewer steps than `times_`, it is nothing.
CREATE MACRO read_lines(purpose_, each_, often_, seldom_, rare_, times_, kinds_ := NULL) AS TABLE
SELECT
    * EXCLUDE (steps, share, steps_of, kinds, via, cure, share_of_all, turns),
    claim(if(turns, 'make_asynchronous', 'remove'), 'read', file, line) AS claim,  -- their graphs are the turns' work
    share >= each_ AND share_of_all >= rare_ AS stalls,
    share < often_ OR share_of_all < rare_ AS healthy,
    {'kinds': kinds, 'share_of_steps': share, 'steps_of': steps_of, 'via': via, 'cure': cure,
     'turns': turns} AS cause
FROM (
    SELECT
        process, file, line, any_value(function) AS function,
        unnest(commonest_caller(read_for, count)),
        sum(count)::BIGINT AS count, max(share_of_steps * count_a_step) AS per_step,
        sum(duration_ns)::BIGINT AS cost_ns, sum(steps) AS steps, max(share_of_steps) AS share,
        arg_max(steps_of, share_of_steps) AS steps_of,
        max(share_of_all) AS share_of_all, list_sort(list(DISTINCT kind)) AS kinds,
        bool_or(costly_turns) AS turns,
        any_value(via) AS via, any_value(cure) AS cure
    FROM read_for
    WHERE purpose IS NOT DISTINCT FROM purpose_ AND (kinds_ IS NULL OR list_contains(kinds_, kind))
    GROUP BY process, thread, file, line
)
WHERE steps >= times_ AND share > seldom_;
