-- Programs for several devices, and how often a step runs each: of a function that was compiled several times, the
-- program that ran in most calls.
-- * program_id: number of the program, as in placement and communication
-- * name: of the function; of the module where the framework does not compile functions
-- * file: path of the line that calls it
-- * line: that line, from 1
-- * function: function that the line is in
-- * devices: that its arrays are divided over
-- * mesh: axes of these devices, where they have names
-- * runs_a_step: in the longest loop of the process; 0 if it ran once, NULL if unknown
-- * variants: how often it was compiled
-- > SELECT name, mesh, runs_a_step FROM program_sharding
CREATE TABLE program_sharding AS
WITH turn AS (  -- a loop without barriers begins with a launch, before its first step ends
    SELECT process, steps + if(process IN (SELECT process FROM launch), 1, 0) AS turns
    FROM loop WHERE steps > 0
    QUALIFY row_number() OVER (PARTITION BY process ORDER BY duration_ns DESC, thread) = 1
),
elsewhere AS (  -- where lines launch what others compiled, a single launch of a line does not say that there are no more
    SELECT l.process FROM launch l LEFT JOIN compilation c USING (process, file, line)
    WHERE l.count > 1 AND NOT coalesce(l.operations, FALSE) AND c.process IS NULL
),
program AS (
    SELECT m.process, m.program_id, m.partitions AS devices, m.mesh, m.graph_hash, c.ordinal, c.launches,
           coalesce(c.user_file, c.file) AS file, coalesce(c.user_line, c.line) AS line,
           coalesce(c.user_function, c.function) AS function,
           coalesce(nullif(compiled_function(c.cause), ''), regexp_replace(m.name, '^jit_|\.\d+$', '', 'g')) AS name
    FROM hlo_module m LEFT JOIN compilation c ON c.process = m.process AND c.graph_hash = m.graph_hash
    WHERE m.partitions > 1
),
ruled AS (  -- calls until the next was compiled
    SELECT *, coalesce(lead(ordinal) OVER (PARTITION BY process, name, file, line ORDER BY ordinal, program_id),
                       launches) - ordinal AS calls
    FROM program
)
SELECT r.process, r.program_id, r.name, r.file, r.line, r.function, r.devices, r.mesh,
       CASE WHEN r.launches > 1 THEN r.launches / t.turns
            WHEN r.launches = 1 AND t.turns > 2 AND r.process IN (SELECT process FROM launch EXCEPT FROM elsewhere) THEN 0
       END AS runs_a_step,
       count(*) OVER (PARTITION BY r.process, r.name, r.file, r.line) AS variants
FROM ruled r LEFT JOIN turn t USING (process)
WHERE (r.process, r.program_id) IN (SELECT process, program_id FROM placement
                                    UNION SELECT process, program_id FROM communication)
QUALIFY row_number() OVER (PARTITION BY r.process, r.name, r.file, r.line ORDER BY r.calls DESC NULLS LAST, r.program_id DESC) = 1;

-- Internal: Their arguments, and results that are divided otherwise than the argument of the same path, or than those of
-- the same type: those that are alike but for numbers in their paths together. `given`: how that argument is divided.
CREATE TABLE divided_array AS
WITH named AS (  -- results with the paths that the capture recorded
    SELECT p.* REPLACE (coalesce(p.argument, r.argument) AS argument)
    FROM placement p JOIN program_sharding USING (process, program_id)
    JOIN hlo_module m USING (process, program_id)
    LEFT JOIN compilation c ON c.process = m.process AND c.graph_hash = m.graph_hash
    LEFT JOIN call_array r ON r.process = c.process AND r.index = c.index AND r.role = 'result' AND r.role = p.role
        AND r.number = p.number AND r.bytes = p.bytes
),
walked AS (SELECT *, regexp_extract_all(argument, '\.\w+|\[[^\]]*\]') AS steps FROM named),
argument AS (
    SELECT process, program_id, type, shape, spec, array_to_string(steps, '') AS path FROM walked WHERE role = 'argument'
),
ending AS (  -- result[0]['w'] has the end of params['w']
    SELECT process, program_id, number, type, shape,
           unnest(list_transform(range(1, len(steps) + 1), lambda first: array_to_string(steps[first:], ''))) AS path
    FROM walked WHERE role = 'result'
),
same AS (
    SELECT e.process, e.program_id, 'result' AS role, e.number, list(DISTINCT a.spec ORDER BY a.spec) AS specs
    FROM ending e JOIN argument a USING (process, program_id, type, shape, path) GROUP BY ALL
),
alike AS (
    SELECT process, program_id, 'result' AS role, type, shape, list(DISTINCT spec ORDER BY spec) AS specs FROM argument GROUP BY ALL
)
SELECT n.process, n.program_id, n.role, list(n.argument ORDER BY n.number) FILTER (n.argument IS NOT NULL) AS paths,
       count(*) AS arrays, n.type, n.shape, sum(n.bytes)::BIGINT AS bytes, sum(n.device_bytes)::BIGINT AS device_bytes,
       n.spec, any_value(n.copies) AS copies, if(len(s.specs) = 1, s.specs[1], '') AS given, min(n.number) AS number
FROM named n LEFT JOIN same s USING (process, program_id, role, number)
LEFT JOIN alike a USING (process, program_id, role, type, shape)
WHERE NOT coalesce(list_contains(coalesce(s.specs, a.specs), n.spec), FALSE)
GROUP BY n.process, n.program_id, n.role, n.type, n.shape, n.spec, s.specs, regexp_replace(n.argument, '\d+', '*', 'g');

-- Internal: What they send one another, by line, in a run. `axes`: how many devices communicate where these have no names.
CREATE TABLE moved AS
SELECT process, program_id, axes, kind, reason, sum(bytes * times)::BIGINT AS bytes, sum(times)::BIGINT AS times,
       file, line, any_value(function) AS function
FROM (
    SELECT c.* REPLACE (coalesce(nullif(c.axes, ''), c."group" || ' devices', '') AS axes,
                        coalesce(c.user_file, c.file) AS file, coalesce(c.user_line, c.line) AS line,
                        coalesce(c.user_function, c.function) AS function)
    FROM communication c JOIN program_sharding USING (process, program_id)
) GROUP BY process, program_id, axes, kind, reason, file, line;

-- Internal: Of these, what only divides values otherwise, with how often a step runs the program.
CREATE TABLE resharded AS
SELECT m.*, p.name, p.runs_a_step FROM moved m JOIN program_sharding p USING (process, program_id)
WHERE m.reason IN ('reshard', 'asked');

-- Internal: Programs for several devices, by what moves in a step, then those that may not be in steps.
CREATE TABLE ranked_program AS
SELECT p.*, row_number() OVER (
    ORDER BY p.runs_a_step IS NULL, m.bytes * coalesce(p.runs_a_step, 1) DESC NULLS LAST, p.process, p.program_id
) AS rank
FROM program_sharding p
LEFT JOIN (SELECT process, program_id, sum(bytes) AS bytes FROM moved GROUP BY ALL) m USING (process, program_id);
