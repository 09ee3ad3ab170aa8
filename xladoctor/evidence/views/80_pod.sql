-- Internal: The least share of a step by which a process of a pod is late: hosts of one kind differ by 1 to 3%.
CREATE MACRO pod_late_share() AS 0.05;

-- Internal: The least time by which a process is late in a step: schedulers of operating systems cause less.
CREATE MACRO pod_late_ns() AS 500000;

-- Internal: The least mean delay that makes a process, which is late now and then, stand out, as a share of a step.
CREATE MACRO pod_mean_share() AS 0.02;

-- Internal: How far from the median an outlier is: four standard deviations, which of normal values are 1.4826 times
-- the median of absolute deviations (MAD) each.
CREATE MACRO pod_outlying(mad_) AS 4 * 1.4826 * mad_;

-- Internal: What is usual among the processes of a pod: the median of those that are `usual_`. Of two processes the smaller, as
-- one waits for the other.
CREATE MACRO pod_usual(value_, usual_) AS if(count(*) = 2, min(value_), median(value_) FILTER (usual_));

-- Internal: How far values are usually from the median; unknown, and taken as nothing, where there are two.
CREATE MACRO pod_spread(value_, usual_) AS if(count(*) = 2, 0, mad(value_) FILTER (usual_));

-- Internal: The parts of a step, in the order of reports.
CREATE MACRO pod_parts() AS ['input', 'compile', 'tracing', 'python', 'dispatch', 'upload', 'save', 'compute', 'exchange',
                             'waiting', 'idle'];

-- Internal: A part of a step in words.
CREATE MACRO pod_part_in_words(part_) AS CASE part_
    WHEN 'input' THEN 'waiting for the next batch' WHEN 'compile' THEN 'compiling'
    WHEN 'tracing' THEN 'Python records graphs' WHEN 'python' THEN 'Python on the host'
    WHEN 'dispatch' THEN 'handing work to the device' WHEN 'upload' THEN 'sending data to the device'
    WHEN 'save' THEN 'saving checkpoints' WHEN 'compute' THEN 'computing on the device'
    WHEN 'exchange' THEN 'collectives, without the wait for others'
    ELSE 'its devices are idle, and it is not recorded why'
END;

-- Internal: Names in words: eight of them, and how many more there are.
CREATE MACRO in_words(names_) AS array_to_string(names_[:8], ', ') || if(len(names_) > 8, format(' and {} more', len(names_) - 8), '');

-- Internal: The steps of a pod's processes by the pod's numbers and its clock: those that all processes have, or of
-- which there are too few, those that most have; and that are steady in most of those. So a step in which one host
-- compiles is among them, and warm-up is not. Where the slowest host is missing, what others wait for it would be
-- taken for the exchange. A step at the edge of a profile is left out if that cut it.
CREATE TABLE pod_step AS
WITH numbered AS (
    SELECT t.* REPLACE (t.begin_ns - p.offset_ns AS begin_ns, t.end_ns - p.offset_ns AS end_ns),
           t.step + p.shift AS pod_step
    FROM divided_step t JOIN pod_process p USING (process)
    QUALIFY t.duration_ns >= most() * median(t.duration_ns) OVER (PARTITION BY process)
         OR row_number() OVER (PARTITION BY process ORDER BY t.step) NOT IN (1, count(*) OVER (PARTITION BY process))
),
common AS (
    SELECT pod_step, count(*) AS processes FROM numbered GROUP BY pod_step
    HAVING count(*) >= greatest(2, most() * (SELECT count(*) FROM pod_process))
       AND count(*) FILTER (steady) >= most() * count(*)
),
shared AS (
    SELECT pod_step FROM (
        SELECT *, count(*) FILTER (processes = largest) OVER () AS complete
        FROM (SELECT *, max(processes) OVER () AS largest FROM common)
    )
    WHERE processes = largest OR complete < recurring()
)
SELECT * FROM numbered SEMI JOIN shared USING (pod_step);

-- Internal: What each collective takes by itself in a step of the pod: the shortest of its devices, which arrived
-- last. Devices that began it more or less often than most, as at the edge of a step, are left out.
CREATE TABLE pod_exchange AS
SELECT pod_step, hlo_op, arg_max(ns, devices) AS ns, arg_max(count, devices) AS count
FROM (
    SELECT s.pod_step, c.hlo_op, c.count, min(c.duration_ns) AS ns, count(*) AS devices
    FROM collective c JOIN pod_step s USING (process, step) GROUP BY ALL
)
GROUP BY ALL;

-- Internal: Each device in each step of the pod. Collectives during which it ran nothing else are divided into the
-- exchange and the wait for others; what ran beside them hides the wait first.
CREATE TABLE pod_device_step AS
WITH met AS (
    SELECT c.process, c.device, c.step, sum(c.duration_ns) AS ns,
           sum(greatest(0, c.duration_ns - e.ns * (c.count / e.count))) AS late_ns
    FROM collective c JOIN pod_step s USING (process, step) JOIN pod_exchange e USING (pod_step, hlo_op) GROUP BY ALL
),
divided AS (
    SELECT d.*, s.pod_step, s.duration_ns,
           least(d.busy_ns, coalesce(if(m.ns IS NULL, NULL, d.collective_ns), m.ns, 0))::BIGINT AS exposed_ns,
           least(exposed_ns, coalesce(m.late_ns, 0))::BIGINT AS waiting_ns
    FROM device_step d JOIN pod_step s USING (process, step) LEFT JOIN met m USING (process, device, step)
)
SELECT *, busy_ns - exposed_ns AS compute_ns, exposed_ns - waiting_ns AS exchange_ns FROM divided;

-- Internal: Devices that next to never compute or exchange anything while most devices of the pod do. One that waits for
-- others in collectives is not idle.
CREATE TABLE pod_idle_device AS
WITH use AS (
    SELECT process, device, avg(busy_ns) AS busy_ns, avg(busy_ns - waiting_ns) AS working_ns, avg(duration_ns) AS step_ns
    FROM pod_device_step GROUP BY process, device
),
usual AS (
    SELECT median(busy_ns) AS busy_ns, median(working_ns) AS working_ns, median(step_ns) AS step_ns, count(*) AS devices
    FROM use
)
SELECT d.process, d.device, d.busy_ns / d.step_ns AS share, u.busy_ns / u.step_ns AS usual_share, u.devices
FROM use d, usual u
WHERE d.busy_ns <= 0.2 * u.busy_ns AND d.working_ns <= 0.2 * u.working_ns;

-- Internal: Each process in each step of the pod, by parts that add up to the step: those of its device that waits
-- least for others. Without any device in the evidence, the loop's thread waits for the device and in collectives, and
-- the shortest of these waits is what the device takes, or the exchange.
CREATE TABLE pod_time AS
WITH slowest AS (
    SELECT process, device FROM pod_device_step ANTI JOIN pod_idle_device USING (process, device)
    GROUP BY process, device
    QUALIFY row_number() OVER (PARTITION BY process ORDER BY sum(busy_ns - waiting_ns) DESC, device) = 1
),
parted AS (
    SELECT process, device, pod_step, duration_ns, coalesce(idle_input_ns, 0) AS input_ns,
           coalesce(idle_compile_ns, 0) AS compile_ns, coalesce(idle_tracing_ns, 0) AS tracing_ns,
           coalesce(idle_other_ns, 0) AS python_ns, coalesce(idle_dispatch_ns, 0) AS dispatch_ns,
           coalesce(idle_upload_ns, 0) AS upload_ns, coalesce(idle_save_ns, 0) AS save_ns,
           compute_ns, exchange_ns, waiting_ns
    FROM pod_device_step JOIN slowest USING (process, device)
    UNION ALL BY NAME
    SELECT process, pod_step, duration_ns, coalesce(input_ns, 0) AS input_ns, coalesce(compile_ns, 0) AS compile_ns,
           coalesce(tracing_ns, 0) AS tracing_ns, coalesce(other_ns, 0) AS python_ns,
           coalesce(dispatch_ns, 0) AS dispatch_ns, coalesce(upload_ns, 0) AS upload_ns, coalesce(save_ns, 0) AS save_ns,
           coalesce(min(wait_ns) OVER (PARTITION BY pod_step), 0) AS compute_ns,
           coalesce(min(collective_ns) OVER (PARTITION BY pod_step), 0) AS exchange_ns,
           coalesce(wait_ns, 0) + coalesce(collective_ns, 0) - compute_ns - exchange_ns AS waiting_ns
    FROM pod_step WHERE NOT EXISTS (SELECT 1 FROM pod_device_step)
)
SELECT *, greatest(0, duration_ns - input_ns - compile_ns - tracing_ns - python_ns - dispatch_ns - upload_ns - save_ns
                      - compute_ns - exchange_ns - waiting_ns) AS idle_ns
FROM parted;

-- Internal: Which processes of a pod show what is usual: all, and outliers do not matter to a median. But where half of
-- them or more are slower than the rest, as one of two slices, only those that wait for them.
CREATE TABLE pod_usual_process AS
WITH own AS (
    SELECT process, avg(duration_ns - waiting_ns) AS ns, avg(duration_ns) AS step_ns FROM pod_time GROUP BY process
),
ranked AS (  -- `faster`: how many are
    SELECT process, ns, row_number() OVER of - 1 AS faster, count(*) OVER () AS processes, ns - lag(ns) OVER of AS gap_ns,
           avg(step_ns) OVER () AS step_ns
    FROM own WINDOW of AS (ORDER BY ns, process)
),
split AS (
    SELECT r.faster FROM ranked r CROSS JOIN ranked e
    WHERE r.gap_ns >= greatest(pod_late_share() * r.step_ns, pod_late_ns())
      AND r.faster BETWEEN greatest(2, r.processes / 4) AND r.processes / 2
    GROUP BY r.faster, r.gap_ns
    HAVING r.gap_ns >= pod_outlying(greatest(mad(e.ns) FILTER (e.faster < r.faster), mad(e.ns) FILTER (e.faster >= r.faster)))
    ORDER BY r.gap_ns DESC LIMIT 1
)
SELECT process, faster < coalesce((SELECT faster FROM split), processes) AS usual FROM ranked;

-- Internal: The same with a row for each part, and what is usual for it in that step.
CREATE TABLE pod_step_part AS
WITH part AS (
    SELECT process, pod_step, unnest(pod_parts()) AS part,
           unnest([input_ns, compile_ns, tracing_ns, python_ns, dispatch_ns, upload_ns, save_ns, compute_ns, exchange_ns,
                   waiting_ns, idle_ns]) AS ns
    FROM pod_time
)
SELECT p.*, u.usual_ns
FROM part p JOIN (
    SELECT pod_step, part, pod_usual(ns, usual) AS usual_ns FROM part JOIN pod_usual_process USING (process)
    GROUP BY pod_step, part
) u USING (pod_step, part);

-- Where the steps of each process of a pod go: the mean time of each part, with the median of the processes and the
-- MAD (of the faster ones, if half of them or more are slower than the rest). The parts make up the step of the
-- process's device that waits least for others; without devices, of its loop.
-- * part: input, compile, tracing, python, dispatch, upload, save, compute, exchange, …
-- * ns: mean time of a step that it takes
-- * median_ns: median of all processes
-- * mad_ns: median of the absolute deviations from it
-- > SELECT process, part, ns / 1e6 AS ms FROM pod_part WHERE ns > median_ns + 6 * mad_ns
CREATE TABLE pod_part AS
WITH mean AS (SELECT process, part, avg(ns)::BIGINT AS ns FROM pod_step_part GROUP BY process, part)
SELECT m.process, m.part, m.ns, u.median_ns, u.mad_ns
FROM mean m JOIN (
    SELECT part, (median(ns) FILTER (usual))::BIGINT AS median_ns, (mad(ns) FILTER (usual))::BIGINT AS mad_ns
    FROM mean JOIN pod_usual_process USING (process) GROUP BY part
) u USING (part)
ORDER BY m.process, list_position(pod_parts(), m.part);

-- Internal: How long each process takes by itself in each step of the pod, without its wait for others, and whether it
-- is late.
CREATE TABLE pod_lateness AS
WITH own AS (
    SELECT process, pod_step, duration_ns, waiting_ns, duration_ns - waiting_ns AS own_ns FROM pod_time
),
usual AS (
    SELECT pod_step, pod_usual(own_ns, usual) AS usual_ns, pod_spread(own_ns, usual) AS spread_ns,
           median(duration_ns) AS step_ns
    FROM own JOIN pod_usual_process USING (process) GROUP BY pod_step
)
SELECT o.*, u.usual_ns, u.step_ns,
       o.own_ns - u.usual_ns >= greatest(pod_late_share() * u.step_ns, pod_late_ns(), pod_outlying(u.spread_ns)) AS late
FROM own o JOIN usual u USING (pod_step);

-- Internal: How fast each process falls behind the others, if their steps do not wait for each other: the time by which its
-- steps are longer, on average, and in which share of them. Steps that wait for each other take equally long.
CREATE TABLE pod_lag AS
SELECT s.process, avg(s.duration_ns - u.ns) AS ns_a_step, avg((s.duration_ns > u.ns)::INT) AS regular, count(*) AS steps
FROM pod_step s JOIN (
    SELECT pod_step, pod_usual(duration_ns, TRUE) AS ns FROM pod_step GROUP BY pod_step
) u USING (pod_step)
GROUP BY s.process;

-- Internal: The graphs that the devices of each process of a pod run: their share of its device time, and how many of the
-- processes run them.
CREATE TABLE pod_module AS
SELECT process, o.hlo_module AS module, sum(o.self_ns) / sum(sum(o.self_ns)) OVER (PARTITION BY process) AS share,
       count(*) OVER (PARTITION BY o.hlo_module) AS processes
FROM device_op o SEMI JOIN pod_process USING (process)
WHERE o.hlo_module IS NOT NULL
GROUP BY process, o.hlo_module;

-- Internal: Processes of a pod that do not run the graph that most run, but `module`, which is another (`usual` is the one of
-- most), or another version of the same. Versions are known by the number of the program where that is a fingerprint, as on
-- TPUs, or else by their instructions.
CREATE TABLE pod_other_graph AS
WITH many AS (SELECT greatest(1, most() * count(*)) AS processes FROM pod_process),
version AS (
    SELECT DISTINCT process, name AS module, if(abs(program_id) > 2^31, program_id, instructions) AS version
    FROM hlo_module SEMI JOIN pod_process USING (process)
    WHERE abs(program_id) > 2^31 OR instructions IS NOT NULL
),
usual AS (
    SELECT module, version FROM version, many GROUP BY module, version HAVING count(*) > any_value(processes)
),
longest AS (
    SELECT module FROM pod_module m, many WHERE m.processes > many.processes
    GROUP BY module ORDER BY sum(share) DESC, module LIMIT 1
)
SELECT process, module, NULL AS usual, share
FROM pod_module SEMI JOIN version USING (process, module) SEMI JOIN usual USING (module)
ANTI JOIN (FROM version SEMI JOIN usual USING (module, version)) USING (process, module)
UNION ALL
SELECT m.process, m.module, l.module, m.share
FROM pod_module m, many, longest l
WHERE m.processes <= many.processes
  AND m.process NOT IN (SELECT process FROM pod_module WHERE module IN (FROM longest));

-- Processes of a pod that are slower than the others, and thus let them wait. `kind` says how: `lag`: the others do not
-- wait, and it falls behind; `compile` and `input`: it compiles, or waits for input, longer than they do; `graph`: its
-- devices compute longer, and run another graph; `device`: one of its host's devices computes longer; `host`: anything
-- else, in most steps; `sometimes`: anything else, in some steps, but more often than the others. `part` is the part of its late steps that differs most, by `excess_ns`; `device` is
-- the one that computes longer, if its host's others do not.
-- * name: as in pod_process
-- * device: the one that is slow, if one of its host's alone is
-- * kind: lag, compile, input, graph, device, host or sometimes
-- * part: part of its late steps that differs most, as in pod_part
-- * excess_ns: by how much, on average
-- * late_steps: steps in which it was late
-- * steps: steps that were compared
-- * step_ns: mean duration of the pod's steps
-- * processes: processes that were compared
-- > SELECT name, kind, part, excess_ns / 1e6 AS ms FROM pod_straggler
CREATE TABLE pod_straggler AS
WITH process_ AS (
    SELECT process, count(*) AS steps, count(*) FILTER (late) AS late_steps, avg(own_ns) AS own_ns,
           avg(step_ns) AS step_ns
    FROM pod_lateness GROUP BY process
),
whole AS (
    SELECT count(*) AS processes, pod_usual(own_ns, usual) AS usual_ns, pod_spread(own_ns, usual) AS spread_ns,
           sum(late_steps) FILTER (late_steps < most() * steps) AS late_steps
    FROM process_ JOIN pod_usual_process USING (process)
),
excess AS (
    SELECT process, part, avg(p.ns - p.usual_ns) AS ns
    FROM pod_step_part p JOIN pod_lateness l USING (process, pod_step) WHERE l.late AND p.part <> 'waiting'
    GROUP BY process, part
),
main AS (SELECT process, arg_max(part, ns) AS part, max(ns) AS ns FROM excess GROUP BY process),
compiled AS (
    SELECT process FROM pod_part JOIN process_ USING (process), whole
    WHERE part = 'compile' AND ns - if(processes = 2, 2 * median_ns - ns, median_ns)
        >= greatest(pod_mean_share() * step_ns, if(processes = 2, 0, pod_outlying(mad_ns)))
),
working AS (  -- how long each device computes
    SELECT process, device, avg(compute_ns) AS ns FROM pod_device_step ANTI JOIN pod_idle_device USING (process, device)
    GROUP BY process, device
),
named AS (SELECT process, name, coalesce(nullif(host, ''), name) AS host FROM pod_process),
slow AS (  -- on each host
    SELECT h.host, count(*) AS devices, count(*) FILTER (
               w.ns - (SELECT pod_usual(ns, usual) FROM working JOIN pod_usual_process USING (process))
               >= most() * greatest(1, m.own_ns - (SELECT usual_ns FROM whole))) AS slow
    FROM working w JOIN named h USING (process) JOIN process_ m USING (process) GROUP BY h.host
),
judged AS (  -- `repeated`: a quarter of all that are late, and half as many again as if all were late equally often
    SELECT p.process, p.steps, p.late_steps, m.part, m.ns AS excess_ns, p.step_ns, w.processes,
           p.late_steps >= if(w.processes = 2, (1 + most()) / 2, most()) * p.steps AS always,
           p.own_ns - w.usual_ns >= greatest(pod_mean_share() * p.step_ns, pod_outlying(w.spread_ns))
               AND (w.processes > 2 OR m.part NOT IN ('compute', 'exchange', 'idle')) AS outlying,
           p.late_steps >= recurring() AND p.late_steps >= greatest(0.25, 1.5 / w.processes) * w.late_steps AS repeated,
           g.ns_a_step >= pod_mean_share() * p.step_ns AND g.regular >= nearly_all() AND g.steps >= 5 AS lags,
           p.process IN (FROM compiled) AS compiles,
           p.process IN (SELECT process FROM pod_other_graph) AS other_graph,
           h.name, t.device, s.devices = 1 OR s.slow <= most() * s.devices AS one_device
    FROM process_ p JOIN main m USING (process) JOIN named h USING (process) JOIN pod_lag g USING (process)
    LEFT JOIN (SELECT process, any_value(device) AS device FROM pod_time GROUP BY process) t USING (process)
    LEFT JOIN slow s USING (host), whole w
)
SELECT * EXCLUDE (one_device) REPLACE (if(one_device AND kind IN ('device', 'sometimes'), device, NULL) AS device)
FROM (
    SELECT process, name, device, CASE
               WHEN lags THEN 'lag'
               WHEN part = 'compile' AND compiles THEN 'compile'
               WHEN part = 'input' AND (always OR outlying AND repeated) THEN 'input'
               WHEN always AND part = 'compute' AND other_graph THEN 'graph'
               WHEN always AND part = 'compute' AND one_device THEN 'device'
               WHEN always THEN 'host'
               WHEN outlying AND repeated THEN 'sometimes' END AS kind,
           part, excess_ns::BIGINT AS excess_ns, late_steps, steps, step_ns::BIGINT AS step_ns, processes,
           part = 'compute' AND one_device AS one_device
    FROM judged
)
WHERE kind IN ('lag', 'compile')
   OR (kind IS NOT NULL AND (EXISTS (FROM collective) OR NOT EXISTS (FROM pod_device_step)));

-- Internal: The collective in which a pod's devices wait longest for others.
CREATE TABLE pod_longest_wait AS
SELECT c.hlo_op, sum(greatest(0, c.duration_ns - e.ns * (c.count / e.count))) AS ns
FROM collective c JOIN pod_step s USING (process, step) JOIN pod_exchange e USING (pod_step, hlo_op)
GROUP BY c.hlo_op ORDER BY ns DESC, c.hlo_op LIMIT 1;

-- Internal: The line of the program in which most time of a part goes by, for processes of a pod, where it is known.
CREATE TABLE pod_place AS
WITH line AS (
    SELECT process, if(kind = 'other', 'python', kind) AS part, file, line, function, 1 AS nth, count AS weight FROM host_line
    WHERE kind IN ('input', 'tracing', 'upload', 'other')
    UNION ALL BY NAME
    SELECT process, activity AS part, file, line, 2 AS nth, sum(duration_ns) AS weight FROM host_segment
    WHERE activity IN ('input', 'save', 'upload') AND file IS NOT NULL GROUP BY process, activity, file, line
)
SELECT DISTINCT ON (process, part) process, part, file, line, function FROM line
ORDER BY process, part, nth, weight DESC, file, line;

-- Internal: The same stragglers as columns of a rule's row: those of a kind whose steps differ in the same part are
-- together, the worst first. The cost is what the pod's steps would be shorter by without them. `blameless`: of two
-- processes that differ in what their devices do, it is unknown which is right.
CREATE TABLE pod_delay AS
WITH together AS (
    SELECT kind, part, list(concat(name, ' device ' || device) ORDER BY excess_ns DESC, name) AS names,
           arg_max(process, excess_ns) AS worst,
           arg_max(late_steps, excess_ns) AS late_steps, arg_max(steps, excess_ns) AS steps, max(excess_ns) AS excess_ns,
           any_value(step_ns) AS step_ns, any_value(processes) AS processes
    FROM pod_straggler GROUP BY kind, part
),
compared AS (
    SELECT t.kind, t.part, l.pod_step, max(l.own_ns) FILTER (s.process IS NOT NULL) AS own_ns,
           max(l.own_ns) FILTER (s.process IS NULL) AS other_ns,
           median(l.waiting_ns) FILTER (s.process IS NULL) AS waiting_ns,
           bool_or(l.late AND s.process IS NOT NULL) AS late, any_value(l.step_ns) AS step_ns
    FROM together t CROSS JOIN pod_lateness l
    LEFT JOIN pod_straggler s ON s.process = l.process AND s.kind = t.kind AND s.part = t.part
    GROUP BY t.kind, t.part, l.pod_step
),
waited AS (  -- what a host does ahead of its devices delays the others in the next step
    SELECT *, CASE WHEN late THEN greatest(waiting_ns, if(count(*) FILTER (late) OVER of < most() * count(*) OVER of,
                                                         lead(waiting_ns) OVER (of ORDER BY pod_step), NULL)) END AS late_ns
    FROM compared WINDOW of AS (PARTITION BY kind, part)
),
lost AS (
    SELECT kind, part, sum(greatest(0, own_ns - other_ns)) AS ns, sum(greatest(0, own_ns - other_ns)) / sum(step_ns) AS share,
           avg(late_ns) AS waiting_ns, count(*) AS steps
    FROM waited GROUP BY kind, part
)
SELECT s.process, p.file, p.line, p.function, t.kind, t.part, t.late_steps AS count,
       over_loop(t.worst, l.ns, l.steps) AS cost_ns, t.processes = 2 AND t.part IN ('compute', 'exchange', 'idle') AS blameless,
       t.worst, t.excess_ns, l.share, t.step_ns,
       {'worst': (SELECT name FROM pod_process p WHERE p.process = t.worst), 'names': t.names[:8],
        'more': greatest(0, len(t.names) - 8), 'of': t.processes, 'part': t.part, 'late_steps': t.late_steps, 'steps': t.steps, 'excess_ms': round(t.excess_ns / 1e6, 3),
        'step_ms': round(t.step_ns / 1e6, 3), 'wait_ms': round(coalesce(l.waiting_ns, 0) / 1e6, 3),
        'share': round(l.share, 4), 'collective': (SELECT hlo_op FROM pod_longest_wait), 'blameless': blameless} AS cause,
       {'names': in_words(t.names), 'part': pod_part_in_words(t.part),
        'longer': if(len(t.names) > 1, 'up to ', '') || format('{:.1f} ms longer', round(t.excess_ns / 1e6, 3)),
        'most': CASE WHEN t.processes = 2 THEN 'the other process'
                     WHEN 2 * len(t.names) < t.processes THEN format('most of the {} processes', t.processes)
                     ELSE format('the other {}', t.processes - len(t.names)) END,
        'others': if(t.processes > 2, 'The others wait', 'The other waits'),
        'there': coalesce(', most of it in ' || (SELECT hlo_op FROM pod_longest_wait), '')} AS phrases
FROM pod_straggler s JOIN together t USING (kind, part) JOIN lost l USING (kind, part)
LEFT JOIN pod_place p ON p.process = t.worst AND p.part = t.part
ORDER BY t.kind, t.part, s.excess_ns DESC, s.process;

-- Internal: In each step of the pod the process that is last, stragglers left out, by how much it is later than most, and how
-- long most processes wait.
CREATE TABLE pod_skew AS
WITH waited AS (SELECT pod_step, median(waiting_ns) AS ns FROM pod_lateness GROUP BY pod_step)
SELECT l.pod_step, arg_max(l.process, l.own_ns) AS last, greatest(0, max(l.own_ns - l.usual_ns)) AS late_ns,
       any_value(w.ns) AS waiting_ns
FROM pod_lateness l ANTI JOIN pod_straggler USING (process) JOIN waited w USING (pod_step)
GROUP BY l.pod_step;
