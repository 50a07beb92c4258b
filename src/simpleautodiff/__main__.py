"""`python -m simpleautodiff` is the command line."""

import sys

from simpleautodiff.cli import main

sys.exit(main())
