-- Internal: Graphs that operators on the host cut off, each with the operator and the line that it counts for: those compiled
-- at its lines or, without a line, by autograd's thread. The step's own graph computes the same again. Steps that pile up are others.
-- `multiplied`: compiled again for another cause, which is another finding.
CREATE TABLE cut_graph AS
WITH cut AS (
    SELECT c.process, c.index, c.file, c.line, c.duration_ns, arg_max(base_of(f.op), f.count) AS base
    FROM compilation c
    JOIN fallback_site f ON f.process = c.process
        AND (f.file = c.file AND f.line = c.line OR c.file IS NULL AND c.step IS NOT NULL AND f.via IN ('backward', 'grad'))
    ANTI JOIN (SELECT DISTINCT process, file, line FROM step) s ON s.process = c.process AND s.file = c.file AND s.line = c.line
    WHERE c.process NOT IN (SELECT process FROM missing_barrier)
    GROUP BY ALL
)
SELECT c.process, c.index, c.duration_ns, o.op, o.file, o.line,
       (c.process, c.index) IN (SELECT (process, index) FROM late_compilation WHERE what <> 'unknown') AS multiplied
FROM cut c JOIN fallback_op o USING (process, base)
QUALIFY row_number() OVER (
    PARTITION BY c.process, c.index
    ORDER BY (o.file, o.line) IS NOT DISTINCT FROM (c.file, c.line) DESC, o.count DESC, o.line
) = 1;
