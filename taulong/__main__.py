"""``python -m taulong`` is the console script ``taulong``."""

import sys

from taulong.cli import main

if __name__ == "__main__":
    sys.exit(main())
