-- What adds to the counts that budgets limit, one row per line: compilations after warm-up; reads of
-- device values (outside step closures), operators run on the CPU, and barriers, all three per
-- iteration; graphs that a cache on disk did not have; the bytes of a line's largest graph; those that live arrays grow
-- by in a step; those that a device receives in a step for resharding; the share of large arguments, by bytes, that each
-- of several devices has whole. `value` is the line's part; a count is the sum or, for a graph's memory, the maximum. Reads and barriers are those of a `thread`, each with its own loop; the
-- others those of the process (0).
-- * name: the count: compilations_after_warmup, host_syncs_per_step, …
-- * thread: thread of the loop; 0 for counts of the process
-- * file: path of the line
-- * line: the line, from 1
-- * function: function that it is in
-- * value: what the line contributes to the count; bytes for peak_memory and live_growth_per_step
-- * times: how often it occurred
-- * what: kinds of compilations or reads, or the operator
-- > SELECT name, file, line, value FROM consumer ORDER BY name, value DESC
CREATE TABLE consumer AS
WITH turn AS (  -- without barriers, an iteration is an optimizer step, else the commonest read,
                -- two of which do not make a loop
    SELECT process, thread, without_barrier,
           coalesce(nullif(CASE WHEN without_barrier THEN optimizer_steps ELSE steps END, 0), (
               SELECT max(count) FROM (
                   SELECT sum(h.count) AS count FROM host_sync h
                   WHERE h.process = loop.process AND h.thread = loop.thread AND NOT h.closure
                   GROUP BY h.file, h.line
               ) HAVING max(count) > 2
           )) AS turns
    FROM watched_loop loop
),
main AS (  -- of each process, the loop with most iterations: the others work for it
    SELECT process, min_by(thread, (-turns, thread)) AS thread, max(turns) AS turns
    FROM turn WHERE turns IS NOT NULL GROUP BY process
),
read AS (  -- the last iteration's read follows the last barrier; threads without a loop have no steps
    SELECT h.process, t.thread IS NOT NULL AS looping, coalesce(t.thread, m.thread) AS thread,
           h.file, h.line, h.function, h.kind, coalesce(t.turns, m.turns) AS turns,
           CASE WHEN h.tail AND t.thread IS NOT NULL AND NOT t.without_barrier
                THEN least(h.count, 1) ELSE h.count END AS count,
           h.tail AND t.thread IS NOT NULL AND NOT t.without_barrier AS after_loop
    FROM host_sync h
    LEFT JOIN turn t ON t.process = h.process AND t.thread = h.thread
    LEFT JOIN main m ON m.process = h.process
    WHERE NOT h.closure AND coalesce(t.turns, m.turns) IS NOT NULL
),
late AS (
    SELECT process, coalesce(made_file, file) AS file, coalesce(made_line, line) AS line,
           CASE WHEN made_file IS NULL THEN function ELSE made_function END AS function, what
    FROM late_compilation
    UNION ALL BY NAME
    SELECT process, file, line, function, 'missing barrier' AS what FROM compilation
    WHERE process IN (SELECT process FROM missing_barrier) AND index >= warmup()
)
SELECT 'compilations_after_warmup' AS name, process, 0 AS thread, file, line, any_value(function) AS function,
       count(*)::DOUBLE AS value, count(*) AS times,
       string_agg(DISTINCT replace(what, '_', ' '), ', ' ORDER BY replace(what, '_', ' ')) AS what
FROM late GROUP BY process, file, line
UNION ALL BY NAME
SELECT 'host_syncs_per_step' AS name, process, thread, file, line, any_value(function) AS function,
       sum(count / turns) AS value, sum(count)::BIGINT AS times,
       string_agg(DISTINCT kind, ', ' ORDER BY kind) AS what
FROM read GROUP BY process, thread, file, line HAVING NOT bool_and(after_loop)
UNION ALL BY NAME
SELECT 'fallbacks_per_step' AS name, process, 0 AS thread, file, line, function,
       coalesce(per_step, count) AS value, count AS times, op AS what
FROM fallback_op WHERE count > 0
UNION ALL BY NAME
SELECT 'barriers_per_step' AS name, s.process, s.thread, s.file, s.line, any_value(s.function) AS function,
       coalesce(any_value(p.barriers), 1) * sum(s.barriers) / any_value(l.barriers) AS value,
       sum(s.barriers)::BIGINT AS times, 'barrier' AS what
FROM step s JOIN loop l USING (process, thread) LEFT JOIN step_period p USING (process, thread)
WHERE NOT s.tail GROUP BY s.process, s.thread, s.file, s.line
UNION ALL BY NAME
SELECT 'cache_misses' AS name, process, 0 AS thread, file, line, any_value(function) AS function,
       count(*)::DOUBLE AS value, count(*) AS times, string_agg(DISTINCT name, ', ' ORDER BY name) AS what
FROM cache_lookup WHERE outcome <> 'hit' AND folder IS NOT NULL GROUP BY process, file, line
UNION ALL BY NAME
SELECT 'peak_memory' AS name, process, 0 AS thread, file, line, any_value(function) AS function,
       max(memory_bytes)::DOUBLE AS value, count(*) AS times, arg_max(cause, memory_bytes) AS what
FROM compilation WHERE memory_bytes IS NOT NULL GROUP BY process, file, line
UNION ALL BY NAME
SELECT 'live_growth_per_step' AS name, process, 0 AS thread, coalesce(added_file, file) AS file,
       coalesce(added_line, line) AS line, CASE WHEN added_line IS NULL THEN function ELSE added_function END AS function,
       bytes_per_step AS value, coalesce(arrays, 1) AS times, coalesce(name, 'arrays') AS what
FROM memory_growth WHERE bytes_per_step > 0 AND most IS NULL AND NOT coalesce(released, FALSE)
UNION ALL BY NAME
SELECT 'resharded_bytes_per_step' AS name, process, 0 AS thread, r.file, r.line, r.function,
       r.bytes * r.runs_a_step AS value, r.times, r.kind || ' ' || r.axes AS what
FROM resharded r WHERE r.runs_a_step > 0
UNION ALL BY NAME
SELECT 'replicated_share' AS name, process, 0 AS thread, p.file, p.line, p.function, a.bytes / w.bytes AS value,
       a.arrays AS times, a.paths[1] || if(a.arrays > 1, ', …', '') AS what
FROM divided_array a JOIN program_sharding p USING (process, program_id) JOIN (
    SELECT process, sum(bytes) AS bytes FROM divided_array WHERE role = 'argument' AND bytes >= arrays * 1048576 GROUP BY process
) w USING (process)
WHERE a.role = 'argument' AND a.bytes >= a.arrays * 1048576 AND a.copies = p.devices;
