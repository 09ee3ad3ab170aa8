-- What compiled programs take of a device's memory at their peaks, and how often each was compiled:
-- of each function that a line calls, the largest.
-- * program_id: number of the program, as in memory_buffer
-- * name: of the function; NULL where the framework does not compile functions
-- * file: path of the line that calls it
-- * line: that line, from 1
-- * function: function that the line is in
-- * memory_bytes: what it takes, arguments and results included
-- * device_kind: what it was compiled for
-- * variants: how often it was compiled
-- > SELECT name, file, line, memory_bytes / 1e6 AS mb FROM program_memory ORDER BY memory_bytes DESC
CREATE TABLE program_memory AS
WITH program AS (
    SELECT m.process, m.program_id, m.memory_bytes, p.device_kind, c.file, c.line, c.function,
           nullif(coalesce(nullif(compiled_function(c.cause), ''), regexp_extract(m.name, '^jit_(.*)$', 1)), '')
               AS name
    FROM hlo_module m
    LEFT JOIN process p USING (process)
    LEFT JOIN compilation c ON c.process = m.process AND c.graph_hash = m.graph_hash
    WHERE m.memory_bytes IS NOT NULL
)
SELECT process, program_id, name, file, line, function, memory_bytes, device_kind,
       count(*) OVER same AS variants
FROM program
WINDOW same AS (PARTITION BY process, name, file, line)
QUALIFY row_number() OVER (
    PARTITION BY process, name, file, line ORDER BY memory_bytes DESC, program_id
) = 1;
