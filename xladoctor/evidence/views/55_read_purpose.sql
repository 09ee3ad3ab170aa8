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
    HAVING sum(count) >= warmup() AND sum(late) >= nearly_all() * sum(count)
)
SELECT process, file, line, 0.0 AS pausing FROM late
UNION ALL BY NAME
SELECT c.process, c.file, c.line,
       1 - sum(c.waited_ns) FILTER (c.awaits < l.execution AND l.done_ns >= l.next_ns) / sum(c.waited_ns) AS pausing
FROM call c ASOF JOIN launch l ON l.process = c.process AND l.launched_ns <= c.begin_ns
WHERE l.next_ns IS NOT NULL AND c.waited_ns > 0 AND (c.process, c.file, c.line) NOT IN (FROM late)
GROUP BY c.process, c.file, c.line
HAVING pausing <= 1 - nearly_all();

-- Internal: Whether a line is a condition.
CREATE MACRO asks(text_) AS regexp_matches(
    text_, '^\s*(assert\b|(if|elif|while)\b.*:\s*(#.*)?$)'
);

-- Internal: What a kind of read is for, as far as that tells: a text, a copy on the host, or a number.
CREATE MACRO result_of(kind_) AS CASE
    WHEN kind_ IN ('repr', 'format') THEN 'print'
    WHEN kind_ IN ('cpu', 'numpy', 'tolist', 'to', 'array') THEN 'copy'
    WHEN kind_ IN ('item', 'float', 'int', 'index', 'complex', 'fetch') THEN 'value'
END;

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
    if(pausing IS NOT NULL OR (greatest(share, w.busy_ns / nullif(l.duration_ns - l.compile_ns, 0)) * reads_a_step <= negligible()
        OR w.waits)  -- so that a fix gains 2%, at most
       AND blocked_ns <= negligible() * (l.duration_ns - l.compile_ns),
       'free', purpose) AS purpose
FROM by_line b
JOIN watched_loop l ON l.process = b.process AND l.thread = b.thread
LEFT JOIN waiting w ON w.process = b.process AND w.thread = b.thread AND w.file = b.file
    AND w.line = b.line;

-- Internal: Loops in which removing all reads saves only a part of what they wait: reads launch nothing by themselves,
-- and no timeline tells what the device does. A step then takes as long as whatever else the host does, and as
-- the device works, which is no less than it is waited for. `alone`: the host does next to nothing else, so that
-- the device is the limit.
CREATE TABLE wait_limit AS
SELECT process, thread, least(1, sum(duration_ns - compile_ns - read_ns) / sum(read_ns)) AS part,
       sum(duration_ns - compile_ns - read_ns) < 0.1 * sum(duration_ns - compile_ns) AS alone
FROM steady_step JOIN process USING (process)
WHERE frontend IN (SELECT t.frontend FROM frontend_trait t WHERE t.trait = 'reads_only_wait') AND process NOT IN (SELECT process FROM device)
GROUP BY process, thread HAVING count(*) >= 3 AND sum(read_ns) > 0;

-- Internal: Lines that read, with the purpose, as the capture of calls or a timeline shows them. What a timeline
-- shows of some steps counts for all of the loop; `whole`: times as many.
CREATE TABLE read_line AS
WITH placed AS (
    SELECT
        process, thread, file, line, any_value(function) AS function,
        unnest(commonest_caller(read_for, count)),
        if(process IN (SELECT process FROM captured_loop EXCEPT FROM unnoted_reads), 'calls', 'timeline') AS seen_by,
        purpose AS by_code, if(purpose IS NULL, result_of(kind), NULL) AS result,
        list_sort(list(DISTINCT kind)) AS kinds, any_value(via) AS via, any_value(cure) AS cure,
        sum(count)::BIGINT AS count, max(share_of_steps * count_a_step) AS per_step,
        (sum(duration_ns) * coalesce(any_value(pausing), 1))::BIGINT AS cost_ns,
        sum(steps)::BIGINT AS times, max(share_of_steps) AS share_of_steps,
        arg_max(steps_of, share_of_steps) AS steps_of, max(share_of_all) AS share_of_all,
        bool_or(costly_turns) AS turns, bool_and(waits) AS waits, any_value(pausing) IS NOT NULL AS behind
    FROM read_for
    GROUP BY process, thread, file, line, by_code, result
),
timed AS (
    SELECT * REPLACE (round(count * coalesce(whole, 1))::BIGINT AS count,
                      (cost_ns * coalesce(whole, part, 1))::BIGINT AS cost_ns),
           CASE WHEN whole IS NOT NULL THEN 'estimate' WHEN part < 1 THEN 'bound' END AS cost_basis
    FROM placed LEFT JOIN wait_limit USING (process, thread) LEFT JOIN (
        SELECT process, thread, greatest(1, l.steps / w.steps) AS whole
        FROM watched_loop w JOIN loop l USING (process, thread) WHERE process IN (FROM unnoted_reads)
    ) USING (process, thread)
)
SELECT
    * EXCLUDE (by_code, result, whole, part, alone), coalesce(alone, FALSE) AS device_limits, coalesce(by_code, result) AS purpose,
    CASE WHEN turns OR kinds = ['fetch'] AND process IN (SELECT process FROM host_op)
             THEN claim('make_asynchronous', 'read', file, line)  -- of turns: their graphs are the turns' work
         WHEN kinds = ['fetch'] THEN claim('remove', 'cut')  -- which is not told from other cuts
         ELSE claim('remove', 'read', file, line) END AS claim,
    (SELECT count(*) FROM profiled_step s WHERE s.process = timed.process) AS profiled
FROM timed;

-- Reads of device values, as rules judge them: a row for each line and purpose that the capture of calls or a timeline
-- shows (`seen_by`: calls, timeline), and what a metrics report and a log say of the reads of a process of which neither
-- tells (counters: of scalars; transfers: of the rest; log). Whatever names no line is taken for those of the log, if it is certain
-- that they are the same.
-- * purpose: progress, condition, helper, metric, log, free; else print, copy or value
-- * seen_by: source: calls, timeline, counters or transfers (metrics report), log
-- * kinds: kinds of the reads, as in host_sync
-- * cure: what to do instead, as a sentence
-- * count: number of reads; in all steps, if the timeline has some of them
-- * times: steps with one or more; of a report or a log, reads at this and other lines
-- * per_step: reads per step
-- * share_of_steps: share of the steps of the same barrier; of launches; NULL if unknown
-- * steps_of: these steps, in words
-- * share_of_all: share of all steps or of the time; of transfers, of graphs, too
-- * turns: whether iterations of a loop without barriers count as steps
-- * profiled: steps in the profile of another profiler; 0 if there is none
-- * cost_ns: time that the host was blocked
-- * cost_basis: bound if other causes may contribute to it, or the device works meanwhile
-- * device_limits: whether the host does next to nothing but wait in this loop
-- * claim: what removing them does to the timeline
-- * waits: whether its steps wait for the device anyway
-- * behind: whether it waits for values of an earlier step
-- * bytes_each: mean bytes per transfer
-- * early: whether the report came after too few launches for anything to recur
-- * logged: total of launches or compilations that the log names
-- * compiled: whether the log names only compilations
-- > SELECT file, line, purpose, seen_by, share_of_steps FROM read_finding
CREATE TABLE read_finding AS
WITH scalars AS (
    SELECT process, sum(value) AS scalars FROM counter WHERE has_trait(name, 'reads_scalar') GROUP BY process
),
total AS (
    FROM read_line
    -- where counters tell reads apart, the events of another profiler do not
    WHERE kinds <> ['fetch'] OR purpose <> 'value' OR process NOT IN (SELECT process FROM counter)
    UNION ALL BY NAME
    SELECT
        c.process, 'counters' AS seen_by, 'value' AS purpose, ['item'] AS kinds,
        c.value AS count, count AS times, count / nullif(r.barriers, 0) AS per_step,
        count / coalesce(r.barriers, r.launched) AS share_of_steps,
        r.read_ns AS cost_ns, 'bound' AS cost_basis
    FROM counter c
    JOIN reported r USING (process)
    WHERE has_trait(c.name, 'reads_scalar') AND c.process NOT IN (FROM captured_loop)
    UNION ALL BY NAME
    SELECT
        r.process, 'transfers' AS seen_by, 'value' AS purpose, ['fetch'] AS kinds,
        (r.fetched - coalesce(s.scalars, 0))::BIGINT AS count, count AS times,
        count / nullif(barriers, 0) AS per_step,  -- what is launched between may be many to a step, or few
        -- with counters, which do not have them, they are tensors, or a checkpoint
        if(r.process IN (FROM runtime_counts), NULL, count / coalesce(barriers, launched)) AS share_of_steps,
        count / coalesce(barriers, launched, graphs) AS share_of_all,
        read_ns * count / fetched AS cost_ns, 'bound' AS cost_basis, fetched_bytes / fetched AS bytes_each,
        r.process IN (SELECT process FROM reported_early) AS early
    FROM reported r LEFT JOIN scalars s USING (process)
    WHERE r.process NOT IN (SELECT process FROM fallback_op) AND r.process NOT IN (FROM captured_loop)
)
SELECT t.* REPLACE (
           coalesce(t.file, l.file) AS file, coalesce(t.line, l.line) AS line,
           coalesce(t.function, l.function) AS function, coalesce(t.user_file, l.user_file) AS user_file,
           coalesce(t.user_line, l.user_line) AS user_line,
           coalesce(t.user_function, l.user_function) AS user_function,
           round(t.count * coalesce(l.share, 1))::BIGINT AS count,
           t.per_step * coalesce(l.share, 1) AS per_step,
           (t.cost_ns * coalesce(l.share, 1))::BIGINT AS cost_ns,
           if(l.share < 1 AND t.claim IS NOT NULL, claim('remove', 'cut', part_ := l.share), t.claim) AS claim
       )
FROM total t LEFT JOIN logged_cut l ON l.process = t.process AND t.file IS NULL
UNION ALL BY NAME
SELECT
    process, file, line, function, user_file, user_line, user_function,
    'log' AS seen_by, 'value' AS purpose, ['fetch'] AS kinds, count, count AS times,
    if(launches, count / nullif(barriers, 0), NULL) AS per_step,
    count / nullif(barriers, 0) AS share_of_steps, count + barriers AS logged, NOT launches AS compiled
FROM logged_read
WHERE process NOT IN (SELECT process FROM operator_counts UNION SELECT process FROM fallback_op);

-- Internal: Lines in a loop with a barrier whose reads stand above it, so that each cuts off a graph of its own: these graphs.
CREATE TABLE read_graph AS
SELECT process, file, line, count(*) AS cut_off, sum(duration_ns)::BIGINT AS cut_off_ns, list(index ORDER BY index) AS cut_off_compilations
FROM compilation c
JOIN line_of_ended_loop USING (process, file, line)
SEMI JOIN (SELECT process, file, line FROM host_sync WHERE compile_ns > 0) h USING (process, file, line)
ANTI JOIN (SELECT process, file, line FROM step) s USING (process, file, line)
WHERE process NOT IN (SELECT process FROM missing_barrier)
GROUP BY process, file, line;

-- Internal: Lines that read for a purpose, as rows of a rule. `each_`: share of the steps above which a read
-- stalls the device; below `often_` and `rare_` (of all steps) it is worth knowing, no more; up to
-- `seldom_`, or in fewer steps than `times_`, it is nothing.
CREATE MACRO read_lines(purpose_, each_, often_, seldom_, rare_, times_) AS TABLE
SELECT
    process, file, line, function, user_file, user_line, user_function, count, per_step,
    cost_ns + coalesce(cut_off_ns, 0) AS cost_ns, cost_basis,
    [claim, claim('compile_once', 'compile', compilations_ := cut_off_compilations)] AS claim,
    share_of_steps >= each_ AND share_of_all >= rare_ AS stalls,
    share_of_steps < often_ OR share_of_all < rare_ OR device_limits AS healthy,
    {'kinds': kinds, 'share_of_steps': share_of_steps, 'steps_of': steps_of, 'via': via, 'cure': cure,
     'turns': turns, 'cut_off': cut_off, 'cut_off_s': round(cut_off_ns / 1e9, 3)} AS cause
FROM read_line LEFT JOIN read_graph USING (process, file, line)
WHERE purpose = purpose_ AND times >= times_ AND share_of_steps > seldom_;
