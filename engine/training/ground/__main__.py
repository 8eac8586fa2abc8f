"""python -m ground train NETWORK … (see README.md)."""
import sys

from .commands import main

sys.exit(main())
