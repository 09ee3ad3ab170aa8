-- Internal: Processes whose loaders all make their batches without worker processes, and the lines that made
-- these loaders.
CREATE TABLE workerless AS
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
    WHERE t.input_ns > 0 AND (
        t.steps >= least_steps OR t.steps >= 3 AND NOT EXISTS (  -- each of them waits
            SELECT 1 FROM timeline_step s
            WHERE s.process = t.process AND s.steady AND s.input_ns < share * s.duration_ns
        )
    )
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
              WHERE w.process = b.process AND w.thread = b.thread),
             (SELECT max(l.steps) FROM loop l WHERE l.process = b.process AND b.process IN (
                  SELECT process FROM profiled_step)), b.steps) AS count,
    b.cost_ns::BIGINT AS cost_ns,
    'estimate' AS cost_basis,
    CASE WHEN m.looping AND (m.file, m.line) <> (w.file, w.line) THEN [  -- no workers make them yet
        claim('overlap', 'input'),
        claim('constant_cost', 'input',
              to_ns_ := least(1, coalesce(s.part, 1)) * b.input_ns / b.steps)
    ] ELSE [claim('overlap', 'input')] END AS claim,
    b.idle * b.input_ns < (share + processor_wait_of(b.process)) * b.wall_ns OR (
        b.input_ns * (1 - processor_wait_of(b.process)) < cpu_ms * 1e6 * b.steps AND EXISTS (
            SELECT 1 FROM process p WHERE p.process = b.process AND device_is(p.device_kind, 'host')
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

-- Internal: Lines that send to the device in the loop's own thread, as the columns of a rule's row. `loaders` are the
-- lines that made the loaders whose batches they send: nearly every step waits for a batch, what the line sends has
-- as many rows, and no thread beside the loops sends such ahead. Else it is NULL, and for batches of one sample:
-- one row tells nothing.
CREATE TABLE sent_by_the_loop AS
WITH fed AS (
    SELECT s.process, s.thread
    FROM steady_step s
    JOIN steady_loop l ON l.process = s.process AND l.thread = s.thread
    LEFT JOIN step_period p ON p.process = s.process AND p.thread = s.thread
    WHERE EXISTS (SELECT 1 FROM data_wait w
                  WHERE w.process = s.process AND w.thread = s.thread AND w.step = s.index)
    GROUP BY s.process, s.thread
    HAVING sum(s.barriers) * coalesce(any_value(p.barriers), 1) >= nearly_all() * any_value(l.steps)
),
batch AS (
    SELECT t.process, t.file, t.line, l.batch_size, coalesce(
        list(DISTINCT site(l) ORDER BY site(l)) FILTER (l.file IS NOT NULL), []
    ) AS loaders
    FROM transfer t JOIN loader l ON l.process = t.process AND l.batch_size = t.shape[1]
    WHERE l.batch_size > 1 AND NOT EXISTS (
        SELECT 1 FROM transfer a ANTI JOIN loop ON loop.process = a.process AND loop.thread = a.thread
        WHERE a.process = t.process AND a.shape[1] = l.batch_size
    )
    GROUP BY t.process, t.file, t.line, l.batch_size
),
within AS (  -- what a launch sends of its arguments, the step log has no time of: as much as in the timeline
    SELECT h.process, sum(h.duration_ns) / any_value(t.duration_ns) AS share
    FROM host_segment h JOIN timeline_step s USING (process, step) JOIN steady_timeline t ON t.process = h.process
    WHERE s.steady AND h.activity = 'upload' AND h.region IS NULL GROUP BY h.process
),
sent AS (
    SELECT u.*, l.steps, l.duration_ns AS loop_ns, CASE WHEN u.duration_ns > 0 THEN u.duration_ns ELSE coalesce(
        w.share * l.duration_ns * u.bytes / sum(u.bytes) FILTER (u.duration_ns = 0) OVER (PARTITION BY u.process), 0
    ) END AS spent_ns
    FROM upload u
    JOIN steady_step s ON s.process = u.process AND s.thread = u.thread AND s.index = u.step
    JOIN steady_loop l ON l.process = u.process AND l.thread = u.thread
    LEFT JOIN within w ON w.process = u.process
    WHERE NOT u.tail
)
SELECT
    u.process, u.file, u.line, any_value(u.function) AS function,
    unnest(commonest_caller(u, u.count)),
    sum(u.count)::BIGINT AS count,
    sum(u.count) / any_value(u.steps) AS per_step,
    sum(u.spent_ns)::BIGINT AS cost_ns,
    if(bool_or(u.duration_ns = 0), 'estimate', 'measured') AS cost_basis,
    CASE WHEN bool_or(u.duration_ns = 0) THEN claim('overlap', 'upload')
         ELSE claim('overlap', 'upload', u.file, u.line) END AS claim,
    {'mebibytes_a_step': round(sum(u.bytes) / any_value(u.steps) / 1048576, 3),
     'tensors_a_step': round(sum(u.count) / any_value(u.steps), 2),
     'ms_a_step': round(sum(u.spent_ns) / any_value(u.steps) / 1e6, 3),
     'megabytes_a_second': round(sum(u.bytes) * 1e3 / nullif(sum(u.spent_ns), 0), 1),
     'share_of_steps': round(sum(u.spent_ns) / any_value(u.loop_ns), 4),
     'within': bool_or(u.duration_ns = 0)} AS cause,
    (SELECT first(b.loaders ORDER BY b.batch_size DESC) FROM batch b JOIN fed USING (process)
     WHERE b.process = u.process AND fed.thread = u.thread
       AND b.file = u.file AND b.line = u.line) AS loaders
FROM sent u
GROUP BY u.process, u.thread, u.file, u.line;

-- Internal: Loops whose device is idle while the host does what is no part of the graph, as the columns of a rule's
-- row; `preparing`, whether most of that makes batches. The parameters are those of the rules that use it.
CREATE MACRO idle_for_host_work(least_share, least_ms, cpu_ms, clear_ms, least_samples) AS TABLE
WITH part AS (  -- time in operators that fell back to the CPU is theirs
    SELECT process, coalesce(sum(count) FILTER (kind = 'other'), 0) / sum(count) AS other
    FROM host_line WHERE kind IN ('other', 'fallback') GROUP BY process
),
idle AS (
    SELECT t.*, t.tracing_ns IS NOT NULL AS sampled,
           coalesce(p.other, 1) * t.idle_other_ns / t.duration_ns AS share,
           coalesce(p.other, 1) * t.idle_other_ns / t.steps
               * (1 - processor_wait_of(t.process)) AS each_ns
    FROM steady_timeline t LEFT JOIN part p USING (process)
),
prepared AS (  -- the part of it in libraries that decode or augment, or in generators, but no loop's own
    SELECT h.process, coalesce(sum(h.count) FILTER (h.library), 0) / sum(h.count) AS by_library,
           sum(h.count) FILTER (h.library OR h.generator AND s.function IS NULL) / sum(h.count) AS part
    FROM (
        SELECT *, EXISTS (SELECT 1 FROM preparation p WHERE regexp_matches(x.file, p.file)) AS library
        FROM host_sample x
    ) h
    JOIN steady_loop l ON l.process = h.process AND l.thread = h.thread
    LEFT JOIN (SELECT DISTINCT process, file, function FROM step) s
        ON s.process = h.process AND s.file = h.file AND s.function = h.function
    WHERE coalesce(h.phase, 'loop') = 'loop' AND h.doing IS NULL AND NOT h.tracing
    GROUP BY h.process
)
SELECT
    i.process, h.file, h.line, h.function,
    coalesce(l.steps, i.steps) AS count,
    coalesce(i.share * l.duration_ns * (1 - processor_wait_of(i.process)),
             i.each_ns * i.steps)::BIGINT AS cost_ns,
    'estimate' AS cost_basis,
    claim('remove', 'other', part_ := CASE  -- eight make batches at once, as far as there are processors
        WHEN r.part >= most() THEN r.part * (1 - coalesce(greatest(0.125, (
            SELECT least(1, w.running / p.processors) FROM processor_wait w JOIN process p USING (process)
            WHERE w.process = i.process)), 0))
        ELSE coalesce(h.share, 1) END) AS claim,
    NOT i.sampled OR i.share < least_share + processor_wait_of(i.process) AS healthy,
    coalesce(r.part >= most(), FALSE) AND h.line IS NOT NULL AS preparing,
    {'idle_ms_a_step': round(i.each_ns / 1e6, 3), 'idle_share': round(i.share, 4),
     'sampled': i.sampled, 'samples': coalesce(h.of_kind, 0),
     'generator': CASE WHEN r.part >= most() AND r.by_library < most() THEN h.function END,
     'lines': CASE WHEN h.line IS NOT NULL THEN top.lines END} AS cause
FROM idle i
LEFT JOIN steady_loop l ON l.process = i.process
LEFT JOIN prepared r ON r.process = i.process
LEFT JOIN host_line h ON h.process = i.process AND h.kind = 'other' AND h.rank = 1
    AND h.of_kind >= least_samples AND i.sampled
LEFT JOIN hottest_lines top ON top.process = i.process AND top.kind = 'other'
WHERE i.share >= least_share AND i.each_ns >= least_ms * 1e6
  AND (i.each_ns >= cpu_ms * 1e6 OR NOT EXISTS (
      SELECT 1 FROM process p WHERE p.process = i.process AND device_is(p.device_kind, 'host')
  ) OR i.each_ns >= clear_ms * 1e6 AND h.own >= most() * h.of_kind AND EXISTS (
      SELECT 1 FROM processor_wait w WHERE w.process = i.process AND w.share <= 0.3
  ));
