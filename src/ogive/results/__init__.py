"""Results and what shows them: tables, numbers, figures."""
