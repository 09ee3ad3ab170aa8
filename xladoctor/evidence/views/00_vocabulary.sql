-- Whether an operator, as counters name it, has a trait; see table operator_trait.
CREATE MACRO has_trait(operator, trait_) AS
    operator IN (SELECT t.op FROM operator_trait t WHERE t.trait = trait_);

-- Metrics by what they measure: as in table metric_meaning.
CREATE VIEW measured AS
SELECT m.*, n.meaning FROM metric m JOIN metric_meaning n USING (name);

-- What a metrics report says of graphs; NULL where it was cut before.
CREATE VIEW reported AS
WITH counted AS (
    SELECT process, meaning, sum(value) AS value
    FROM counter JOIN metric_meaning USING (name) GROUP BY process, meaning
)
SELECT
    p.process,
    coalesce(c.samples, new.value) AS compiled, c.accumulator AS compile_ns,
    coalesce(e.samples, new.value + coalesce(again.value, 0)) AS launched,
    b.value AS barriers, coalesce(r.samples, f.samples) AS fetched, r.accumulator AS read_ns
FROM (SELECT process FROM metric UNION SELECT process FROM counter) p
LEFT JOIN measured c ON c.process = p.process AND c.meaning = 'compile'
LEFT JOIN measured e ON e.process = p.process AND e.meaning = 'execute'
LEFT JOIN measured r ON r.process = p.process AND r.meaning = 'read'
LEFT JOIN measured f ON f.process = p.process AND f.meaning = 'fetch'
LEFT JOIN counted new ON new.process = p.process AND new.meaning = 'compiled'
LEFT JOIN counted again ON again.process = p.process AND again.meaning = 'launched_again'
LEFT JOIN counted b ON b.process = p.process AND b.meaning = 'barrier';

-- Processes of which it is known what they compiled, which operators ran on the CPU, how often any
-- operator did (reads are counted with them).
CREATE VIEW compile_record AS
SELECT process FROM step UNION SELECT process FROM compilation
UNION SELECT process FROM reported WHERE compiled IS NOT NULL;

CREATE VIEW operator_record AS
SELECT process FROM step UNION
SELECT process FROM counter WHERE name NOT IN (SELECT name FROM metric_meaning);

CREATE VIEW operator_counts AS
SELECT process FROM step UNION
SELECT process FROM counter
WHERE value IS NOT NULL AND name NOT IN (SELECT name FROM metric_meaning);

CREATE VIEW read_record AS
SELECT process FROM operator_counts UNION SELECT process FROM reported WHERE fetched IS NOT NULL;

-- Processes whose report shows that steps pile up: half of the launches were of new graphs, and no
-- barrier was ever counted. Reports that are cut, or of releases that count no barriers, show nothing.
CREATE VIEW reported_piling AS
SELECT r.*, round(g.accumulator / g.samples)::BIGINT AS operations
FROM reported r
JOIN measured g ON g.process = r.process AND g.meaning = 'graph_size'
WHERE r.barriers IS NULL AND r.compiled >= 3 AND 2 * r.compiled >= r.launched
  AND r.process IN (SELECT process FROM operator_counts)
  AND NOT EXISTS (SELECT 1 FROM step) AND NOT EXISTS (SELECT 1 FROM compilation);

-- What to do instead of a read in a helper; NULL where no helper is known to read there.
CREATE MACRO cure_of(file_, function_, via_, kind_) AS (
    SELECT first(h.cure) FROM reading_helper h
    WHERE h.kind = kind_ AND CASE h.package
        WHEN '' THEN regexp_full_match(via_, h.function)
        ELSE contains(file_, '-packages/' || h.package || '/')
            AND regexp_matches(function_, '(' || h.function || ')$')
    END
);
