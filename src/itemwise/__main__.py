"""`python -m itemwise` is the command line, where the command itself is not on the path."""

from itemwise.cli import main

if __name__ == "__main__":
    main()
