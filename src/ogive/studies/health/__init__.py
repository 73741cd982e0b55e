"""Items that need a look, saturation, and respondents who are right more often than expected."""
