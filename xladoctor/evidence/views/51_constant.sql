-- Internal: Compilations of functions that close over arrays with which XLA computed while it compiled, as columns of a
-- rule's row: the line of the largest result if that is known, else the line that made the largest array.
-- `compiling_ns`: all compiling of the process.
CREATE TABLE folded_constant AS
WITH graph AS (
    SELECT DISTINCT c.process, c.index, m.program_id
    FROM compilation c JOIN hlo_module m ON m.process = c.process AND m.graph_hash = c.graph_hash
),
left_over AS (  -- constants of the optimized graph
    SELECT g.process, g.index, list_product(i.shape)::BIGINT AS elements, i.file, i.line, i.function,
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
     'computed': p.place.line IS NOT NULL, 'compile_s': round(c.duration_ns / 1e9, 3)} AS cause,
    t.duration_ns AS compiling_ns
FROM folded
JOIN compilation c USING (process, index)
JOIN captured k USING (process, index)
JOIN compiling_time t USING (process)
LEFT JOIN computed p USING (process, index);
