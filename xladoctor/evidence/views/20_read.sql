-- Internal: Processes whose capture notes no reads on a device on which they wait: at most a timeline shows some.
CREATE TABLE unnoted_reads AS
SELECT process FROM process
WHERE frontend IS NOT NULL AND NOT device_is(device_kind, 'host') AND 'read' IN (SELECT what FROM unrecorded);

-- Internal: Steps of which it is known what was read in them.
CREATE TABLE watched_step AS
SELECT * FROM step
WHERE NOT tail AND (process NOT IN (FROM unnoted_reads) OR (process, index) IN (
    SELECT (process, step) FROM timeline_step WHERE joined AND process IN (SELECT process FROM device)
));

-- Internal: The loop of each thread, as far as it is known what was read in it.
CREATE TABLE watched_loop AS
SELECT * FROM loop WHERE process NOT IN (FROM unnoted_reads)
UNION ALL BY NAME
SELECT process, thread, FALSE AS without_barrier, sum(duration_ns)::BIGINT AS duration_ns,
       sum(compile_ns)::BIGINT AS compile_ns, sum(s.barriers)::BIGINT AS barriers,
       (sum(s.barriers) / coalesce(any_value(p.barriers), 1))::BIGINT AS steps,
       sum(optimizer_steps)::BIGINT AS optimizer_steps
FROM watched_step s LEFT JOIN step_period p USING (process, thread)
WHERE process IN (FROM unnoted_reads)
GROUP BY process, thread;

-- Reads of device values inside a loop, by call site: how often, in how many steps, and for how
-- long the host was blocked. Reads in step closures do not count: they run after the barrier.
-- `share_of_steps`: how many of the steps that the same barrier ends have this read, so that a read
-- in each evaluation step counts fully even if there are more training steps. A read after the
-- barrier falls into the next step, the last one of a loop into another loop's or none: hence only steps
-- that begin at the barrier at which they end count, where most do, and one more for the first.
-- `share_of_all`: how many of all steps of the thread have a read at this line, whatever barrier ends
-- them, or their share of the time if that is less: barriers of a log between two steps are no steps.
-- `steps_of`: which steps `share_of_steps` is a share of, in words, where they are not all of the thread's. Where a timeline
-- alone shows reads, they are its steps, and so are the counts.
-- `costly_turns`: it is in a loop that has no barrier, in steps that are few, and takes a second and 2% of the time
-- without compiling at least: then the shares are those of that loop's turns, and of the time.
-- `purpose`, `cure`: what for and what to do instead, of reads in helpers that table reading_helper
-- knows.
-- * kind: kind of the read, as in host_sync
-- * count: number of reads
-- * steps: steps with one or more
-- * duration_ns: time that the host was blocked, compilation not counted
-- * compile_ns: compilation that they caused
-- * share_of_steps: share (0 to 1) of the steps of the same barrier that have such a read
-- * steps_of: these steps, in words: "the steps" if it is all of them
-- * count_a_step: reads per step that has any
-- * share_of_all: share (0 to 1) of all steps of the thread that read here, or of its time
-- * costly_turns: whether a loop without barriers waits long here, by iterations
-- * purpose: purpose as in reading_helper, if a known helper reads
-- * cure: what to do instead, as a sentence, if a known helper reads
-- > SELECT kind, file, line, count_a_step FROM read_in_loop WHERE share_of_steps > 0.5
CREATE TABLE read_in_loop AS
WITH ended AS (  -- `again`: its steps that begin where they end
    SELECT *, barriers - if(
        lag((file, line, via)) OVER (PARTITION BY process, thread ORDER BY index)
        IS NOT DISTINCT FROM (file, line, via), 0, 1) AS again
    FROM watched_step
),
of_barrier AS (
    SELECT process, thread, file, line, via, sum(barriers) AS barriers, sum(again) AS again,
           any_value(site(ended)) AS site
    FROM ended GROUP BY ALL
),
in_step AS (
    SELECT
        h.process, h.thread, h.kind, h.via, site(h) AS site,
        s.file AS barrier_file, s.line AS barrier_line, s.via AS barrier_via,
        sum(h.count) AS count,
        sum(least(h.count, s.barriers)) AS steps,
        sum(least(h.count, s.again)) AS again,
        sum(h.duration_ns) AS duration_ns,
        sum(h.compile_ns) AS compile_ns
    FROM host_sync h
    JOIN ended s ON s.process = h.process AND s.thread = h.thread AND s.index = h.step
        AND NOT s.tail
    WHERE NOT h.tail AND NOT h.closure
    GROUP BY ALL
),
of_line AS (
    SELECT process, thread, file, line, sum(reads) AS steps, sum(busy_ns * reads / barriers) AS busy_ns
    FROM (
        SELECT h.process, h.thread, h.file, h.line, s.index, any_value(s.barriers) AS barriers,
               least(sum(h.count), any_value(s.barriers)) AS reads,
               any_value(s.duration_ns - s.compile_ns) AS busy_ns
        FROM host_sync h
        JOIN watched_step s ON s.process = h.process AND s.thread = h.thread AND s.index = h.step
        WHERE NOT h.tail AND NOT h.closure
        GROUP BY h.process, h.thread, h.file, h.line, s.index
    )
    GROUP BY ALL
),
inner_loop AS (  -- lines whose innermost loop has none of the barriers that end its steps, such as an evaluation's
    SELECT DISTINCT i.process, i.thread, i.site.file AS file, i.site.line AS line
    FROM in_step i
    JOIN enclosing_loop e ON e.process = i.process AND e.file = i.site.file AND e.line = i.site.line
        AND e.depth = 0
    ANTI JOIN (
        SELECT s.process, s.thread, r.file, r.line, b.loop_file, b.first_line
        FROM (SELECT DISTINCT process, thread, site.file AS file, site.line AS line, barrier_file, barrier_line
              FROM in_step) r
        JOIN (SELECT DISTINCT process, thread, file, line FROM ended) s
            ON s.process = r.process AND s.thread = r.thread AND s.file = r.barrier_file
            AND s.line = r.barrier_line
        JOIN enclosing_loop b ON b.process = s.process AND b.file = s.file AND b.line = s.line
    ) o ON o.process = i.process AND o.thread = i.thread AND o.file = i.site.file
        AND o.line = i.site.line AND o.loop_file = e.loop_file AND o.first_line = e.first_line
),
after_loop AS (  -- the last iteration's read, after the barrier
    SELECT process, thread, kind, file, line, via, least(sum(count), 1) AS count
    FROM host_sync WHERE tail AND NOT closure GROUP BY ALL
),
shared AS (
    SELECT i.*, l.duration_ns - l.compile_ns AS loop_ns, l.barriers AS in_all,
        least(1, CASE WHEN p.barriers > 1 THEN i.steps / greatest(1, l.steps - 1)
                      WHEN b.again >= b.barriers / 2 THEN least(i.steps, i.again + 1) / b.again
                      ELSE i.steps / greatest(1, b.barriers - 1) END) AS share,
        CASE WHEN i.process IN (FROM unnoted_reads) THEN format('the {} steps in the timeline', l.steps)
             WHEN p.barriers > 1 OR b.barriers = l.barriers OR b.site.file IS NULL THEN 'the steps'
             ELSE format(
                 'the {} step{} at {}:{} ({} in all)', b.barriers::BIGINT, if(b.barriers = 1, '', 's'),
                 parse_filename(coalesce(b.site.user_file, b.site.file)),
                 coalesce(b.site.user_line, b.site.line), l.barriers) END AS steps_of
    FROM in_step i
    JOIN of_barrier b ON b.process = i.process AND b.thread = i.thread
        AND b.file IS NOT DISTINCT FROM i.barrier_file
        AND b.line IS NOT DISTINCT FROM i.barrier_line
        AND b.via IS NOT DISTINCT FROM i.barrier_via
    JOIN watched_loop l ON l.process = i.process AND l.thread = i.thread
    LEFT JOIN step_period p ON p.process = i.process AND p.thread = i.thread
),
read AS (
SELECT
    i.process, i.thread, i.kind, unnest(i.site), i.via,
    (sum(i.count) + coalesce(any_value(t.count), 0))::BIGINT AS count,
    sum(i.steps)::BIGINT AS steps,
    sum(i.duration_ns)::BIGINT AS duration_ns,
    sum(i.compile_ns)::BIGINT AS compile_ns,
    max(i.share) AS share_of_steps,
    arg_max(i.steps_of, i.share) AS steps_of,
    sum(i.count) / sum(i.steps) AS count_a_step,
    least(1, any_value(o.steps) / greatest(1, any_value(i.in_all) - 1),
          any_value(o.busy_ns / nullif(i.loop_ns, 0))) AS share_of_all,
    any_value(n.process) IS NOT NULL AND sum(i.count) >= 3 * sum(i.steps)
        AND sum(i.duration_ns) >= greatest(1e9, 0.02 * any_value(i.loop_ns)) AS costly_turns,
    sum(i.duration_ns) / nullif(any_value(i.loop_ns), 0) AS share_of_time
FROM shared i
LEFT JOIN inner_loop n ON n.process = i.process AND n.thread = i.thread AND n.file = i.site.file
    AND n.line = i.site.line
JOIN of_line o ON o.process = i.process AND o.thread = i.thread
    AND o.file IS NOT DISTINCT FROM i.site.file AND o.line IS NOT DISTINCT FROM i.site.line
LEFT JOIN after_loop t ON t.process = i.process AND t.thread = i.thread AND t.kind = i.kind
    AND t.file = i.site.file AND t.line = i.site.line AND t.via = i.via
GROUP BY i.process, i.thread, i.kind, i.site, i.via
UNION ALL BY NAME
-- A loop without barriers: reads per optimizer step, else per read of the line that reads most
-- often, which is taken for one iteration.
SELECT
    h.process, h.thread, h.kind, unnest(site(h)), h.via,
    sum(h.count)::BIGINT AS count, sum(h.count)::BIGINT AS steps, sum(h.duration_ns)::BIGINT AS duration_ns,
    sum(h.compile_ns)::BIGINT AS compile_ns,
    least(1, sum(h.count) / any_value(l.turns)) AS share_of_steps,
    'the steps' AS steps_of,
    greatest(1, sum(h.count) / any_value(l.turns)) AS count_a_step,
    least(1, sum(h.count) / any_value(l.turns)) AS share_of_all, FALSE AS costly_turns
FROM host_sync h
JOIN (
    SELECT process, thread, optimizer_steps > 0 AS trains, coalesce(nullif(optimizer_steps, 0), (
        SELECT max(count) FROM host_sync m
        WHERE m.process = loop.process AND m.thread = loop.thread AND NOT m.closure
    )) AS turns
    FROM loop WHERE without_barrier
) l ON l.process = h.process AND l.thread = h.thread
LEFT JOIN (  -- that compile a graph in turn after turn, as what piles up makes them do
    SELECT process, file, line FROM compilation GROUP BY ALL HAVING count(DISTINCT graph_hash) >= recurring()
) c ON c.process = h.process AND c.file = h.file AND c.line = h.line
WHERE l.turns >= CASE WHEN l.trains OR c.process IS NOT NULL THEN 3 ELSE 10 END AND NOT h.closure
GROUP BY h.process, h.thread, h.kind, site(h), h.via
)
SELECT * EXCLUDE (helper, share_of_time) REPLACE (
           if(costly_turns, 1, share_of_steps) AS share_of_steps,
           if(costly_turns, 'the turns of its loop', steps_of) AS steps_of,
           if(costly_turns, count, steps) AS steps,
           if(costly_turns, 1, count_a_step) AS count_a_step,
           if(costly_turns, share_of_time, share_of_all) AS share_of_all
       ), helper.purpose AS purpose, helper.cure AS cure
FROM (SELECT *, helper_of(file, function, via, kind) AS helper FROM read);

-- Internal: What a log's sentences say that graphs were launched or compiled for.
CREATE TABLE logged_cause AS
SELECT DISTINCT c.process, c.cause, m.meaning
FROM (SELECT process, cause FROM compilation UNION SELECT process, cause FROM execution) c
JOIN cause_meaning m ON regexp_matches(c.cause, m.sentence);

-- Lines at which, as a log says, a value was needed before the barrier, so that the graph up to it
-- was launched: by the program, or for an operator that ran on the host. `barriers`: how many
-- launches the log names besides. Of level 1 it names only those that compiled. What a console log says
-- of such lines counts more. `op`: where it names the read itself; `barriers`: those it tells of.
-- * count: launches or compilations that the line caused
-- * barriers: barriers that the log also names
-- * launches: whether launches were counted; otherwise compilations
-- * op: operator that read, if a console log names it
-- > SELECT file, line, count, barriers FROM logged_read
CREATE TABLE logged_read AS
WITH named AS (
    SELECT process, cause, file, line, function, user_file, user_line, user_function,
           TRUE AS launches FROM execution
    UNION ALL BY NAME
    SELECT process, cause, file, line, function, user_file, user_line, user_function,
           FALSE AS launches FROM compilation
    WHERE process NOT IN (SELECT process FROM execution)
),
told AS (
    SELECT *, count(*) FILTER (NOT read) OVER (PARTITION BY process) AS barriers
    FROM (SELECT *, cause IN (SELECT c.cause FROM logged_cause c WHERE c.meaning = 'read') AS read FROM named)
)
SELECT process, file, line, any_value(function) AS function,
       unnest(commonest_caller(told, 1)), count(*) AS count, any_value(barriers) AS barriers,
       any_value(launches) AS launches, NULL AS op
FROM told
WHERE read AND file IS NOT NULL AND process NOT IN (
    SELECT process FROM captured_loop UNION SELECT process FROM fallback WHERE op IS NULL
)
GROUP BY process, file, line
UNION ALL BY NAME
SELECT process, file, line, any_value(function) AS function, unnest(commonest_caller(f, f.count)),
       sum(f.count)::BIGINT AS count, coalesce(any_value(r.barriers), 0)::BIGINT AS barriers,
       TRUE AS launches, op
FROM fallback f LEFT JOIN reported r USING (process)
WHERE (op IS NULL OR has_trait(op, 'reads_scalar'))
  AND process NOT IN (SELECT process FROM captured_loop)
GROUP BY process, file, line, op;

-- Internal: Transfers that a log names, of a process of which nothing else tells.
CREATE TABLE logged_transfer AS
SELECT * FROM transfer
WHERE step IS NULL AND process NOT IN (SELECT process FROM captured_loop);

-- Processes of which it is known what they sent to the device: of sizes alone, those of many transfers.
-- > SELECT process FROM upload_record
CREATE TABLE upload_record AS
SELECT process FROM captured_loop
UNION SELECT process FROM reported
WHERE uploads IS NOT NULL AND upload_growth IS NOT NULL OR sends >= 20
UNION SELECT process FROM logged_transfer;

-- Processes of which it is known whether values are read. A log alone names only reads before the barrier.
-- > SELECT process FROM read_record
CREATE TABLE read_record AS
SELECT process FROM (
    SELECT process FROM operator_counts UNION SELECT process FROM reported WHERE fetched IS NOT NULL
    UNION SELECT process FROM counter WHERE has_trait(name, 'reads_scalar')
)
WHERE process NOT IN (
    SELECT process FROM reported_early
    EXCEPT SELECT process FROM counter WHERE has_trait(name, 'reads_scalar')
    EXCEPT SELECT process FROM logged_read
)
AND process NOT IN (FROM unnoted_reads EXCEPT SELECT process FROM watched_step);
