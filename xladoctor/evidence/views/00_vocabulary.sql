-- Whether an operator, as counters name it, has a trait; see table operator_trait.
CREATE MACRO has_trait(operator, trait_) AS
    operator IN (SELECT t.op FROM operator_trait t WHERE t.trait = trait_);

-- Metrics by what they measure: as in table metric_meaning.
CREATE VIEW measured AS
SELECT m.*, n.meaning FROM metric m JOIN metric_meaning n USING (name);
