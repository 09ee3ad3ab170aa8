-- Internal: Graphs whose loop is outside of every module, and whose turns call one: what they repeat has
-- operations both within a module and outside. None has a backward pass. `turn`: a line outside.
CREATE TABLE called_in_turns AS
WITH RECURSIVE caller_of AS (
    SELECT process, program_id, frame, frame AS outer_ FROM hlo_frame
    UNION
    SELECT c.process, c.program_id, c.frame, f.parent
    FROM caller_of c
    JOIN hlo_frame f
        ON f.process = c.process AND f.program_id = c.program_id AND f.frame = c.outer_
    WHERE f.parent > 0
),
stack AS (
    SELECT c.process, c.program_id, c.frame, bool_or(f.function = '_call_impl') AS in_module
    FROM caller_of c
    JOIN hlo_frame f
        ON f.process = c.process AND f.program_id = c.program_id AND f.frame = c.outer_
    GROUP BY ALL
)
SELECT r.process, r.program_id,
       min_by({'file': coalesce(p.user_file, p.file), 'line': coalesce(p.user_line, p.line)},
              (p.file, p.line)) FILTER (NOT s.in_module) AS turn
FROM repetition r
JOIN repeated_place p USING (process, program_id)
JOIN stack s ON s.process = p.process AND s.program_id = p.program_id AND s.frame = p.frame
WHERE NOT r.trains AND in_each_copy(p.times, r.copies) AND NOT EXISTS (
    SELECT 1 FROM computing c
    WHERE c.process = r.process AND c.program_id = r.program_id AND c.pass = 'backward'
)
GROUP BY r.process, r.program_id HAVING bool_or(s.in_module) AND NOT bool_and(s.in_module);

-- Internal: Graphs that are slow to compile because of what they repeat, those of one line together. Of a
-- kind: layers, each with weights of its own; batches, over the same weights; turns of a loop that
-- calls a model and does not train; or any other loop. A graph counts that takes `compile_s` seconds
-- and has `least_` copies; those of a line are worth `saved_s` seconds and `share` of all compiling in
-- their process. Steps that pile up for lack of a barrier are another finding.
CREATE MACRO slow_repetition(kind_, compile_s, least_, saved_s, share) AS TABLE
WITH repeated AS (
    SELECT r.*, c.index, c.duration_ns, c.duration_ns * r.part AS saved_ns, site(c) AS compiled,
           coalesce(c.ordinal >= c.launches * 2 / 3, FALSE) AS late,
           compiled_function(c.cause) AS called, m.instructions,
           NOT coalesce(s.tail AND NOT l.without_barrier, FALSE) AS in_loop,
           CASE WHEN r.layers THEN 'layers' WHEN b.count >= most() * r.copies THEN 'batches'
                WHEN t.process IS NOT NULL THEN 'turns' ELSE 'loop' END AS kind,
           if(kind = 'batches', b.loop, NULL) AS body, if(kind = 'turns', t.turn, NULL) AS turn
    FROM repetition r
    JOIN hlo_module m USING (process, program_id)
    JOIN compilation c ON c.process = m.process AND c.graph_hash = m.graph_hash
    LEFT JOIN batches_in_graph b USING (process, program_id)
    LEFT JOIN called_in_turns t USING (process, program_id)
    LEFT JOIN step s ON s.process = c.process AND s.thread = c.thread AND s.index = c.step
    LEFT JOIN loop l ON l.process = c.process AND l.thread = c.thread
    WHERE r.copies >= least_ AND c.duration_ns >= compile_s * 1e9
      AND r.process NOT IN (SELECT process FROM missing_barrier)
),
looping AS (
    SELECT process, max(duration_ns) AS duration_ns FROM loop GROUP BY process
),
worst AS (  -- the graphs of one line; the first step often compiles another than the second
    SELECT r.process, arg_max(r, r.saved_ns) AS graph, list(r.index ORDER BY r.index) AS graphs,
           sum(r.duration_ns) AS duration_ns, sum(r.saved_ns) AS saved_ns,
           -- where each step compiles, for whatever reason, a longer run compiles more of them
           count(*) > warmup() AND bool_or(r.late) AS goes_on,
           -- convolutions take long however few; the weights of layers have to be put together
           arg_max(r.convolves OR r.bare OR r.layers, r.saved_ns) AS rough
    FROM repeated r WHERE r.kind = kind_ GROUP BY r.process, r.file, r.line, r.in_loop
)
SELECT
    w.process, unnest(site(w.graph)), unnest(related(w.graph.compiled, 'compiled')),
    w.graph.copies AS count,
    w.saved_ns::BIGINT AS cost_ns,
    CASE WHEN w.rough THEN 'bound' ELSE 'estimate' END AS cost_basis,
    CASE WHEN w.graph.in_loop AND NOT w.rough THEN [
        claim('constant_cost', 'compile', compilations_ := w.graphs,
              -- the first batch makes gradients, those of the others are added; what the first turn begins with is
              -- recorded, too: two graphs
              to_ns_ := least(w.duration_ns, (w.duration_ns - w.saved_ns)
                  * if(w.graph.kind IN ('batches', 'turns') AND len(w.graphs) = 1, 2, 1)))
    ] || CASE WHEN w.graph.kind = 'loop' AND w.graph.trains
              THEN [claim('remove', 'tracing', part_ := w.graph.part)]  -- Python records one turn
              ELSE [] END
    END AS claim,
    NOT w.goes_on AS settled, NOT w.graph.in_loop AS outside_loop,
    CASE WHEN NOT w.goes_on AND w.graph.kind IN ('turns', 'batches') THEN 'warning' END AS highest,  -- it compiled once
    CASE WHEN w.graph.bare THEN w.graphs END AS compilations,
    w.saved_ns / nullif(l.duration_ns, 0) AS share_of_loop,
    {'kind': w.graph.kind, 'op': w.graph.opcode, 'graphs': len(w.graphs), 'settled': NOT w.goes_on,
     'compiled': w.graph.called, 'loop': w.graph.body, 'turn': w.graph.turn, 'program': w.graph.program_id,
     'trains': w.graph.trains, 'graph_instructions': w.graph.instructions,
     'repeated_share': round(w.graph.part, 4), 'compile_s': round(w.duration_ns / 1e9, 3),
     'share_of_compiling': round(w.duration_ns / c.duration_ns, 4), 'lines': h.lines} AS cause,
    {'heaviest': if(h.words IS NULL, '', ' A' || h.words[2:] || '.')} AS phrases
FROM worst w
JOIN compiling_time c USING (process)
LEFT JOIN heaviest_line h ON h.process = w.process AND h.index = w.graph.index AND len(w.graphs) = 1
LEFT JOIN looping l USING (process)
WHERE w.saved_ns >= saved_s * 1e9 AND w.saved_ns >= share * c.duration_ns;

-- Internal: Functions that go through a line of theirs so often that compiling them takes `saved_s` seconds more for it,
-- and `share` of all compiling, though their graphs do not show the repetition: the compiler folds the turns.
CREATE MACRO folded_repetition(saved_s, share) AS TABLE
SELECT
    r.process, unnest(site(r)), unnest(related(c, 'compiled')), r.copies AS count,
    (least(r.part, 0.95) * c.duration_ns)::BIGINT AS cost_ns, 'estimate' AS cost_basis,
    [claim('constant_cost', 'compile', compilations_ := [c.index],
           to_ns_ := (1 - least(r.part, 0.95)) * c.duration_ns)] AS claim,
    TRUE AS settled,
    {'kind': 'loop', 'op': r.op, 'graphs': 1, 'settled': TRUE, 'compiled': compiled_function(c.cause), 'trains': FALSE,
     'graph_instructions': r.operations, 'repeated_share': round(r.part, 4),
     'compile_s': round(c.duration_ns / 1e9, 3), 'share_of_compiling': round(c.duration_ns / a.duration_ns, 4),
     'folded': TRUE, 'lines': h.lines} AS cause,
    {'heaviest': if(h.words IS NULL, '', ' A' || h.words[2:] || '.')} AS phrases
FROM repeated_line r
JOIN compilation c USING (process, index)
JOIN compiling_time a USING (process)
LEFT JOIN heaviest_line h USING (process, index)
WHERE r.part * c.duration_ns >= saved_s * 1e9 AND r.part * c.duration_ns >= share * a.duration_ns
  AND c.index NOT IN (
      SELECT e.index FROM repetition q JOIN hlo_module n USING (process, program_id)
      JOIN compilation e ON e.process = n.process AND e.graph_hash = n.graph_hash WHERE e.process = c.process
  )
  AND (r.part >= 0.5 OR (c.process, c.index) NOT IN (SELECT (process, unnest(compilations)) FROM folded_constant));

-- Internal: Graphs of an inference loop whose turns go over the same layers with ever larger inputs, as sampling that appends
-- to a sequence does. They are compiled late, and so have no lines; that they give back fewer tensors than the layers
-- have matrices tells them from training.
CREATE MACRO outgrown_repetition(compile_s, least_, saved_s, share) AS TABLE
SELECT c.process, unnest(site(c)), g.copies AS count,
       (c.duration_ns * (1 - 1 / g.copies))::BIGINT AS cost_ns, 'estimate' AS cost_basis,
       CASE WHEN s.tail THEN NULL ELSE [
           claim('constant_cost', 'compile', compilations_ := [c.index], to_ns_ := c.duration_ns / g.copies)
       ] END AS claim,
       TRUE AS settled, coalesce(s.tail, FALSE) AS outside_loop, 'warning' AS highest,
       {'kind': 'outgrown', 'op': 'dot', 'graphs': 1, 'graph_instructions': z.instructions,
        'compile_s': round(c.duration_ns / 1e9, 3)} AS cause
FROM outgrown_weights g
JOIN hlo_module m USING (process, program_id)
JOIN compilation c ON c.process = m.process AND c.graph_hash = m.graph_hash
JOIN compiling_time a ON a.process = c.process
LEFT JOIN graph_size z ON z.process = c.process AND z.graph_hash = c.graph_hash
LEFT JOIN step s ON s.process = c.process AND s.thread = c.thread AND s.index = c.step
WHERE g.copies >= least_ AND c.outputs < g.weights AND c.duration_ns >= compile_s * 1e9
  AND cost_ns >= saved_s * 1e9 AND cost_ns >= share * a.duration_ns
  AND c.process NOT IN (SELECT process FROM missing_barrier);
