-- Internal: Graphs that were compiled for a TPU, where the executable could be read. `taken_bytes`: that one run
-- writes, with padding.
CREATE TABLE tpu_executable AS
SELECT *, written_bytes + padding_bytes AS taken_bytes, padding_bytes / greatest(written_bytes + padding_bytes, 1)
       AS padding_share
FROM tpu_graph WHERE written_bytes IS NOT NULL;

-- Internal: Those that write enough for shares of it to matter: below, arrays are of the size of tiles.
CREATE TABLE tpu_large AS SELECT * FROM tpu_executable WHERE taken_bytes >= 8 * 1024 * 1024;

-- Internal: Lines of a program that was compiled for a TPU, with what their operations write in one run of the graph, by
-- what they do: `padding` in bytes, and the array with the most of it.
CREATE TABLE tpu_line AS
SELECT graph, topology, does, file, line, any_value(function) AS function, any_value(user_file) AS user_file,
       any_value(user_line) AS user_line, any_value(user_function) AS user_function,
       if(line IS NULL, op_name, '') AS op_name, bool_or(op_name LIKE '%conv_general%' OR op_name LIKE '%convolution%')
       AS convolves,
       sum((coalesce(padded_bytes, bytes) - bytes) * times)::BIGINT AS padding,
       arg_max({'opcode': opcode, 'type': type, 'shape': shape, 'stored': stored},
               (coalesce(padded_bytes, bytes) - bytes) * times) AS most_padded
FROM tpu_operation GROUP BY ALL;

-- Internal: Graphs of which it is known whether they fit.
CREATE TABLE tpu_verdict AS SELECT * FROM tpu_graph WHERE verdict IN ('fits', 'does_not_fit');

-- Internal: Graphs of which it is known how much memory they need.
CREATE TABLE tpu_peak AS SELECT * FROM tpu_executable WHERE peak_bytes IS NOT NULL;

-- Internal: Arguments and results of a graph by type and shape: what one can take the place of.
CREATE TABLE tpu_held AS
SELECT graph, topology, role, type, shape, count(*) AS count, any_value(bytes) AS bytes,
       count(*) FILTER (donated) AS donated, list(name ORDER BY number) AS names
FROM tpu_buffer GROUP BY ALL;

-- Internal: Arguments of which results take the memory, or could, by type and shape: `updated_bytes` of both, and `count`
-- arguments of `bytes` each that no result takes the memory of.
CREATE TABLE tpu_twice AS
SELECT a.graph, a.topology, a.type, a.shape, a.names, a.bytes, least(a.count, r.count) * a.bytes AS updated_bytes,
       least(a.count - a.donated, r.count - least(r.count, a.donated)) AS count
FROM tpu_held a JOIN tpu_held r USING (graph, topology, type, shape)
WHERE a.role = 'argument' AND r.role = 'result';
