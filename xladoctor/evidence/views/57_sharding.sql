-- Internal: Why an operation communicates, in words; NULL for what a program calls.
CREATE MACRO why_communicated(reason) AS CASE reason
    WHEN 'gradients' THEN 'sums gradients' WHEN 'sums' THEN 'sums over a divided dimension'
    WHEN 'argument' THEN 'makes a divided argument whole' WHEN 'result' THEN 'divides a result otherwise'
    WHEN 'reshard' THEN 'divides a value otherwise' WHEN 'asked' THEN 'divides a value as the program asks there'
    WHEN 'neighbours' THEN 'fetches parts of neighbours' END;

-- Internal: Programs of several devices that run again and again, with the line that calls each. `main`: whether it is the
-- largest of them.
CREATE TABLE divided_program AS
SELECT m.process, m.program_id, c.index, m.mesh, m.partitions, c.launches, site(c) AS called,
       coalesce(nullif(compiled_function(c.cause), ''), regexp_extract(m.name, '^jit_(.*)$', 1)) AS name,
       row_number() OVER (PARTITION BY m.process ORDER BY coalesce(m.memory_bytes, 0) DESC, m.program_id) = 1 AS main
FROM hlo_module m JOIN compilation c USING (process, graph_hash)
WHERE m.partitions > 1 AND coalesce(c.launches, 3) >= 3;

-- Internal: Axes of the meshes of these programs.
CREATE TABLE divided_axis AS
SELECT process, program_id, name, partitions, main, called, split_part(axis, '=', 1) AS axis,
       split_part(axis, '=', 2)::BIGINT AS size
FROM (SELECT *, unnest(string_split(mesh, ', ')) AS axis FROM divided_program);

-- Internal: Arguments of these programs. `state`: whether a result, divided likewise, could be its next value; `whole`: whether each device has
-- all of it; `name`: of the argument of the function that it is in.
CREATE TABLE divided_argument AS
SELECT p.*, p.copies = d.partitions AS whole, d.partitions, d.name AS program, d.called, d.main,
       coalesce(regexp_extract(p.argument, '^\w+'), '') AS name,
       EXISTS (FROM placement r WHERE r.process = p.process AND r.program_id = p.program_id AND r.role = 'result'
               AND r.shape = p.shape AND r.type = p.type AND r.spec = p.spec) AS state
FROM placement p JOIN divided_program d USING (process, program_id) WHERE p.role = 'argument';

-- Internal: Arguments that each device has whole, though others like it are divided: those of the same dimensions, or most of
-- what the same argument of the function holds. `like_argument`, `spec_of_like`: one that is divided. Optimizers may divide
-- their state over the axis of the batch while parameters are whole, so there more have to be whole than divided.
CREATE TABLE undivided_argument AS
WITH alike AS (
    SELECT process, program_id, shape, count(*) FILTER (whole) > count(*) FILTER (NOT whole) AS mostly_whole
    FROM divided_argument WHERE state GROUP BY ALL
),
pair AS (
    SELECT w.*, d.argument AS like_argument, d.spec AS spec_of_like, d.axes AS axes_of_like, d.copies AS copies_of_like,
           d.shape = w.shape AS same_shape
    FROM divided_argument w JOIN divided_argument d USING (process, program_id)
    WHERE w.whole AND NOT d.whole AND w.state AND d.state
      AND NOT EXISTS (FROM divided_argument b JOIN alike a ON a.process = w.process AND a.program_id = w.program_id
                          AND a.shape = w.shape AND NOT a.mostly_whole
                      WHERE b.process = w.process AND b.program_id = w.program_id AND NOT b.state
                        AND list_has_any(string_split(b.axes, ', '), string_split(d.axes, ', ')))
      AND (d.shape = w.shape OR d.name = w.name AND len(d.shape) = len(w.shape))
    QUALIFY row_number() OVER (
        PARTITION BY w.process, w.program_id, w.number ORDER BY d.shape <> w.shape, d.name <> w.name, d.bytes DESC, d.number
    ) = 1
),
of_name AS (
    SELECT process, program_id, name, sum(bytes) FILTER (NOT whole) / sum(bytes) AS divided, sum(device_bytes) AS device_bytes
    FROM divided_argument GROUP BY ALL
)
SELECT p.*, o.divided, o.device_bytes AS device_bytes_of_name FROM pair p JOIN of_name o USING (process, program_id, name);

-- Internal: Axes along which all devices compute the same: nothing is divided over them but arguments that are made whole
-- before they are used, and what has their dimensions.
CREATE TABLE idle_axis AS
WITH gathered AS (
    SELECT c.process, c.program_id, a.axis, p.shape
    FROM communication c JOIN divided_axis a ON a.process = c.process AND a.program_id = c.program_id AND a.axis = c.axes
    JOIN placement p ON p.process = c.process AND p.program_id = c.program_id AND p.role = 'argument' AND p.number = c.argument
    WHERE c.reason = 'argument'
)
SELECT a.*, EXISTS (FROM gathered g WHERE g.process = a.process AND g.program_id = a.program_id AND g.axis = a.axis) AS gathers
FROM divided_axis a
WHERE a.main AND a.size > 1
  AND NOT EXISTS (FROM communication c WHERE c.process = a.process AND c.program_id = a.program_id
                  AND (c.axes = '' OR c.reason <> 'argument' AND list_contains(string_split(c.axes, ', '), a.axis)
                       OR c.axes <> a.axis AND regexp_matches(c.axes, '\b' || a.axis || '\b')))
  AND NOT EXISTS (FROM placement p WHERE p.process = a.process AND p.program_id = a.program_id
                  AND list_contains(string_split(p.axes, ', '), a.axis)
                  AND p.shape NOT IN (SELECT shape FROM gathered g WHERE g.process = a.process
                                      AND g.program_id = a.program_id AND g.axis = a.axis));
