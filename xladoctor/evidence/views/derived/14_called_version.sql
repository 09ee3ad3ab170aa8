-- Internal: Compiled functions of which a timeline alone tells, by the numbers that their compile_ids begin with: the `last`
-- version that was called, how many `versions` were, how often, and in how many `steps` one was compiled.
CREATE TABLE called_version AS
SELECT process, frame, max(version) AS last, count(DISTINCT version) AS versions, count(*) AS calls, any_value(c.steps) AS steps
FROM (
    SELECT process, split_part(compile_id, '/', 1) AS frame,
           TRY_CAST(split_part(compile_id, '/', 2) AS BIGINT) AS version
    FROM compiled_part
) p
LEFT JOIN (
    SELECT process, split_part(compile_id, '/', 1) AS frame, count(DISTINCT coalesce(step, -1)) AS steps
    FROM compilation WHERE NOT ends_with(compile_id, '/0') GROUP BY ALL
) c USING (process, frame)
WHERE process NOT IN (SELECT process FROM process WHERE began_ns IS NOT NULL)
  AND process NOT IN (SELECT process FROM key_change)
  AND NOT EXISTS (FROM late_compilation l WHERE l.process = p.process AND starts_with(l.compile_id, frame || '/'))
GROUP BY process, frame;
