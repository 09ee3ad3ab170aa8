"""Why a cache of compiled graphs on disk missed: two starts compared, by parts of their keys."""
