-- Internal: Recorded graphs (CUDA graphs) of each step: made, with the time that took, launched, and the kernels in them.
CREATE TABLE graph_use AS
SELECT
    coalesce(m.process, l.process) AS process, coalesce(m.step, l.step) AS step,
    coalesce(m.made, 0)::BIGINT AS made, coalesce(m.made_ns, 0)::BIGINT AS made_ns,
    coalesce(l.launches, 0)::BIGINT AS launches, coalesce(l.kernels, 0)::BIGINT AS kernels
FROM (
    SELECT process, step, sum(count) AS made, sum(duration_ns) AS made_ns
    FROM host_op WHERE regexp_matches(name, '^(cuda|cu|hip)GraphInstantiate') GROUP BY process, step
) m
FULL JOIN (
    SELECT process, step, sum(calls) AS launches, sum(kernels) AS kernels
    FROM device_launch WHERE how = 'graph' GROUP BY process, step
) l ON l.process = m.process AND l.step IS NOT DISTINCT FROM m.step;

-- Internal: The busiest device of each process in the steady steps of its timeline.
CREATE TABLE busiest_device AS
SELECT d.process, d.device, sum(d.busy_ns)::BIGINT AS busy_ns, any_value(s.duration_ns) AS duration_ns,
       any_value(s.steps) AS steps
FROM device_step d
JOIN timeline_step t ON t.process = d.process AND t.step = d.step AND t.steady
JOIN steady_timeline s ON s.process = d.process
GROUP BY d.process, d.device
QUALIFY row_number() OVER (PARTITION BY d.process ORDER BY sum(d.busy_ns) DESC, d.device) = 1;

-- Internal: Instructions by the names that device_op has of them; of several programs of a name, those of the first.
CREATE TABLE module_op AS
SELECT DISTINCT ON (i.process, m.name, i.name) i.process, m.name AS hlo_module, i.name AS hlo_op,
       i.op_name, i.op_type, i.file, i.line, i.function, i.type, i.shape
FROM hlo_instruction i JOIN hlo_module m USING (process, program_id)
ORDER BY i.process, m.name, i.name, i.program_id;

-- Internal: Operations of the busiest device whose names match, all together, as the columns of a rule's row:
-- those that take at least the share `least` of its time while it is busy for at least the share
-- `least_busy` of the steps, at the line that most of their time is of.
CREATE MACRO device_work(pattern, least, least_busy) AS TABLE
WITH op AS (
    SELECT o.*, sum(o.self_ns) OVER (PARTITION BY o.process) AS all_ns
    FROM device_op o JOIN busiest_device b USING (process, device)
),
matching AS (
    SELECT o.*, coalesce(n.file, k.file) AS file, coalesce(n.line, k.line) AS line,
           coalesce(n.function, k.function) AS function, n.type, n.shape
    FROM op o LEFT JOIN module_op n USING (process, hlo_module, hlo_op)
    LEFT JOIN (
        SELECT process, hlo_op, arg_max(file, share) AS file, arg_max(line, share) AS line,
               arg_max(function, share) AS function
        FROM kernel_site GROUP BY process, hlo_op
    ) k USING (process, hlo_op)
    WHERE regexp_matches(o.hlo_op, pattern)
),
total AS (
    SELECT process, sum(self_ns) / any_value(all_ns) AS share, sum(count)::BIGINT AS count,
           arg_max({'file': file, 'line': line, 'function': function}, self_ns)
               FILTER (line IS NOT NULL) AS place,
           arg_max({'name': hlo_op, 'type': type, 'shape': shape}, self_ns) AS longest,
           max(self_ns) / sum(self_ns) AS longest_share
    FROM matching GROUP BY process
)
SELECT
    t.process, t.place.file AS file, t.place.line AS line, t.place.function AS function,
    greatest(1, t.count) AS count,
    (t.share * b.busy_ns / b.duration_ns * coalesce(l.duration_ns, b.duration_ns))::BIGINT AS cost_ns,
    'bound' AS cost_basis,
    {'share': round(t.share, 4), 'busy': round(b.busy_ns / b.duration_ns, 4),
     'ms_a_step': round(t.share * b.busy_ns / b.steps / 1e6, 3), 'longest': t.longest.name,
     'of_type': CASE WHEN t.longest.type IS NOT NULL
                     THEN t.longest.type || '[' || array_to_string(t.longest.shape, ',') || ']' END,
     'longest_share': round(t.longest_share, 4)} AS cause
FROM total t
JOIN busiest_device b USING (process)
LEFT JOIN steady_loop l USING (process)
WHERE t.share >= least AND b.busy_ns >= least_busy * b.duration_ns;

-- Internal: The named scopes of an operation that compilers made of one.
CREATE MACRO scope_of_one(op_name) AS array_to_string(list_filter(
    [regexp_replace(part, '^(?:\w+\()*([^()]*)\)*$', '\1')
     FOR part IN string_split(op_name, '/')[:-2] IF NOT contains(part, 'jit(')],
    lambda scope: NOT regexp_full_match(
        scope, '|.*->.*|\w+__\w+(\.\d+)?|while|body|cond|scan|branch_\d+_fun|(closed|core|custom_[jv]vp)_call|checkpoint|remat|rematted_computation|shard_map'
    )
), ' > ');

-- The named scopes that an operation is in, by its op_name in the compiled module:
-- without compiled functions, transformations (jvp, transpose, vmap) and control flow; empty if it is in none. Of one
-- that compilers made of several, such as an all-reduce of all gradients, jit(step)/(layer0/add:layer1/add), it is
-- their scope, or how many scopes they are of.
-- > SELECT DISTINCT scope_of(op_name) AS scope FROM hlo_instruction
CREATE MACRO scope_of(op_name) AS CASE
    WHEN NOT regexp_full_match(op_name, '[^:]*/\(.*:.*\)') THEN scope_of_one(op_name)
    ELSE list_transform(
        [list_distinct([scope_of_one(part) FOR part IN string_split(regexp_extract(op_name, '/\((.*)\)$', 1), ':')])],
        lambda scopes: CASE len(scopes) WHEN 1 THEN scopes[1] ELSE len(scopes) || ' scopes together' END
    )[1]
END;

-- Time on each device by named scope, with the share of all that the device ran.
-- * device: number of the device
-- * scope: named scopes, the outermost first, joined by " > "
-- * count: operations that ran
-- * self_ns: time that they ran
-- * share: share (0 to 1) of all that the device ran
-- > SELECT scope, share FROM scope_time ORDER BY self_ns DESC
CREATE TABLE scope_time AS
SELECT o.process, o.device, n.scope, sum(o.count)::BIGINT AS count, sum(o.self_ns)::BIGINT AS self_ns,
       sum(o.self_ns) / nullif(any_value(o.all_ns), 0) AS share
FROM (SELECT *, sum(self_ns) OVER (PARTITION BY process, device) AS all_ns FROM device_op) o
JOIN (SELECT *, scope_of(op_name) AS scope FROM module_op) n USING (process, hlo_module, hlo_op)
WHERE n.scope <> ''
GROUP BY o.process, o.device, n.scope;

-- Internal: Time on each device by what the program calls: the framework's operation and its line, where the compiled
-- module tells them, else the device's own name. Compilers number what they make, so that one name in two modules need
-- not be one operation, and one operation has many names.
CREATE TABLE operation_time AS
SELECT o.process, o.device, coalesce(nullif(replace(n.op_type, '__', '::'), ''), o.hlo_op) AS op, n.file, n.line, any_value(n.function) AS function,
       CASE WHEN count(DISTINCT o.hlo_module) = 1 THEN any_value(o.hlo_module) END AS module,
       sum(o.count)::BIGINT AS count, sum(o.self_ns)::BIGINT AS self_ns,
       sum(o.self_ns) / greatest(any_value(o.all_ns), 1) AS share
FROM (SELECT *, sum(self_ns) OVER (PARTITION BY process, device) AS all_ns FROM device_op) o
LEFT JOIN module_op n USING (process, hlo_module, hlo_op)
GROUP BY o.process, o.device, coalesce(nullif(replace(n.op_type, '__', '::'), ''), o.hlo_op), n.file, n.line;

-- Internal: Pauses of devices that are longer than so many microseconds, while the host runs Python in steady steps: those
-- of the device that is idle least. `lines`, `site`: where most of it is, by the timeline's stacks, else by samples;
-- `op`: what computes longest on the host, as it launches nothing and is no part of another such operator.
CREATE MACRO paused_for_python(gap_us) AS TABLE
WITH pause AS (
    SELECT g.* FROM idle_gap g JOIN warmed_up USING (process, step)
    WHERE g.reason = 'python' AND g.duration_ns > 1e3 * gap_us
),
least AS (
    SELECT d.process, d.step, min(coalesce(p.idle_ns, 0)) AS idle_ns, min(coalesce(p.pauses, 0)) AS pauses
    FROM device_step d JOIN warmed_up USING (process, step)
    LEFT JOIN (
        SELECT process, device, step, sum(reason_ns) AS idle_ns, count(*) AS pauses
        FROM pause GROUP BY process, device, step
    ) p USING (process, device, step)
    GROUP BY d.process, d.step
),
place AS (
    SELECT process, file, line, any_value(function) AS function, unnest(commonest_caller(pause, 1)),
           sum(duration_ns) AS weight
    FROM pause WHERE file IS NOT NULL GROUP BY process, file, line
),
sampled AS (
    SELECT process, file, line, any_value(function) AS function,
           unnest(commonest_caller(host_sample, 1)), sum(count) AS weight
    FROM host_sample
    WHERE phase = 'loop' AND doing IS NULL AND NOT in_framework AND file IS NOT NULL
      AND process NOT IN (SELECT process FROM place)
    GROUP BY process, file, line
),
weighed AS (
    SELECT *, sum(weight) OVER (PARTITION BY process) AS whole
    FROM (FROM place UNION ALL BY NAME FROM sampled)
),
hottest AS (
    SELECT process, first(weighed ORDER BY weight DESC, file, line) AS site,
           list({'place': format('{} ({}:{})', function, parse_filename(file), line),
                 'share': weight / whole} ORDER BY weight DESC, file, line) FILTER (weight >= 0.1 * whole)[:3] AS lines
    FROM weighed GROUP BY process
),
computing AS (
    SELECT process, name AS op, sum(h.duration_ns) / any_value(s.steps) / 1e6 AS ms_a_step
    FROM host_op h JOIN warmed_up s USING (process, step)
    WHERE h.launches = 0 AND regexp_matches(h.name, '^\w+::')
    GROUP BY process, name
    QUALIFY row_number() OVER (PARTITION BY process ORDER BY ms_a_step DESC, name) = 1
)
SELECT l.process, sum(l.pauses)::BIGINT AS pauses, sum(l.idle_ns) AS idle_ns,
       count(*) FILTER (l.pauses > 0) AS pausing_steps, any_value(s.steps) AS steps, any_value(s.loop_ns) AS loop_ns,
       any_value(h.site) AS site, any_value(h.lines) AS lines, any_value(c.op) AS op, any_value(c.ms_a_step) AS op_ms
FROM least l JOIN warmed_up s USING (process, step)
LEFT JOIN hottest h USING (process) LEFT JOIN computing c USING (process)
GROUP BY l.process;
