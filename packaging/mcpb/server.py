"""Starts the server that uv has installed; its arguments are those of the command."""

import sys

from dataloader_expert.server.command import main

sys.exit(main())
