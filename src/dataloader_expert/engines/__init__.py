"""How work is distributed over processes inside a measuring child."""
