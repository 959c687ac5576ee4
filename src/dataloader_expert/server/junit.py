"""A result as JUnit's XML, which CI systems show: a test case for each check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as xml

from dataloader_expert.errors import RequestError
from dataloader_expert.server.gating import Gate

if TYPE_CHECKING:
    from dataloader_expert.report import FindingLine

MOST_PLACES = 20


def write(report: Any, file: Path, gate: Gate) -> None:
    """Writes the result of check_quality: what fails at the gate is a failure, what is ignored or unknown is skipped.

    Raises:
        RequestError: ``invalid-argument`` if the file cannot be written.
    """
    found: dict[str, list[FindingLine]] = {}
    for one in report.findings:
        found.setdefault(one.code, []).append(one)
    failing = gate.failing(report)
    statuses = {line.id: line.status for line in report.checks} | dict.fromkeys(report.passed_checks, "pass")
    suite = xml.Element("testsuite", name="dataloader-expert check", time=str(report.elapsed_s))
    totals = {"tests": 0, "failures": 0, "skipped": 0}
    for code in sorted(statuses | found):
        case = xml.SubElement(suite, "testcase", classname="dataloader-expert.check", name=code)
        known = [f for f in found.get(code, ()) if gate.ignores(f)]
        bad = [f for f in failing if f.code == code]
        totals["tests"] += 1
        if bad:
            totals["failures"] += 1
            xml.SubElement(case, "failure", message=bad[0].message, type=bad[0].severity).text = "\n".join(
                map(_told, bad)
            )
        elif known or statuses.get(code) == "unknown":
            totals["skipped"] += 1
            xml.SubElement(case, "skipped", message="ignored" if known else "not known")
        elif code in found:
            xml.SubElement(case, "system-out").text = "\n".join(map(_told, found[code]))
    suite.attrib |= {name: str(n) for name, n in totals.items()}
    xml.indent(suite)
    try:
        xml.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as e:
        raise RequestError("invalid-argument", f"{file} cannot be written: {e.strerror}") from None


def _told(finding: FindingLine) -> str:
    places = ", ".join(str(p.get("file") or p.get("sample", p.get("field"))) for p in finding.where[:MOST_PLACES])
    return f"{finding.severity}: {finding.message}\nfix: {finding.fix}" + (
        f"\nfirst places: {places}" if places else ""
    )
