"""``python -m verify`` is the command ``attnspec``."""

import sys

from verify.cli import main

sys.exit(main())
