"""Data sets as people publish them, with one thing wrong: it is told, and hides nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import Scanned, scan
from tests.making.tiny import wav

RNG = np.random.default_rng()


def image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    small = RNG.integers(0, 256, (6, 6, 3), np.uint8)
    Image.fromarray(small).resize((64, 64), Image.Resampling.BICUBIC).save(path)


def sound(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    wav(path, RNG.normal(0, 3000, 4000))


def classes(told: Scanned) -> dict[str, int]:
    """Samples per class, over all splits."""
    counts: dict[str, int] = {}
    for fact in told.facts:
        if fact["quantity"]["name"] == "class_counts" and fact["at"].get("split") is None:
            counts |= fact["value"]
    return counts


def codes(folder: Path) -> dict[str, Any]:
    return {f.code: f for f in scan(folder, folder).findings if f.severity != "info"}


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def coco(folder: Path, leak: bool) -> None:
    """Twelve images for training and six for validation; ``leak``: one is in both, with another box."""
    for split, n in (("train", 12), ("val", 6)):
        told: dict[str, Any] = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "cat"}]}
        for i in range(n):
            name = f"{split}{i}.png"
            image(folder / split / name)
            told["images"].append({"id": i, "file_name": name, "width": 64, "height": 64})
            box = [int(RNG.integers(0, 20)), int(RNG.integers(0, 20)), 10 + i, 12]
            told["annotations"].append({"id": i, "image_id": i, "category_id": 1, "bbox": box, "area": 1, "iscrowd": 0})
        (folder / f"instances_{split}.json").write_text(json.dumps(told))
    if leak:
        (folder / "val" / "val3.png").write_bytes((folder / "train" / "train5.png").read_bytes())


@pytest.mark.parametrize("leak", [False, True])
def test_an_image_in_two_splits_is_a_leak_whatever_its_boxes(tmp_path: Path, leak: bool) -> None:
    coco(tmp_path, leak)
    found = codes(tmp_path)
    assert ("splits-overlap" in found) == leak
    assert leak or not found


def test_a_recording_in_two_splits_is_a_leak_whatever_its_words(tmp_path: Path) -> None:
    for split in ("train", "test"):
        rows = []
        for i in range(8):
            sound(tmp_path / split / f"{split}{i}.wav")
            rows.append(f"{split}{i}.wav,what {split} {i} says")
        (tmp_path / split / "metadata.csv").write_text("\n".join(["file_name,transcription", *rows]) + "\n")
    (tmp_path / "test" / "test2.wav").write_bytes((tmp_path / "train" / "train4.wav").read_bytes())
    assert codes(tmp_path)["splits-overlap"].count == 1


@pytest.mark.parametrize(
    ("row", "code"), [("i3.png,owl", "label-conflict"), ("i3.png,dog", "duplicate-keys")], ids=["another", "the same"]
)
def test_one_row_too_many_makes_no_lists(tmp_path: Path, row: str, code: str) -> None:
    rows = [f"i{i}.png,{('cat', 'dog', 'owl')[i % 3] if i != 3 else 'dog'}" for i in range(45)]
    for i in range(45):
        image(tmp_path / "images" / f"i{i}.png")
    (tmp_path / "labels.csv").write_text("\n".join(["filename,label", *rows, row]) + "\n")
    told = scan(tmp_path, tmp_path)
    assert [w["file"] for f in told.findings if f.code == code for w in f.where] == ["images/i3.png"]
    assert sum(classes(told).values()) == 45


def test_a_stray_class_in_the_table_of_one_split_loses_no_labels(tmp_path: Path) -> None:
    for kind in ("cat", "dog"):
        for i in range(20):
            image(tmp_path / "train" / kind / f"{kind}{i}.png")
    rows = []
    for i in range(20):
        image(tmp_path / "val" / f"v{i}.png")
        rows.append(f"v{i}.png,{'dogg' if i == 7 else ('cat', 'dog')[i % 2]}")
    (tmp_path / "val" / "labels.csv").write_text("\n".join(["filename,label", *rows]) + "\n")
    told = scan(tmp_path, tmp_path)
    assert sum(classes(told).values()) == 60
    assert {"label-singleton", "class-missing-in-split"} <= {f.code for f in told.findings}
    assert "missing-values" not in {f.code for f in told.findings}


def test_a_blank_transcript_is_missing(tmp_path: Path) -> None:
    rows = []
    for i in range(20):
        sound(tmp_path / "clips" / f"c{i}.wav")
        rows.append(f"clips/c{i}.wav\t{'' if i == 6 else f'sentence {i} of these'}")
    (tmp_path / "t.tsv").write_text("\n".join(["path\tsentence", *rows]) + "\n")
    assert codes(tmp_path)["missing-values"].count == 1


@pytest.mark.parametrize("column", ["fname", "nr"])
def test_numbers_that_are_all_names_of_files_name_them(tmp_path: Path, column: str) -> None:
    numbers = sorted(RNG.choice(90_000, 30, replace=False).tolist())
    for n in numbers:
        sound(tmp_path / "audio" / f"{n}.wav")
    rows = [f"{n},{('bark', 'horn')[i % 2]}" for i, n in enumerate(numbers)]
    (tmp_path / "labels.csv").write_text("\n".join([f"{column},label", *rows]) + "\n")
    told = scan(tmp_path, tmp_path)
    assert not [f for f in told.findings if f.severity != "info"]
    assert classes(told) == {"bark": 15, "horn": 15}


def test_one_odd_value_hides_no_label_of_a_table_without_a_header(tmp_path: Path) -> None:
    rows = [f"{i % 4 + 1},text number {i} of many" for i in range(150)]
    rows[40] = "7,text that is in no class"
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n")
    assert "label-singleton" in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_lines_of_five_numbers_that_belong_to_no_image_are_no_boxes(tmp_path: Path) -> None:
    for i in range(6):
        image(tmp_path / "images" / f"{('a', 'b')[i % 2]}" / f"i{i}.png")
    (tmp_path / "bounding_boxes.txt").write_text("".join(f"{i} 60.0 27.0 325.0 304.0\n" for i in range(6)))
    assert codes(tmp_path) == {}
    [told] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert (told.severity, told.where) == ("info", ({"file": "bounding_boxes.txt"},))
    assert "is text, apart from the samples" in told.message


def test_annotations_without_a_suffix_are_told_by_what_they_hold(tmp_path: Path) -> None:
    for i in range(6):
        image(tmp_path / "Images" / f"n1_{i}.png")
        (tmp_path / "Annotation").mkdir(exist_ok=True)
        right = 400 if i == 2 else 30
        box = f"<bndbox><xmin>3</xmin><ymin>3</ymin><xmax>{right}</xmax><ymax>40</ymax></bndbox>"
        text = f"<annotation>\n\t<object><name>dog</name>{box}</object>\n</annotation>\n"
        (tmp_path / "Annotation" / f"n1_{i}").write_text(text)
    assert codes(tmp_path)["box-outside"].count == 1


def test_a_partition_by_numbers_is_the_split(tmp_path: Path) -> None:
    lines = []
    for i in range(30):
        image(tmp_path / "img" / f"{i:06d}.png")
        lines.append(f"{i:06d}.png {0 if i < 20 else 1 if i < 25 else 2}\n")
    (tmp_path / "list_eval_partition.txt").write_text("".join(lines))
    (tmp_path / "img" / "000027.png").write_bytes((tmp_path / "img" / "000004.png").read_bytes())
    assert "train and test" in codes(tmp_path)["splits-overlap"].message


def test_folders_of_transcribed_recordings_are_no_classes(tmp_path: Path) -> None:
    for split, speakers in (("train-clean", (19, 26)), ("dev-clean", (84, 174))):
        for speaker in speakers:
            for i in range(5):
                sound(tmp_path / split / str(speaker) / f"{speaker}-1-{i}.wav")
            lines = "".join(f"{speaker}-1-{i} WORDS THAT SPEAKER {speaker} READS {'VERY ' * i}WELL\n" for i in range(5))
            (tmp_path / split / str(speaker) / f"{speaker}-1.trans.txt").write_text(lines)
    assert not {"class-missing-in-split", "label-drift"} & set(codes(tmp_path))


def test_labels_that_one_split_has_more_of_are_no_damage(tmp_path: Path) -> None:
    for split, more in (("train", ()), ("dev", ("label2", "label3"))):
        rows = [f"{i}\tpremise {split} {i}\t{('yes', 'no')[i % 2]}" + "\tyes" * len(more) for i in range(20)]
        (tmp_path / f"{split}.tsv").write_text(
            "\n".join(["\t".join(["id", "sentence", "gold_label", *more]), *rows]) + "\n"
        )
    assert not {"extra-key", "missing-key"} & set(codes(tmp_path))


@pytest.mark.parametrize("amounts", [False, True], ids=["classes", "amounts"])
def test_what_training_alone_has_is_a_class_or_an_amount(tmp_path: Path, amounts: bool) -> None:
    """Kaggle's test files lack the column that is to be predicted: few values are classes, prices are none."""
    rows = [f"{i},{RNG.integers(500, 9000)}" for i in range(120)]
    held = RNG.integers(40_000, 700_000, 80) if amounts else np.arange(80) % 3
    train = [f"{row},{value}" for row, value in zip(rows[:80], held, strict=True)]
    (tmp_path / "train.csv").write_text("\n".join(["Id,LotArea,Wanted", *train]) + "\n")
    (tmp_path / "test.csv").write_text("\n".join(["Id,LotArea", *rows[80:]]) + "\n")
    told = scan(tmp_path, tmp_path)
    assert not {f.code for f in told.findings} & {"missing-key", "extra-key", "label-singleton"}
    assert len(classes(told)) == (0 if amounts else 3)


def test_described_recordings_in_folders_of_classes_keep_their_labels(tmp_path: Path) -> None:
    rows = []
    for kind in ("bark", "horn"):
        for i in range(12):
            sound(tmp_path / kind / f"{kind}-{i}.wav")
            rows.append(f"{kind}-{i}.wav,what was recorded {'there ' * i}by {kind} {i}")
    (tmp_path / "metadata.csv").write_text("\n".join(["file_name,description", *rows]) + "\n")
    assert classes(scan(tmp_path, tmp_path)) == {"bark": 12, "horn": 12}


def rows(n: int) -> list[str]:
    return [f"{i * 0.1:.1f},{RNG.normal(20, 3):.3f},{RNG.normal(1013, 9):.2f},{RNG.integers(0, 3)}" for i in range(n)]


@pytest.mark.parametrize(
    "above",
    [
        ["# exported by hand", "# units: s, C, hPa", "#"],
        ["Station 12, north", "Logger A7", ""],
        ["# s, C, hPa, class"],
        ["%% of the second run"],
        [],
    ],
)
def test_what_stands_above_a_header_is_no_row(tmp_path: Path, above: list[str]) -> None:
    """Our promise: neither remarks nor a title cost the table its columns or rows."""
    text = "\n".join([*above, "time,temp,pressure,label", *rows(90)]) + "\n"
    (tmp_path / "data.csv").write_text(text)
    source = opened(tmp_path)
    assert source.samples == 90
    assert [f.name for f in source.fields] == ["time", "temp", "pressure", "label"]
    assert not codes(tmp_path)


@pytest.mark.parametrize(
    ("text", "names", "rows_"),
    [
        ("#en\tde\nhello\thallo\nbye\ttschuess\nnight\tnacht\n", ["#en", "de"], 3),
        ("#text,label\nnice day,happy\nbad day,sad\ngood day,happy\n", ["#text", "label"], 3),
        ("x\nr1,NA\nr2,1\nr3,2\nr4,5\n", ["index", "x"], 4),
        ("age,height,label\n0.5,170,a,\n1.5,160,b,\n2.5,150,a,\n", ["age", "height", "label", "f3"], 3),
    ],
)
def test_no_header_is_taken_for_a_remark(tmp_path: Path, text: str, names: list[str], rows_: int) -> None:
    (tmp_path / ("data.tsv" if "\t" in text else "data.csv")).write_text(text)
    source = opened(tmp_path)
    assert ([f.name for f in source.fields], source.samples) == (names, rows_)


def test_documents_with_entities_that_have_ids_stay_documents(tmp_path: Path) -> None:
    rows_ = [
        {"text": f"text {i} of all", "entities": [{"id": k, "word": "of"} for k in range(i % 3)]} for i in range(30)
    ]
    (tmp_path / "data.json").write_text(json.dumps(rows_))
    assert opened(tmp_path).samples == 30


def test_a_first_row_that_is_damaged_is_a_row(tmp_path: Path) -> None:
    """Our promise: without a header nothing is taken for a title."""
    first, *others = rows(90)
    (tmp_path / "data.csv").write_text("\n".join([first.rpartition(",")[0], *others]) + "\n")
    assert codes(tmp_path)["parse-error"].count == 1


def test_a_marked_header_is_one(tmp_path: Path) -> None:
    lines = [f"{RNG.integers(1, 23)}\t{RNG.integers(1, 9**7)}\tA\t{RNG.integers(1, 99)}" for _ in range(60)]
    (tmp_path / "calls.tsv").write_text("\n".join(["##fileformat=VCFv4", "#CHROM\tPOS\tREF\tQUAL", *lines]) + "\n")
    source = opened(tmp_path)
    assert [f.name for f in source.fields] == ["#CHROM", "POS", "REF", "QUAL"]
    assert source.samples == 60


def test_a_table_of_r_has_a_column_without_a_name(tmp_path: Path) -> None:
    lines = [f"{i + 1},{row}" for i, row in enumerate(rows(60))]
    (tmp_path / "data.csv").write_text("\n".join(["time,temp,pressure,label", *lines]) + "\n")
    assert [f.name for f in opened(tmp_path).fields] == ["index", "time", "temp", "pressure", "label"]
    assert not codes(tmp_path)


def test_the_suffixes_of_adult_are_splits_and_its_classes_differ_by_a_full_stop(tmp_path: Path) -> None:
    for suffix, n, end in (("data", 200, ""), ("test", 100, ".")):
        made = [
            f"{RNG.integers(17, 90)}, {RNG.choice(['Private', 'State'])}, {RNG.choice(['>50K', '<=50K'])}{end}"
            for _ in range(n)
        ]
        text = "\n".join(["|1x3 Cross validator"] * (suffix == "test") + made) + "\n"
        (tmp_path / f"adult.{suffix}").write_text(text)
    assert set(opened(tmp_path).splits) == {"train", "test"}
    told = scan(tmp_path, tmp_path)
    assert set(classes(told)) == {">50K", "<=50K", ">50K.", "<=50K."}
    assert "label-twins" in {f.code for f in told.findings}


def test_tables_of_other_things_are_none_of_the_table(tmp_path: Path) -> None:
    """Our promise: ratings, tags and films are three tables, though two of them share most of their columns."""
    ratings = [f"{u},{m},{RNG.integers(1, 11) / 2},{964982703 + u * m}" for u in range(20) for m in range(10)]
    tags = [f"{u},{u + 1},{RNG.choice(['funny', 'dark'])},{964982703 + u}" for u in range(20)]
    for name, head, body in (
        ("ratings", "userId,movieId,rating,timestamp", ratings),
        ("tags", "userId,movieId,tag,timestamp", tags),
        ("movies", "movieId,title", [f"{m},Film {m}" for m in range(10)]),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *body]) + "\n")
    assert opened(tmp_path).samples == 200
    [told] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert told.severity == "info" and {w["file"] for w in told.where} == {"tags.csv", "movies.csv"}
    assert codes(tmp_path) == {}


@pytest.mark.parametrize("moved", [False, True])
def test_the_questions_of_squad_are_samples_and_their_answers_stand_in_the_context(tmp_path: Path, moved: bool) -> None:
    for split, n in (("train", 12), ("dev", 5)):
        articles = []
        for a in range(n):
            text = f"{split} {a}: the river {RNG.integers(10**6)} flows north of the town of {RNG.integers(10**6)}."
            questions = [
                {
                    "id": f"{split}-{a}-{k}",
                    "question": f"What is {k} of {RNG.integers(10**6)}?",
                    "answers": [
                        {"text": word, "answer_start": text.index(word) + (moved and split == "train" and a == k == 3)}
                    ],
                }
                for k, word in enumerate(text.split()[1:6])
            ]
            articles.append({"title": f"{split}{a}", "paragraphs": [{"context": text, "qas": questions}]})
        (tmp_path / f"{split}-v1.1.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    source = opened(tmp_path)
    assert source.samples == 85
    assert [f.name for f in source.fields] == ["title", "context", "id", "question", "answers"]
    assert {code: f.count for code, f in codes(tmp_path).items()} == ({"span-mismatch": 1} if moved else {})


def test_folders_that_differ_in_their_split_are_splits_beside_others(tmp_path: Path) -> None:
    for folder, of in (("bounding_box_train", range(8)), ("bounding_box_test", range(8, 14)), ("query", range(8, 14))):
        for person in of:
            image(tmp_path / folder / f"{person:04d}_c1s1_{RNG.integers(10**6):06d}_00.jpg")
    image(tmp_path / "\u5176\u4ed6" / "0099_c1s1_000001_00.jpg")  # a name without a Latin letter
    assert set(opened(tmp_path).splits) >= {"train", "test"}


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    head = list(rows[0])
    lines = [",".join(head), *(",".join(str(row[key]) for key in head) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("name", "leaks"), [("device", True), ("lesion_id", True), ("pid", True), ("customers", False), ("sessions", False)]
)
def test_a_number_of_customers_is_no_customer(tmp_path: Path, name: str, leaks: bool) -> None:
    """Our promise: a group is named in the singular, or by codes; counts come again in every split."""
    for split, n in (("train", 300), ("test", 100)):
        made = [{name: int(RNG.poisson(40)), "x": RNG.normal(), "label": RNG.integers(0, 2)} for _ in range(n)]
        written(tmp_path, split, made)
    assert ("group-leakage" in codes(tmp_path)) == leaks


@pytest.mark.parametrize(("other", "leaks"), [("movieId", False), ("ward_id", True)])
def test_users_of_a_recommender_come_again(tmp_path: Path, other: str, leaks: bool) -> None:
    pairs = [(u, m) for u in range(60) for m in range(200)]
    some = [pairs[i] for i in RNG.choice(len(pairs), 1200, replace=False)]
    for split, part in (("train", some[:900]), ("test", some[900:])):
        written(tmp_path, split, [{"userId": u, other: m, "rating": RNG.integers(1, 11) / 2} for u, m in part])
    assert ("group-leakage" in codes(tmp_path)) == leaks


def test_samples_of_machines_are_no_pairs(tmp_path: Path) -> None:
    """An id of each sample beside that of its machine takes nothing from the machine, which is in both splits."""
    for split, first, n in (("train", 0, 300), ("test", 300, 120)):
        rows = [{"sample_id": first + i, "machine_id": i * 37 % 40 * 7, "label": i % 2} for i in range(n)]
        written(tmp_path, split, rows)
    assert "group-leakage" in codes(tmp_path)


@pytest.mark.parametrize("names", [("query-id", "corpus-id", "score"), ("query_id", "doc_id", "relevance")])
def test_documents_come_again_in_judgements_of_relevance(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Seen: of BEIR's ``qrels/train.tsv`` and ``test.tsv``, a document that answers two questions failed the check."""
    for split, first in (("train", 0), ("test", 100)):
        rows = [f"{first + i // 3}\t{4983 + i * 37 % 150 * 7}\t1" for i in range(200)]
        (tmp_path / f"{split}.tsv").write_text("\n".join(["\t".join(names), *rows]) + "\n")
    assert "group-leakage" not in codes(tmp_path)


def test_ids_of_twenty_digits_are_not_rounded(tmp_path: Path) -> None:
    ids = [f"89490200000{n:09d}" for n in RNG.choice(10**9, 400, replace=False)]
    for split, part in (("train", ids[:300]), ("test", ids[300:])):
        written(
            tmp_path,
            split,
            [{"customer_id": one, "x": RNG.normal(), "label": i % 2} for i, one in enumerate([*part, *part])],
        )
    assert {f.name: f.dtype for f in opened(tmp_path).fields}["customer_id"] == "str"
    assert not {"group-leakage", "near-duplicates", "splits-near-overlap"} & set(codes(tmp_path))


def test_the_outcome_is_the_label_beside_a_category(tmp_path: Path) -> None:
    made = [
        {"category": RNG.choice(["food", "fuel"]), "amount": RNG.normal(), "is_fraud": i % 9 == 0} for i in range(90)
    ]
    written(tmp_path, "train", made)
    assert opened(tmp_path).label == "is_fraud"


@pytest.mark.parametrize("copied", [False, True])
def test_questions_to_one_document_are_no_copies(tmp_path: Path, copied: bool) -> None:
    """Our promise: a copy agrees in each of its texts."""
    words = [f"w{i}" for i in range(400)]
    made = []
    for _ in range(30):
        document = " ".join(RNG.choice(words, 80))
        made += [{"document": document, "question": " ".join(RNG.choice(words, 8)) + "?"} for _k in range(3)]
    if copied:
        made.append({key: text.upper() for key, text in made[7].items()})
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    assert set(codes(tmp_path)) == ({"near-duplicates"} if copied else set())
