-- Whether an operator, as counters name it, has a trait; see table operator_trait.
CREATE MACRO has_trait(operator, trait_) AS
    operator IN (SELECT t.op FROM operator_trait t WHERE t.trait = trait_);

-- Metrics by what they measure: as in table metric_meaning.
CREATE VIEW measured AS
SELECT m.*, n.meaning FROM metric m JOIN metric_meaning n USING (name);

-- What to do instead of a read in a helper; NULL where no helper is known to read there.
CREATE MACRO cure_of(file_, function_, via_, kind_) AS (
    SELECT first(h.cure) FROM reading_helper h
    WHERE h.kind = kind_ AND CASE h.package
        WHEN '' THEN regexp_full_match(via_, h.function)
        ELSE contains(file_, '-packages/' || h.package || '/')
            AND regexp_matches(function_, '(' || h.function || ')$')
    END
);
