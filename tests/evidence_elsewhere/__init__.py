"""Evidence as people without xladoctor record it."""
