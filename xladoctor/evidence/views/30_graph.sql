-- Loops that lack a barrier: the optimizer was updated at least twice for each barrier that
-- launched work, so that several steps pile up in one graph.
CREATE VIEW missing_barrier AS
SELECT *
FROM loop
WHERE optimizer_steps >= 4 AND optimizer_steps >= 2 * coalesce(barriers, 0);

-- Compilations of a call site after its first launches, with what changed.
CREATE VIEW compiled_again AS
WITH launched AS (
    SELECT process, file, line, via, count(*) AS launches FROM execution GROUP BY ALL
)
SELECT
    c.*, r.kind, r.basis, r.parameter, r.from_shape, r.to_shape, r.dimension, r.value,
    r.made_file, r.made_line, r.made_function, coalesce(l.launches, 0) AS launches
FROM compilation c
LEFT JOIN recompilation r ON r.process = c.process AND r.index = c.index
LEFT JOIN launched l ON l.process = c.process AND l.file IS NOT DISTINCT FROM c.file
    AND l.line IS NOT DISTINCT FROM c.line AND l.via IS NOT DISTINCT FROM c.via;

-- Operators that ran on the CPU because XLA has no lowering for them: their counts from the
-- report, their lines from the probe steps. `.item()` and its kin have a counter too, but are reads.
CREATE VIEW fallback_op AS
WITH counted AS (
    SELECT process, name AS op, value FROM counter
    WHERE contains(name, '::') AND NOT starts_with(name, 'xla::')
      AND NOT starts_with(name, 'torch_xla::') AND name <> 'aten::_local_scalar_dense'
),
seen AS (
    SELECT process, op, sum(count) AS total FROM fallback GROUP BY ALL
)
SELECT
    c.process, c.op, f.file, f.line, f.function, f.user_file, f.user_line, f.user_function,
    coalesce(round(c.value * f.count / s.total), c.value)::BIGINT AS count,
    (coalesce(round(c.value * f.count / s.total), c.value) * f.duration_ns / f.count)::BIGINT
        AS cost_ns,
    c.op IN ('aten::nonzero', 'aten::nonzero_static', 'aten::masked_select', 'aten::_unique',
             'aten::_unique2', 'aten::unique_dim', 'aten::unique_consecutive',
             'aten::unique_dim_consecutive') AS dynamic
FROM counted c
LEFT JOIN fallback f ON f.process = c.process AND f.op = c.op
LEFT JOIN seen s ON s.process = c.process AND s.op = c.op;
