-- Internal: The function that a compilation was of, by what its cause says; empty if that is none.
CREATE MACRO compiled_function(cause_) AS regexp_extract(cause_, '^jit\((.*)\)$', 1);

-- Internal: What all compilations of a process took.
CREATE TABLE compiling_time AS
SELECT process, sum(duration_ns) AS duration_ns FROM compilation GROUP BY process;

-- How many instructions the graphs of the timeline have.
-- * graph_hash: hash of the graph
-- * instructions: its instructions, after optimization
-- > SELECT max(instructions) AS largest FROM graph_size
CREATE TABLE graph_size AS
SELECT process, graph_hash, max(instructions) AS instructions FROM hlo_module GROUP BY ALL;

-- Internal: lines without a barrier that compiled several graphs (reads, operators that run on the host), and
-- how many of these are larger than the one before: what ran before is in them again, because nothing
-- has made it data. Where functions are compiled, nothing can pile up.
CREATE TABLE growing_cut AS
WITH sized AS (
    SELECT c.process, c.index, site(c) AS site, c.via, m.instructions, c.inputs,
           lag(m.instructions) OVER of_site AS before, lag(c.inputs) OVER of_site AS inputs_before
    FROM compilation c
    LEFT JOIN graph_size m ON m.process = c.process AND m.graph_hash = c.graph_hash
    WHERE c.cause IS DISTINCT FROM 'operator' AND coalesce(compiled_function(c.cause), '') = '' AND NOT EXISTS (
        SELECT 1 FROM step s WHERE s.process = c.process AND NOT s.tail AND s.file = c.file
        AND s.line IS NOT DISTINCT FROM c.line
    )
    WINDOW of_site AS (PARTITION BY c.process, c.file, c.line, c.via ORDER BY c.index)
)
SELECT process, any_value(site) AS site, via, count(*) AS graphs,
       count(*) FILTER (coalesce(instructions > before, inputs > inputs_before)) AS grown
FROM sized GROUP BY process, site, via
HAVING graphs >= 2;

-- Internal: the read that shows it for each process: one with three graphs or more; in a program that was
-- stopped early two at several lines, if each grows and compiling takes a fifth of the time.
CREATE TABLE growing_read AS
SELECT DISTINCT ON (process) g.*
FROM growing_cut g
JOIN (
    SELECT process, sum(graphs - 1) AS later, sum(grown) AS grown FROM growing_cut GROUP BY process
) a USING (process)
LEFT JOIN (
    SELECT process, max(compile_ns / nullif(duration_ns, 0)) AS compiling FROM loop
    WHERE without_barrier GROUP BY process
) l USING (process)
WHERE (g.graphs >= recurring() AND g.grown >= 0.7 * (g.graphs - 1))
   OR (a.later >= 2 AND a.grown = a.later AND l.compiling >= 0.2)
ORDER BY process, graphs DESC, site;

-- Operators launched one by one, in eager mode: by the metrics of a report, else by the events of a
-- timeline, in which they are graphs that neither a barrier nor a read launches.
-- * launches: launches of single operators
-- * launch_ns: time of these launches
-- * operators: operators compiled one by one
-- * compile_ns: time spent compiling them
-- * graphs: launches of graphs
-- > SELECT process, launches, operators FROM eager_launches
CREATE TABLE eager_launches AS
SELECT e.process, e.samples AS launches, e.accumulator AS launch_ns,
       coalesce(c.samples, 0) AS operators, coalesce(c.accumulator, 0) AS compile_ns,
       coalesce(g.samples, 0) AS graphs
FROM measured e
LEFT JOIN measured c ON c.process = e.process AND c.meaning = 'eager_compile'
LEFT JOIN measured g ON g.process = e.process AND g.meaning = 'execute'
WHERE e.meaning = 'eager_execute'
UNION ALL BY NAME
SELECT s.process, s.launches - s.graphs AS launches, s.waited_ns AS launch_ns, c.operators, c.compile_ns, s.graphs
FROM (
    SELECT process, sum(executions)::BIGINT AS launches, sum(read_ns)::BIGINT AS waited_ns,
           coalesce(sum(barriers) FILTER (NOT tail), 0)
           + coalesce((SELECT sum(h.count) FROM host_sync h WHERE h.process = step.process), 0)
               AS graphs
    FROM step GROUP BY process
) s
JOIN (
    SELECT process, count(*) AS operators, sum(duration_ns)::BIGINT AS compile_ns
    FROM compilation WHERE cause = 'operator' GROUP BY process
) c USING (process)
WHERE s.process NOT IN (SELECT process FROM measured WHERE meaning = 'eager_execute');

-- Processes of which it is known what they launched outside of graphs; a step log does not tell.
-- > SELECT process FROM launch_record
CREATE TABLE launch_record AS
SELECT process FROM measured WHERE meaning IN ('execute', 'eager_execute')
    AND process NOT IN (SELECT process FROM reported_early)
UNION SELECT process FROM step WHERE process NOT IN (SELECT process FROM captured_loop);

-- Internal: processes whose log names a barrier as what launched or compiled a graph.
CREATE TABLE logged_barrier AS
SELECT process FROM logged_cause WHERE meaning = 'barrier' GROUP BY process;

-- Processes of which it is known whether they have barriers.
-- > SELECT process FROM barrier_record
CREATE TABLE barrier_record AS
SELECT process FROM step UNION SELECT process FROM growing_read
UNION SELECT process FROM logged_barrier WHERE process IN (SELECT process FROM compile_record)
UNION SELECT process FROM reported
WHERE 10 * barriers > coalesce(launched, 0) AND process NOT IN (SELECT process FROM reported_early)
UNION SELECT process FROM reported_piling;

-- Internal: processes of which it is known at which lines their barriers are.
CREATE TABLE placed_barrier AS
SELECT DISTINCT process FROM step WHERE NOT tail AND file IS NOT NULL;

-- Internal: Lines that step an optimizer which calls a function of the program several times in each step, as LBFGS
-- does: it reads values itself, to decide whether to call it again.
CREATE TABLE repeated_closure AS
SELECT DISTINCT o.process, o.file, o.line,
       {'file': o.closure_file, 'line': o.closure_line, 'function': o.closure_function} AS closure
FROM optimizer o SEMI JOIN host_sync h USING (process, file, line)
WHERE o.closure_file IS NOT NULL;

-- Loops that lack a barrier: several steps pile up in one graph. Either the optimizer stepped at
-- least twice for each barrier that launched work, or reads cut graphs that grow, at least two for
-- each barrier: within a step that ends at its update's barrier, they grow with the step. In eager mode there are no graphs.
-- * cut_site: where reads cut growing graphs, as site(); NULL if the optimizer shows it
-- * others: as in loop
-- > SELECT process, thread, optimizer_steps, barriers FROM missing_barrier
CREATE TABLE missing_barrier AS
SELECT l.* EXCLUDE (longest), g.site AS cut_site
FROM (
    SELECT *, row_number() OVER (PARTITION BY process ORDER BY duration_ns DESC, thread) = 1 AS longest
    FROM loop
) l
LEFT JOIN growing_read g
    ON g.process = l.process AND l.longest AND g.graphs >= 2 * coalesce(l.barriers, 0)
    AND (NOT coalesce(l.optimizer_steps BETWEEN 1 AND 2 * l.barriers - 1, FALSE)
         OR (g.process, g.site.file, g.site.line) IN (SELECT (process, file, line) FROM repeated_closure))
WHERE EXISTS (SELECT 1 FROM compilation c WHERE c.process = l.process)
  AND (g.site IS NOT NULL OR (
      optimizer_steps >= 4 AND optimizer_steps >= 2 * coalesce(barriers, 0)
      -- several updates per barrier that always make the same graph are intended
      AND NOT (coalesce(barriers, 0) >= 4 AND optimizer_steps <= 8 * barriers
               AND (SELECT count(*) FROM compilation c WHERE c.process = l.process) <= barriers / 4)
  ))
UNION ALL BY NAME  -- a log alone: it says which graphs a barrier launched
SELECT g.process, TRUE AS without_barrier, g.site AS cut_site
FROM growing_read g
WHERE g.process NOT IN (SELECT process FROM step)
  AND g.process NOT IN (SELECT process FROM logged_barrier);

-- Internal: Lines whose innermost loop has the barrier that ends its turns, or is a part of a model's pass.
CREATE TABLE line_of_ended_loop AS
SELECT DISTINCT e.process, e.file, e.line
FROM enclosing_loop e
LEFT JOIN (
    SELECT b.process, b.loop_file, b.first_line
    FROM step s JOIN enclosing_loop b USING (process, file, line)
    WHERE NOT s.tail GROUP BY ALL HAVING sum(s.barriers) >= recurring()
) o USING (process, loop_file, first_line)
WHERE e.depth = 0 AND (o.process IS NOT NULL OR e.loop_function = 'forward')
  AND (e.process, e.file, e.line) NOT IN (SELECT (process, file, line) FROM repeated_closure);

-- Compilations, with what changed since the earlier ones of their call site.
-- * made_role: made, or used: where a tensor that existed before is first used
-- * made_file: file of the line that makes the difference
-- * made_line: that line
-- * made_function: function that it is in
-- * made_user_file: path of the user's line that led there, if that one is a library's
-- * made_user_line: that line
-- * made_user_function: function that it is in
-- * compiled: name of the function, where the framework compiles functions
-- * others: as in compilation, recompilation
-- > SELECT index, kind, was, now FROM compiled_again WHERE kind IS NOT NULL
CREATE TABLE compiled_again AS
SELECT
    c.*, nullif(compiled_function(c.cause), '') AS compiled, r.kind, r.basis, r.against,
    r.parameter, r.argument, r.was, r.now, r.dimension, r.value, r.op,
    r.pattern, r.seen, r.possible, r.hint, r.used_file, r.used_line, r.used_function,
    r.role AS made_role, r.file AS made_file, r.line AS made_line, r.function AS made_function,
    r.user_file AS made_user_file, r.user_line AS made_user_line,
    r.user_function AS made_user_function
FROM compilation c
LEFT JOIN recompilation r ON r.process = c.process AND r.index = c.index;

-- Internal: The line that made what differs, of a row of `compiled_again`; the one that compiled where that is not known.
CREATE MACRO maker(row_) AS CASE WHEN row_.made_file IS NULL THEN site(row_) ELSE {
    'file': row_.made_file, 'line': row_.made_line, 'function': row_.made_function,
    'user_file': row_.made_user_file, 'user_line': row_.made_user_line, 'user_function': row_.made_user_function
} END;

-- Internal: The line that compiled, where `maker` is another one.
CREATE MACRO compiled_by(row_) AS CASE WHEN row_.made_file IS NOT NULL THEN related(row_, 'compiled') END;

-- Compilations as `xladoctor compilations` lists them, each with its cause as one value; NULL for
-- the first of a call site. Where an iteration has several launches, warm-up counts iterations.
-- * index: number of the compilation in its process, from 0
-- * step: index of the next barrier, if known
-- * ordinal: launches from the same call site before it
-- * launches: total launches from the same call site, if known
-- * warmup: whether it is part of the warm-up
-- * seconds: seconds it took, if known
-- * graph_hash: hash of the graph
-- * in_timeline: whether the timeline has the graph
-- * inputs: inputs of the graph
-- * outputs: outputs of the graph
-- * trigger: what caused the launch: the log's sentence
-- * cause: why it was compiled again: columns of recompilation; NULL for a site's first
-- > SELECT index, seconds, cause.kind FROM explained_compilation
CREATE TABLE explained_compilation AS
SELECT
    process, index, step, ordinal, launches,
    ordinal < warmup() * coalesce(p.barriers, 1) AS warmup, duration_ns / 1e9 AS seconds, graph_hash,
    graph_hash IN (SELECT graph_hash FROM hlo_module m WHERE m.process = c.process) AS in_timeline,
    inputs, outputs, file, line, function, user_file, user_line, user_function, via,
    c.cause AS trigger,
    CASE WHEN kind IS NOT NULL THEN {
        'against': against, 'kind': kind, 'basis': basis, 'parameter': parameter, 'argument': argument,
        'was': was,
        'now': now, 'dimension': dimension, 'value': value, 'op': op, 'role': made_role,
        'pattern': pattern, 'seen': seen, 'possible': possible, 'file': made_file,
        'line': made_line, 'function': made_function, 'hint': hint, 'user_file': made_user_file,
        'user_line': made_user_line, 'user_function': made_user_function
    } END AS cause
FROM compiled_again c LEFT JOIN step_period p USING (process, thread);

-- Call sites that compiled, with sums over their compilations (seconds where known) and how many
-- had each kind of cause, the commonest first. `first` is the number of the first compilation.
-- * trigger: what caused its launches: the log's sentence
-- * compilations: compilations
-- * graphs: different graphs
-- * seconds: seconds they took, if known
-- * seconds_after_warmup: the part of seconds after warm-up
-- * kinds: compilations by kind of cause, the most frequent first
-- * first: number of the first of them
-- > SELECT file, line, compilations, graphs, kinds FROM compiled_site
CREATE TABLE compiled_site AS
WITH part AS (
    SELECT process, site(e) AS site, via, trigger, coalesce(cause.kind, 'first') AS kind,
           count(*) AS count, min(index) AS first,
           list(coalesce(graph_hash, index::VARCHAR) ORDER BY index) AS graphs, sum(seconds) AS seconds,
           count(*) FILTER (NOT warmup) AS late, sum(seconds) FILTER (NOT warmup) AS late_seconds
    FROM explained_compilation e GROUP BY ALL
)
SELECT process, unnest(site), via, trigger,
       sum(count)::BIGINT AS compilations, list_unique(flatten(list(graphs))) AS graphs,
       round(sum(seconds), 9) AS seconds,
       CASE WHEN sum(late) = 0 THEN 0 ELSE round(sum(late_seconds), 9) END AS seconds_after_warmup,
       map_from_entries(list({'kind': kind, 'count': count} ORDER BY count DESC, part.first)) AS kinds,
       min(part.first) AS first
FROM part GROUP BY process, site, via, trigger;

-- Internal: An operator without its pass and its overload.
CREATE MACRO base_of(op) AS regexp_replace(op, '(_backward)?([.].*)?$', '');

-- Whether the size of an operator's result depends on the data.
-- > SELECT name FROM counter WHERE sizes_by_data(name)
CREATE MACRO sizes_by_data(op) AS has_trait(base_of(op), 'sized_by_data');

-- How often each operator fell back in the step loop. Set-up falls into the first steps; a program
-- without barriers, or a report without steps, counts as a whole.
-- * op: operator, as its counter is named
-- * base: the same without overload and backward suffix
-- * count: how often it ran on the CPU
-- * per_step: how often per iteration; NULL if iterations are unknown
-- > SELECT op, count, per_step FROM fallback_in_loop
CREATE TABLE fallback_in_loop AS
SELECT
    c.process, c.name AS op, base_of(c.name) AS base,
    CASE WHEN o.process IS NOT NULL AND l.steps > 0 THEN coalesce(f.value, 0) ELSE c.value END AS count,
    CASE WHEN o.process IS NULL AND l.steps > 0 THEN c.value / l.steps
         WHEN l.steps > 0
         THEN coalesce(f.value, 0) / greatest((l.barriers - 2) * l.steps / l.barriers, 1)
         WHEN l.optimizer_steps > 0 THEN c.value / l.optimizer_steps
         ELSE c.value / nullif(r.barriers, 0) END AS per_step
FROM counter c
LEFT JOIN reported r ON r.process = c.process
LEFT JOIN captured_loop o ON o.process = c.process
LEFT JOIN (
    SELECT process, max(steps) AS steps, max(barriers) AS barriers,
           max(optimizer_steps) AS optimizer_steps
    FROM loop GROUP BY process
) l ON l.process = c.process
LEFT JOIN (
    SELECT process, name, sum(value) AS value FROM fallback_count
    WHERE step >= 2 AND NOT tail GROUP BY ALL
) f ON f.process = c.process AND f.name = c.name
WHERE contains(c.name, '::') AND NOT has_trait(c.name, 'reads_scalar')
  AND NOT EXISTS (SELECT 1 FROM own_counter o WHERE starts_with(c.name, o.prefix));

-- The lines of a log's reads, where it is certain of what: they are of one kind (scalars, or one
-- operator that ran on the host), or there is one line. `share`: of all of them.
-- * share: share (0 to 1) of all the process's reads that the log names
-- * others: as in logged_read
-- > SELECT file, line, share FROM logged_cut
CREATE TABLE logged_cut AS
SELECT *, count / sum(count) OVER (PARTITION BY process) AS share
FROM logged_read
QUALIFY share = 1 OR op IS NOT NULL OR process NOT IN (
    SELECT process FROM (
        SELECT process, base FROM fallback_in_loop
        UNION SELECT process, name FROM counter WHERE has_trait(name, 'reads_scalar')
    ) GROUP BY process HAVING count(*) > 1
);

-- Internal: where operators fell back: what the probe steps saw, else what a log tells.
CREATE TABLE fallback_site AS
FROM fallback
UNION ALL BY NAME
SELECT c.process, c.op, unnest(site(l)), l.count
FROM logged_cut l JOIN fallback_in_loop c USING (process)
WHERE l.op IS NULL AND l.process NOT IN (SELECT process FROM fallback);

-- Operators that ran on the CPU because XLA has no lowering for them: their counts from the
-- counters, their lines from the probe steps. `.item()` and the like have counters too, but are
-- reads. The cost of an operator's backward pass counts for the line of its forward pass.
-- `part`: share of all fallbacks of the process.
-- * op: operator, as its counter is named
-- * base: the same without overload and backward suffix
-- * count: how often it ran on the CPU at this line
-- * per_step: how often per iteration; NULL if iterations are unknown
-- * cost_ns: time in it, extrapolated from the probed steps; NULL if not measured
-- * backward_count: the part of count in the backward pass
-- * part: share (0 to 1) of all fallbacks of the process
-- * dynamic: whether the data decide the size of its result
-- > SELECT op, file, line, per_step, cost_ns FROM fallback_op WHERE per_step >= 1
CREATE TABLE fallback_op AS
WITH seen AS (
    SELECT process, op, sum(count) AS total FROM fallback_site GROUP BY ALL
),
placed AS (
    SELECT
        c.process, c.op, c.base, unnest(site(f)),
        coalesce(f.via IN ('backward', 'grad'), FALSE) AS backward,
        coalesce(f.count / s.total, 1) AS part,
        c.count * part AS count, c.per_step * part AS per_step,
        c.count * part * f.duration_ns / f.count AS cost_ns
    FROM fallback_in_loop c
    LEFT JOIN fallback_site f ON f.process = c.process AND f.op = c.op
    LEFT JOIN seen s ON s.process = c.process AND s.op = c.op
),
forward AS (
    SELECT *, row_number() OVER (PARTITION BY process, base ORDER BY count DESC, line) AS nth
    FROM placed WHERE NOT backward
),
backward AS (
    SELECT process, base, sum(count) AS count, sum(per_step) AS per_step, sum(cost_ns) AS cost_ns
    FROM placed WHERE backward GROUP BY ALL
),
folded AS (
    SELECT
        f.process, f.op, f.base, unnest(site(f)),
        f.count + coalesce(b.count, 0) AS count, f.per_step + coalesce(b.per_step, 0) AS per_step,
        f.cost_ns + coalesce(b.cost_ns, 0) AS cost_ns, coalesce(b.count, 0) AS backward_count
    FROM forward f
    LEFT JOIN backward b ON b.process = f.process AND b.base = f.base AND f.nth = 1
    UNION ALL BY NAME
    SELECT
        p.process, p.op, p.base, unnest(site(p)), p.count, p.per_step, p.cost_ns, p.count AS backward_count
    FROM placed p
    WHERE p.backward
      AND NOT EXISTS (SELECT 1 FROM forward f WHERE f.process = p.process AND f.base = p.base)
)
SELECT  -- a library's line that several of the user's lead to counts once, with the commonest of them
    process, op, base, file, line, any_value(function) AS function,
    unnest(commonest_caller(folded, count)),
    round(sum(folded.count))::BIGINT AS count, sum(folded.per_step) AS per_step,
    sum(folded.cost_ns)::BIGINT AS cost_ns,
    round(sum(folded.backward_count))::BIGINT AS backward_count,
    sum(folded.count) / sum(sum(folded.count)) OVER (PARTITION BY process) AS part,
    sizes_by_data(op) AS dynamic
FROM folded GROUP BY process, op, base, file, line;

-- Operators that are only known to have run on the CPU, not how often: a console log names them. One of
-- those that are the passes of one. `places`: the lines at which some operator ran there, or a value
-- was read, with how often; the log does not tell which.
-- * op: operator, as the log names it
-- * base: the same without its overload
-- * dynamic: whether the data decide the size of its result
-- * places: lines at which the log has an operator or a read
-- > SELECT op FROM named_fallback
CREATE TABLE named_fallback AS
WITH unnamed AS (
    SELECT process, list({'file': file, 'line': line, 'count': count} ORDER BY count DESC, file, line) AS places
    FROM logged_read WHERE op IS NULL AND launches AND count >= recurring() GROUP BY process
)
SELECT n.* EXCLUDE (value), coalesce(u.places, []) AS places
FROM (
    SELECT process, value, name AS op, base_of(name) AS base, sizes_by_data(name) AS dynamic
    FROM counter WHERE contains(name, '::')
) n LEFT JOIN unnamed u USING (process)
QUALIFY n.value IS NULL AND max(n.value) OVER (PARTITION BY n.process, base) IS NULL
    AND row_number() OVER (PARTITION BY n.process, base ORDER BY length(op), op) = 1;
