"""Whether a change leaves all that is read, judged and printed as it was."""
