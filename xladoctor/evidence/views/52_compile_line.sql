-- Lines that graphs come from which took long to compile, and what each line costs of that: an estimate, as if each
-- operation took the same time. As the framework traced the function, where that is known; else by the optimized
-- graph, unless its code came from a cache on disk, which may have lost the lines.
-- * index: number of the compilation
-- * compiled: name of the function, where the framework compiles functions
-- * operations: equations that come from the line, or the optimized graph's instructions
-- * of_operations: all of them
-- * op: the commonest of them
-- * copies: how often that makes results of one shape and type; NULL where it was not traced
-- * constant_bytes: large arrays closed over that the line uses first; NULL where it was not traced
-- * traced: whether they are counted as the framework traced the function
-- * complete: whether all are counted
-- * tracing_ns: the line's share of tracing, where known
-- * lowering_ns: its share of lowering, where known
-- * xla_ns: its share of the rest, which is the compiler's; NULL where the code came from a cache on disk
-- * ns: its share of all compiling
-- * folding_ns: what the compiler's alarms say that it spent on computing with constants there, in all compilations
-- > SELECT compiled, file, line, operations, of_operations, ns / 1e9 AS seconds FROM compile_line ORDER BY ns DESC
CREATE TABLE compile_line AS
WITH counted AS (
    SELECT process, index, site(t) AS site, equations AS operations, of_equations AS of_operations, op, copies,
           constant_bytes, TRUE AS traced, complete, tracing_ns, lowering_ns
    FROM traced_line t
    UNION ALL BY NAME
    SELECT c.process, c.index, any_value(site(i)) AS site, count(*) AS operations,
           sum(count(*)) OVER (PARTITION BY c.process, c.index)::BIGINT AS of_operations, mode(i.opcode) AS op,
           FALSE AS traced, TRUE AS complete
    FROM compilation c
    JOIN hlo_module m ON m.process = c.process AND m.graph_hash = c.graph_hash
    JOIN computing i ON i.process = m.process AND i.program_id = m.program_id
    WHERE c.duration_ns >= 5e8 AND NOT coalesce(c.cached, FALSE)
      AND (c.process, c.index) NOT IN (SELECT (process, index) FROM traced_line)
    GROUP BY c.process, c.index, i.file, i.line, i.user_file, i.user_line
)
SELECT
    l.process, l.index, nullif(compiled_function(c.cause), '') AS compiled, unnest(l.site),
    l.operations, l.of_operations, l.op, l.copies, l.constant_bytes, l.traced, l.complete,
    (l.tracing_ns * l.operations / l.of_operations)::BIGINT AS tracing_ns,
    (l.lowering_ns * l.operations / l.of_operations)::BIGINT AS lowering_ns,
    CASE WHEN NOT coalesce(c.cached, FALSE)
         THEN ((c.duration_ns - coalesce(l.tracing_ns + l.lowering_ns, 0)) * l.operations / l.of_operations)::BIGINT
    END AS xla_ns,
    (c.duration_ns * l.operations / l.of_operations)::BIGINT AS ns, f.ns AS folding_ns
FROM counted l
JOIN compilation c USING (process, index)
LEFT JOIN (
    SELECT process, file, line, sum(duration_ns)::BIGINT AS ns FROM logged_constant GROUP BY ALL
) f ON f.process = l.process AND f.file = l.site.file AND f.line = l.site.line
WHERE l.of_operations > 0;

-- Internal: The line that most of what a slow compilation was traced to comes from, and in words how much, if it is a fifth; `times`: how
-- often it is traced, likewise; `lines`: those with most.
CREATE TABLE heaviest_line AS
WITH told AS (
    SELECT *, format('about {:.1f} s of compiling belong to {}:{} ({:,} of {:,} equations{})', ns / 1e9,
                     regexp_extract(coalesce(user_file, file), '[^/\\]*$'), coalesce(user_line, line),
                     operations, of_operations, if(complete, '', ' that were counted')) AS words,
           format(': {} {:,} times', op, copies) AS times
    FROM compile_line WHERE traced  -- the lines of an optimized graph are fewer than it was made of
)
SELECT process, index,
       arg_max(site(t), ns) FILTER (file IS NOT NULL AND operations >= of_operations / 5) AS site,
       arg_max(words, ns) FILTER (file IS NOT NULL AND operations >= of_operations / 5) AS words,
       arg_max(if(copies >= least_copies(), times, ''), ns) FILTER (file IS NOT NULL) AS times,
       list({'file': coalesce(user_file, file), 'line': coalesce(user_line, line), 'operations': operations,
             'of_operations': of_operations, 'copies': copies, 'constant_bytes': constant_bytes,
             'tracing_s': tracing_ns / 1e9, 'lowering_s': lowering_ns / 1e9, 'xla_s': xla_ns / 1e9,
             'estimate_s': ns / 1e9} ORDER BY ns DESC)[:5] AS lines
FROM told t GROUP BY process, index;
