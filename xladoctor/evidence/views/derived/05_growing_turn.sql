-- Internal: Loops without a barrier of their own, in programs that have others: between two barriers reads at one
-- line cut graphs of which each repeats an operation more often than the one before, as what a turn
-- leaves unread is in the graphs of all later turns. `leftover`: graphs cut right after, elsewhere,
-- that begin with what is left. Where the loop ends its turns with a barrier, or is a model's own, graphs grow within a turn.
CREATE TABLE growing_turn AS
WITH grown AS (
    SELECT c.process, c.thread, c.step, c.index, site(c) AS site, c.via,
           {'file': g.file, 'line': g.line, 'function': g.function} AS place, g.op,
           g.nature, g.now_count
    FROM compilation c
    JOIN graph_change g ON g.process = c.process AND g.index = c.index
        AND g.nature IN ('count', 'added') AND g.now_count > g.was_count
    WHERE c.step IS NOT NULL AND c.file IS NOT NULL AND c.process NOT IN (SELECT process FROM missing_barrier)
      AND (c.process, c.file, c.line) NOT IN (SELECT (process, file, line) FROM line_of_ended_loop)
),
turn AS (
    SELECT DISTINCT ON (process, thread, step, site, via)
           process, thread, step, site, via, place, op, list(index ORDER BY index) AS indices,
           max(now_count) AS most
    FROM grown WHERE nature = 'count' GROUP BY process, thread, step, site, via, place, op
    HAVING count(*) >= recurring()
    ORDER BY process, thread, step, site, via, count(*) DESC, op
),
leftover AS (
    SELECT t.process, t.thread, t.step, t.site, t.via, list(g.index ORDER BY g.index) AS indices
    FROM turn t
    JOIN grown g ON g.process = t.process AND g.thread = t.thread AND g.place = t.place
        AND g.op = t.op AND g.step BETWEEN t.step AND t.step + 1 AND g.index > t.indices[-1]
        AND (g.site, g.via) IS DISTINCT FROM (t.site, t.via) AND g.now_count >= t.most
    GROUP BY ALL
)
SELECT t.*, coalesce(l.indices, []) AS leftover
FROM turn t
LEFT JOIN leftover l USING (process, thread, step, site, via);
