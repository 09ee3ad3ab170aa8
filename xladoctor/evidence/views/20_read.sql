-- Reads of device values inside a loop, by call site: how often, how many steps have one, and for
-- how long the host was blocked. Reads in step closures do not count: they run after the barrier.
-- `share_of_steps`: of the steps that the same barrier closes, those that have this read; so that
-- a read in each evaluation step counts fully although there are more training steps. A read after
-- the barrier falls into the next step, the last one into none: hence one step fewer.
CREATE VIEW read_in_loop AS
WITH of_barrier AS (
    SELECT process, thread, file, line, via, sum(barriers) AS barriers
    FROM step WHERE NOT tail GROUP BY ALL
),
in_step AS (
    SELECT
        h.process, h.thread, h.kind, h.file, h.line, h.function,
        h.user_file, h.user_line, h.user_function, h.via,
        s.file AS barrier_file, s.line AS barrier_line, s.via AS barrier_via,
        sum(h.count) AS count,
        sum(least(h.count, s.barriers)) AS steps,
        sum(h.duration_ns) AS duration_ns,
        sum(h.compile_ns) AS compile_ns
    FROM host_sync h
    JOIN step s ON s.process = h.process AND s.thread = h.thread AND s.index = h.step
        AND NOT s.tail
    WHERE NOT h.tail AND NOT h.closure
    GROUP BY ALL
)
SELECT
    i.process, i.thread, i.kind, i.file, i.line, i.function,
    i.user_file, i.user_line, i.user_function, i.via,
    sum(i.count)::BIGINT AS count,
    sum(i.steps)::BIGINT AS steps,
    sum(i.duration_ns)::BIGINT AS duration_ns,
    sum(i.compile_ns)::BIGINT AS compile_ns,
    least(1, max(i.steps / greatest(1, b.barriers - 1))) AS share_of_steps,
    sum(i.count) / sum(i.steps) AS count_a_step
FROM in_step i
JOIN of_barrier b ON b.process = i.process AND b.thread = i.thread
    AND b.file IS NOT DISTINCT FROM i.barrier_file
    AND b.line IS NOT DISTINCT FROM i.barrier_line
    AND b.via IS NOT DISTINCT FROM i.barrier_via
GROUP BY i.process, i.thread, i.kind, i.file, i.line, i.function,
    i.user_file, i.user_line, i.user_function, i.via
UNION ALL
-- A loop without barriers: reads against updates of the optimizer.
SELECT
    h.process, h.thread, h.kind, h.file, h.line, h.function,
    h.user_file, h.user_line, h.user_function, h.via,
    sum(h.count)::BIGINT, sum(h.count)::BIGINT, sum(h.duration_ns)::BIGINT,
    sum(h.compile_ns)::BIGINT,
    least(1, sum(h.count) / any_value(l.optimizer_steps)),
    greatest(1, sum(h.count) / any_value(l.optimizer_steps))
FROM host_sync h
JOIN loop l ON l.process = h.process AND l.thread = h.thread
WHERE l.without_barrier AND l.optimizer_steps > 0 AND NOT h.closure
GROUP BY h.process, h.thread, h.kind, h.file, h.line, h.function,
    h.user_file, h.user_line, h.user_function, h.via;
