"""Data sets from files, scikit-learn, OpenML and ASlib, and how they are split."""
