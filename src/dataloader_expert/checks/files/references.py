"""Fields that name files: values whose file does not exist, and files next to the named ones that no sample names."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.sources.base import Block

REFERENCES = Quantity("references", "values", "values of a field that name files, and those whose file is missing")
UNNAMED = Quantity(
    "unnamed_files", "files", "files that no value names, in the folders of the files that a field's values name"
)


class Referenced(Check):
    ids = ("dangling-reference", "missing-pair")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.values: dict[str, int] = {}
        self.dangling: dict[str, int] = {}
        self.named: dict[str, set[int]] = {}
        """By field, the named files, as indices into all files."""
        self.examples: dict[str, tuple[int, str]] = {}
        self.where = Places()

    def applies(self) -> bool:
        return self.context.references is not None

    def see(self, block: Block) -> None:
        references = self.context.references
        self.seen += block.samples
        for naming in references.naming if references is not None else ():
            column = block.columns.get(naming.field)
            if column is None or references is None:
                continue
            values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
            named = self.named.setdefault(naming.field, set())
            for i, value in enumerate(values[: block.samples]):
                if not isinstance(value, str) or not value.strip():
                    continue  # a missing value, which another check reports
                self.values[naming.field] = self.values.get(naming.field, 0) + 1
                at = references.files.find(value, naming.by_stem)
                if at is not None:
                    named.add(at)
                    continue
                self.dangling[naming.field] = self.dangling.get(naming.field, 0) + 1
                self.where.add(naming.field, block, i, naming.field)
                first = self.examples.get(naming.field)
                if first is None or block.index(i) < first[0]:
                    self.examples[naming.field] = (block.index(i), value)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Referenced)
        self.seen += other.seen
        for mine, theirs in ((self.values, other.values), (self.dangling, other.dangling)):
            for name, n in theirs.items():
                mine[name] = mine.get(name, 0) + n
        for name, named in other.named.items():
            self.named.setdefault(name, set()).update(named)
        for name, example in other.examples.items():
            self.examples[name] = min(example, self.examples.get(name, example))
        self.where.merge(other.where)

    def paths(self) -> set[str]:
        """The files that some sample names, and those next to them."""
        references = self.context.references
        paths = references.files.paths if references is not None else []
        beside = {path for name in self.named for path in self._unnamed(name)}
        return beside | {paths[at] for named in self.named.values() for at in named}

    def facts(self) -> Iterable[Fact]:
        references = self.context.references
        if references is None:
            return
        evidence = self.evidence()
        for naming in references.naming:
            name = naming.field
            value = {
                "values": self.values.get(name, 0),
                "dangling": self.dangling.get(name, 0),
                "example": escaped(self.examples[name][1], 120) if name in self.examples else None,
                "folder": references.files.folder,
                "sure": naming.sure,
                "where": self.where.of(name),
            }
            yield Fact(REFERENCES, value, evidence, {"field": name})
            if evidence.how == "counted" and references.whole and naming.sure:
                unnamed = self._unnamed(name)
                told: Json = {"count": len(unnamed), "files": [*unnamed[:MAX_PLACES]]}
                yield Fact(UNNAMED, told, evidence, {"field": name})

    def _unnamed(self, name: str) -> list[str]:
        """Files that are not named, although most files of their kind in their folder are."""
        references = self.context.references
        assert references is not None
        paths, named = references.files.paths, self.named.get(name, set())
        groups: dict[tuple[str, str], list[int]] = {}
        for at, path in enumerate(paths):
            groups.setdefault((path.rpartition("/")[0], path.rpartition(".")[2].lower()), []).append(at)
        mostly = [members for members in groups.values() if 2 * len(named.intersection(members)) >= len(members)]
        return [paths[at] for members in mostly for at in members if at not in named]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(REFERENCES):
            v, name = fact.value, fact.at["field"]
            if v["dangling"]:
                yield finding(
                    "dangling-reference",
                    "error" if v["sure"] else "warning",
                    f"{v['dangling']} of {v['values']} values of {name} name a file that is missing below "
                    f"{escaped(v['folder'])}, such as {v['example']}",
                    fact,
                    "fetch the files, correct the names, or drop those samples: reading them will raise",
                    v["where"],
                    v["dangling"],
                )
        for fact in facts.all(UNNAMED):
            v, name = fact.value, fact.at["field"]
            if v["count"]:
                yield finding(
                    "missing-pair",
                    "warning",
                    f"no sample names {v['count']} file{'s' * (v['count'] != 1)} next to those that {name} names: "
                    f"{', '.join(escaped(f, 80) for f in v['files'][:3])}",
                    fact,
                    "add the missing rows, or move these files away if they belong to another dataset",
                    [{"file": file} for file in v["files"]],
                    v["count"],
                )

    def unknowns(self) -> Iterable[Unknown]:
        references = self.context.references
        if references is None:
            return
        for name, example in references.lost.items():
            why = f"its values look like file names ({escaped(example, 80)}), but none of these files was found below "
            yield Unknown(f"files named by {name}", why + escaped(references.files.folder))


CHECK = Referenced
