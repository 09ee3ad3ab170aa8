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

-- Internal: Steady steps of the timeline, with a device in it or without; `steps`: how many these are in the process,
-- `loop_ns`: how long together.
CREATE TABLE warmed_up AS
SELECT *, count(*) OVER loop AS steps, sum(duration_ns) OVER loop AS loop_ns
FROM timeline_step WHERE steady WINDOW loop AS (PARTITION BY process);

-- Internal: Those with a device in it, with the time that no device had work: of several devices the least idle counts,
-- since the others may wait for it or belong to another thread. `idle_unwaited_ns`: without waits, compiling and saving.
CREATE TABLE idle_step AS
SELECT t.*, d.* EXCLUDE (process, step), count(*) OVER loop AS steps, sum(t.duration_ns) OVER loop AS loop_ns
FROM timeline_step t
JOIN (
    SELECT process, step, max(busy_ns) AS busy_ns, min(idle_input_ns) AS idle_input_ns,
           min(idle_tracing_ns) AS idle_tracing_ns, min(idle_other_ns) AS idle_other_ns,
           min(idle_dispatch_ns) AS idle_dispatch_ns, min(idle_upload_ns) AS idle_upload_ns,
           min(idle_ns - idle_compile_ns - idle_wait_ns - idle_input_ns - idle_save_ns - coalesce(idle_collective_ns, 0))
               AS idle_unwaited_ns
    FROM device_step GROUP BY process, step
) d USING (process, step)
WHERE t.steady WINDOW loop AS (PARTITION BY t.process);

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
    process,
    count(*) AS steps,
    sum(duration_ns)::BIGINT AS duration_ns,
    sum(input_ns)::BIGINT AS input_ns,
    sum(tracing_ns)::BIGINT AS tracing_ns,
    sum(idle_input_ns)::BIGINT AS idle_input_ns,
    sum(idle_tracing_ns)::BIGINT AS idle_tracing_ns,
    sum(idle_other_ns)::BIGINT AS idle_other_ns
FROM idle_step
GROUP BY process;

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

-- Internal: Lines with barriers in the steady steps of loops that have several in each turn, with the `turns` of their
-- loop: how many of its steps are `fed` with new input, which came to the device or was waited for, and `updated`.
-- `times`, `updates`: steps that the line ends, and those with an update; `due`: the line that ends most of those;
-- `around`: the loop around its innermost; `launch_ns`: in barriers, without waiting for the device.
CREATE TABLE repeated_barrier AS
WITH steady AS (
    SELECT s.*, p.barriers AS period
    FROM steady_step s JOIN step_period p USING (process, thread)
    WHERE p.barriers >= 2 AND s.barriers = 1
),
turn AS (
    SELECT process, thread, period, count(*) AS barriers, count(*) / period AS turns,
           count(*) FILTER (upload_ns > 0 OR input_ns > 0) AS fed,
           count(*) FILTER (optimizer_steps > 0) AS updated
    FROM steady GROUP BY process, thread, period
),
placed AS (
    SELECT process, thread, file, line, any_value(function) AS function,
           unnest(any_value(caller(steady))), count(*) AS times, sum(barrier_ns) AS barrier_ns,
           count(*) FILTER (optimizer_steps > 0) AS updates
    FROM steady GROUP BY process, thread, file, line
),
launching AS (
    SELECT process, sum(dispatch_ns) / nullif(sum(dispatch_ns + wait_ns), 0) AS share
    FROM timeline_step GROUP BY process
),
enclosing AS (
    SELECT process, file, line, any_value({'file': loop_file, 'line': first_line, 'function': loop_function}) AS around
    FROM enclosing_loop WHERE depth = 1 GROUP BY ALL
)
SELECT b.*, t.* EXCLUDE (process, thread), l.duration_ns AS loop_ns, e.around, b.barrier_ns * coalesce(a.share, 1) AS launch_ns,
       first_value(site(b)) OVER (PARTITION BY b.process, b.thread ORDER BY b.updates DESC, b.file, b.line) AS due,
       list(parse_filename(b.file) || ':' || b.line) OVER (
           PARTITION BY b.process, b.thread ORDER BY b.file, b.line
           ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lines
FROM placed b
JOIN turn t USING (process, thread)
LEFT JOIN steady_loop l USING (process, thread)
LEFT JOIN launching a USING (process)
LEFT JOIN enclosing e ON e.process = b.process AND e.file = b.file AND e.line = b.line;

-- Internal: Loops with the time that Python takes to trace, as far as operators that fell back to the CPU do not, and the
-- hottest line: of the loop's own lines if `least_share` of the samples are at these, else of all. `idle`: the share of
-- the steps without work for a device meanwhile; `updating`: of the samples at lines that step an optimizer.
CREATE MACRO traced_loop(least_share) AS TABLE
WITH sampled AS (
    SELECT process, sum(count) FILTER (kind = 'tracing') AS samples,
           sum(count) FILTER (kind = 'tracing') / sum(count) AS tracing
    FROM host_line WHERE kind IN ('tracing', 'fallback') GROUP BY process
),
hot AS (
    SELECT DISTINCT ON (process) *, own >= least_share * of_kind AS stands_out
    FROM (
        SELECT *, sum(own) OVER (PARTITION BY process) AS owned
        FROM host_line WHERE kind = 'tracing'
    )
    ORDER BY process, CASE WHEN owned >= least_share * of_kind THEN own ELSE count END DESC, rank
),
updating AS (
    SELECT process, sum(count) / any_value(of_kind) AS share
    FROM host_line SEMI JOIN optimizer USING (process, file, line)
    WHERE kind = 'tracing' GROUP BY process
)
SELECT t.process, t.steps AS seen, s.samples,
       s.tracing * t.tracing_ns / t.steps * (1 - processor_wait_of(t.process)) AS trace_ns,
       s.tracing * t.idle_tracing_ns / t.duration_ns AS idle,
       coalesce(device_is(p.device_kind, 'host'), FALSE) AS on_cpu,
       h.file, h.line, h.function, h.stands_out, h.share AS part, top.lines, coalesce(u.share, 0) AS updating
FROM steady_timeline t
JOIN sampled s USING (process)
JOIN hot h USING (process)
JOIN hottest_lines top ON top.process = t.process AND top.kind = 'tracing'
LEFT JOIN updating u USING (process)
LEFT JOIN process p USING (process);

-- Internal: Functions that run in several parts, as calls in a timeline alone show: where lines are recorded, by the line
-- that the function after a break begins at.
CREATE TABLE split_function AS
SELECT
    process, any_value(site(s)) AS site, max(s.count) AS count, CASE WHEN s.line IS NULL THEN s.frame END AS subject,
    {'compiled': [coalesce(any_value(s.compiled), 'Compiled function ' || s.frame)],
     'whole': FALSE, 'per_call': len(string_split(any_value(s.parts), ' > ')) - 1.0,
     'frame_ms': any_value(f.frame_ns) / 1e6, 'step_ms': any_value(f.step_ns) / 1e6,
     'parts': any_value(s.parts), 'breaks': count(*), 'between_ms': sum(s.between_ns) / 1e6,
     'operators': sum(s.operators_ns) / nullif(sum(s.between_ns), 0), 'slight': FALSE} AS cause
FROM (SELECT *, bool_or(line IS NOT NULL) OVER (PARTITION BY process, frame) AS placed FROM split_call) s
LEFT JOIN frame_time f USING (process, frame)
WHERE (s.line IS NOT NULL OR NOT s.placed)
  AND process NOT IN (SELECT process FROM graph_break)
  AND process NOT IN (SELECT process FROM process WHERE began_ns IS NOT NULL)
GROUP BY process, s.frame, s.file, s.line;
