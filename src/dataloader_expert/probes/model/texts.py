"""Texts for a model that looks ids up: which field is to be tokenised, and how."""

from __future__ import annotations

from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.mends import Misfit
from dataloader_expert.probes.model.ways import accessors, of_texts, takes_ids

LONGEST = 512
"""Tokens to which a text is cut, if the model declares no limit."""


def untokenised(model: Any, batch: Any) -> Misfit | None:
    """The longest texts of the batch, for a model that takes ids; None where it takes none, or there are no texts."""
    texts = {name: value for name, value in flat(batch) if of_texts(value)}
    if not texts or not takes_ids(model):
        return None
    name = max(texts, key=lambda n: sum(map(len, texts[n])))
    config = getattr(model, "config", None)
    whose = str(getattr(config, "_name_or_path", "") or "") or "THE MODEL'S NAME"
    declared = getattr(config, "max_position_embeddings", None)
    most = declared if isinstance(declared, int) and declared > 0 else LONGEST
    sample = accessors(batch)[name].replace("batch", "s", 1)
    says = "texts where the model looks up token ids: they are to be tokenised"
    fix = (
        f"tokenise {escaped(name)} in collate_fn: tokens = AutoTokenizer.from_pretrained({whose!r})([{sample} for s in samples], "
        f"padding=True, truncation=True, max_length={most}, return_tensors='pt'), and return the labels as a tensor; "
    )
    if hasattr(model, "main_input_name"):
        fix += "model(**tokens); the tokenizer must be that of the model"
    else:
        fix += "model(tokens['input_ids']); its vocabulary must be that of the model's table"
    return Misfit("key-missing", name, says, cured=False, fix=fix)
