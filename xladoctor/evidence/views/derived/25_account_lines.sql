-- Internal: the compilations that account counts, and whether each was expected: among the first launches of its
-- line or, where functions are compiled, none that rules take for late. A line that makes a model launches many
-- functions, each of which is compiled when it is first called.
CREATE TABLE counted_compilation AS
SELECT c.*, c.process NOT IN (SELECT process FROM missing_barrier) AND (
           c.ordinal < warmup() * coalesce(p.barriers, 1)
               AND (c.process, c.index) NOT IN (SELECT (process, index) FROM slice_by_slice)
           OR (compiled_function(c.cause) <> '' AND (c.process, c.index) NOT IN (
               SELECT (process, index) FROM late_compilation
           ))
       ) AS expected
FROM compilation_in_loop c LEFT JOIN step_period p USING (process, thread);

-- The lines at which the parts of the time in account were spent, each with its share of the part.
-- * part: compile, warmup_compile, read, input, barrier, dispatch, upload, save, …
-- * file: path of the line
-- * line: the line, from 1
-- * share: share (0 to 1) of the part that was spent there
-- > SELECT part, file, line, share FROM time_line ORDER BY part, share DESC
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
    SELECT CASE WHEN c.expected THEN 'warmup_compile' ELSE 'compile' END,
           coalesce(l.user_file, l.file, c.user_file, c.file),
           CASE WHEN l.file IS NULL THEN coalesce(c.user_line, c.line) ELSE coalesce(l.user_line, l.line) END,
           coalesce(l.ns, c.duration_ns)
    FROM counted_compilation c JOIN account a USING (process)
    LEFT JOIN compile_line l ON l.process = c.process AND l.index = c.index AND l.traced
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
