"""The command line: reads a file, calls a function, writes a file; no logic."""
