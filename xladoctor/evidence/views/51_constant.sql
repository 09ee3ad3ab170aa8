-- Internal: Compilations of functions that close over arrays with which XLA computed while it compiled, as columns of a
-- rule's row: the line of the largest result if that is known, else the line that made the largest array.
-- `compiling_ns`: all compiling of the process. Not those that are mostly an unrolled loop: these have a finding of their own.
CREATE TABLE folded_constant AS
WITH graph AS (
    SELECT DISTINCT c.process, c.index, m.program_id
    FROM compilation c JOIN hlo_module m ON m.process = c.process AND m.graph_hash = c.graph_hash
),
left_over AS (  -- constants of the optimized graph
    SELECT g.process, g.index, list_product(i.shape)::BIGINT AS elements,
           elements * coalesce(TRY_CAST(regexp_extract(i.type, '\d+') AS INTEGER), 8) // 8 AS bytes, i.file, i.line, i.function,
           i.user_file, i.user_line, i.user_function,
           -- a constant as it was passed has the name of the function, or is only laid out in another way
           NOT coalesce(contains(i.op_name, '/'), FALSE) OR regexp_extract(i.op_name, '[^/]*$') IN
               ('transpose', 'reshape', 'squeeze', 'broadcast_in_dim', 'convert_element_type', 'copy') AS passed
    FROM graph g JOIN hlo_instruction i USING (process, program_id)
    WHERE i.opcode = 'constant' AND len(i.shape) > 0
),
captured AS (
    SELECT process, index, count(*) AS arrays, sum(bytes)::BIGINT AS bytes, arg_max(site(k), bytes) AS made,
           list(argument ORDER BY bytes DESC) FILTER (argument IS NOT NULL) AS arguments,
           list(shape ORDER BY bytes DESC) AS shapes
    FROM captured_constant k GROUP BY process, index
),
folded AS (  -- of which XLA has computed others
    SELECT DISTINCT k.process, k.index FROM captured_constant k JOIN graph g USING (process, index)
    WHERE NOT EXISTS (
        SELECT 1 FROM left_over l WHERE l.process = k.process AND l.index = k.index AND l.passed
          AND l.elements = list_product(regexp_extract_all(regexp_extract(k.shape, '\[(.*)\]', 1), '\d+')::BIGINT[]))
),
computed AS (  -- the line of the largest of these; a constant as it was passed has that of the call
    SELECT c.process, c.index,
           arg_max(site(l), (l.elements, -l.line)) AS place
    FROM compilation c JOIN left_over l USING (process, index)
    WHERE l.line IS NOT NULL AND (l.file, l.line) IS DISTINCT FROM (c.file, c.line) GROUP BY c.process, c.index
)
SELECT
    c.process, unnest(CASE WHEN p.place.line IS NOT NULL THEN p.place WHEN k.made.line IS NOT NULL THEN k.made ELSE site(c) END),
    unnest(CASE WHEN p.place.line IS NOT NULL AND k.made.line IS NOT NULL
           THEN related(k.made, 'made') ELSE related(c, 'compiled') END),
    k.arrays AS count, c.duration_ns AS cost_ns, 'bound' AS cost_basis,
    [claim('constant_cost', 'compile', compilations_ := [c.index], to_ns_ := 0)] AS claim, TRUE AS settled,
    {'compiled': compiled_function(c.cause), 'arguments': k.arguments, 'shapes': k.shapes, 'bytes': k.bytes,
     'computed': p.place.line IS NOT NULL, 'compile_s': round(c.duration_ns / 1e9, 3),
     'lowering_s': round(w.lowering_ns / 1e9, 3), 'program_bytes': b.bytes} AS cause,
    {'lowering': if(w.lowering_ns >= 5e7, format(', {:.1f} s of it for writing them into the graph', w.lowering_ns / 1e9), ''),
     'kept': if(b.bytes >= 1e6, format(' The compiled code holds {:.0f} MB of constants.', b.bytes / 1e6), '')} AS phrases,
    [c.index] AS compilations, t.duration_ns AS compiling_ns
FROM folded
JOIN compilation c USING (process, index)
JOIN captured k USING (process, index)
JOIN compiling_time t USING (process)
LEFT JOIN computed p USING (process, index)
LEFT JOIN (SELECT process, index, any_value(lowering_ns) AS lowering_ns FROM traced_line GROUP BY ALL) w
    USING (process, index)
LEFT JOIN (SELECT process, index, sum(bytes)::BIGINT AS bytes FROM left_over GROUP BY ALL) b USING (process, index)
WHERE NOT EXISTS (
    SELECT 1 FROM repeated_line r WHERE r.process = c.process AND r.index = c.index AND r.part >= 0.5
);

-- Internal: Large constants that a log warns of, by function, as columns of a rule's row.
CREATE TABLE warned_constant AS
WITH of_function AS (
    SELECT process, compiled, arg_max(site(l), (what = 'captured', bytes, duration_ns)) FILTER (file IS NOT NULL) AS site,
           count(*) AS count, sum(duration_ns)::BIGINT AS ns, coalesce(bool_and(ended), TRUE) AS ended, sum(bytes)::BIGINT AS bytes,
           list(shape ORDER BY bytes DESC) FILTER (what = 'captured' AND shape IS NOT NULL) AS shapes,
           arg_max(op || ' to ' || shape, duration_ns) FILTER (what = 'folded') AS op,
           count(*) FILTER (what = 'folded') AS folded
    FROM logged_constant l GROUP BY process, compiled
)
SELECT process, unnest(site), coalesce(compiled, '') AS subject, count, ns AS cost_ns,
       CASE WHEN ns IS NULL THEN 'none' WHEN ended THEN 'measured' ELSE 'least' END AS cost_basis, TRUE AS settled,
       {'compiled': compiled, 'shapes': shapes, 'bytes': bytes, 'compile_s': round(ns / 1e9, 3), 'logged': TRUE} AS cause,
       {'logged': concat_ws(' ',
           CASE WHEN ns IS NOT NULL THEN format(
               'While XLA compiled {}, it spent {}{:.1f} s on computing with constants{}.', coalesce(compiled, 'a function'),
               if(ended, '', 'at least '), ns / 1e9,
               if(op IS NULL, '', format(', {}{}', if(folded > 1, 'most of it on ', ''), op))) END,
           CASE WHEN bytes IS NOT NULL THEN format(
               '{} closes over arrays of {:.0f} MB{}, which are constants of its program.',
               coalesce(compiled, 'A function'), bytes / 1e6,
               if(shapes IS NULL, '', ' (' || array_to_string(shapes[:3], ', ') || ')')) END)} AS phrases
FROM of_function w
WHERE NOT EXISTS (SELECT 1 FROM captured_constant k WHERE k.process = w.process);
