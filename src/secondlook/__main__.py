"""`python -m secondlook`, the same as the `secondlook` command."""

import os
import sys

# Python looks for modules in the working folder first: no code of a folder with documents is run.
if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath("."):
    del sys.path[0]

from secondlook.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
