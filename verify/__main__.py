"""``python -m verify`` is the command ``attnspec``."""

import sys

from verify.command.cli import main

sys.exit(main())
