"""Templates that were never filled in, and what only looks like them."""

from __future__ import annotations

import pytest

from tests.checks.looking import Data, judged

WORDS = [
    "river",
    "harbour",
    "engine",
    "teacher",
    "market",
    "bridge",
    "winter",
    "garden",
    "contract",
    "museum",
    "patient",
]
ASKED = [f"Who saw the {WORDS[i % 11]} near the {WORDS[i * 7 % 11]} in {1700 + i}?" for i in range(300)]


def told(texts: list[str], kind: str = "text") -> int:
    found = judged("unfilled", Data({"prompt": texts}, kinds={"prompt": kind}))
    return found["suspicious-text"].count if "suspicious-text" in found else 0


@pytest.mark.parametrize(
    "texts",
    [
        ["{question}"] * 4,
        ["{{ question }}"] * 2,
        ["Answer the question: {{instruction}}"] * 5,
        ["Translate to German: %(sentence)s"] * 3,
        ["Dear {customer_name}, your order of the ${item} has been sent."] * 3,
        [f"Answer briefly: ${{query}} {text}" for text in ASKED[:4]],
        ["[INSERT QUESTION HERE]"] * 2,
        ["<your name>", "<your name>"],
    ],
)
def test_a_template_that_was_not_filled_in_is_told(texts: list[str]) -> None:
    assert told([*ASKED, *texts]) == len(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["{question}"],  # once, it may be what is spoken of
        [f"Sincerely yours, the {word}\n[Your Name]" for word in WORDS],  # letters that somebody is to sign
        ["Sincerely yours,\n[Your Name]"] * 9,
        ["{laughter}"] * 9,  # a sound
        ["{T}: Add {G} to your pool."] * 9,  # signs of a game
        ['print(f"Hello {name}, how are you")'] * 9,
        ["const greeting = `Hello ${name}`;"] * 9,
        [r"Show that \frac{a}{b} = \sqrt{value}"] * 9,
        ['Return {"name": {name}} as JSON'] * 9,
        ["GET /users/{user_id}/posts"] * 9,
        [
            f"{words} of {{name}} {i}"
            for i, words in enumerate(("Delete", "Rename", "Copy", "Move", "Share", "Open") * 2)
        ],
        ["{count} items"] * 9,
        [f"What does {{{{{word}}}}} mean in a template?" for word in WORDS],  # each another one
        ["Sales grew by 100 % in 2019 (s)."] * 9,
        ["[NAME]", "<NAME>", "[MASK]", "<unk>"] * 3,  # marks of what was taken out
        [],
    ],
)
def test_what_speaks_of_placeholders_is_sound(texts: list[str]) -> None:
    assert told([*ASKED, *texts]) == 0


def test_where_placeholders_are_usual_they_are_meant() -> None:
    assert told([*ASKED[:80], *["Answer the question: {question}"] * 20]) == 0
    assert told([f"Write about {{topic}} as a {word}." for word in WORDS * 9]) == 0


def test_where_braces_are_usual_nothing_is_said() -> None:
    assert told([*ASKED[:80], *["if (a) { b(); }"] * 10, *["Say {{text}}"] * 4]) == 0


def test_a_category_may_be_one_as_well() -> None:
    assert told([*(["red", "blue"] * 40), *["${value}"] * 3], "category") == 3


def test_a_turn_of_a_conversation_may_be_one_as_well() -> None:
    def talk(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}, {"role": "assistant", "content": "It was the teacher."}]

    talks = [talk(text) for text in [*ASKED, *["Answer this: {{question}}"] * 3]]
    context = {"conversations": frozenset({"messages"})}
    found = judged("unfilled", Data({"messages": talks}, kinds={"messages": "other"}, context=context))
    assert found["suspicious-text"].count == 3


def test_a_field_with_very_many_placeholders_speaks_of_them() -> None:
    texts = [f"Say {{{{word_{i}}}}} to the {WORDS[i % 11]}" for i in range(1_200)]
    assert told([*texts, *["Answer: {{question}}"] * 5, *ASKED * 60]) == 0
