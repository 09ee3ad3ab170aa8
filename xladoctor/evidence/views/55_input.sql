-- Internal: Processes whose loaders all make their batches without worker processes, and the lines that made
-- these loaders.
CREATE VIEW workerless AS
SELECT process,
       coalesce(list(DISTINCT site(l) ORDER BY site(l)) FILTER (file IS NOT NULL), []) AS loaders
FROM loader l GROUP BY process HAVING max(workers) = 0;

-- Internal: Loops that wait for batches while the device is idle, as the columns of a rule's row; `workerless`
-- are the loaders' lines where none has workers. The parameters are those of the rules that use it.
CREATE MACRO input_bound(share, wait_ms, cpu_ms, least_steps, least_samples, most_workers) AS TABLE
WITH bound AS (  -- of the whole run where a step log has it, else of the timeline
    SELECT t.process, l.thread, t.steps AS seen, t.idle_input_ns / t.input_ns AS idle,
           coalesce(l.steps, t.steps) AS steps,
           coalesce(l.input_ns, t.input_ns) AS input_ns,
           coalesce(l.duration_ns, t.duration_ns) AS wall_ns,
           coalesce(l.duration_ns, t.duration_ns)
               * (1 - processor_wait_of(t.process)) AS duration_ns,
           coalesce(l.input_ns, t.input_ns) * (t.idle_input_ns / t.input_ns)
               * (1 - processor_wait_of(t.process)) AS cost_ns
    FROM steady_timeline t LEFT JOIN steady_loop l USING (process)
    WHERE t.input_ns > 0 AND t.steps >= least_steps
),
making AS (  -- where batches are made, in a loader's thread if there is one
    SELECT DISTINCT ON (process) * FROM host_line
    WHERE kind = 'input' AND of_kind >= least_samples
    ORDER BY process, looping, rank
),
shared AS (  -- what is left of a batch's time if workers make several at once: of sleeping and
             -- reading, a part for each worker; of computing, a part for each processor
    SELECT b.process, greatest(
        1 / most_workers, least(1, w.running * b.wall_ns / b.input_ns) / p.processors
    ) AS part
    FROM bound b JOIN processor_wait w USING (process) JOIN process p USING (process)
),
waiting AS (  -- else where the loop asks for it: worker processes make it
    SELECT DISTINCT ON (process) process, file, line FROM host_segment
    WHERE region = 'input' AND file IS NOT NULL
    GROUP BY process, file, line ORDER BY process, sum(duration_ns) DESC, file, line
)
SELECT
    b.process, coalesce(m.file, w.file) AS file, coalesce(m.line, w.line) AS line, m.function,
    coalesce((SELECT sum(count)::BIGINT FROM data_wait w JOIN steady_step s
              ON s.process = w.process AND s.thread = w.thread AND s.index = w.step
              WHERE w.process = b.process AND w.thread = b.thread), b.steps) AS count,
    b.cost_ns::BIGINT AS cost_ns,
    'estimate' AS cost_basis,
    CASE WHEN m.looping AND (m.file, m.line) <> (w.file, w.line) THEN [  -- no workers make them yet
        claim('overlap', 'input'),
        claim('constant_cost', 'input',
              to_ns_ := least(1, coalesce(s.part, 1)) * b.input_ns / b.steps)
    ] ELSE [claim('overlap', 'input')] END AS claim,
    b.idle * b.input_ns < (share + processor_wait_of(b.process)) * b.wall_ns OR (
        b.input_ns * (1 - processor_wait_of(b.process)) < cpu_ms * 1e6 * b.steps AND EXISTS (
            SELECT 1 FROM process p WHERE p.process = b.process AND p.device_kind = 'CPU'
        )
    ) AS healthy,
    {'wait_ms_a_step': round(b.input_ns / b.steps / 1e6, 3), 'idle_share': round(b.idle, 4),
     'share_of_steps': round(b.cost_ns / b.duration_ns, 4), 'steps_in_timeline': b.seen,
     'lines': CASE WHEN m.line IS NOT NULL THEN h.lines END} AS cause,
    n.loaders AS workerless
FROM bound b
LEFT JOIN making m USING (process)
LEFT JOIN waiting w USING (process)
LEFT JOIN shared s USING (process)
LEFT JOIN hottest_lines h ON h.process = b.process AND h.kind = 'input'
LEFT JOIN workerless n USING (process)
WHERE b.cost_ns >= share * b.duration_ns AND b.cost_ns >= wait_ms * 1e6 * b.steps;
