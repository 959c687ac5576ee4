"""One answer in the same words to many different prompts, where nearly all other answers stand once: a refusal, or an error that was saved as an
answer. And one document with many different summaries or titles: the page that a site showed in place of its articles."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import last_said, said
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

CANNED = Quantity(
    "canned_answers", "samples", "samples with one answer in the same words to different prompts, with places"
)
ASKED = {"prompt", "prompts", "question", "query", "instruction"}
ANSWERS = {"answer", "response", "completion", "output", "reply", "chosen"}
"""Words in the names of fields of prompts and of answers."""
GIVEN = {"code", "article", "document", "dialogue", "source", "src", "passage"}
PAGES = {"article", "document", "passage"}
"""Those of them that are fetched from sites."""
WRITTEN = {"docstring", "summary", "highlights", "title", "headline", "translation", "target", "tgt", "comment"}
"""The same of texts, and of what is written for them."""
FAILED = re.compile(
    r"\b(?:error|exception|traceback|timed? ?out|unavailable|try again|rate limit|quota|overloaded|bad gateway|failed|connection|http)\b",
    re.I,
)
"""What a service says that could not answer."""
NOTICE = re.compile(
    r"\b(?:cookies?|javascript|sign(?:ed)? in|log(?:ged)? in|subscribe|captcha|robots?|browser|access denied|forbidden|not found|40[34])\b",
    re.I,
)
"""What a site says in place of an article."""
FAR, BRIEF = 5, 500
"""How many times as long documents usually are as one that is far shorter, and the most characters of a notice."""
LONG, MOST = 20, 500_000
"""The fewest characters of an answer, since short ones recur by nature; and the most different answers that are counted."""
LEAST, SHARE, OTHERS, ONCE = 8, 0.005, 100, 0.8
"""The fewest prompts with one answer, and their least share; the fewest answers, and the least share of different ones that stand once."""
SHOWN = 80


class CannedAnswers(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        texts = [f.name for f in context.fields if f.dtype == "str" and not f.shape]
        asked, answers = ([name for name in texts if {*words(name)} & of] for of in (ASKED, ANSWERS))
        if not (asked and answers):
            asked, answers = ([name for name in texts if {*words(name)} & of] for of in (GIVEN, WRITTEN))
        self.pairs = [(a, b) for a, b in product(asked[:1], answers[:2]) if a != b and b not in asked]
        self.pages = [a for a, _ in self.pairs[:1] if {*words(a)} & PAGES]
        self.pairs += [(self.pairs[0][1], page) for page in self.pages]
        self.talks = sorted(context.conversations)[:1] if not self.pairs else []
        self.counts: dict[str, Counter[int]] = {}
        """Of each field of answers, by digest: how many different prompts have it, as far as they follow one another."""
        self.prompts: dict[str, dict[int, int]] = {}
        """Of each field, the digests of the answers, by those of prompt and answer together."""
        self.texts: dict[int, str] = {}
        self.lengths: dict[str, dict[int, int]] = {name: {} for name in self.pages}
        """Of each field of documents: characters of each text, by its digest."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs or self.talks)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for asked, name in self.pairs:
            if {asked, name} <= block.columns.keys():
                both = zip(block.columns[asked].values, block.columns[name].values, strict=False)
                for i, (prompt, answer) in enumerate(both):
                    self._note(block, i, name, str(prompt), answer)
        for name, i, turns in block.values(self.talks):
            if isinstance(turns, list) and len(turns) > 1:
                self._note(block, i, name, "\n".join(said(turns[:-1])), last_said(turns))

    def _note(self, block: Block, i: int, name: str, prompt: str, answer: Any) -> None:
        if not isinstance(answer, str) or len(answer.strip()) < LONG:
            return
        text = " ".join(answer.split())
        key = digest64(text.encode("utf-8", "surrogatepass"))
        both = digest64(f"{key} {prompt}".encode("utf-8", "surrogatepass"))
        count = self._count(name, both, key)
        if count and name in self.lengths:
            self.lengths[name][key] = len(text)
        if count > 1:
            self.texts.setdefault(key, text[:SHOWN])
            self.where.add((name, key), block, i, name)

    def _count(self, name: str, both: int, key: int) -> int:
        """How many prompts have this answer, this one included; 0 where it was counted before or is too much."""
        known, counts = self.prompts.setdefault(name, {}), self.counts.setdefault(name, Counter())
        if both in known or len(known) >= MOST:
            return 0
        known[both] = key
        counts[key] += 1
        return counts[key]

    def merge(self, other: Check) -> None:
        assert isinstance(other, CannedAnswers)
        self.seen += other.seen
        self.where.merge(other.where)
        self.texts.update(other.texts)
        for name, lengths in other.lengths.items():
            self.lengths[name].update(lengths)
        for name, known in other.prompts.items():
            for both, key in known.items():
                self._count(name, both, key)

    def facts(self) -> Iterable[Fact]:
        for name, counts in sorted(self.counts.items()):
            total = counts.total()
            once = sum(n == 1 for n in counts.values())
            if total < OTHERS or once < ONCE * len(counts):
                continue
            most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
            for rank, (key, n) in enumerate(most):
                if n >= LEAST and n >= SHARE * total and key in self.texts:
                    text = self.texts[key]
                    value = {"count": n, "of": total, "text": text, "failed": FAILED.search(text) is not None}
                    value["asked"] = bool({*words(name)} & ANSWERS) or name in self.talks
                    value["where"] = self.where.of((name, key))
                    if name in self.lengths:
                        lengths = self.lengths[name]
                        value["notice"] = is_notice(text, lengths[key], statistics.median(lengths.values()))
                    yield Fact(CANNED, value, self.evidence(), {"field": name, "rank": rank})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CANNED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            if fact.at["field"] in self.pages:
                beside = escaped(self.pairs[0][1])
                text = f"{name}: the very same text stands in {v['count']:,} of {number(v['of'], 'sample')}, each time with another {beside}: "
                text += f"{escaped(v['text'])!r}; most others occur once"
                fix = f"read this text: if a site showed it in place of the {name}, drop these samples or fetch them again"
                weight: Severity = "warning" if v["notice"] else "info"
                yield finding("suspicious-text", weight, text, fact, fix, v["where"], v["count"])
                continue
            severity: Severity = "warning" if v["failed"] else "info"
            what = ", and looks like the message of a service that failed" if v["failed"] else ""
            one, prompts = ("answer", "prompts") if v["asked"] else ("text", "inputs")
            text = f"{name}: the very same {one} is given for {v['count']:,} different {prompts}, of {number(v['of'], 'sample')}{what}: "
            text += f"{escaped(v['text'])!r}; most other {one}s occur once"
            fix = f"drop these samples, or generate the {one}s again: a model learns to produce this one whatever the "
            fix += "prompt" if v["asked"] else "input"
            yield finding("suspicious-text", severity, text, fact, fix, v["where"], v["count"])


def is_notice(text: str, length: int, usual: float) -> bool:
    """Whether a document that recurs is what a site showed in place of others, and not one with several summaries: it is far shorter than
    they usually are, or brief and in the words of a notice."""
    return length * FAR <= usual or (length <= BRIEF and bool(FAILED.search(text) or NOTICE.search(text)))


CHECK = CannedAnswers
