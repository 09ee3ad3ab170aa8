-- Internal: Saves, and copies to the host, in steady steps: by step, line, and `how`: saved or copied. Of copies
-- `share_of_steps`, as in read_in_loop, and `more_launches` than usual in that step tell those of a state from those of
-- results. `waiting`: the share of `samples` of the host in which a save waited until the one before it was written.
CREATE TABLE state_copy AS
WITH kept AS (
    SELECT v.process, v.thread, v.step, unnest(site(v)), v.count, v.duration_ns, 'saved' AS how, NULL AS share_of_steps
    FROM state_save v WHERE NOT v.tail
    UNION ALL
    SELECT c.process, c.thread, c.step, unnest(site(c)), c.count, c.duration_ns, 'copied',
           (SELECT max(share_of_steps) FROM read_in_loop r
            WHERE r.process = c.process AND r.thread = c.thread AND r.file = c.file AND r.line = c.line)
    FROM host_sync c WHERE NOT c.tail AND NOT c.closure AND c.kind IN ('cpu', 'numpy', 'to')
),
usual AS (
    SELECT process, thread, median(launches) AS launches FROM steady_step GROUP BY process, thread
),
waited AS (
    SELECT process, thread, coalesce(user_file, file) AS file, coalesce(user_line, line) AS line, sum(count) AS samples,
           sum(count) FILTER (function LIKE '%wait_until_finished') / sum(count) AS waiting
    FROM host_sample WHERE doing = 'save' AND coalesce(phase, 'loop') = 'loop' GROUP BY ALL
)
SELECT e.process, e.thread, e.step, e.how, e.file, e.line,
       any_value(e.function) AS function, unnest(any_value(caller(e))),
       sum(e.count) AS count, sum(e.duration_ns) AS duration_ns, any_value(e.share_of_steps) AS share_of_steps,
       any_value(s.launches - u.launches) AS more_launches, any_value(w.samples) AS samples, any_value(w.waiting) AS waiting
FROM kept e
JOIN steady_step s ON s.process = e.process AND s.thread = e.thread AND s.index = e.step
JOIN usual u ON u.process = e.process AND u.thread = e.thread
LEFT JOIN waited w ON e.how = 'saved' AND w.process = e.process AND w.thread = e.thread
    AND w.file = e.file AND w.line = e.line
GROUP BY e.process, e.thread, e.step, e.how, e.file, e.line;
