"""Items that need a look, and respondents who know too much."""
