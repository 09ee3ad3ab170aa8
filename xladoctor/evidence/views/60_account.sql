-- Internal: processes that ended without the capture's knowledge, such as by a signal.
CREATE TABLE cut_short AS SELECT process FROM process WHERE NOT ended;

-- Where the time of the longest loop went, in nanoseconds: from launch to launch. Without barriers
-- a launch is a read's, and what comes after the last belongs to what came after the loop; of a process that was
-- cut short, to the loop, as nothing tells that it had left it.
-- `setup_ns`: what the first interval's Python has more than the median of the others: the model
-- and the data were made in it. `writing_ns`: what the capture wrote after the program's end.
CREATE TABLE account AS
WITH interval_ AS (
    SELECT s.process, s.thread, s.begin_ns, s.end_ns, s.duration_ns, s.compile_ns, s.read_ns,
           coalesce(s.input_ns, 0) AS input_ns, s.barrier_ns, s.upload_ns, coalesce(s.save_ns, 0) AS save_ns
    FROM step s JOIN lead l ON l.process = s.process AND l.thread IS NOT DISTINCT FROM s.thread
    WHERE NOT s.tail OR NOT l.without_barrier AND s.process IN (FROM cut_short) OR (l.without_barrier AND NOT EXISTS (
        SELECT 1 FROM cut c WHERE c.process = s.process AND c.thread IS NOT DISTINCT FROM s.thread
    ))
    UNION ALL
    SELECT c.process, c.thread, c.begin_ns, c.end_ns, c.duration_ns, c.compile_ns, c.read_ns,
           coalesce(c.input_ns, 0), c.barrier_ns, c.upload_ns, coalesce(c.save_ns, 0)
    FROM cut c JOIN lead l ON l.process = c.process AND l.thread IS NOT DISTINCT FROM c.thread
    WHERE l.without_barrier AND c.ended_by <> 'end'
),
timed AS (
    SELECT *, greatest(0, duration_ns - compile_ns - read_ns - input_ns - barrier_ns - upload_ns
                       - save_ns) AS python_ns,
           row_number() OVER (ORDER BY end_ns) AS nth
    FROM interval_
)
SELECT
    process, thread, min(begin_ns) AS began_at, max(end_ns) AS ended_at,
    sum(compile_ns)::BIGINT AS compile_ns, sum(read_ns)::BIGINT AS read_ns,
    sum(input_ns)::BIGINT AS input_ns, sum(barrier_ns)::BIGINT AS barrier_ns,
    sum(upload_ns)::BIGINT AS upload_ns, sum(save_ns)::BIGINT AS save_ns,
    sum(python_ns)::BIGINT AS python_ns,
    greatest(0, sum(python_ns) FILTER (nth = 1) - coalesce(
        median(python_ns) FILTER (nth > 1), sum(python_ns)
    ))::BIGINT AS setup_ns,
    coalesce((SELECT p.ended_ns - p.exit_ns FROM process p
              WHERE p.process = timed.process AND p.ended), 0) AS writing_ns
FROM timed GROUP BY process, thread;

-- The lines at which the parts of the time in account were spent, each with its share of the part.
CREATE TABLE time_line AS
WITH spent AS (
    SELECT CASE kind WHEN 'tracing' THEN 'tracing' WHEN 'other' THEN 'python' WHEN 'fallback' THEN 'python'
                     ELSE kind END AS part,
           h.file, h.line, h.count AS amount
    FROM host_line h JOIN account a USING (process)
    UNION ALL
    SELECT CASE WHEN h.tracing THEN 'tracing' ELSE 'python' END,
           coalesce(h.user_file, h.file), coalesce(h.user_line, h.line), h.count
    FROM host_sample h JOIN account a USING (process, thread)
    WHERE h.doing IS NULL AND NOT EXISTS (SELECT 1 FROM host_line k WHERE k.process = h.process)
    UNION ALL
    SELECT 'read', coalesce(h.user_file, h.file), coalesce(h.user_line, h.line), h.duration_ns
    FROM host_sync h JOIN account a USING (process, thread)
    UNION ALL
    SELECT unnest(['barrier', 'dispatch']), coalesce(s.user_file, s.file),
           coalesce(s.user_line, s.line), s.barrier_ns
    FROM step s JOIN account a USING (process, thread)
    UNION ALL
    SELECT CASE WHEN c.ordinal < warmup() * coalesce(p.barriers, 1) THEN 'warmup_compile' ELSE 'compile' END,
           coalesce(c.user_file, c.file), coalesce(c.user_line, c.line), c.duration_ns
    FROM compilation_in_loop c JOIN account a USING (process)
    LEFT JOIN step_period p ON p.process = c.process AND p.thread = c.thread
    UNION ALL
    SELECT 'upload', coalesce(u.user_file, u.file), coalesce(u.user_line, u.line), u.duration_ns
    FROM upload u JOIN account a USING (process, thread)
    UNION ALL
    SELECT 'save', coalesce(v.user_file, v.file), coalesce(v.user_line, v.line), v.duration_ns
    FROM state_save v JOIN account a USING (process, thread)
    UNION ALL
    SELECT 'input', g.file, g.line, g.duration_ns
    FROM host_segment g JOIN account a USING (process)
    WHERE g.region = 'input'
      AND NOT EXISTS (SELECT 1 FROM host_line k WHERE k.process = g.process AND k.kind = 'input')
)
SELECT part, file, line, sum(amount) / sum(sum(amount)) OVER (PARTITION BY part) AS share
FROM spent WHERE file IS NOT NULL AND line IS NOT NULL AND amount > 0 GROUP BY part, file, line;
