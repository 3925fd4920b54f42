"""``python -m treadle``: the ``treadle`` command, where the folder of scripts is not on the path."""

import sys

from treadle.compile.command_line import main

sys.exit(main())
