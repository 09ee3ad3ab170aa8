-- Internal: rows of table step that make the loop of a thread.
CREATE TABLE loop_row AS
SELECT s.*
FROM step s
WHERE NOT s.tail
   OR (s.main AND NOT EXISTS (SELECT 1 FROM step o WHERE o.process = s.process AND NOT o.tail));

-- The loop of each thread that steps, its steps added up; a process without barriers has one, its
-- main thread's. The last steps of a long run, which were to share a line, are in the tail.
-- * without_barrier: whether it has no barrier; it then counts as one open-ended step
-- * duration_ns: total time of its steps
-- * compile_ns: spent compiling
-- * read_ns: blocked in reads of device values, compilation not counted
-- * input_ns: waiting for the next batch; NULL if that was not recorded
-- * barrier_ns: in barriers, without compilation
-- * upload_ns: sending tensors to the device
-- * barriers: barriers that launched work; NULL if there are none
-- * steps: iterations: barriers divided by barriers per iteration
-- * optimizer_steps: updates of the optimizer that stepped most
-- * executions: graphs launched
-- > SELECT process, thread, steps, duration_ns / steps AS ns_a_step FROM loop WHERE steps > 0
CREATE TABLE loop AS
SELECT
    s.process,
    s.thread,
    bool_and(s.tail) AS without_barrier,
    sum(s.duration_ns)::BIGINT AS duration_ns,
    sum(s.compile_ns)::BIGINT AS compile_ns,
    sum(s.read_ns)::BIGINT AS read_ns,
    sum(s.input_ns)::BIGINT AS input_ns,
    sum(s.barrier_ns)::BIGINT AS barrier_ns,
    sum(s.upload_ns)::BIGINT AS upload_ns,
    any_value(t.barriers)::BIGINT AS barriers,
    (any_value(t.barriers) / coalesce(any_value(p.barriers), 1))::BIGINT AS steps,
    sum(s.optimizer_steps)::BIGINT AS optimizer_steps,
    sum(s.executions)::BIGINT AS executions
FROM loop_row s
LEFT JOIN step_period p USING (process, thread)
LEFT JOIN (
    SELECT process, thread, sum(barriers) FILTER (NOT tail) + greatest(0, least(
        any_value(barriers) FILTER (tail), max(index) FILTER (tail) - sum(barriers) FILTER (NOT tail)
    )) AS barriers
    FROM step GROUP BY ALL
) t USING (process, thread)
GROUP BY s.process, s.thread;

-- The loop that took longest, whose times the report shows.
-- * others: as in loop
-- > SELECT compile_ns / duration_ns AS compiling FROM lead
CREATE TABLE lead AS SELECT * FROM loop ORDER BY duration_ns DESC, process, thread LIMIT 1;

-- Steps in the steady state: warmed up, not compiling, not probed.
-- * others: as in step
-- > SELECT median(duration_ns) / 1e6 AS ms FROM steady_step
CREATE TABLE steady_step AS
SELECT s.*
FROM step s LEFT JOIN step_period p USING (process, thread)
WHERE NOT s.tail AND NOT s.probed AND s.compilations = 0
  AND s.ordinal >= warmup() * coalesce(p.barriers, 1);

-- Internal: Barriers, each with the number of its iteration, and how many make one (period).
CREATE TABLE numbered_step AS
SELECT s.*, greatest(s.barriers, 1) AS each, coalesce(p.barriers, 1) AS period,
       (s.index - each + 1) // period AS iteration
FROM step s
LEFT JOIN step_period p ON p.process = s.process AND p.thread IS NOT DISTINCT FROM s.thread
WHERE NOT s.tail;

-- The steps of loops as reports count them: as many barriers as an iteration has.
-- * number: iterations before it
-- * steps: iterations in this row: 1, or more in very long runs
-- * begin_ns: end of the barrier before it
-- * duration_ns: time of all of them
-- * compile_ns: spent compiling
-- * steady: whether all its barriers are warmed up, not compiling, not probed
-- * traced: whether a part of it is inside the timeline's window
-- > SELECT median(duration_ns / steps) / 1e6 AS ms FROM iteration WHERE steady
CREATE TABLE iteration AS
SELECT
    s.process,
    s.thread,
    s.iteration::BIGINT AS number,
    greatest(1, sum(s.each) // s.period)::BIGINT AS steps,
    min(s.begin_ns) AS begin_ns,
    sum(s.duration_ns)::BIGINT AS duration_ns,
    sum(s.compile_ns)::BIGINT AS compile_ns,
    sum(s.each) >= s.period AND bool_and(u.index IS NOT NULL) AS steady,
    bool_or(s.traced) AS traced
FROM numbered_step s
LEFT JOIN steady_step u ON u.process = s.process AND u.thread = s.thread AND u.index = s.index
GROUP BY s.process, s.thread, s.period, s.iteration;

-- Processes whose own calls were noted: what they read, waited for and saved. The events of another
-- profiler tell of input at most.
-- > SELECT process FROM captured_loop
CREATE TABLE captured_loop AS
SELECT DISTINCT process FROM step WHERE input_ns IS NOT NULL AND optimizer_steps IS NOT NULL;

-- Internal: compilations but those that are known to have ended before the first step that is known, or
-- after the last barrier.
CREATE TABLE compilation_in_loop AS
SELECT c.*
FROM compilation c
LEFT JOIN (
    SELECT process, min(begin_ns) AS begin_ns, max(end_ns) FILTER (NOT tail) AS end_ns
    FROM step GROUP BY process
) s USING (process)
WHERE NOT coalesce(c.end_ns < s.begin_ns OR c.end_ns > s.end_ns, FALSE);
