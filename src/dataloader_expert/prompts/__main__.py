"""``python -m dataloader_expert.prompts > agent.md`` regenerates the subagent file."""

import sys

from dataloader_expert.prompts import agent_md

sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]  # the same bytes on every system
sys.stdout.write(agent_md())
