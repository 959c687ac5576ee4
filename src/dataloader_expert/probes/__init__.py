"""One experiment each: a frozen description with ``measure() -> facts``. They run in the measuring child."""
