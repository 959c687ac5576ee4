"""Names of fields that suggest a label, an outcome, or a number that is none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dataloader_expert.sources.layout import tokens

BY_NAME = "chosen by its name"
"""How a label is known that no other field can be."""
STRONG_LABELS = (
    "label",
    "labels",
    "target",
    "targets",
    "y",
    "class_label",
    "class_id",
    "label_idx",
    "label_id",
    "cls",
    "category",
    "category_id",
    "fine_label",
    "coarse_label",
    "gold_label",
    "species",
)
OUTCOMES = (
    "survived",
    "churn",
    "churned",
    "exited",
    "attrition",
    "fraud",
    "is_fraud",
    "isfraud",
    "spam",
    "is_spam",
    "defaulted",
    "converted",
    "clicked",
    "purchased",
    "subscribed",
    "readmitted",
    "approved",
    "outcome",
    "diagnosis",
    "dx",
)
"""What became of a row: known only afterwards, so more likely the label than a ``class`` beside it."""
WEAK_LABELS = (
    *(
        *OUTCOMES,
        "class",
        "classes",
        "sentiment",
        "polarity",
        "toxic",
        "toxicity",
        "emotion",
        "stance",
        "intent",
        "digit",
    ),
    *("rating", "ratings", "stars", "star_rating", "overall"),
)
BEFELL = {
    "died", "dead", "death", "deceased", "mortality", "survival", "survived", "relapse", "relapsed", "recurrence", "infected",
    "disease", "tumor", "tumour", "readmitted", "readmission", "hospitalized", "failure", "failed", "defect", "defective",
    "faulty", "anomaly", "anomalous", "attack", "malicious", "malware", "phishing", "fraud", "fraudulent", "spam", "toxic",
    "hateful", "offensive", "default", "defaulted", "churn", "churned", "cancelled", "canceled", "conversion", "converted",
    "clicked", "purchased", "bought", "subscribed", "approved", "responded", "won",
}  # fmt: skip
"""Words in the names of columns with two values that say what became of a row."""
STATES = {
    "active", "positive", "success", "successful", "returned", "accepted", "admitted", "fail", "win", "click", "abnormal",
}  # fmt: skip
"""The same, if the column is the last one: beside others it may be a feature."""
VERDICTS: tuple[set[str], ...] = (
    *({"pass", end} for end in ("fail", "failed", "reject")),
    *({"ok", end} for end in ("ng", "nok", "nio", "defect", "fail")),
    *({"normal", end} for end in ("abnormal", "anomaly", "defect")),
    *({"good", end} for end in ("bad", "defect", "defective")),
    *({"benign", end} for end in ("malignant", "attack", "malicious")),
    *(
        {"passed", "failed"},
        {"genuine", "forged"},
        {"real", "fake"},
        {"spam", "ham"},
    ),
)
"""Pairs of values that say how a row, or what it is about, was judged."""
PARTS = {
    "fold",
    "folds",
    "kfold",
    "year",
    "quarter",
    "month",
    "week",
    "weekday",
    "day",
    "hour",
    "minute",
    "date",
    "time",
    *("done", "terminated", "truncated", "terminal"),
}
"""Last words in the names of parts of a date and of a cross-validation, and of the ends of episodes, which are no labels."""
GOODS = {"sku", "product", "item", "article", "goods"}
"""Words in the names of columns that say which thing is sold."""
PREDICTED = {"price", "salary", "charges", "revenue", "sales", "sold", "demand", "consumption", "yield"}
"""Last words of the names of amounts that are predicted from the columns before them."""
COUNTS = {"count", "counts", "cnt"}
"""Whole names of such numbers, and last words of numbers that are no classes."""
COUNTED = {"index", "idx", "id", "number", "nr"}
"""Last words of the names of what numbers something, such as ``task_index``."""
CLASSES = {"kind", "type", "genus", "breed", "variety", "action", *BEFELL}
CLASSES |= {word for name in (*STRONG_LABELS, *WEAK_LABELS) for word in tokens(name) if len(word) > 2} - COUNTED
"""Words before these of numbers that are classes, such as ``species_id``."""
SIZES = {"length", "len", "size", "height", "width", "rate", "fps"}
"""Last words of the names of what is measured of a sample and said beside it."""


def label_by_name(names: Sequence[str]) -> tuple[str | None, str]:
    """The label field that a name suggests, and how it was found."""
    lower = {n.lower().partition(":")[0]: n for n in reversed(names)}  # ``rating:float``
    letters = {re.sub(r"[^a-z]", "", name) for name in lower}
    if "y" in lower and ({"x", "z"} <= lower.keys() or {"w", "h"} <= letters or {"width", "height"} <= letters):
        del lower["y"]  # beside z, or the size of a box, it is a coordinate
    outcome = any(known in lower for known in OUTCOMES)
    for known in STRONG_LABELS:
        if known in lower and not (outcome and known.startswith("category")):  # a category of goods beside a fraud
            return lower[known], BY_NAME
    for known in WEAK_LABELS:
        if known in lower:
            return lower[known], "chosen by its name; pass label= if it is another"
    ends = [name for name in names if tokens(name)[-1:] in (["label"], ["labels"])]
    if len(ends) == 1:
        return ends[0], "chosen by its name; pass label= if it is another"
    return None, "no field is named like a label; pass label="


def is_no_class(name: str) -> bool:
    """Whether a name says that its values number, measure or date samples; the numbers of classes do not."""
    *before, last = tokens(name) or [""]
    return last in COUNTS | SIZES | PARTS or (last in COUNTED and not CLASSES & {*before})
