-- Call sites as structs, from rows with their columns (a table, or its alias); UNNEST turns them
-- back into columns.
-- > SELECT count(*) AS steps, unnest(site(step)) FROM step GROUP BY site(step)
CREATE MACRO site(row_) AS {
    'file': row_.file, 'line': row_.line, 'function': row_.function,
    'user_file': row_.user_file, 'user_line': row_.user_line, 'user_function': row_.user_function
};

-- The user's line that led to a library's; NULL where the named line is the user's own.
-- > SELECT line, unnest(caller(upload)) FROM upload
CREATE MACRO caller(row_) AS CASE WHEN row_.user_file IS NOT NULL THEN {
    'user_file': row_.user_file, 'user_line': row_.user_line, 'user_function': row_.user_function
} END;

-- For rows of one line, the user's line that most of the count comes from.
-- > SELECT line, unnest(commonest_caller(upload, count)) FROM upload GROUP BY line
CREATE MACRO commonest_caller(row_, count_) AS arg_max(caller(row_), [count_, row_.user_line]);

-- A site that explains a finding, by the user's line.
-- > SELECT unnest(related(optimizer, 'used')) FROM optimizer
CREATE MACRO related(row_, role_) AS {
    'related_file': coalesce(row_.user_file, row_.file),
    'related_line': coalesce(row_.user_line, row_.line),
    'related_function': coalesce(row_.user_function, row_.function), 'related_role': role_
};
