"""Whether the data are fit for training: the checklist, the status of every check, every finding with its places."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import CLASS_COUNTS, LABEL_SETS, OBJECT_COUNTS, PROBLEMS, ROLES, SPLITS
from dataloader_expert.checks.duplicates.pairs import DUPLICATES, NEAR
from dataloader_expert.checks.files.fixes import BROKEN
from dataloader_expert.checks.files.references import REFERENCES
from dataloader_expert.checks.images.pictures import SIZES
from dataloader_expert.checks.labels.classes import IMBALANCE, SEVERE, TRAIN_IMBALANCE
from dataloader_expert.checks.splits.leakage import GROUPS, TIMES
from dataloader_expert.checks.texts.token_tags import TAGS
from dataloader_expert.conclusions import Finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts, Unknown
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import FIELDS, FORMAT, LABEL, PRESENT, Layout
from dataloader_expert.probes.data.pictures import OddPictures
from dataloader_expert.probes.data.repeating import REPEATED, Repeating
from dataloader_expert.probes.data.scan import CHECKED, CHECKS_FAILED, Scan
from dataloader_expert.probes.data.transformed import Transformed
from dataloader_expert.probes.health.caught_errors import CaughtErrors
from dataloader_expert.probes.health.evaluation_splits import EvaluationSplits
from dataloader_expert.probes.health.other_run import OtherRun
from dataloader_expert.probes.health.worker_content import CONTENT, WorkerContent
from dataloader_expert.probes.system.environment import Environment
from dataloader_expert.probes.system.outside import FAILED
from dataloader_expert.report import Next
from dataloader_expert.sources.base import PLACED
from dataloader_expert.sources.split_datasets import SEVERAL
from dataloader_expert.tools.base import Conclusion, Measured
from dataloader_expert.tools.check_quality import CheckLine, Checklist, Request, Status
from dataloader_expert.tools.recipes.results import coverage
from dataloader_expert.tools.recipes.split_report import (
    groups_of,
    overlaps,
    pairs_of,
    split_lines,
)
from dataloader_expert.tools.recipes.treatments import treatments

SHAPELY = {"shape-drift", "mode-drift", "dtype-drift", "missing-key", "extra-key"}
BALANCED = (
    "WeightedRandomSampler",
    "WeightedSampler",
    "ClassBalancedBatchSampler",
    "BalancedBatchSampler",
    "MPerClassSampler",
    "ImbalancedDatasetSampler",
)


def recipe(request: Request) -> tuple[Probe, ...]:
    wanted = None if request.checks is None else tuple(request.checks)
    # before anything is measured, so that a reference that does not resolve is an error
    transformed = () if request.transform is None else (Transformed(transform=request.transform),)
    return (
        Environment(),
        Layout(),
        *transformed,
        Scan(
            0.9,
            wanted,
            request.near_duplicates,
            group=request.group,
            time=request.time,
            vocab_size=request.vocab_size,
            pad_id=request.pad_id,
            max_length=request.max_length,
            leakage=True,
            every_split=True,
            damaged=True,
        ),
        *(
            (CaughtErrors(), WorkerContent(), EvaluationSplits(), OtherRun(), Repeating())
            if request.checks is None
            else ()
        ),
        OddPictures(),
    )


def conclude(request: Request, measured: Measured) -> Conclusion:
    facts, found = measured.facts, measured.findings
    checklist, why = judge(facts, found)
    if request.checks is not None:
        checklist, why = only_run(checklist, why, set(request.checks))
    errors = [f for f in found if f.severity == "error"]
    whole = facts.find(CHECKED) is not None and facts.find(CHECKS_FAILED) is None
    seen = coverage(facts)
    complete = whole and seen.complete and seen.samples_read > 0 and facts.find(FAILED) is None
    failed = bool(errors) or "fail" in checklist.model_dump().values()
    passed = False if failed else True if complete else None
    code, unknowns = repeated(facts, checklist)
    if code is None and not unknowns and not any(u.what == "code" for u in measured.unknowns):
        unknowns.append(Unknown("code", "call check_quality with all checks to get it"))
    for name, status in checklist.model_dump().items():
        if status == "unknown":
            unknowns.append(Unknown(f"checklist.{name}", why[name]))
    lines, unseen = with_fields(facts, request.checks)
    lines = sorted((with_findings(line, found) for line in lines), key=worst_first)
    unknowns += unseen
    aside = not_checked(facts, request)
    fields = {
        "passed": passed,
        "not_checked": aside,
        "checklist": checklist,
        "checklist_why": why,
        "checks": [line for line in lines if request.detail == "full" or line.status != "pass"],
        "passed_checks": [line.id for line in lines if line.status == "pass"],
        "roles": facts.value(ROLES, []),
        "splits": split_lines(facts),
        "groups": groups_of(facts),
        "overlaps": overlaps(facts),
        "pairs": pairs_of(facts),
        "treatments": treatments(facts, found),
        "code": code,
    }
    steps = []
    if checklist.imbalance_strategy_defined == "fail":
        arguments = {"source": request.source, "objective": "balanced"}
        steps.append(
            Next(tool="suggest_sampler", arguments=arguments, why="the imbalance is severe and nothing handles it")
        )
    if "reading in worker processes" in aside:
        same = {"source": request.source, "source_args": request.source_args}
        why_workers = "samples were read in one process: diagnose_io checks whether workers read the same"
        steps.append(Next(tool="diagnose_io", arguments=same, why=why_workers))
    return Conclusion(fields, verdict(passed, request, facts, found, checklist, why, aside), (), steps, unknowns)


def repeated(facts: Facts, checklist: Checklist) -> tuple[str | None, list[Unknown]]:
    """The pytest file, if its run agreed with the checklist; what it cannot detect is reported."""
    from dataloader_expert.checks.repeated import TESTS

    fact = facts.find(REPEATED)
    if fact is None:
        return None, []
    failed = set(fact.value["failed"])
    status = checklist.model_dump()
    fails = {box: bool(failed & {test.__name__ for test in tests}) for box, tests in TESTS.items()}
    whole = fact.value["most"] is None
    if not whole:  # the classes of a part are balanced otherwise
        fails["imbalance_strategy_defined"] = False
    more = [box for box, fail in fails.items() if fail and status[box] == "pass"]
    if more:
        return None, [
            Unknown("code", f"the generated tests were left out: they fail {', '.join(more)}, which passed here")
        ]
    blind = [box for box, fail in fails.items() if whole and status[box] == "fail" and not fail]
    return "\n".join(fact.value["lines"]) + "\n", [
        Unknown("code", f"the generated tests do not reproduce the failure of {b}") for b in blind
    ]


def verdict(
    passed: bool | None,
    request: Request,
    facts: Facts,
    found: tuple[Finding, ...],
    checklist: Checklist,
    why: dict[str, str],
    aside: list[str],
) -> str:
    """The summary: whether the data passed, what was not checked, and the findings by severity."""
    codes = {s: list(dict.fromkeys(f.code for f in found if f.severity == s)) for s in ("error", "warning")}
    warned = f"; warnings: {', '.join(codes['warning'])}" if codes["warning"] else ""
    unseen = f"; not checked: {', '.join(aside)}" if aside else ""
    if request.checks is not None:
        unseen = f"; only {', '.join(request.checks)} {'was' if len(request.checks) == 1 else 'were'} checked"
    seen = coverage(facts)
    of = "" if seen.complete or seen.samples_total is None else f" of {seen.samples_total:,}"
    read = f"{seen.samples_read:,}{of} samples were read" if seen.samples_read != 1 or of else "1 sample was read"
    # one sentence, so that whoever reads no further knows what was not checked
    leak = leaked(found, min((facts.value(SPLITS) or {}).values(), default=seen.samples_read))
    if passed is None:
        return f"Undecided{leak}: {undecided(facts, read)}{warned}{unseen}."
    if passed:
        found_none = "none of the checks asked for" if request.checks is not None else "no check"
        every = "all " if seen.samples_read > 1 else ""
        return f"Passed{leak}: {every}{read} and {found_none} found an error{warned}{unseen}."
    if codes["error"]:
        return f"Failed: {', '.join(codes['error'])}{warned}{unseen}."
    failed = "; ".join(why[n] for n, s in checklist.model_dump().items() if s == "fail")
    others = [code for code in codes["warning"] if f"{code}: " not in failed]
    warned = f"; warnings: {', '.join(others)}" if others else ""
    return f"Failed: {failed}{warned}{unseen}."


LEAKS = ("splits-overlap", "splits-near-overlap", "group-leakage", "time-leakage", "label-leaked-by-field")
"""Codes of what makes scores too good, the surest first. A warning of these fails nothing, and yet nobody should train on such data unawares."""
COPIES, FEWEST_COPIED = ("splits-overlap", "splits-near-overlap"), 1000
"""Codes of samples in two splits: one in so many of the smallest split changes no score."""


def leaked(found: tuple[Finding, ...], smallest: int) -> str:
    """What the verdict adds where samples of other splits or the label leak into what a model sees; empty if nothing does, and where
    copies are hardly any of the ``smallest`` split's samples."""
    told = [
        f
        for code in LEAKS
        for f in found
        if f.code == code
        and f.severity != "info"
        and not (code in COPIES and f.severity == "warning" and f.count * FEWEST_COPIED <= smallest)
    ]
    if not told:
        return ""
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return f", but with a leak that may make scores too good{more}: {told[0].message.rstrip('.')}"


def undecided(facts: Facts, read: str) -> str:
    """Why there is no verdict: samples that were not read, checks that failed themselves, or an early end. ``read``: how many were."""
    seen, failed = coverage(facts), facts.value(CHECKS_FAILED) or []
    if not seen.complete or not seen.samples_read:
        few = seen.samples_total is not None and seen.samples_read < seen.samples_total
        return f"only {read}" if few else f"not every sample could be read and checked ({read})"
    if failed:
        checks = f"{number(len(failed), 'check')} failed on these data, {', '.join(map(escaped, failed))}"
        return f"{read}, but {checks}: unknowns say what was not judged"
    why = facts.value(FAILED)
    return f"{read}, but the checks did not finish" + (f" ({escaped(why)})" if why else "")


def not_checked(facts: Facts, request: Request) -> list[str]:
    """What can be wrong with data and was not checked by this call."""
    aside = other_tables(facts)
    several = len(facts.value(SPLITS) or {}) > 1
    if not several:
        aside.append("overlap between splits (there is only one)")
    elif facts.find(GROUPS) is None:
        aside.append("groups across splits (no group field was found)")
    if several and facts.find(TIMES) is None:
        timed = any(r["role"] == "time" for r in facts.value(ROLES, []))
        aside.append(
            f"times across splits ({'the values of the time field could not be read' if timed else 'no time field was found'})"
        )
    if all(facts.find(counted) is None for counted in (CLASS_COUNTS, OBJECT_COUNTS, LABEL_SETS, TAGS)):
        aside.append("class labels (no field holds any)")
    nested = [escaped(f["name"]) for f in facts.value(FIELDS, []) if f["dtype"] == "dict"]
    if nested:
        aside.append(f"what the objects in {', '.join(nested[:5])} hold, apart from NaN and infinities")
    aside += [f"the contents of the files named by {escaped(f.at['field'])}" for f in facts.all(REFERENCES)]
    if not request.near_duplicates:
        aside.append("near duplicates (not asked for)")
    aside += [fact.value["missed"] for fact in facts.all(NEAR) if fact.value["missed"]]
    heard = facts.find(NEAR, of="recordings") is not None
    if request.near_duplicates and not heard and any(f["kind"] == "audio" for f in facts.value(FIELDS, [])):
        aside.append("near duplicates of recordings")
    if facts.value(FORMAT) == "reference" and facts.find(CONTENT) is None:
        aside.append("reading in worker processes")
    return aside


def other_tables(facts: Facts) -> list[str]:
    """The tables beside the one whose rows are the samples."""
    aside = []
    for fact in facts.all(PROBLEMS):
        if fact.at.get("what") == "table":
            n, files = fact.value["count"], [escaped(w["file"], 60) for w in fact.value["where"][:MOST_NAMED]]
            more = f" and {n - len(files)} more" if n > len(files) else ""
            aside.append(f"{number(n, 'other table')} ({', '.join(files)}{more})")
    return aside


MOST_NAMED = 3
"""Tables that are named."""
OF_VALUES = {("duplicate-keys", "warning")}
"""Codes that with this severity speak of values, not of files: a key that rows of a table share damages none."""
BOXES = {
    "no_corrupted_files": BROKEN,
    "shapes_consistent": SHAPELY,
    "no_nan_or_inf": {"nan", "inf"},
    "imbalance_strategy_defined": {"severe-imbalance"},
    "splits_disjoint": {"splits-overlap", "group-leakage"},
}


def only_run(checklist: Checklist, why: dict[str, str], ran: set[str]) -> tuple[Checklist, dict[str, str]]:
    """A checklist item passes only if all its checks were requested."""
    left_out = {name: sorted(behind - ran) for name, behind in BOXES.items() if behind - ran}
    status = {n: "unknown" if n in left_out and s == "pass" else s for n, s in checklist.model_dump().items()}
    reasons = {
        n: f"not asked for: {', '.join(left_out[n][:4])}" if status[n] == "unknown" and n in left_out else w
        for n, w in why.items()
    }
    return Checklist.model_validate(status), reasons


def with_fields(facts: Facts, wanted: list[str] | None) -> tuple[list[CheckLine], list[Unknown]]:
    """The entries of ``checks``: those on leakage say which field was used and why, and are unknown if there is none."""
    lines = [CheckLine.model_validate(c) for c in facts.value(CHECKED, [])]
    unknowns = []
    seen = {
        "group-leakage": (facts.find(GROUPS), "group"),
        "time-leakage": (next(iter(facts.all(TIMES)), None), "time"),
    }
    several = len(facts.value(SPLITS) or {}) > 1
    for id_, (fact, name) in seen.items():
        if fact is not None:
            field = f"{escaped(fact.value['field'], 80)}, {fact.value['taken']}"
            lines = [line.model_copy(update={"field": field}) if line.id == id_ else line for line in lines]
        elif several:
            lines = [line.model_copy(update={"status": "unknown"}) if line.id == id_ else line for line in lines]
            if wanted is None or id_ in wanted:
                unknowns.append(Unknown(id_, f"no {name} field was found: pass {name}="))
    return lines, unknowns


def with_findings(line: CheckLine, found: tuple[Finding, ...]) -> CheckLine:
    """The entry of a check, updated from the findings of its code, some of which are made after the pass over the samples: no check
    with findings passes, and ``how`` is that of the evidence."""
    mine = [f for f in found if f.code == line.id and f.severity != "info"]
    if not mine:
        return line
    hows = {str(e["how"]) for f in mine for e in f.evidence}
    changed: dict[str, Any] = {"how": next(iter(hows))} if len(hows) == 1 else {}
    if line.status == "pass":
        failed = any(f.severity == "error" for f in mine)
        changed |= {"status": "fail" if failed else "warn", "count": sum(f.count for f in mine)}
    return line.model_copy(update=changed)


def worst_first(line: CheckLine) -> int:
    return ("fail", "warn", "unknown", "pass").index(line.status)


def judge(facts: Facts, found: tuple[Finding, ...]) -> tuple[Checklist, dict[str, str]]:
    """The five checklist items, each with its reason; a fail needs a finding, a pass needs full coverage."""
    seen = coverage(facts)
    whole = (
        ""
        if seen.complete
        else f"; only {seen.samples_read:,} of {seen.samples_total:,} samples were read"
        if seen.samples_total is not None
        else f"; only {seen.samples_read:,} samples were read"
    )
    clean: Status = "pass" if seen.complete and seen.samples_read else "unknown"
    why: dict[str, str] = {}

    def box(name: str, bad: set[str], good: str, least: tuple[str, ...] = ("error", "warning")) -> Status:
        of_code = {
            f.code: f
            for f in reversed(found)
            if f.code in bad and f.severity in least and (f.code, f.severity) not in OF_VALUES
        }
        hits = [of_code[code] for code in sorted(of_code)]
        said = f"{good}{whole}" if seen.samples_read else "no sample could be read"
        why[name] = "; ".join(f"{h.code}: {h.message}" for h in hits[:3]) if hits else said
        return "fail" if hits else clean

    decoded = "what was read" if whole else "every file and sample"
    corrupted = box("no_corrupted_files", BROKEN, f"{decoded} decodes without errors")
    ragged = [f.message for f in found if f.code == "ragged"]
    alike = (
        f"one dtype and rank per field, but {'; '.join(ragged)}" if ragged else "every field has one shape and dtype"
    )
    sizes = facts.value(SIZES, {"distinct": 1})["distinct"]
    # images of several sizes are brought to one form by the code that loads them, grey ones among them
    shapes = box("shapes_consistent", SHAPELY - {"mode-drift"} if sizes > 1 else SHAPELY, alike)
    numbers = box("no_nan_or_inf", {"nan", "inf"}, "no numeric field has NaN or infinite values")
    ratio = facts.find(TRAIN_IMBALANCE) or facts.find(IMBALANCE)
    where = " in the training split" if facts.find(TRAIN_IMBALANCE) else ""
    known = facts.value(LABEL, {"name": None, "how": ""})
    label, how = known["name"], known["how"]
    by = f"; {escaped(label)} is only guessed to be the label" if how.startswith(PLACED) else ""
    sampler = facts.value(PRESENT, {"sampler": ""})["sampler"]
    objects = facts.find(OBJECT_COUNTS, split="train") or facts.find(OBJECT_COUNTS, split=None)
    sets = facts.find(LABEL_SETS, split="train") or facts.find(LABEL_SETS, split=None)
    if ratio is None and objects is not None:
        apart = max(objects.value.values()) / min(objects.value.values())
        of = " of the training split" * (objects.at["split"] is not None)
        balance: Status = clean if apart <= SEVERE else "unknown"
        why["imbalance_strategy_defined"] = (
            f"none is needed: objects by class{of} {apart:.1f}:1, within 10:1{whole}"
            if apart <= SEVERE
            else f"objects by class{of} are {apart:.1f}:1, but a sampler draws whole images: weight the loss by class"
        )
    elif ratio is None and sets is not None:
        there = [n for n in sets.value.values() if n]
        of = " of the training split" * (sets.at["split"] is not None)
        apart = max(there) / min(there)
        balance = clean if apart <= SEVERE else "unknown"
        why["imbalance_strategy_defined"] = (
            f"none is needed: frequencies of labels{of} {apart:.1f}:1, within 10:1{whole}"
            if apart <= SEVERE
            else f"frequencies of labels{of} are {apart:.1f}:1: weight the loss by label, or draw by the rarest label of each sample"
        )
    elif ratio is None:
        balance = "unknown"
        why["imbalance_strategy_defined"] = "there are no class labels"
    elif ratio.value <= SEVERE:
        balance = clean
        why["imbalance_strategy_defined"] = (
            f"none is needed: class ratio {ratio.value:.1f}:1{where}, within 10:1{whole}{by}"
        )
    elif how.startswith(PLACED):
        balance = "unknown"
        why["imbalance_strategy_defined"] = (
            f"class ratio {ratio.value:.1f}:1{where} if {escaped(label)} is the label, which is only guessed: pass label="
        )
    elif sampler in BALANCED:
        balance = "pass"
        why["imbalance_strategy_defined"] = (
            f"class ratio {ratio.value:.1f}:1{where}, and the loader draws with {sampler}"
        )
    else:
        balance = "fail"
        why["imbalance_strategy_defined"] = (
            f"class ratio {ratio.value:.1f}:1{where}, and no sampler or weight handles it"
        )
    splits = facts.value(SPLITS)
    if not splits or len(splits) < 2:
        disjoint: Status = "unknown"
        several = f"; to compare splits, pass {SEVERAL}" if facts.value(FORMAT) == "reference" else ""
        why["splits_disjoint"] = f"there is only one split{several}"
    elif facts.find(DUPLICATES) is None:
        disjoint = "unknown"
        why["splits_disjoint"] = "the samples could not be compared"
    else:
        chance = any(f.code == "splits-overlap" for f in found)  # told as information
        words = "the splits share only as many rows as chance makes" if chance else "no sample occurs in two splits"
        disjoint = box("splits_disjoint", BOXES["splits_disjoint"], words)
    return (
        Checklist(
            no_corrupted_files=corrupted,
            shapes_consistent=shapes,
            no_nan_or_inf=numbers,
            imbalance_strategy_defined=balance,
            splits_disjoint=disjoint,
        ),
        why,
    )
