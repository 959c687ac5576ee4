"""The official conformance suite against our server: fixtures that its scenarios ask for, and what we leave out on purpose."""
