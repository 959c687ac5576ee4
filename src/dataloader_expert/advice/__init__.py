"""Judging: rules that give findings and settings that are advised. Pure: no file, no clock, no torch."""
