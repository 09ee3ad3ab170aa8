-- Internal: the lines that compiled and read after the loop's last barrier, but for what findings count for
-- the loop.
CREATE TABLE line_after_loop AS
WITH spent AS (
    SELECT c.process, c.thread, c.step, coalesce(c.user_file, c.file) AS file,
           coalesce(c.user_line, c.line) AS line, c.duration_ns
    FROM compilation c ANTI JOIN late_compilation l USING (process, index)
    UNION ALL BY NAME
    SELECT h.process, h.thread, h.step, coalesce(h.user_file, h.file) AS file,
           coalesce(h.user_line, h.line) AS line, h.duration_ns
    FROM host_sync h
)
SELECT p.file, p.line, sum(p.duration_ns)::BIGINT AS duration_ns
FROM spent p JOIN account a USING (process, thread)
JOIN step s ON s.process = p.process AND s.thread = p.thread AND s.index = p.step AND s.tail
JOIN loop l ON l.process = p.process AND l.thread = p.thread AND NOT l.without_barrier
WHERE p.file IS NOT NULL AND p.line IS NOT NULL AND p.process NOT IN (FROM cut_short) GROUP BY p.file, p.line;
