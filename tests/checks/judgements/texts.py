"""Where the checks of texts say nothing, and where they speak."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks import (
    test_answers_alike,
    test_fixed_parts,
    test_languages,
    test_prompts_repeated,
    test_token_tags,
    test_unclosed,
)
from tests.checks.judgements.common import LONG, NOISE, TEXTS, chats, turns
from tests.checks.looking import Data


def answered(answer: str) -> list[dict[str, str]]:
    """A conversation of one question and its answer."""
    return [{"role": "user", "content": "What happened then?"}, {"role": "assistant", "content": answer}]


VERSE = ["station", "morning", "yellow", "between", "mountain", "river", "a", "of", "it", "engine", "went", "slow"]
READINGS = [f"The {n}th reading of the meter was taken at noon and written down." for n in range(120)]
TALES = [" ".join(np.random.default_rng(i).choice(VERSE, 25 + i % 20)).capitalize() + "." for i in range(360)]
BASES = ["".join(np.random.default_rng(i).choice(["A", "C", "G", "T"], 40)) for i in range(200)]


def asked(i: int, echoed: bool) -> list[dict[str, Any]]:
    """A long question and an answer that holds it, or a part of it."""
    question = f"What is the capital of country number {i}, please?"
    answer = (
        f"You asked: {question} The answer is: it is {i}." if echoed else f"The capital of country number {i}: {i}."
    )
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def called(arguments: str = '{"city": "Bonn"}', answers: str = "call 1") -> list[dict[str, Any]]:
    """A conversation with a call of a tool and its result."""
    call = {"id": "call 1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    question, answer = turns(1, "user", "assistant")
    result = {"role": "tool", "tool_call_id": answers, "content": "20"}
    return [question, {"role": "assistant", "content": None, "tool_calls": [call]}, result, answer]


SILENT: dict[str, dict[str, Any]] = {
    "fixed_parts": test_fixed_parts.SILENT,
    "languages": test_languages.SILENT,
    "joined_sentences": test_token_tags.APART | test_answers_alike.LONG_SOUND,
    "canned_answers": test_answers_alike.CANNED_SOUND,
    "opposite_pairs": test_answers_alike.OPPOSITE_SOUND,
    "pair_marks": test_answers_alike.MARKS_SOUND,
    "prompts_repeated": test_prompts_repeated.SOUND,
    "equal_fields": {
        "an answer that is one of the choices": Data(
            {"answer": ["a long answer to it"] * 40, "choices": [["a long answer to it", "no"]] * 40},
            kinds={"choices": "other"},
        ),
        "two answers that differ": Data(
            {"chosen": LONG, "rejected": LONG[::-1]}, kinds={"chosen": "text", "rejected": "text"}
        ),
        "summaries in words of their own": Data(
            {"document": [f"{t} And so on." for t in LONG], "summary": LONG[::-1]},
            kinds={"document": "text", "summary": "text"},
        ),
        "short ones": Data(
            {"title": ["Rome"] * 3 + LONG * 4, "town": ["Rome"] * 51}, kinds={"title": "text", "town": "text"}
        ),
        "lists of points and of tags": Data(
            {"a": [[[i, 2]] for i in range(60)], "b": [[[7, 2]]] * 60}, kinds={"a": "other", "b": "other"}
        ),
        "a few commands that stay in translations as they are": Data(
            {
                "de": [f"{'git log' if i % 150 == 0 else 'das Haus'} {i} am See" for i in range(300)],
                "en": [f"{'git log' if i % 150 == 0 else 'the house'} {i} am See" for i in range(300)],
            },
            kinds={"de": "text", "en": "text"},
        ),
        "a field that is a copy": Data({"a": LONG * 4, "b": LONG * 4}, kinds={"a": "text", "b": "text"}),
    },
    "unclosed": test_unclosed.SILENT,
    "unfilled": {
        "texts that speak of placeholders, each in its own words": Data(
            {"text": [*READINGS, *(f"What is {{{{x{i}}}}} in a template?" for i in range(5))]}, kinds={"text": "text"}
        ),
        "prompts that are templates": Data(
            {"text": [f"{word} {{text}} in a few words." for word in ("Say", "Sum up", "Translate", "Judge") * 9]},
            kinds={"text": "text"},
        ),
    },
    "fixed_cuts": {
        "texts of many lengths": Data({"text": TALES}, kinds={"text": "text"}),
        "texts of one length, which end as the others do": Data(
            {"text": [*TALES[:300], *(text[:119] + "." for text in TALES[300:])]}, kinds={"text": "text"}
        ),
    },
    "odd_strings": {
        "sequences of four letters, one of them with a fifth": Data({"x": [*BASES, BASES[0] + "N"]}),
        "codes": Data({"x": [f"{'ABC'[i % 3]}{i % 40}" for i in range(200)]}),
        "words among which a date may be": Data({"x": ["river", "engine", "1-Mar", "a", "of", "2-Sep"] * 30}),
    },
    "cut_texts": {
        "texts without a full stop": Data(
            {"text": [*READINGS, "The meter was down", "It was taken", "It was written"]}, kinds={"text": "text"}
        ),
    },
    "conversations": {
        "answers in two turns, in one of eight": chats(*[turns(i, "user", "assistant", "assistant") for i in range(6)]),
        "answers that quote a word of the question": chats(*[asked(i, echoed=False) for i in range(9)]),
        "with and without system and tools": chats(turns(1, "user", "assistant", "tool", "assistant")),
        "calls of tools": chats(called(), called("{}"), called("")),
        "of other names": Data(
            {"c": [[{"from": "human", "value": "a"}, {"from": "gpt", "value": str(i)}] for i in range(40)]},
            kinds={"c": "other"},
        ),
        "prompts, which all await an answer": Data(
            {"prompt": [turns(i, "user") for i in range(40)]}, kinds={"prompt": "other"}
        ),
        "many characters, each by its name": Data(
            {"c": [turns(i, "user", f"hero {i}" if i % 5 == 0 else "assistant") for i in range(250)]},
            kinds={"c": "other"},
        ),
        "speakers by name": Data(
            {"c": [[{"role": name, "content": str(i)} for name in ("anna", "ben")] for i in range(40)]},
            kinds={"c": "other"},
        ),
        "places, not turns": Data(
            {"c": [[{"from": "Rome", "to": "Bonn"}] for _ in range(39)] + [[{"from": "Kiel", "to": "Bonn"}]]},
            kinds={"c": "other"},
        ),
    },
    "texts": {
        "programs that write HTML": Data(
            {"code": [*[f"x = {i}" for i in range(40)], 'print("<div>win</div>")', "a = '<p>'"]}, kinds={"code": "text"}
        ),
        "programs that have HTML": Data(
            {"code": [*[f"x = {i}" for i in range(40)], "def page(x):\n    return x + <p>a</p>"]},
            kinds={"code": "text"},
        ),
        "what interfaces say": Data(
            {"text": [*TEXTS, "File not found", "Page not found", "Todo.", "Service unavailable"]},
            kinds={"text": "text"},
        ),
        "a field of HTML beside one of words": Data(
            {"body": [f"<p>{t}</p><p>b</p>" for t in TEXTS], "text": TEXTS}, kinds={"body": "text", "text": "text"}
        ),
        "that something is missing, in a sentence": Data(
            {"text": [*TEXTS, "The image was not available in the archive, so we drew it."]}, kinds={"text": "text"}
        ),
        "words": Data({"text": TEXTS}, kinds={"text": "text"}),
        "all as a template writes them": Data({"text": [f"[INST] {t} [/INST]" for t in TEXTS]}, kinds={"text": "text"}),
        "all of a web page": Data({"text": [f"<p>{t}</p>" for t in TEXTS]}, kinds={"text": "text"}),
        "a comparison": Data({"text": [*TEXTS * 5, "a < b > c"]}, kinds={"text": "text"}),
        "the usage of a command": Data(
            {"text": [*TEXTS * 5, "-font <font>  Use <font> for <title>"]}, kinds={"text": "text"}
        ),
        "types in brackets": Data({"text": [*TEXTS * 5, "a Map<b> of List<i>, &lt;a&gt;"]}, kinds={"text": "text"}),
        "an absent one": Data({"text": [*TEXTS[:5], None]}, kinds={"text": "text"}),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "languages": test_languages.SPEAKS,
    "joined_sentences": {
        **{name: (data, code, "warning") for name, (data, code, _) in test_token_tags.JOINED.items()},
        **test_answers_alike.LONG_SPEAKS,
    },
    "canned_answers": test_answers_alike.CANNED_SPEAKS,
    "opposite_pairs": test_answers_alike.OPPOSITE_SPEAKS,
    "pair_marks": test_answers_alike.MARKS_SPEAKS,
    "fixed_parts": test_fixed_parts.SPEAKS,
    "prompts_repeated": {
        "only the preferred ones": (
            test_prompts_repeated.both(test_prompts_repeated.begun(1)),
            "label-leaked-by-field",
            "warning",
        ),
        "some of the answers": (
            test_prompts_repeated.pairs(test_prompts_repeated.begun(4)),
            "suspicious-text",
            "warning",
        ),
    },
    "equal_fields": {
        "docstrings that were left in the code": (
            Data(
                {"code": [f"def f():\n    {t}\n    return 1" for t in LONG * 4], "docstring": LONG * 4},
                kinds={"code": "text", "docstring": "text"},
            ),
            "equal-fields",
            "warning",
        ),
        "preferred answers that are the rejected ones but for white space": (
            Data(
                {
                    "chosen": LONG * 3,
                    "rejected": [f"{t}  \n" if i % 7 == 0 else t[::-1] for i, t in enumerate(LONG * 3)],
                },
                kinds={"chosen": "text", "rejected": "text"},
            ),
            "equal-fields",
            "warning",
        ),
        "translations that were left as they were": (
            Data(
                {
                    "de": [f"das Haus {i} am See" for i in range(80)],
                    "en": [f"{'das Haus' if i % 8 == 0 else 'the house'} {i} am See" for i in range(80)],
                },
                kinds={"de": "text", "en": "text"},
            ),
            "equal-fields",
            "warning",
        ),
        "a fifth, of fields that are opposed": (
            Data(
                {"positive": LONG * 4, "negative": [t if i % 5 == 0 else t[::-1] for i, t in enumerate(LONG * 4)]},
                kinds={"positive": "text", "negative": "text"},
            ),
            "equal-fields",
            "warning",
        ),
        "a fifth, where nothing may have to be corrected": (
            Data(
                {"before": LONG * 4, "after": [t if i % 5 == 0 else t[::-1] for i, t in enumerate(LONG * 4)]},
                kinds={"before": "text", "after": "text"},
            ),
            "equal-fields",
            "info",
        ),
        "the positive among the negatives": (
            Data(
                {
                    "positive": LONG * 4,
                    "negatives": [[t if i % 7 == 0 else t[::-1], t[3:]] for i, t in enumerate(LONG * 4)],
                },
                kinds={"positive": "text", "negatives": "other"},
            ),
            "equal-fields",
            "warning",
        ),
        "an answer that is no choice": (
            Data(
                {
                    "answer": ["a cat" if i % 2 else "a dog" for i in range(40)],
                    "choices": [["a cat", "a dog"] if i != 8 else ["a cat", "an owl"] for i in range(40)],
                },
                kinds={"choices": "other"},
            ),
            "equal-fields",
            "warning",
        ),
        "an answer that is preferred to itself": (
            Data(
                {"chosen": [*LONG * 4, "the same to all"], "rejected": [*LONG[1:] * 4, *LONG[:4], "the same to all"]},
                kinds={"chosen": "text", "rejected": "text"},
            ),
            "equal-fields",
            "warning",
        ),
        "turns in both": (
            Data(
                {
                    "chosen": [turns(i, "user", "assistant") for i in range(40)],
                    "rejected": [turns(i + (i != 9), "user", "assistant") for i in range(40)],
                },
                kinds={"chosen": "other", "rejected": "other"},
                context={"conversations": frozenset({"chosen", "rejected"})},
            ),
            "equal-fields",
            "warning",
        ),
    },
    "unclosed": test_unclosed.SPEAKS,
    "unfilled": {
        "a template that was not filled in": (
            Data({"text": [*READINGS, *["Answer the question: {question}"] * 3]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
    },
    "fixed_cuts": {
        "answers that were cut at one length": (
            Data(
                {"talk": [answered(text) for text in [*TALES[:300], *(text[:120] for text in TALES[300:])]]},
                kinds={"talk": "other"},
                context={"conversations": frozenset({"talk"})},
            ),
            "suspicious-text",
            "warning",
        ),
        "texts that were cut at one length": (
            Data({"text": [*TALES[:300], *(text[:120] for text in TALES[300:])]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
    },
    "odd_strings": {
        "sequences of one letter that others do not have": (
            Data({"x": [*BASES, "N" * 40, "N" * 40]}),
            "suspicious-text",
            "warning",
        ),
        "brackets that are not closed": (
            Data({"x": [*(f"C{i}(OH)2[{i}]" for i in range(200)), "C3(OH", "C4)2"]}),
            "suspicious-text",
            "warning",
        ),
        "codes that became dates": (
            Data({"x": [*(f"GENE{i % 40}" for i in range(200)), "1-Mar", "2-Sep"]}),
            "suspicious-text",
            "warning",
        ),
    },
    "cut_texts": {
        "texts that end within a word": (
            Data(
                {"text": [*READINGS, "The meter was rea", "A reading of the me", "It was tak", "It was writ"]},
                kinds={"text": "text"},
            ),
            "suspicious-text",
            "warning",
        ),
    },
    "conversations": {
        "two questions in a row, in one of eight": (
            chats(*[turns(i, "user", "user", "assistant") for i in range(6)]),
            "turn-order",
            "warning",
        ),
        "tokens of a template in a turn": (
            chats(turns(1, "user", "assistant", content="It is so.<|im_end|>")),
            "suspicious-text",
            "warning",
        ),
        "roles of other names": (
            chats(*[turns(i, "human", "gpt") for i in range(5)]),
            "turn-order",
            "warning",
        ),
        "a tool that was not given": (
            Data(
                {
                    "messages": [
                        [
                            {"role": "user", "content": str(i)},
                            {
                                "role": "assistant",
                                "tool_calls": [{"id": "1", "function": {"name": "add" if i != 7 else "sum"}}],
                            },
                            {"role": "tool", "tool_call_id": "1", "content": "2"},
                            {"role": "assistant", "content": "2"},
                        ]
                        for i in range(40)
                    ],
                    "tools": [[{"type": "function", "function": {"name": "add"}}]] * 40,
                },
                kinds={"messages": "other", "tools": "other"},
                context={"conversations": frozenset({"messages"})},
            ),
            "turn-order",
            "warning",
        ),
        "an answer before its question": (
            chats(turns(1, "user", "assistant", "assistant", "user")),
            "turn-order",
            "warning",
        ),
        "a tenth without an answer": (chats(*[turns(i, "user") for i in range(5)]), "turn-order", "warning"),
        "answers cut at one length": (
            chats(*[turns(i, "user", "assistant", content=("word " * (i + 3))[:300]) for i in range(80)]),
            "suspicious-text",
            "warning",
        ),
        "a sentence that is right as it is": (
            chats(*[asked(i, echoed=False) for i in range(60)], asked(99, echoed=True)),
            "suspicious-text",
            "info",
        ),
        "questions within the answers": (
            chats(*[asked(i, echoed=True) for i in range(9)]),
            "suspicious-text",
            "warning",
        ),
        "one that ends with a question": (chats(turns(1, "user", "assistant", "user")), "turn-order", "warning"),
        "one with two answers in a row": (
            chats(turns(1, "user", "assistant", "assistant")),
            "turn-order",
            "warning",
        ),
        "one with a late system turn": (
            chats(turns(1, "user", "assistant", "system", "user", "assistant")),
            "turn-order",
            "warning",
        ),
        "a call that is no JSON": (chats(called('{"city": ')), "turn-order", "warning"),
        "a result of another call": (chats(called(answers="call 9")), "turn-order", "warning"),
        "a misspelt role": (chats(turns(1, "user", "asistant", "user", "assistant")), "turn-order", "warning"),
        "one inside an object": (
            Data(
                {"chosen": [{"turns": turns(i, "user", *["assistant"] * (i != 7)), "score": 1.0} for i in range(40)]},
                kinds={"chosen": "other"},
            ),
            "turn-order",
            "warning",
        ),
    },
    "texts": {
        "tokens of a template in one": (
            Data({"text": [*TEXTS * 5, f"{TEXTS[0]}<|im_end|>"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "bold words, escaped": (
            Data({"text": [*TEXTS * 5, "&lt;b&gt;Oil&lt;/b&gt; rises"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "links": (
            Data({"text": [*TEXTS * 5, 'oil rises <a href="x">more</a>']}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "a page that says that there is none": (
            Data({"text": [*TEXTS * 5, "<html><head><title>404</title></head></html>"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "a tenth with HTML": (
            Data({"text": [*TEXTS * 9, *[f"<p>{t}&nbsp;</p><br/>" for t in TEXTS]]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "in place of a missing one": (
            Data({"text": [*TEXTS * 5, "Image not available.", "[removed]"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "blanks that are a class": (
            Data(
                {"text": [*TEXTS * 3, *[""] * 9], "label": ["a"] * (3 * len(TEXTS)) + ["silence"] * 9},
                "label",
                kinds={"text": "text"},
            ),
            "blank-text",
            "info",
        ),
        "an input that many instructions do without": (
            Data(
                {"instruction": TEXTS * 4, "input": [t if i % 3 else "" for i, t in enumerate(TEXTS * 4)]},
                kinds={"instruction": "text", "input": "text"},
            ),
            "blank-text",
            "info",
        ),
        "a name that many cars do without": (
            Data(
                {"model": [t if i % 3 else "" for i, t in enumerate(TEXTS * 4)], "hp": NOISE[:48]},
                kinds={"model": "text"},
                context={"short_texts": True},
            ),
            "blank-text",
            "info",
        ),
        "a review that many rows lack": (
            Data(
                {"review": [t if i % 3 else "" for i, t in enumerate(TEXTS * 4)], "stars": NOISE[:48]},
                kinds={"review": "text"},
            ),
            "blank-text",
            "warning",
        ),
        "an answer that is often blank": (
            Data(
                {"instruction": TEXTS * 4, "output": [t if i % 3 else "" for i, t in enumerate(TEXTS * 4)]},
                kinds={"instruction": "text", "output": "text"},
            ),
            "blank-text",
            "warning",
        ),
        "programs without indentation": (
            Data(
                {"code": [f"def f(x):\n{'' if i % 5 == 0 else '    '}return x + {i}\n" for i in range(40)]},
                kinds={"code": "text"},
            ),
            "suspicious-text",
            "warning",
        ),
        "two missing texts of a row that were printed": (
            Data(
                {name: [t if i % 10 else "nan" for i, t in enumerate(TEXTS * 5)] for name in ("title", "body")},
                kinds={"title": "text", "body": "text"},
            ),
            "suspicious-text",
            "warning",
        ),
        "blanks": (Data({"text": [*TEXTS, " \n"]}, kinds={"text": "text"}), "blank-text", "warning"),
        "markup among plain texts": (
            Data({"text": [*TEXTS * 5, "<div>win</div> now"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "letters encoded twice": (
            Data({"text": [*TEXTS * 5, "a caf\u00c3\u00a9"]}, kinds={"text": "text"}),
            "encoding-error",
            "warning",
        ),
        "characters that nobody sees": (
            Data({"text": [*TEXTS * 5, "ca\u202esh"]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
    },
}
