-- Internal: The longest loop, if it goes on after its first step, with its time without compiling: that of its steady
-- steps, if it has such. `later`: launches a barrier after the first step, to which belongs what came before the loop.
CREATE TABLE running_loop AS
SELECT l.process, l.thread, l.steps, coalesce(l.barriers * (
           SELECT avg(s.duration_ns) FROM steady_step s
           WHERE s.process = l.process AND s.thread IS NOT DISTINCT FROM l.thread
       ), l.duration_ns - l.compile_ns) AS running_ns, a.later
FROM lead l JOIN (
    SELECT process, thread, sum(executions) / sum(barriers) AS later
    FROM step WHERE NOT tail AND index > 0 GROUP BY process, thread
) a USING (process, thread)
WHERE l.steps > 0;

-- Internal: Processes whose reads launch nothing: a line that reads waits there for what others have launched.
CREATE TABLE waiting_read AS
SELECT process FROM process
WHERE frontend IN (SELECT t.frontend FROM frontend_trait t WHERE t.trait = 'reads_only_wait');

-- Internal: Steps after warm-up, added up by process: blocked in reads, and without compiling. `apart_ns`: compiling on
-- other threads, for which the host waits at other lines, where it reads.
CREATE TABLE warm_time AS
SELECT process, sum(duration_ns) AS duration_ns, sum(read_ns) / sum(duration_ns - compile_ns) AS reading,
       sum(compile_ns) FILTER (process IN (FROM waiting_read)) AS apart_ns
FROM step WHERE NOT tail AND ordinal >= warmup() GROUP BY process;

-- Internal: Samples of the longest loop by the user's line, without what it compiled after warm-up, which is no launching.
-- `reading`: those in reads; `whole`: all of the loop, without waiting for what is compiled on other threads.
CREATE TABLE running_line AS
WITH seen AS (
    SELECT h.process, coalesce(h.user_file, h.file) AS file, coalesce(h.user_line, h.line) AS line,
           sum(h.count) AS samples, coalesce(sum(h.count) FILTER (h.doing = 'read'), 0) AS reading
    FROM host_sample h JOIN running_loop USING (process, thread)
    WHERE coalesce(h.phase, 'loop') = 'loop' GROUP BY ALL
),
compiling AS (
    SELECT process, coalesce(user_file, file) AS file, coalesce(user_line, line) AS line, sum(duration_ns) AS ns
    FROM compilation_in_loop WHERE ordinal >= warmup() GROUP BY ALL
),
paced AS (
    SELECT s.*, (sum(s.samples) OVER (PARTITION BY s.process)) / w.duration_ns AS samples_a_ns, w.apart_ns
    FROM seen s LEFT JOIN warm_time w USING (process)
),
sampled AS (
    SELECT p.* REPLACE (greatest(0, p.samples - coalesce(c.ns * p.samples_a_ns, 0)) AS samples)
    FROM paced p LEFT JOIN compiling c USING (process, file, line)
)
SELECT process, file, line, samples, reading, sum(samples) OVER here
           - least(coalesce(apart_ns * samples_a_ns, 0), sum(least(samples, reading)) OVER here) AS whole
FROM sampled WINDOW here AS (PARTITION BY process);

-- Internal: Modules whose time stays what it is, whatever is compiled with them.
CREATE TABLE whole_kernel AS
SELECT DISTINCT m.process, m.name FROM hlo_module m JOIN hlo_instruction i USING (process, program_id)
WHERE i.opcode IN ('dot', 'convolution', 'fft', 'sort', 'custom-call', 'while', 'cholesky', 'triangular-solve');

-- Internal: Loops that launch operations one by one, with the line that launches most: what a compiled function calls is
-- compiled with it. `share`: of the loop's samples, at these lines; `idle`: of the steady steps, without work for the
-- device. While that works on something else, a launch that has to wait for it costs nothing; `own`: the share of its
-- time that these operations take and that can be fused. Lines count that launch `often` a step, with the compiled
-- functions that they call if they launch `least_` a step.
CREATE MACRO launched_one_by_one(least_, often) AS TABLE
WITH by_line AS (
    SELECT process, coalesce(user_file, file) AS file, coalesce(user_line, line) AS line,
           any_value(coalesce(user_function, function)) AS function,
           -- a function that is not compiled, as a gradient, launches many programs
           coalesce(sum(l.count) FILTER (l.steps = 0 AND coalesce(l.operations, TRUE)), 0) AS singles,
           if(sum(l.count) >= least_ * any_value(t.steps), sum(l.count), singles)::BIGINT AS count
    FROM launch l JOIN running_loop t USING (process) GROUP BY process, 2, 3
),
by_function AS (  -- a line of few launches may have no sample; of its function some line has
    SELECT l.process, l.file, l.function, arg_max(l.line, l.count) AS line, max(l.count) AS most,
           sum(l.count)::BIGINT AS count, coalesce(sum(l.count) FILTER (s.line IS NOT NULL), 0)::BIGINT AS seen,
           sum(greatest(0, s.samples - if(l.process IN (FROM waiting_read), s.reading, 0))) AS samples,
           any_value(t.steps) AS steps, list(l.line ORDER BY l.line) AS lines
    FROM by_line l JOIN running_loop t USING (process)
    LEFT JOIN running_line s ON s.process = l.process AND s.file = l.file AND s.line = l.line
    WHERE l.count >= often * t.steps GROUP BY l.process, l.file, l.function HAVING sum(s.samples) IS NOT NULL
),
device AS (
    SELECT o.process, sum(o.self_ns) FILTER (o.hlo_module IN (
               SELECT 'jit_' || regexp_extract(c.cause, 'jit\((.*)\)', 1)
               FROM compilation c JOIN by_function f ON f.process = c.process
                   AND f.file = coalesce(c.user_file, c.file) AND list_contains(f.lines, coalesce(c.user_line, c.line))
               WHERE c.process = o.process
           ) AND (o.process, o.hlo_module) NOT IN (FROM whole_kernel)) / sum(o.self_ns) AS own
    FROM device_op o GROUP BY o.process
),
idle AS (
    SELECT process, sum(idle_unwaited_ns) / sum(duration_ns) AS share FROM idle_step GROUP BY process
),
launched AS (
    SELECT f.process, arg_max({'file': f.file, 'line': f.line, 'function': f.function}, f.most) AS top,
           -- what no sample shows to be of the loop may have been launched before it, as weights are
           greatest(sum(f.seen), least(sum(f.count), any_value(t.later) * any_value(f.steps)))::BIGINT AS count,
           sum(f.samples) AS samples,
           list({'file': f.file, 'line': f.line, 'function': f.function, 'launches': f.count / f.steps}
                ORDER BY f.most DESC, f.file, f.line)[2:] AS others
    FROM by_function f JOIN running_loop t USING (process) GROUP BY f.process
)
SELECT l.process, unnest(l.top), l.count, l.count / t.steps AS launches, least(l.count / t.steps, t.later) AS least_launches,
       l.samples / w.whole AS share, w.whole AS samples, l.others, t.steps, t.running_ns,
       i.share AS idle, coalesce(d.own, 0) AS own, r.reading
FROM launched l
JOIN running_loop t USING (process)
JOIN (SELECT DISTINCT process, whole FROM running_line) w USING (process)
LEFT JOIN warm_time r USING (process)
LEFT JOIN idle i USING (process)
LEFT JOIN device d USING (process);

-- Internal: Loops whose steady steps launch programs while the device is idle, with medians of the timeline's steps: one
-- that lost its processor says nothing of the others. `pace_ns`: a step without the profiler, where there are such;
-- `own_ns`: what the operations of a client that is the processor itself take without what the profiler takes for each;
-- `captured`: whether it is known which line launched what. `places`: the lines that launch `often` a step.
CREATE MACRO idle_while_launching(often, event_ns) AS TABLE
WITH idle AS (
    SELECT process, count(*) AS steps, median(idle_dispatch_ns + coalesce(idle_tracing_ns, 0)) AS launching_ns,
           median(duration_ns) AS step_ns, median(busy_ns) AS busy_ns,
           median(dispatch_ns + tracing_ns) AS calls_ns, median(upload_ns) AS upload_ns
    FROM idle_step GROUP BY process
),
pace AS (
    SELECT s.process, coalesce(median(s.duration_ns / s.barriers) FILTER (NOT s.traced),
                               median(s.duration_ns / s.barriers)) AS pace_ns
    FROM steady_step s JOIN steady_loop USING (process, thread) GROUP BY s.process
),
own AS (
    SELECT process, greatest(0, sum(self_ns) - event_ns * sum(count))
               / (SELECT count(*) FROM timeline_step t WHERE t.process = o.process) AS ns
    FROM device_op o GROUP BY process
),
place AS (
    SELECT l.process, l.count, l.work, l.steps, site(l) AS site, l.count >= often * t.steps AS looped,
           coalesce(l.operations, l.steps = 0) AS single, t.steps AS turns
    FROM launch l JOIN steady_loop t USING (process)
),
by_line AS (
    SELECT process, site.file AS file, site.line AS line, sum(count / turns) AS launches
    FROM place WHERE looped GROUP BY ALL
),
launched AS (
    -- of several loops one after the other, no line may launch in half of all steps
    SELECT process, coalesce(sum(count / turns) FILTER (looped), sum(count / turns)) AS launches, arg_max(site, work * steps) AS site,
           coalesce(sum(count / turns) FILTER (looped AND single), 0) AS operations, TRUE AS captured,
           (SELECT list({'file': b.file, 'line': b.line, 'launches': b.launches} ORDER BY b.file, b.line)
            FROM by_line b WHERE b.process = p.process) AS places
    FROM place p GROUP BY process
    UNION ALL BY NAME  -- a timeline alone does not tell which line launched what
    SELECT process, sum(executions) / any_value(t.steps) AS launches, any_value(site(s)) AS site,
           FALSE AS captured
    FROM steady_step s JOIN steady_loop t USING (process)
    WHERE process NOT IN (SELECT process FROM launch) GROUP BY process
)
SELECT i.*, l.duration_ns, l.input_ns, l.steps AS turns, n.* EXCLUDE (process), w.pace_ns,
       coalesce(device_is(p.device_kind, 'host'), FALSE) AS on_cpu, coalesce(least(o.ns, i.busy_ns), 0) AS own_ns,
       coalesce((SELECT sum(count) FROM host_sync h WHERE h.process = i.process AND kind <> 'wait' AND NOT tail)
                / l.steps, 0) AS reads_a_step,
       coalesce((SELECT sum(count) FROM upload u WHERE u.process = i.process AND NOT tail) / l.steps, 0) AS uploads_a_step
FROM idle i
JOIN steady_loop l USING (process)
JOIN pace w USING (process)
JOIN launched n USING (process)
LEFT JOIN own o USING (process)
LEFT JOIN process p USING (process);
