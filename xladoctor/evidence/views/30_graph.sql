-- Loops that lack a barrier: the optimizer was updated at least twice for each barrier that
-- launched work, so that several steps pile up in one graph.
CREATE VIEW missing_barrier AS
SELECT *
FROM loop
WHERE optimizer_steps >= 4 AND optimizer_steps >= 2 * coalesce(barriers, 0);

-- Compilations, with what changed against the ones that their call site compiled before.
CREATE VIEW compiled_again AS
SELECT
    c.*, r.kind, r.basis, r.parameter, r.from_shape, r.to_shape, r.dimension, r.value,
    r.made_file, r.made_line, r.made_function
FROM compilation c
LEFT JOIN recompilation r ON r.process = c.process AND r.index = c.index;

-- Operators that ran on the CPU because XLA has no lowering for them: their counts from the
-- report, their lines from the probe steps. `.item()` and its kin have a counter too, but are reads.
-- What an operator costs in the backward pass belongs to the line of its forward pass.
CREATE VIEW fallback_op AS
WITH counted AS (
    SELECT process, name AS op, value, regexp_replace(name, '(_backward)?([.].*)?$', '') AS base
    FROM counter
    WHERE contains(name, '::') AND NOT starts_with(name, 'xla::')
      AND NOT starts_with(name, 'torch_xla::') AND name <> 'aten::_local_scalar_dense'
),
seen AS (
    SELECT process, op, sum(count) AS total FROM fallback GROUP BY ALL
),
placed AS (
    SELECT
        c.process, c.op, c.base, f.file, f.line, f.function,
        f.user_file, f.user_line, f.user_function,
        coalesce(f.via IN ('backward', 'grad'), FALSE) AS backward,
        coalesce(round(c.value * f.count / s.total), c.value) AS count,
        coalesce(round(c.value * f.count / s.total), c.value) * f.duration_ns / f.count AS cost_ns
    FROM counted c
    LEFT JOIN fallback f ON f.process = c.process AND f.op = c.op
    LEFT JOIN seen s ON s.process = c.process AND s.op = c.op
),
forward AS (
    SELECT *, row_number() OVER (PARTITION BY process, base ORDER BY count DESC, line) AS nth
    FROM placed WHERE NOT backward
),
backward AS (
    SELECT process, base, sum(count) AS count, sum(cost_ns) AS cost_ns, any_value(line) AS line
    FROM placed WHERE backward GROUP BY ALL
)
SELECT
    f.process, f.op, f.file, f.line, f.function, f.user_file, f.user_line, f.user_function,
    (f.count + coalesce(b.count, 0))::BIGINT AS count,
    (f.cost_ns + coalesce(b.cost_ns, 0))::BIGINT AS cost_ns,
    coalesce(b.count, 0)::BIGINT AS backward_count,
    f.base IN ('aten::nonzero', 'aten::nonzero_static', 'aten::masked_select', 'aten::_unique',
               'aten::_unique2', 'aten::unique_dim', 'aten::unique_consecutive',
               'aten::unique_dim_consecutive') AS dynamic
FROM forward f
LEFT JOIN backward b ON b.process = f.process AND b.base = f.base AND f.nth = 1
UNION ALL
SELECT
    p.process, p.op, p.file, p.line, p.function, p.user_file, p.user_line, p.user_function,
    p.count::BIGINT, p.cost_ns::BIGINT, p.count::BIGINT, FALSE
FROM placed p
WHERE p.backward
  AND NOT EXISTS (SELECT 1 FROM forward f WHERE f.process = p.process AND f.base = p.base);
