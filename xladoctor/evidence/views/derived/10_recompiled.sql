-- Internal: Compilations in steps that begin something new, such as sampling after the data were made: ten call sites of
-- functions or more compile there for the first time, a third of the step's compilations at least. A function that
-- compiles for ever more shapes in one step, as text is generated, compiles much more often than that.
CREATE TABLE phase_begun AS
WITH placed AS (
    SELECT process, thread, index, step, (file, line, via, cause) AS place,
           min(step) OVER (PARTITION BY process, thread, file, line, via, cause) AS first
    FROM compilation WHERE step IS NOT NULL AND compiled_function(cause) <> ''
)
SELECT p.process, p.index
FROM placed p JOIN (
    SELECT process, thread, step FROM placed GROUP BY ALL
    HAVING count(DISTINCT place) FILTER (first = step) >= greatest(10, count(*) / 3)
) b USING (process, thread, step)
WHERE p.first = p.step;

-- Internal: Operations that are not in a compiled function, where all that they compile, they compile in one step, and
-- then they are launched as often again without: a model's layers, evaluated one after the other, differ in their
-- shapes, and none of them changes.
CREATE TABLE gone_through AS
SELECT process, thread, file, line, via, cause
FROM compilation WHERE via <> '' AND compiled_function(cause) <> ''
GROUP BY process, thread, file, line, via, cause
HAVING count(DISTINCT step) = 1 AND count(*) = count(step)
   AND any_value(launches) - max(ordinal) > max(ordinal) - min(ordinal) + 1;

-- Internal: Compilations for slices at other places of a tensor, of lines that compile for many: a few are the parts that a
-- layer splits its input into, but a loop over rows compiles for each row, be it in one step, in the first, or in an evaluation.
CREATE TABLE slice_by_slice AS
SELECT process, index
FROM compiled_again WHERE kind = 'offset'
QUALIFY count(*) OVER (PARTITION BY process, thread, file, line, via, cause) >= 8
    AND row_number() OVER (PARTITION BY process, thread, file, line, via, cause ORDER BY index) >= warmup();

-- Internal: Whether one of these compilations was for types that its function had been compiled for, as a log says
-- that does not say what else changed.
CREATE MACRO for_same_types(process_, indices_) AS EXISTS (
    FROM key_change k WHERE k.process = process_ AND list_contains(indices_, k.index) AND k.what = 'same_types'
);

-- Internal: Whether nothing says what was new in these compilations, of which a text alone tells.
CREATE MACRO no_key(process_, indices_) AS NOT EXISTS (
    FROM key_change k WHERE k.process = process_ AND list_contains(indices_, k.index)
) AND NOT EXISTS (SELECT 1 FROM process WHERE began_ns IS NOT NULL);

-- Internal: Processes that also compile operators which are called outside of functions, and so have no guards.
CREATE TABLE operator_compiler AS
SELECT p.process FROM process p JOIN frontend_trait t USING (frontend)
WHERE t.trait IN ('runs_xla', 'launches_operators') GROUP BY p.process HAVING count(*) = 2;

-- Internal: the shapes that were new in some of these compilations, whatever else was; NULL if none was. The last counts.
CREATE MACRO new_shapes(process_, indices_) AS (
    SELECT {'count': count(DISTINCT k.index), 'argument': arg_max(k.argument, k.index),
            'from_shape': arg_max(k.was, k.index), 'to_shape': arg_max(k.now, k.index)}
    FROM key_change k WHERE k.process = process_ AND list_contains(indices_, k.index) AND k.what = 'shape'
    HAVING count(*) > 0
);

-- Internal: processes of which a log alone tells, with the framework's own explanations of what was new: those have
-- lines, where functions are compiled as wholes.
CREATE TABLE explaining_log AS
SELECT process FROM compilation WHERE file IS NOT NULL AND launches IS NULL AND compile_id IS NULL
    AND compiled_function(cause) <> '' AND process NOT IN (SELECT process FROM process WHERE began_ns IS NOT NULL)
GROUP BY process;

-- Internal: the last step of each thread that ended in a loop.
CREATE TABLE last_step AS
SELECT process, thread, max(index) AS last FROM step WHERE NOT tail GROUP BY process, thread;

-- Compilations after warm-up, each with its place in the life of its call site: iterations before
-- it (a site may launch several times in each), whether it came in the last third of the site's
-- launches, whether that was before the loop's first barrier (`ahead`), and the lines whose operations differ. Where only a part of a run is judged, those in
-- it, warm-up or not, that have an earlier graph to differ from. Without a barrier all graphs
-- differ, of the program or of one of its loops, which is another finding.
-- * launches: total launches from the same call site, if known
-- * what: kind, or unknown
-- * turn: iteration of its call site that compiled, from 0
-- * unsettled: whether it came in the last third of the launches of its call site
-- * ahead: whether it compiled before the first barrier of the loop
-- * warmed_up: launches from there after warm-up; NULL if only part of a run is judged
-- * running_ns: time of the loop without compiling
-- * steps: iterations of the longest loop of the process
-- * captured: whether the timeline has any graph
-- * lines: file and line of operations that differ
-- * place: what makes the difference: site (as site()), role, op, used; or NULL
-- * spot: file and line of place
-- * others: as in compiled_again
-- > SELECT what, count(*) AS n FROM late_compilation GROUP BY what
CREATE TABLE late_compilation AS
SELECT
    c.* REPLACE (
        CASE WHEN w.begin_ns IS NULL THEN c.launches
             ELSE greatest(count(*) OVER (PARTITION BY c.process, c.file, c.line, c.via), i.barriers, h.reads)
        END AS launches
    ),
    coalesce(c.kind, 'unknown') AS what,
    c.ordinal / greatest(1, round(c.launches / t.steps), CASE WHEN c.launches IS NULL THEN p.barriers END)
        AS turn,
    w.begin_ns IS NOT NULL OR coalesce(c.ordinal >= c.launches * 2 / 3, TRUE) AS unsettled,
    coalesce(c.step = 0 AND t.steps >= warmup(), FALSE) AS ahead,
    CASE WHEN w.begin_ns IS NULL THEN
        c.launches - warmup() * greatest(1, round(c.launches / t.steps))
    END AS warmed_up,
    t.duration_ns - t.compile_ns AS running_ns, l.steps, EXISTS (SELECT 1 FROM hlo_module) AS captured,
    g.lines,
    CASE WHEN c.made_file IS NOT NULL THEN {
        'site': maker(c),
        'role': c.made_role, 'op': c.op,
        'used': {'file': c.used_file, 'line': c.used_line, 'function': c.used_function}
    } END AS place,
    CASE WHEN c.made_file IS NOT NULL THEN {'file': c.made_file, 'line': c.made_line} END AS spot
FROM compiled_again c
ANTI JOIN missing_barrier m ON m.process = c.process
ANTI JOIN (SELECT process, unnest(indices || leftover) AS index FROM growing_turn) u
    ON u.process = c.process AND u.index = c.index
LEFT JOIN step_period p ON p.process = c.process AND p.thread = c.thread
LEFT JOIN loop t ON t.process = c.process AND t.thread = c.thread AND t.steps > 0
LEFT JOIN last_step e ON e.process = c.process AND e.thread = c.thread
LEFT JOIN (
    SELECT process, max(steps) AS steps FROM loop WHERE steps > 0 GROUP BY process
) l ON l.process = c.process
LEFT JOIN (
    SELECT process, index, list_sort(list(DISTINCT {'file': file, 'line': line})) AS lines
    FROM graph_change WHERE file IS NOT NULL GROUP BY process, index
) g ON g.process = c.process AND g.index = c.index
LEFT JOIN (  -- called after the loop from where the loop does not call: that has its own warm-up
    SELECT o.process, o.index,
           row_number() OVER (
               PARTITION BY o.process, site(o), o.via, o.callers, compiled_function(o.cause) ORDER BY o.index
           ) AS nth
    FROM (
        SELECT *, min(step) OVER (PARTITION BY process, callers, user_file, user_line) AS first
        FROM compilation
    ) o
    JOIN step s ON s.process = o.process AND s.thread = o.thread AND s.index = o.step AND s.tail
    WHERE o.step = o.first
) n ON n.process = c.process AND n.index = c.index
LEFT JOIN (  -- where the loop compiles, but in its last turn
    SELECT DISTINCT o.process, e.thread, o.file, o.line
    FROM compilation o JOIN last_step e USING (process) WHERE o.step BETWEEN 1 AND e.last
) r ON r.process = c.process AND r.thread = c.thread AND r.file = c.file AND r.line = c.line
LEFT JOIN phase_begun b ON b.process = c.process AND b.index = c.index
LEFT JOIN gone_through v ON v.process = c.process AND v.thread = c.thread AND v.file = c.file
    AND v.line = c.line AND v.via = c.via AND v.cause = c.cause
LEFT JOIN slice_by_slice y ON y.process = c.process AND y.index = c.index
LEFT JOIN (SELECT DISTINCT process, index FROM key_change WHERE what = 'same_types') k
    ON k.process = c.process AND k.index = c.index
LEFT JOIN explaining_log x ON x.process = c.process
LEFT JOIN judged_part w ON TRUE
LEFT JOIN (
    SELECT s.file, s.line, s.via, count(*) AS barriers
    FROM step s JOIN judged_part w ON s.end_ns BETWEEN w.begin_ns AND w.end_ns
    WHERE NOT s.tail GROUP BY ALL
) i ON i.file IS NOT DISTINCT FROM c.file AND i.line IS NOT DISTINCT FROM c.line
    AND i.via IS NOT DISTINCT FROM c.via
LEFT JOIN (
    SELECT file, line, sum(count) AS reads FROM host_sync WHERE tail GROUP BY file, line
) h ON h.file = c.file AND h.line = c.line
WHERE c.cause IS DISTINCT FROM 'operator'  -- in eager mode, which is another one
  AND CASE WHEN y.index IS NOT NULL AND w.begin_ns IS NULL THEN TRUE
           WHEN w.begin_ns IS NULL THEN (turn >= warmup()
                -- a program that hardly left warm-up, in which shapes or numbers change all the same
                OR t.steps BETWEEN 2 AND 2 * warmup() AND NOT t.without_barrier AND c.step > 0 AND c.basis = 'hlo'
                    AND c.kind IN ('input_shape', 'constant')
                -- what a log of compilations alone explains, of which people keep a few lines
                OR c.launches IS NULL AND c.compile_id IS NOT NULL AND c.basis = 'key'
                -- no small operation of the framework's, which share their names
                OR c.launches IS NULL AND (k.index IS NOT NULL AND c.duration_ns >= 5e8
                                           -- the framework itself says what is new there
                                           OR x.process IS NOT NULL AND c.file IS NOT NULL AND c.basis = 'key'))
            AND NOT (  -- before the loop, or after it
                coalesce((c.step = 0 OR c.step > e.last AND r.process IS NULL) AND t.steps >= warmup(), FALSE)
                AND c.compiled IS NOT NULL)
            AND NOT coalesce(n.nth <= warmup(), FALSE)
            AND b.index IS NULL AND v.process IS NULL
           ELSE c.kind IS NOT NULL AND c.end_ns BETWEEN w.begin_ns AND w.end_ns END;

-- One more site that explains a finding.
-- > SELECT unnest(also(site(optimizer), 'used')) FROM optimizer
CREATE MACRO also(site_, role_) AS {
    'also_file': site_.file, 'also_line': site_.line, 'also_function': site_.function,
    'also_role': role_
};

-- The size of the first dimension of a shape as HLO text writes it.
-- > SELECT rows_of(was) AS was, rows_of(now) AS now FROM recompilation
CREATE MACRO rows_of(shape) AS TRY_CAST(regexp_extract(shape, '\[(\d+)', 1) AS BIGINT);

-- Internal: the differences between neighbours of a list.
CREATE MACRO gaps(values_) AS list_transform(range(1, len(values_)), lambda i: values_[i + 1] - values_[i]);

-- Internal: whether sizes grow by the same amount at equal intervals, three times or more, the last of which lasts no
-- longer than the others did: then more will come, few as they are.
CREATE MACRO marches(sizes_, ordinals_, launches_) AS coalesce(
    len(sizes_) >= 3 AND len(sizes_) = len(ordinals_) AND len(list_distinct(gaps(sizes_))) = 1 AND gaps(sizes_)[1] <> 0
    AND list_max(gaps(ordinals_)) <= 1.1 * list_min(gaps(ordinals_))
    AND launches_ - ordinals_[-1] <= 1.1 * list_max(gaps(ordinals_)), FALSE
);

-- Internal: whether sizes only grow or only shrink, so that they are not drawn from a fixed range.
CREATE MACRO trends(sizes_) AS coalesce(
    len(sizes_) >= 3 AND (list_min(gaps(sizes_)) > 0 OR list_max(gaps(sizes_)) < 0), FALSE
);

-- Internal: steps without a new graph after which none is expected: by the rule of three the next step then has one
-- with a probability below 3/300, at 95% confidence, if sizes are drawn and follow no trend.
CREATE MACRO settled_steps() AS 300;

-- Internal: the first compilation of a call site with another number of inputs or outputs, where there are two: with shapes
-- that stay the same it is still needed, as the second step of a training has the optimizer's state among its inputs.
-- Where there are more, they come of the shapes: numbers in a loop that is unrolled are inputs.
CREATE TABLE first_with_state AS
SELECT process, max(begin) AS index
FROM (
    SELECT process, thread, file, line, via, cause, min(index) AS begin FROM compilation WHERE inputs IS NOT NULL
    GROUP BY process, thread, file, line, via, cause, inputs, outputs
)
GROUP BY process, thread, file, line, via, cause HAVING count(*) = 2;

-- Internal: compilations after warm-up by call site and kind of cause and, for inputs and numbers, by their
-- line. What is said of the change is about the line with most of them. `total`, `goes_on`, `last`
-- and `total_share` (of the loop's time without other compiling) are of all causes of a site. `full`
-- is the size of a batch where a smaller one is the last of its loader.
CREATE TABLE recompiled_site AS
WITH late AS (
    SELECT process, file, line, function, user_file, user_line, user_function, via, compiled, what, place, unsettled,
           ahead, (process, index) IN (FROM first_with_state) AS needed, basis, parameter, argument, hint, index, ordinal, dimension, op, pattern, seen, possible, was, now, lines,
           value, compile_id, graph_hash, launches, warmed_up, duration_ns, running_ns, steps, captured,
           CASE WHEN what IN ('input_shape', 'input_type') THEN spot
                WHEN what = 'constant' THEN coalesce(spot, mode(spot) OVER (
                    PARTITION BY process, file, line, via, compiled, what
                )) END AS part,
           count(*) OVER here AS total, bool_or(unsettled) OVER here AS goes_on,
           -- of a graph that is missing: it may have been compiled for any of the site's causes
           bool_or(unsettled AND what = 'unknown' AND basis IS DISTINCT FROM 'hlo') OVER here AS may_go_on,
           max(ordinal) OVER here AS last, sum(duration_ns) OVER here AS total_ns
    FROM late_compilation
    WINDOW here AS (PARTITION BY process, file, line, via, compiled)
),
chosen AS (
    SELECT *, mode(place) OVER (PARTITION BY process, file, line, via, compiled, what, part) AS main,
           mode(dimension) OVER (PARTITION BY process, file, line, via, compiled, what, part) AS varying,
           what IN ('input_count', 'growing') AS counted
    FROM late
),
grouped AS (
    SELECT
        process, what AS kind, any_value(site(chosen)) AS compiled_at, any_value(main) AS place,
        mode(basis) AS basis, mode(parameter) AS parameter, arg_max(argument, index) AS argument,
        arg_max(hint, index) AS hint, compiled,
        mode(dimension) AS dimension, mode(op) AS op, mode(pattern) AS pattern,
        max(seen) AS seen, max(possible) AS possible,
        last({'was': was, 'now': now}
             ORDER BY was IS NOT NULL AND now IS NOT NULL, dimension IS NOT DISTINCT FROM varying, index)
            FILTER (place IS NOT DISTINCT FROM main OR counted) AS change,
        list({'argument': argument, 'was': was, 'now': now, 'hint': hint} ORDER BY index)
            FILTER (basis = 'key' AND argument IS NOT NULL) AS changes,
        list_sort(list_distinct(flatten(list(lines)))) AS lines,
        -- sizes of one dimension: a last batch differs in another
        list(value ORDER BY index) FILTER (dimension IS NOT DISTINCT FROM varying) AS values_,
        list(ordinal ORDER BY index) FILTER (dimension IS NOT DISTINCT FROM varying) AS ordinals, list(now ORDER BY index) AS nows,
        max(split_part(compile_id, '/', 1)) AS frame,
        list(graph_hash) AS hashes, list(index ORDER BY index) AS indices,
        list(index ORDER BY index) FILTER (NOT needed OR what <> 'input_shape') AS avoidable,
        max(launches) AS launches, CASE WHEN max(warmed_up) > 0 THEN greatest(count(*), max(warmed_up)) END::BIGINT AS warmed_up,
        any_value(last) AS last, any_value(total) AS total,
        count(*) AS count, sum(duration_ns)::BIGINT AS cost_ns, bool_or(unsettled OR may_go_on) AS unsettled,
        any_value(total_ns / (total_ns + running_ns)) AS total_share, any_value(goes_on) AS goes_on,
        max(greatest(rows_of(was), rows_of(now))) FILTER (pattern = 'last_batch') AS "full",
        any_value(steps) AS steps, bool_or(captured) AS captured,
        bool_and(ahead) AS ahead
    FROM chosen GROUP BY process, file, line, via, compiled, what, part
)
SELECT * EXCLUDE (values_, ordinals, nows, hashes, change), change.was, change.now,
       nullif(list_sort(list_distinct(values_)), []) AS sizes,  -- NULL: of another rank
       len(list_distinct(values_)) AS distinct_values,
       marches(values_, ordinals, launches) AS marching,
       CASE WHEN NOT unsettled THEN launches - last - 1 END AS quiet,
       quiet / greatest(1, launches / steps) >= settled_steps() AND NOT trends(values_) AND pattern IS DISTINCT FROM 'grows'
           AS settled,
       nullif(list_filter(nows, lambda now: now IS NOT NULL), []) AS texts,
       len(list_distinct(nows)) AS distinct_numbers, len(list_distinct(hashes)) AS graphs
FROM grouped;

-- Internal: whether a number is an input of the graph but for special values, by the cause of a `recompiled` row.
-- After optimization one that was compiled in may be gone: then the operation tells.
CREATE MACRO special_scalar(cause) AS coalesce(
    cause.was = 'input' OR cause.now = 'input'
    OR (cause.was IS NULL OR cause.now IS NULL) AND has_trait(cause.op, 'takes_numbers'), FALSE
);

-- Internal: what `recompiled` gives, but for what its limits decide; and what they are held against. `again`: the
-- site's graphs are launched again once the last one is compiled.
CREATE TABLE recompiled_line AS
SELECT
    r.process,
    unnest(coalesce(place.site, compiled_at)),
    unnest(CASE WHEN place IS NOT NULL THEN {
        'related_file': compiled_at.file, 'related_line': compiled_at.line,
        'related_function': compiled_at.function, 'related_role': 'compiled'
    } END),
    unnest(CASE WHEN len(loaders) = 1 THEN also(loaders[1], 'made')
                WHEN place.used.file IS NOT NULL THEN also(place.used, 'used')
                WHEN kind = 'input_shape' AND place.role = 'made' AND len(collates) = 1
                THEN also(collates[1], 'collated') END),
    count, count / coalesce(steps, launches) AS per_step,
    cost_ns, 'measured' AS cost_basis,
    claim('compile_once', 'compile', compilations_ := coalesce(avoidable, [])) AS claim,
    CASE WHEN ahead OR coalesce(pattern = 'last_batch', FALSE)  -- each epoch ends alike
              OR (steps IS NULL AND EXISTS (FROM launch u WHERE u.process = r.process)) THEN TRUE  -- no loop repeats it
         WHEN unsettled THEN FALSE WHEN r.settled THEN TRUE END AS settled,
    pattern = 'grows' AND unsettled AND count >= recurring() AS unbounded,
    coalesce(place.op, op, CASE WHEN compiled_at.file IS NULL THEN r.compiled END) AS subject, indices AS compilations,
    CASE WHEN possible > seen THEN count + possible - seen END AS at_most,
    {
        'kind': kind, 'basis': basis, 'parameter': parameter, 'argument': argument, 'hint': hint,
        'changes': changes[:20], 'compiled': r.compiled,
        'op': coalesce(place.op, op), 'role': place.role,
        'from_shape': CASE WHEN kind IN ('input_shape', 'input_type') THEN was END,
        'to_shape': CASE WHEN kind IN ('input_shape', 'input_type') THEN now END,
        'was': was, 'now': now, 'dimension': dimension,
        'values': CASE WHEN dimension IS NOT NULL THEN sizes END,
        'numbers': CASE WHEN kind = 'constant' THEN texts[:20] END,
        'distinct_numbers': CASE WHEN kind = 'constant' THEN distinct_numbers END,
        'distinct_values': CASE WHEN dimension IS NOT NULL THEN distinct_values END,
        'sizes': CASE WHEN dimension IS NOT NULL THEN  -- those of warm-up too, where they are known
            CASE WHEN pattern = 'varies' AND seen > 0 THEN seen ELSE distinct_values END END,
        'pattern': pattern, 'seen': seen, 'possible': possible,
        'full': r."full", 'loaders': loaders,
        'compilations': indices[:20], 'graphs': graphs, 'launches': launches,
        'warmed_up': warmed_up, 'others': total - count,
        'quiet': CASE WHEN l.name IS NULL THEN quiet END, 'settled': coalesce(r.settled AND l.name IS NULL, FALSE), 'limit': l.name, 'aborts': l.aborts, 'dynamic': l.dynamic, 'captured': captured,
        'reshaped': CASE WHEN kind = 'function' THEN new_shapes(r.process, indices) END,
        'same_types': for_same_types(r.process, indices),
        'explained': r.process IN (SELECT process FROM explaining_log),
        'untold': no_key(r.process, indices),
        'frame_ms': frame_ns / 1e6, 'step_ms': step_ns / 1e6,
        'changed_lines': CASE WHEN kind IN ('operations', 'growing') THEN lines[:6] END,
        'cut': CASE WHEN kind = 'unknown' THEN no_key(r.process, indices) AND EXISTS (
            FROM compilation o WHERE o.process = r.process AND list_contains(indices, o.index)
                AND o.compile_id IS NOT NULL AND o.duration_ns IS NULL AND o.end_ns IS NULL) END,
        'operator': CASE WHEN kind = 'unknown' THEN r.process IN (FROM operator_compiler) AND NOT EXISTS (
            FROM compilation o WHERE o.process = r.process AND list_contains(indices, o.index) AND o.compile_id IS NOT NULL) END
    } AS cause,
    kind, total, total_share, launches, unsettled, goes_on, marching, l.name IS NOT NULL AS limited,
    compiled_at.file IS NULL AS anywhere,
    coalesce(launches - last > total, FALSE) AS again
FROM recompiled_site r
LEFT JOIN (
    SELECT process, file, line, compiled, any_value(name) AS name, any_value(dynamic) AS dynamic,
           bool_or(aborts) AS aborts
    FROM compile_limit GROUP BY ALL
) l ON l.process = r.process AND l.file IS NOT DISTINCT FROM r.compiled_at.file
    AND l.line IS NOT DISTINCT FROM r.compiled_at.line AND l.compiled = r.compiled
LEFT JOIN (
    SELECT s.process, s.indices AS those, list_sort(list(DISTINCT {
        'file': coalesce(d.user_file, d.file), 'line': coalesce(d.user_line, d.line),
        'function': coalesce(d.user_function, d.function)
    })) AS loaders
    FROM recompiled_site s JOIN loader d ON d.process = s.process AND d.batch_size = s."full"
    WHERE NOT d.drop_last AND d.file IS NOT NULL AND coalesce(list_contains(s.sizes, d.last_batch), TRUE)
    GROUP BY s.process, s.indices
) b ON b.process = r.process AND b.those = r.indices
LEFT JOIN (
    SELECT process, list_sort(list(DISTINCT {
        'file': collate_file, 'line': collate_line, 'function': collate_function
    })) AS collates
    FROM loader WHERE collate_file IS NOT NULL GROUP BY process
) c ON c.process = r.process
LEFT JOIN frame_time f ON f.process = r.process AND f.frame = r.frame;

-- Compilations after warm-up whose cause is one of `kinds`, as the columns of a rule's row. Counted over all causes of a
-- site, `buckets` graphs are fine if they all come early, and `phases` graphs of another phase (evaluation) that are
-- launched again; where no lines tell sites apart, one of each cause: nothing tells that a longer run loses more. None are where the
-- compiler reached its limit of versions: it stopped there, which is not settling. The cause's line
-- comes first, the site second, then the line of the loader, if it is the only one, or of the
-- first use, or the program's only function that puts batches together.
-- > SELECT file, line, count, cause FROM recompiled(['input_shape'], 1, 0)
CREATE MACRO recompiled(kinds, buckets, phases) AS TABLE
SELECT
    * EXCLUDE (
        kind, total, total_share, launches, unsettled, goes_on, marching, limited, anywhere, again, early, few, phase
    ),
    limited OR (total_share IS NULL AND unsettled
        AND CASE WHEN launches IS NULL THEN total >= buckets ELSE count >= recurring() END) AS stalls,
    phase OR early AS healthy,
    CASE WHEN phase OR early THEN 'info' WHEN count >= recurring() AND unsettled AND NOT few THEN 'error' ELSE 'warning' END
        AS by_counts,
    CASE WHEN phase AND cause.pattern IS DISTINCT FROM 'last_batch' THEN 'info' WHEN few THEN 'warning' END AS highest
FROM (
    SELECT *, NOT limited AND NOT goes_on AND total < buckets AS early,
           NOT limited AND (NOT goes_on AND total < buckets OR total <= phases AND NOT marching AND again) AS few,
           NOT limited AND (total = 1 OR (anywhere AND count = 1 AND total < buckets) OR (kind <> 'input_shape' AND total <= if(kind = 'operations', buckets - 1, phases) AND again)) AS phase
    FROM recompiled_line WHERE list_contains(kinds, kind)
);
