-- What a fix does to the timeline, for the column `claim` of a rule's row; docs/savings.md has the
-- vocabulary.
-- > SELECT file, line, claim('remove', 'read', file, line) AS claim FROM host_sync
CREATE MACRO claim(do_, what_, file_ := NULL, line_ := NULL, part_ := 1.0, to_ns_ := 0.0,
                   compilations_ := NULL) AS {
    'do': do_, 'what': what_, 'file': file_::VARCHAR, 'line': line_::INTEGER,
    'part': part_::DOUBLE, 'to_ns': to_ns_::DOUBLE, 'compilations': compilations_::INTEGER[]
};
