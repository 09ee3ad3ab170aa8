-- Looks at live memory in each process that had enough of them to show whether something grows: four, of which the
-- first is part of warm-up.
-- * looks: how many
-- * from_step: steps until the first
-- * to_step: steps until the last
-- > SELECT process, looks, from_step, to_step FROM memory_look
CREATE TABLE memory_look AS
SELECT process, count(DISTINCT step) AS looks, min(step) AS from_step, max(step) AS to_step
FROM live_memory GROUP BY process HAVING looks >= 4;

-- Internal: Lines with more arrays at each of the last three looks than at the one before, and not fewer a step than
-- until then: what has a limit grows more slowly when it gets there.
CREATE TABLE growing_line AS
WITH look AS (
    SELECT process, file, line, site(l) AS site, step, arrays, bytes,
           (arrays - lag(arrays) OVER before) / (step - lag(step) OVER before) AS more,
           (bytes - lag(bytes) OVER before) / (step - lag(step) OVER before) AS more_bytes,
           row_number() OVER (PARTITION BY process, file, line ORDER BY step DESC) AS back
    FROM live_memory l JOIN memory_look USING (process)
    WINDOW before AS (PARTITION BY process, file, line ORDER BY step)
)
SELECT process, file, line, any_value(site) AS site, max(step) AS to_step,
       max(more) FILTER (back = 1) AS more, max(more_bytes) FILTER (back = 1) AS more_bytes
FROM look WHERE back <= 3
GROUP BY process, file, line
HAVING bool_and(more > 0) AND count(more) = 3 AND max(more) FILTER (back = 1) >= most() * max(more)
   AND max(step) = (SELECT to_step FROM memory_look k WHERE k.process = look.process);

-- What grows for as long as the loop runs: arrays of the device, by the line that made them, and the object of the
-- program that holds them, where it was found. The line is NULL where the framework does not record it.
-- * name: variable, attribute or entry that leads to the object; NULL where none was found
-- * owner: function of that variable, or <module>
-- * class: of the object
-- * added_file: path of the line that adds to the object, where there is one such line
-- * added_line: that line
-- * added_function: function that it is in
-- * step: steps until the last look
-- * arrays: in the object at the last look
-- * bytes: their size
-- * arrays_per_step: how many more a step, between the last two looks
-- * bytes_per_step: their size; NULL where it is not known
-- * hidden_per_step: arrays a step that no object was found to hold, if the object's keep their graph
-- * keeps_graph: whether arrays in it keep what computing their gradient needs
-- * most: entries that the object can have at most, if it has a limit
-- * released: whether the source takes entries out, or makes the object again; NULL where it is not known
-- > SELECT name, added_line, arrays_per_step, bytes_per_step FROM memory_growth ORDER BY bytes_per_step DESC
CREATE TABLE memory_growth AS
WITH held AS (
    SELECT h.*, (arrays - before) / (h.step - k.step) AS more, h.step = g.to_step AS last,
           count(*) OVER same AS times, lag(more) OVER (same ORDER BY h.step) AS more_before
    FROM memory_holder h
    JOIN memory_look g USING (process)
    ASOF JOIN (SELECT DISTINCT process, step FROM live_memory) k ON k.process = h.process AND k.step < h.step
    WHERE NOT h.unread
    WINDOW same AS (PARTITION BY h.process, h.name, h.owner)
)
SELECT * EXCLUDE (hidden) FROM (
    SELECT l.process, unnest(l.site), h.name, h.owner, h.kind AS class, h.added_file, h.added_line, h.added_function,
           l.to_step AS step, h.arrays, h.bytes, coalesce(h.more, l.more) AS arrays_per_step,
           coalesce(h.more * h.bytes / h.arrays, l.more_bytes) AS bytes_per_step,
           l.more - sum(h.more) OVER (PARTITION BY l.process, l.file, l.line) AS hidden,
           CASE WHEN h.graphs > 0 AND hidden >= most() THEN hidden ELSE 0 END AS hidden_per_step,
           coalesce(h.graphs > 0, FALSE) AS keeps_graph, h.most, h.released
    FROM growing_line l
    LEFT JOIN held h ON h.process = l.process AND h.file IS NOT DISTINCT FROM l.file
        AND h.line IS NOT DISTINCT FROM l.line AND h.last AND h.times >= 2 AND h.more >= most() * h.more_before
);
