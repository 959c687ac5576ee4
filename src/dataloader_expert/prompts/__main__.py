"""``python -m dataloader_expert.prompts > agent.md`` makes the subagent file anew."""

import sys

from dataloader_expert.prompts import agent_md

sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]  # the same bytes on every system
sys.stdout.write(agent_md())
