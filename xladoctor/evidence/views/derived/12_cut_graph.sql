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

-- Internal: How often an operator ran, in words.
CREATE MACRO times_ran(count_, per_step_) AS
    format('{} time{}{}', count_, if(count_ = 1, '', 's'), if(per_step_ IS NULL, '', ' in the loop'));

-- Internal: Operators without a lowering whose results have a known size, as columns of a rule's row. The cause has the
-- `call` of code that does without, where such is known. The parameters are those of the rules that use it.
CREATE MACRO without_lowering(times, each, often) AS TABLE
WITH cut AS (
    SELECT process, op, file, line, count(*) AS graphs, sum(duration_ns) AS compile_ns, bool_or(multiplied) AS multiplied,
           list(index ORDER BY index) FILTER (NOT multiplied) AS compilations, sum(duration_ns) FILTER (NOT multiplied) AS own_ns
    FROM cut_graph GROUP BY process, op, file, line
)
SELECT
    f.process, unnest(site(f)), count,
    per_step,
    coalesce(cost_ns + coalesce(own_ns, 0), own_ns)::BIGINT AS cost_ns,
    'estimate' AS cost_basis,
    [claim('remove', 'cut', part_ := part), claim('compile_once', 'compile', compilations_ := compilations)] AS claim,
    coalesce(per_step >= each, count >= often) AS stalls, NOT stalls AS healthy, f.op AS subject,
    {'op': f.op, 'captured': EXISTS (SELECT 1 FROM process), 'in_backward': backward_count,
     'call': r.call, 'instead': r.instead, 'where': r.given, 'but': r.but, 'cut_off': graphs,
     'cut_off_s': round(compile_ns / 1e9, 6), 'multiplied': multiplied} AS cause,
    {'ran': times_ran(count, per_step)} AS phrases
FROM fallback_op f
LEFT JOIN replacement r ON r.op = f.base
LEFT JOIN cut ON cut.process = f.process AND cut.op = f.op AND cut.file = f.file AND cut.line = f.line
WHERE NOT dynamic AND count >= times
UNION ALL BY NAME
SELECT process, 1 AS count, TRUE AS stalls, n.op AS subject,
       {'op': n.op, 'captured': EXISTS (SELECT 1 FROM process), 'named': TRUE, 'places': places,
        'call': r.call, 'instead': r.instead, 'where': r.given, 'but': r.but} AS cause,
       {'ran': 'at least once'} AS phrases
FROM named_fallback n LEFT JOIN replacement r ON r.op = n.base
WHERE NOT dynamic;
