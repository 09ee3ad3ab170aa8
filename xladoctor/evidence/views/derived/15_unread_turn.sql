-- Internal: The turns of table growing_turn as columns of a rule's row. `body`: what a barrier belongs at the end of, a loop or an
-- optimizer's closure.
CREATE TABLE unread_turn AS
SELECT t.process, unnest(t.site),
       unnest(CASE WHEN any_value(f.closure) IS NOT NULL THEN {
           'related_file': any_value(f.closure.file), 'related_line': any_value(f.closure.line),
           'related_function': any_value(f.closure.function), 'related_role': 'closure'}
       WHEN any_value(e.loop_file) IS NOT NULL THEN {
           'related_file': any_value(e.loop_file), 'related_line': any_value(e.first_line),
           'related_function': any_value(e.loop_function), 'related_role': 'loop'} END),
       unnest(also(any_value(t.place), 'left')),
       count(DISTINCT c.index) AS count, sum(c.duration_ns)::BIGINT AS cost_ns,
       'measured' AS cost_basis,
       [claim('compile_once', 'compile', compilations_ := list(DISTINCT c.index ORDER BY c.index))] AS claim,
       count(DISTINCT t.step) = 1 AS settled, list(DISTINCT c.index ORDER BY c.index) AS compilations,
       if(any_value(f.process) IS NULL, 'loop', 'closure') AS body,
       {'kind': 'reads', 'op': any_value(t.op), 'most': max(t.most),
        'after': count(DISTINCT c.index) FILTER (list_contains(t.leftover, c.index))} AS cause
FROM growing_turn t
JOIN compilation c ON c.process = t.process AND list_contains(t.indices || t.leftover, c.index)
LEFT JOIN repeated_closure f ON f.process = t.process AND f.file = t.site.file AND f.line = t.site.line
LEFT JOIN (
    SELECT DISTINCT ON (process, file, line) * FROM enclosing_loop WHERE depth = 0
) e ON e.process = t.process AND e.file = t.site.file AND e.line = t.site.line
GROUP BY t.process, t.thread, t.site, t.via;
