-- The steady state of each process: the steady steps of the thread that took longest, from which
-- the timeline's steps are taken.
-- * steps: number of its steady steps
-- * duration_ns: total time of these steps
-- * input_ns: waiting for the next batch; NULL if that was not recorded
-- > SELECT duration_ns / steps AS ns_a_step FROM steady_loop
CREATE TABLE steady_loop AS
SELECT
    s.process, s.thread,
    sum(s.barriers)::BIGINT AS steps,
    sum(s.duration_ns)::BIGINT AS duration_ns,
    sum(s.input_ns)::BIGINT AS input_ns
FROM steady_step s
JOIN (
    SELECT DISTINCT ON (process) process, thread FROM loop
    ORDER BY process, duration_ns DESC, thread
) USING (process, thread)
GROUP BY s.process, s.thread;

-- Share of the steady loop in which its thread was ready to run and waited for a processor, and in
-- which it ran.
-- * share: share (0 to 1) of the time in which the thread was ready but had no processor
-- * running: share (0 to 1) of the time in which it ran
-- > SELECT process, share FROM processor_wait WHERE share > 0.1
CREATE TABLE processor_wait AS
SELECT
    p.process,
    least(1, (max(p.wait_ns) - min(p.wait_ns)) / (max(p.at_ns) - min(p.at_ns))) AS share,
    least(1, (max(p.run_ns) - min(p.run_ns)) / (max(p.at_ns) - min(p.at_ns))) AS running
FROM processor_use p
JOIN (
    SELECT s.process, s.thread, min(s.begin_ns) AS begin_ns, max(s.end_ns) AS end_ns
    FROM steady_step s JOIN steady_loop USING (process, thread) GROUP BY s.process, s.thread
) l ON l.process = p.process AND l.thread = p.thread AND p.at_ns BETWEEN l.begin_ns AND l.end_ns
GROUP BY p.process
HAVING max(p.at_ns) > min(p.at_ns);

-- The share of processor_wait as a number; 0 where it is not known. Rules that judge by time take it out of what they
-- measured, and keep to information what could be nothing but these waits.
-- > SELECT process, processor_wait_of(process) AS share FROM process
CREATE MACRO processor_wait_of(process_) AS coalesce(
    (SELECT max(w.share) FROM processor_wait w WHERE w.process = process_), 0
);

-- Internal: Steady steps of the timeline, with a device in it or without.
CREATE TABLE warmed_up AS SELECT * FROM timeline_step WHERE steady;

-- Internal: The steps of the timeline, but what is all of one that nothing divides into steps.
CREATE TABLE divided_step AS
SELECT * FROM timeline_step
WHERE process NOT IN (SELECT process FROM timeline WHERE steps_from = 'span');

-- Internal: The steps that the use of devices is told of: steady ones, or all of a process that has none.
CREATE TABLE judged_step AS
SELECT * FROM divided_step s
WHERE s.steady OR NOT EXISTS (SELECT 1 FROM timeline_step o WHERE o.process = s.process AND o.steady);

-- Internal: The steps of timelines that other profilers recorded, where nothing else tells of steps.
CREATE TABLE profiled_step AS
SELECT * FROM timeline_step WHERE NOT joined AND process NOT IN (SELECT process FROM captured_loop);

-- Internal: A row where it is understood which calls of the host wait, and which launch.
CREATE TABLE waits_known AS
SELECT TRUE AS known WHERE NOT EXISTS (SELECT 1 FROM timeline WHERE not_understood IS NOT NULL);

-- Steady steps of the timeline, added up, with the time that no device had work: of several devices
-- the least idle counts, since the others may wait for it or belong to another thread.
-- * steps: steady steps of the timeline
-- * duration_ns: total time of these steps
-- * input_ns: waiting for the next batch
-- * tracing_ns: Python that built graphs (estimate)
-- * idle_input_ns: no device had work while the host waited for the next batch
-- * idle_tracing_ns: likewise, while Python built graphs (estimate); NULL without samples
-- * idle_other_ns: likewise, while other Python ran
-- > SELECT idle_input_ns / duration_ns AS idle_for_input FROM steady_timeline
CREATE TABLE steady_timeline AS
SELECT
    t.process,
    count(*) AS steps,
    sum(t.duration_ns)::BIGINT AS duration_ns,
    sum(t.input_ns)::BIGINT AS input_ns,
    sum(t.tracing_ns)::BIGINT AS tracing_ns,
    sum(d.idle_input_ns)::BIGINT AS idle_input_ns,
    sum(d.idle_tracing_ns)::BIGINT AS idle_tracing_ns,
    sum(d.idle_other_ns)::BIGINT AS idle_other_ns
FROM timeline_step t
JOIN (
    SELECT
        process, step, min(idle_input_ns) AS idle_input_ns,
        min(idle_tracing_ns) AS idle_tracing_ns, min(idle_other_ns) AS idle_other_ns
    FROM device_step GROUP BY process, step
) d ON d.process = t.process AND d.step = t.step
WHERE t.steady
GROUP BY t.process;

-- Host samples of the loop by the user's line and by what they show: `input`, on any thread; `tracing`; `other`
-- Python; `fallback` and `upload`, at lines that run an operator on the CPU or send tensors. All but
-- the first are from the loop's thread.
-- `own` leaves out samples in a library, a module, the backward pass or an update: what every
-- program has to trace. `share` is of the samples of the same kind.
-- * kind: input, tracing, other, fallback or upload
-- * file: path of the user's line
-- * line: the line, from 1
-- * function: function that it is in
-- * looping: whether the samples are of the loop's thread
-- * count: samples
-- * own: samples in the line's own code
-- * of_kind: all samples of this kind
-- * share: share (0 to 1) of these
-- * rank: 1 for the line with the most samples of its kind
-- > SELECT file, line, share FROM host_line WHERE kind = 'tracing' AND rank <= 5
CREATE TABLE host_line AS
WITH placed AS (
    SELECT
        h.process,
        CASE WHEN h.doing = 'batch' THEN 'input'
             WHEN f.line IS NOT NULL THEN 'fallback'
             WHEN u.line IS NOT NULL AND NOT coalesce(h.in_framework, FALSE) THEN 'upload'
             WHEN h.tracing THEN 'tracing' ELSE 'other' END AS kind,
        coalesce(h.user_file, h.file) AS file,
        coalesce(h.user_line, h.line) AS line,
        coalesce(h.user_function, h.function) AS function,
        h.thread IS NOT DISTINCT FROM l.thread AS looping,
        h.user_file IS NULL AND o.line IS NULL AND coalesce(h.via, '') NOT IN (
            'backward', 'grad', 'step', '_wrapped_call_impl', '_call_impl'
        ) AS own,
        h.count
    FROM host_sample h
    LEFT JOIN steady_loop l ON l.process = h.process
    LEFT JOIN (SELECT DISTINCT process, file, line FROM optimizer) o
        ON o.process = h.process AND o.file = h.file AND o.line = h.line
    LEFT JOIN (SELECT DISTINCT process, file, line FROM fallback) f
        ON f.process = h.process AND f.file = h.file AND f.line = h.line
    LEFT JOIN (SELECT DISTINCT process, file, line FROM upload) u
        ON u.process = h.process AND u.file = h.file AND u.line = h.line
    WHERE coalesce(h.phase, 'loop') = 'loop'
      AND (h.doing = 'batch' OR (h.doing IS NULL AND h.thread = coalesce(l.thread, h.thread)))
      AND coalesce(h.user_file, h.file) IS NOT NULL
),
line AS (
    SELECT
        process, kind, file, line, any_value(function) AS function, bool_and(looping) AS looping,
        sum(count)::BIGINT AS count, coalesce(sum(count) FILTER (own), 0)::BIGINT AS own
    FROM placed GROUP BY process, kind, file, line
)
SELECT
    *,
    (sum(count) OVER kind_of)::BIGINT AS of_kind,
    count / sum(count) OVER kind_of AS share,
    row_number() OVER (
        PARTITION BY process, kind ORDER BY count DESC, file, line
    ) AS rank
FROM line
WINDOW kind_of AS (PARTITION BY process, kind);

-- The three hottest lines of each kind, for messages.
-- * kind: as in host_line
-- * samples: all samples of this kind
-- * lines: place (file:line) and share (0 to 1), the hottest first
-- > SELECT kind, lines FROM hottest_lines
CREATE TABLE hottest_lines AS
SELECT
    process, kind, any_value(of_kind) AS samples,
    list({'place': parse_filename(file) || ':' || line, 'share': round(share, 4)} ORDER BY rank)
        AS lines
FROM host_line WHERE rank <= 3
GROUP BY process, kind;

-- Processes whose waits for input are known: the capture notes them, other profilers may mark them.
-- > SELECT process FROM input_signal
CREATE TABLE input_signal AS
SELECT process FROM captured_loop
UNION
SELECT DISTINCT process FROM timeline_step WHERE input_ns > 0;

-- Internal: how long the steps without compilation are on average, and how much of one the calls of a compiled
-- function take, by the number that its compile_ids begin with.
CREATE TABLE frame_time AS
SELECT process, split_part(p.compile_id, '/', 1) AS frame,
       sum(p.duration_ns) / any_value(n.steps) AS frame_ns, any_value(n.step_ns) AS step_ns
FROM compiled_part p
JOIN timeline_step t USING (process, step)
JOIN (
    SELECT process, count(*) AS steps, avg(duration_ns) AS step_ns
    FROM timeline_step WHERE compile_ns = 0 GROUP BY process
) n USING (process)
WHERE t.compile_ns = 0
GROUP BY process, frame;

-- Internal: the share of a run that compiling took, where the compiler says how long its phases took.
CREATE TABLE compile_share AS
SELECT process, sum(f.duration_ns) / any_value(coalesce(p.ended_ns - p.began_ns, l.end_ns - l.begin_ns)) AS share
FROM compile_phase f JOIN process p USING (process) LEFT JOIN timeline l USING (process)
GROUP BY process;

-- Internal: what so many steady steps of the timeline lose, for all steps of the loop.
CREATE MACRO over_loop(process_, ns, steps_) AS (
    ns * greatest(1, coalesce((SELECT max(steps) FROM loop l WHERE l.process = process_), 0) / steps_)
)::BIGINT;
