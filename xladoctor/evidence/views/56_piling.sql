-- Internal: Lines that append to a tensor which the model computes with, by dimension. The compiler makes one
-- concatenation of those of all turns, so that a larger one has more parts; a batch's sizes do not change the parts.
CREATE TABLE appending AS
WITH part AS (
    SELECT process, site(i) AS site, i.shape, len(i.operands) AS parts,
           regexp_extract(i.attributes, 'dimensions=\{(\d+)\}', 1)::INTEGER AS dimension, i.shape[dimension + 1] AS size
    FROM hlo_instruction i WHERE opcode = 'concatenate' AND file IS NOT NULL AND attributes LIKE 'dimensions=%'
),
product AS (  -- lines whose products have sizes at equal distances
    SELECT process, list_sort(list(DISTINCT size)) AS sizes
    FROM (SELECT process, file, line, op_type, shape, unnest(range(1, len(shape) + 1)) AS d, shape[d] AS size
          FROM hlo_instruction WHERE opcode IN ('dot', 'custom-call'))
    GROUP BY process, file, line, op_type, d, shape[:d - 1] || shape[d + 1:]
    HAVING len(sizes) >= recurring()
       AND list_max(sizes) - list_min(sizes) = (len(sizes) - 1) * (sizes[2] - sizes[1])
)
SELECT process, unnest(site), dimension, len(any_value(shape)) AS "rank", count(DISTINCT size) AS sizes,
       regr_slope(size, parts)::BIGINT AS "by"
FROM part WHERE process IN (SELECT process FROM product)
GROUP BY process, site, dimension, len(shape)
HAVING count(DISTINCT parts) >= recurring() AND "by" > 0 AND regr_r2(size, parts) > 0.999;

-- Internal: Loops whose steps pile up for lack of a barrier, as columns of a rule's row. `updated_by`: the
-- function of the framework that the update's line calls. `grows`: what each turn appends to, which a barrier leaves
-- growing.
CREATE TABLE piling AS
WITH graph AS (
    SELECT c.process, c.index, c.duration_ns, m.instructions
    FROM compilation c LEFT JOIN graph_size m USING (process, graph_hash)
),
piled AS (
    SELECT m.*, g.*
    FROM missing_barrier m
    JOIN (
        SELECT process, count(*) AS graphs, sum(duration_ns) AS compiling,
               list(index ORDER BY index) AS compilations, max(instructions) AS largest,
               min(instructions) AS smallest, coalesce(arg_min(duration_ns, instructions), min(duration_ns)) AS quickest, sum(instructions) AS instructions,
               regr_intercept(duration_ns, instructions) AS a_graph,
               regr_slope(duration_ns, instructions) AS an_instruction
        FROM graph GROUP BY process
    ) g USING (process)
),
cut AS (
    SELECT process, arg_max(site(c), duration_ns) FILTER (file IS NOT NULL) AS site
    FROM compilation c GROUP BY process
),
updated AS (  -- the last update in the loop that has the first
    SELECT process, thread, arg_max(site, number) AS site, arg_max(via, number) AS via
    FROM (
        SELECT o.process, o.thread, o.position AS number, site(o) AS site, o.via
        FROM optimizer o
        LEFT JOIN enclosing_loop e ON e.process = o.process AND e.depth = 0
            AND e.file = o.file AND e.line = o.line
        QUALIFY (e.loop_file, e.first_line) IS NOT DISTINCT FROM
            first((e.loop_file, e.first_line) ORDER BY o.position)
            OVER (PARTITION BY o.process, o.thread)
    ) GROUP BY process, thread
),
body AS (  -- the innermost loop around the update, else around the read that cuts the graph
    SELECT p.process, p.thread, {
        'file': e.loop_file, 'line': e.first_line, 'last_line': e.last_line,
        'function': e.loop_function
    } AS loop
    FROM piled p
    LEFT JOIN updated u USING (process, thread)
    JOIN enclosing_loop e ON e.process = p.process AND e.depth = 0
        AND e.file = coalesce(u.site.file, p.cut_site.file)
        AND e.line = coalesce(u.site.line, p.cut_site.line)
    GROUP BY ALL
),
placed AS (
    SELECT p.*, c.site AS compiled_at, coalesce(f.closure, b.loop) AS loop,
           if(f.process IS NULL, 'loop', 'closure') AS body,
           coalesce(if(f.process IS NULL, nullif(optimizer_steps, 0), NULL), graphs) AS turns, coalesce(u.site, p.cut_site, c.site) AS guilty,
           u.via AS updated_by,
           if(u.site.file = b.loop.file AND u.site.line BETWEEN b.loop.line AND b.loop.last_line, u.site.line, NULL) AS updated_line
    FROM piled p
    LEFT JOIN cut c USING (process)
    LEFT JOIN updated u USING (process, thread)
    LEFT JOIN body b USING (process, thread)
    LEFT JOIN repeated_closure f ON f.process = p.process AND f.file = u.site.file AND f.line = u.site.line
),
sent AS (  -- tensors of a line of the loop: all but one of the same rank may always have the same shape
    SELECT p.process, p.thread,
           max(least(p.turns, t.shapes - greatest(1, round(u.count / p.turns) - t.others) + 1)) AS shapes,
           arg_max(t.each_shape, t.shapes) AS each_shape
    FROM placed p
    JOIN enclosing_loop e ON e.process = p.process AND e.loop_file = p.loop.file AND e.first_line = p.loop.line
    JOIN (
        SELECT process, file, line, count(DISTINCT shape) AS shapes, list(DISTINCT shape ORDER BY shape) AS each_shape,
               count(*) OVER (PARTITION BY process, file, line) - 1 AS others
        FROM transfer
        GROUP BY process, file, line, dtype, len(shape)
    ) t ON t.process = e.process AND t.file = e.file AND t.line = e.line
    JOIN (
        SELECT process, file, line, sum(count) AS count FROM upload GROUP BY ALL
    ) u ON u.process = e.process AND u.file = e.file AND u.line = e.line
    GROUP BY ALL
),
varied AS (  -- the last dimension in which those shapes differ
    SELECT process, thread, shapes, len(each_shape[1]) AS "rank",
           list_max(list_filter(range(len(each_shape[1])), lambda d: len(list_distinct(list_transform(each_shape, lambda s: s[d + 1]))) > 1)) AS dimension,
           list_sort(list_distinct(list_transform(each_shape, lambda s: s[dimension + 1]))) AS sizes
    FROM sent
),
shown AS (  -- lines below the update that read in some turns only
    SELECT p.process, p.thread, list_sort(list(h.line)) AS shown
    FROM placed p
    JOIN (
        SELECT process, thread, file, line, sum(count) AS count FROM host_sync WHERE NOT closure GROUP BY ALL
    ) h ON h.process = p.process AND h.thread = p.thread AND h.file = p.loop.file
        AND h.line BETWEEN p.guilty.line + 1 AND p.loop.last_line AND h.count <= p.turns / 2
    GROUP BY ALL
),
ended AS (  -- the last line of the loop's own that computes, and those below it that read
    SELECT p.process, p.thread, p.computed, list_sort(list(DISTINCT h.line)) AS read_below
    FROM (
        SELECT p.process, p.thread, p.loop, greatest(max(p.updated_line), max(i.line)) AS computed
        FROM placed p
        LEFT JOIN (SELECT DISTINCT process, file, line FROM hlo_instruction) i
            ON i.process = p.process AND i.file = p.loop.file
            AND i.line BETWEEN p.loop.line + 1 AND p.loop.last_line
        WHERE p.body = 'loop'
        GROUP BY ALL
    ) p
    JOIN enclosing_loop e ON e.process = p.process AND e.depth = 0
        AND e.loop_file = p.loop.file AND e.first_line = p.loop.line
    JOIN host_sync h ON h.process = p.process AND h.thread = p.thread
        AND h.file = e.file AND h.line = e.line AND NOT h.closure
    WHERE e.file = p.loop.file AND e.line > p.computed
    GROUP BY ALL
),
moving AS (  -- lines that slice in each turn at another place, so that each graph has more of them than the one before
    SELECT p.process, p.thread, list_sort(list(s.line)) AS moving
    FROM placed p
    JOIN (
        SELECT process, file, line, max(places) AS places FROM (
            SELECT process, graph_hash, file, line,
                   count(DISTINCT regexp_extract_all(attributes, '\[(\d+):', 1)) AS places
            FROM hlo_instruction WHERE opcode = 'slice' AND file IS NOT NULL GROUP BY ALL
        ) GROUP BY ALL HAVING max(places) > min(places)
    ) s ON s.process = p.process AND s.file = p.loop.file AND s.places >= greatest(3, p.turns)
    GROUP BY ALL
),
inner_loop AS (  -- loops in the body of that one whose every turn reads, which its barrier does not end
    SELECT p.process, p.thread, list_sort(list(DISTINCT {'line': e.first_line, 'last_line': e.last_line})) AS inner_loops
    FROM placed p
    JOIN (
        SELECT process, thread, file, line, sum(count) AS count FROM host_sync WHERE NOT closure GROUP BY ALL
    ) h ON h.process = p.process AND h.thread = p.thread AND h.count > p.turns
    JOIN enclosing_loop e ON e.process = p.process AND e.file = h.file AND e.line = h.line AND e.depth = 0
        AND e.loop_file = p.loop.file AND e.first_line > p.loop.line AND e.last_line <= p.loop.last_line
    GROUP BY ALL
),
collated AS (
    SELECT process, any_value({'file': collate_file, 'line': collate_line}) AS collated
    FROM loader WHERE collate_file IS NOT NULL GROUP BY process HAVING count(DISTINCT (collate_file, collate_line)) = 1
),
grown AS (
    SELECT p.process, p.thread, arg_max(a, (a.file = p.loop.file AND a.line BETWEEN p.loop.line AND p.loop.last_line, a.sizes)) AS grows
    FROM placed p JOIN appending a USING (process)
    WHERE p.body = 'loop' AND p.loop IS NOT NULL AND coalesce(p.optimizer_steps, 0) = 0
    GROUP BY ALL
),
timed AS (
    -- With a barrier, the graph of one iteration is compiled, for each shape of its input. The graphs that were tell what one
    -- takes by its size, else the time is proportional to it. An optimizer's first update makes
    -- its state, and so another graph than the later ones.
    -- Each read in an optimizer's step goes on cutting a graph of its own.
    SELECT placed.*, greatest(1, coalesce(shapes, 1)) AS shapes, "rank", dimension, sizes, collated, shown, moving, inner_loops,
    computed, read_below, grows,
    if(body = 'closure', graphs * quickest, if(grows IS NOT NULL, quickest, least(turns, coalesce(shapes, 1) + if(optimizer_steps > 0, 1, 0)) * coalesce(
        if(a_graph >= 0 AND an_instruction >= 0, a_graph + an_instruction * largest / turns, NULL),
        compiling * (largest / turns) / instructions,
        compiling / turns
    ))) AS alone,
    -- What reads run of the graphs that grow, each turn runs once with a barrier.
    if(graphs > 1, 1 - coalesce(if(grows IS NULL, largest, graphs * smallest) / instructions, 2 / (graphs + 1)), 0) AS run_again
    FROM placed LEFT JOIN varied USING (process, thread) LEFT JOIN shown USING (process, thread)
    LEFT JOIN ended USING (process, thread) LEFT JOIN moving USING (process, thread) LEFT JOIN inner_loop USING (process, thread) LEFT JOIN grown USING (process, thread) LEFT JOIN collated USING (process)
)
SELECT
    updated_by, process, unnest(if(grows IS NULL, guilty, site(grows))),
    unnest(CASE
        WHEN loop IS NOT NULL THEN {
            'related_file': loop.file, 'related_line': loop.line,
            'related_function': loop.function, 'related_role': body}
        ELSE related(compiled_at, 'compiled')
    END),
    turns AS count,
    (compiling + coalesce(run_again * read_ns, 0))::BIGINT AS cost_ns,
    'bound' AS cost_basis,
    [claim('constant_cost', 'compile', compilations_ := compilations, to_ns_ := least(compiling, alone)),
     claim('shorten', 'read', part_ := run_again)] AS claim,
    graphs > greatest(1, coalesce(barriers, 0) / 2) AS unbounded,
    TRUE AS stalls,
    compilations,
    {'kind': if(grows IS NULL, body, 'appended'), 'optimizer_steps': optimizer_steps, 'barriers': coalesce(barriers, 0),
     'graphs': graphs, 'largest_graph': largest, 'smallest_graph': smallest,
     'compile_s': round(compiling / 1e9, 3), 'compiled_at':
     parse_filename(coalesce(compiled_at.user_file, compiled_at.file)) || ':'
     || coalesce(compiled_at.user_line, compiled_at.line),
     'loop': loop, 'shapes': shapes, 'rank': "rank", 'dimension': dimension, 'sizes': sizes, 'collated': collated,
     'shown': shown, 'computed': computed, 'read_below': read_below, 'moving': moving, 'inner_loops': inner_loops,
     'cut': if(cut_site.file = loop.file AND cut_site.line BETWEEN loop.line AND loop.last_line, cut_site.line, NULL),
     'grows': {'dimension': grows.dimension, 'rank': grows.rank, 'by': grows.by}} AS cause,
    CASE WHEN grows IS NULL AND graphs > greatest(1, coalesce(barriers, 0) / 2) THEN [
        'the graph grows with the steps in it, so each compilation is of a new graph'
    ] END AS consequences
FROM timed;
