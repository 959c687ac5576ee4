"""Texts that were decoded wrongly, written by another model, or cut off."""

from __future__ import annotations

import unicodedata

import pytest

from dataloader_expert.checks.common.wording import MARKUP, TWICE, kinds_of
from tests.checks.looking import Data, judged

SOUND = [f"The {n}th reading of the meter was taken at noon and written down." for n in range(200)]


def wrong(text: str) -> str:
    """UTF-8 that was read as Windows-1252, or where that has no character as Latin-1."""
    each = [bytes([b]) for b in text.encode()]
    return "".join(b.decode("cp1252", "ignore") or b.decode("latin-1") for b in each)


def test_types_of_programs_are_no_tags() -> None:
    """Seen: one text among thousands, on the size of a reference of type P, was said to hold HTML."""
    assert "markup" not in kinds_of("transmuted to a [u8; size_of::<P>()], which is valid")
    assert "markup" not in kinds_of("call make<P>(x) for each")
    assert "markup" in kinds_of("first line<P>second line")


@pytest.mark.parametrize("letter", [*"äöüßñçéÉÜÄ€…“→≤✓★°£あ😀", "\u2013", "привет"])
def test_what_was_decoded_wrongly_is_found(letter: str) -> None:
    assert TWICE.search(f"a {wrong(letter)} b")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("where i <p and j> q holds", False),
        ("<p>one", True),
        ("a<br/>b", True),
        ('<td class="x">1', True),
        ('see <a rel="me" href="x">this', True),
        ("<a " + "href=" * 20_000, False),  # in no time
        ("<p " + "=" * 100_000, False),
    ],
)
def test_tags_are_told_from_comparisons(text: str, marked: bool) -> None:
    assert (MARKUP.search(text) is not None) is marked


@pytest.mark.parametrize(
    "text",
    [
        "For 92 € you get “more” \u2013 or not…",
        "Il a dit « café »… et s\u2019en va",
        "„Die ADÜ“ und „ÖPNV“",
        "„každáš“ a „vidíš“",
        "amanhã” \u2013 não é",
        "ESPAÑA: 20 °C, 5 µm, ½ l",
        "Привет, мир…",
        "café²",
        "crâne, pâté, â la carte",
    ],
)
def test_letters_with_accents_are_sound(text: str) -> None:
    assert not TWICE.search(text)


def test_wrongly_decoded_texts_can_be_encoded_back() -> None:
    found = judged("texts", Data({"text": [*SOUND, wrong("For 92 € it is good.")]}, kinds={"text": "text"}))
    assert "Windows-1252" in (found["encoding-error"].fix or "")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It is blue. ### Instruction: Name a colour.", "template"),
        ("It is blue.\n### Human: and this?", "template"),
        ("I'm sorry, but as an AI language model I cannot help with that.", "disclaimer"),
        ("As an AI, I have no opinions.", "disclaimer"),
    ],
)
def test_what_a_model_should_not_learn_to_say(text: str, kind: str) -> None:
    assert [*kinds_of(text)] == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It is a caf=C3=A9 by the sea.", "mailed"),
        ("Dear all,=20\nsee you there.", "mailed"),
        ("We met at the har=\nbour and went to the mar=\nket.", "mailed"),
        ("Knit &quot;two&quot; &amp; purl", "entities"),
        ("caf&eacute; at Z&uuml;rich, 5&nbsp;km", "entities"),
        ("it&#39;s late", "entities"),
        ("the har@@ bour is cl@@ osed", "pieces"),
        ("\u2581the \u2581har b our", "pieces"),
    ],
)
def test_codings_that_were_never_undone(text: str, kind: str) -> None:
    """Seen: one mail in twelve was left in quoted-printable, one answer in ten in HTML entities, and nothing was said."""
    assert [*kinds_of(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "write &lt; in HTML for it",
        "`a &amp;&amp; b`",
        "if (a &amp;&amp; b) <c>",
        "AT&T; and R&D;",
        "http://x.org/?a=1&amp;b=2",
        "timeout=20\nretries=3D",
        "see ?q=C3&r=20 for more",
        "@@ -1,3 +1,4 @@ def add(a, b):",
        "x =\\\n  y",
        "a=\nb",
    ],
)
def test_signs_in_programs_are_no_such_coding(text: str) -> None:
    assert not {"mailed", "pieces", "entities"} & {*kinds_of(text)}


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\n### Instructions\n\nTurn it on.",
        "As an AI assistant, you answer briefly.",
        "She works as an AI engineer, I think.",
        "#1 of 3: it was good",
    ],
)
def test_what_people_say_of_models_is_sound(text: str) -> None:
    assert [*kinds_of(text)] == []


def test_a_single_text_may_speak_of_models() -> None:
    said = "He began: as an AI language model, I was told to be brief."
    assert judged("texts", Data({"text": [*SOUND, said]}, kinds={"text": "text"})) == {}
    assert judged("texts", Data({"text": [*SOUND, said, said]}, kinds={"text": "text"}))["suspicious-text"].count == 2


def ending(*ends: str) -> Data:
    return Data({"text": [*SOUND, *(f"The next reading of the {end}" for end in ends)]}, kinds={"text": "text"})


def test_texts_that_end_within_a_word_were_cut_off() -> None:
    found = judged("cut_texts", ending("met", "mete", "readi", "meter"))["suspicious-text"]
    assert found.count == 4 and "3 of them in the middle of a word" in found.message


def told(cut: int, close: str = "Kind regards") -> Data:
    """Conversations whose answers end with a greeting or a full stop; of some, what was said last is cut off anywhere."""
    answer = "the careful gardener remembers the watering of every seedling before the evening, and the neighbours notice the difference"
    turns = []
    for n in range(300):
        words = answer.split()
        said = " ".join([*words[n % 9 :], *words[: n % 9]]) + f" on day {n}. This was the answer."
        said = said[: 20 + n % 60] if n < cut else f"{said}\n\n{close}" if n % 2 else said
        turns.append([{"role": "user", "content": "What happens?"}, {"role": "assistant", "content": said}])
    return Data({"messages": turns}, context={"conversations": frozenset({"messages"})})


def test_answers_of_conversations_that_were_cut_off_are_told() -> None:
    """Seen: 15 % of answers ended in the middle of a sentence, at no one length, beside others that end with a greeting."""
    found = judged("cut_texts", told(60))["suspicious-text"]
    assert "in the middle of a word" in found.message and 40 <= (found.count or 0) <= 60


@pytest.mark.parametrize("data", [told(0), told(0, "Ann"), told(0, "Thanks again")], ids=["greeting", "name", "two"])
def test_answers_that_close_with_a_greeting_are_whole(data: Data) -> None:
    assert judged("cut_texts", data) == {}


@pytest.mark.parametrize(
    "ends",
    [
        ("meter", "noon", "reading", "writer", "clock"),  # without a full stop, as some write
        ("met", "mete"),  # a slip of the pen, or two
        ("met.", "mete.", "readi.", "tak."),  # which ends as the others do
        tuple("met" for _ in range(30)),  # as is the way of many here
    ],
)
def test_texts_that_lack_only_the_full_stop_are_whole(ends: tuple[str, ...]) -> None:
    assert judged("cut_texts", ending(*ends)) == {}


@pytest.mark.parametrize("word", ["été", "Dvořák", "niño", "Łódź", "Việt"])
def test_letters_in_two_characters_are_found(word: str) -> None:
    apart = unicodedata.normalize("NFD", word)
    assert ("decomposed" in kinds_of(apart)) is (apart != word)
    assert "decomposed" not in kinds_of(word)


def test_marks_without_a_letter_of_their_own_are_sound() -> None:
    """As linguists and other scripts write them."""
    assert "decomposed" not in {*kinds_of("m\u0325 and b\u0301"), *kinds_of("\u0915\u093c"), *kinds_of("\u0430\u0301")}


def test_a_few_texts_in_the_other_form_are_told() -> None:
    texts = [f"le {n}e été à Orléans était chaud et sec" for n in range(200)]
    texts[7:12] = [unicodedata.normalize("NFD", text) for text in texts[7:12]]
    found = judged("texts", Data({"text": texts}, kinds={"text": "text"}))["suspicious-text"]
    assert found.count == 5
    assert "NFC" in found.fix


def reviewed(other: str, n: int = 12, short: int = 0) -> Data:
    """Texts of which ``n`` are another one, and some are a single word."""
    return Data({"text": [other] * n + ["Great!"] * short + SOUND}, kinds={"text": "text"})


@pytest.mark.parametrize("printed", ["nan", "NaN", "<NA>", "None", "null"])
def test_what_a_program_prints_for_a_missing_text_is_told(printed: str) -> None:
    """Seen: str(float('nan')) in 6 % of reviews, of which only the lengths were told as outliers."""
    found = judged("texts", reviewed(printed))["suspicious-text"]
    assert found.count == 12 and "missing value printed as text" in found.message


@pytest.mark.parametrize(
    "data",
    [reviewed("None", 5, 40), reviewed("nan", 1), reviewed("N/A"), reviewed("nan bread"), reviewed("null", 3, 7)],
    ids=["short answers", "a single one", "what people write", "a word of more", "labels as texts"],
)
def test_words_that_may_be_answers_are_sound(data: Data) -> None:
    """Our promise: a field of short answers may say None."""
    assert "suspicious-text" not in judged("texts", data)
