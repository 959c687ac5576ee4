"""How shards are mapped inside a measuring child."""
