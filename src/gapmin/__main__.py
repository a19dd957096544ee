"""The command line by the name of the package: ``python -m gapmin``."""

from gapmin.cli import main

if __name__ == "__main__":
    main()
