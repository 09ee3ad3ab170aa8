-- Internal: Operators that ran on the CPU as the data decide how large their results are: where they have no line, that of
-- a result which was compiled again. `piling`: steps pile up there. `later`: what was compiled for another size of the
-- result; `cut_off`: the graphs that end at the operator's line, with the part after warm-up that is for another cause.
CREATE TABLE data_sized_operator AS
WITH sized AS (  -- a run that has just warmed up tells by all that it compiled
    SELECT process, index, made_file, made_line, duration_ns, lines
    FROM late_compilation WHERE what = 'data_dependent_shape'
    UNION ALL BY NAME
    SELECT process, index, made_file, made_line, duration_ns
    FROM compiled_again
    WHERE kind = 'data_dependent_shape' AND process NOT IN (SELECT process FROM late_compilation)
),
op AS (
    SELECT o.* REPLACE (coalesce(o.file, r.file) AS file, coalesce(o.line, r.line) AS line),
           o.process IN (SELECT process FROM missing_barrier) AS piling
    FROM fallback_op o LEFT JOIN (
        SELECT process, arg_max(made_file, duration_ns) AS file, arg_max(made_line, duration_ns) AS line
        FROM sized GROUP BY process
    ) r ON r.process = o.process AND o.file IS NULL
    WHERE o.dynamic
),
downstream AS (
    SELECT process, made_file AS file, made_line AS line, count(*) AS graphs,
           sum(duration_ns) AS duration_ns, list(index ORDER BY index) AS compilations,
           list_sort(list_distinct(flatten(list(lines))))[:6] AS lines
    FROM sized GROUP BY process, made_file, made_line
),
cut_off AS (  -- the step's own graph computes the same again
    SELECT o.process, o.file, o.line, count(*) AS graphs, list(c.index ORDER BY c.index) AS compilations,
           sum(c.duration_ns) AS duration_ns, sum(l.duration_ns) AS late_ns
    FROM (SELECT DISTINCT process, file, line FROM op) o
    JOIN compilation c USING (process, file, line)
    ANTI JOIN (SELECT DISTINCT process, file, line FROM step) s USING (process, file, line)
    LEFT JOIN late_compilation l ON l.process = c.process AND l.index = c.index AND l.what <> 'data_dependent_shape'
    GROUP BY ALL
)
SELECT o.*, d AS later, c AS cut_off
FROM op o
LEFT JOIN downstream d ON d.process = o.process AND d.file = o.file AND d.line = o.line
LEFT JOIN cut_off c ON c.process = o.process AND c.file = o.file AND c.line = o.line;
