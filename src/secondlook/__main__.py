"""`python -m secondlook`, the same as the `secondlook` command."""

import sys

from secondlook.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
