"""What a file is, from its first bytes; from its suffix only if the bytes cannot tell."""

from __future__ import annotations

import codecs
import json
import re

BRAT = "brat annotations"
MESH, EDF = "mesh (OFF)", "signals in EDF"
SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".jp2"), "image"),
    **dict.fromkeys((".ppm", ".pgm", ".pbm", ".pnm"), "image"),
    **dict.fromkeys((".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".m4a", ".aac", ".aiff", ".aif"), "audio"),
    ".npy": "npy",
    ".npz": "npz",
    ".pt": "pt",
    ".pth": "pt",
    ".safetensors": "safetensors",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".psv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    **dict.fromkeys((".json", ".geojson"), "json"),
    **dict.fromkeys((".arrow", ".feather"), "arrow"),
    ".tar": "tar",
    **dict.fromkeys((".txt", ".conll", ".conllu", ".bio", ".iob", ".iob2"), "text"),
    **dict.fromkeys((".h5", ".hdf5", ".he5"), "HDF5"),
    # recognised so that an error can name them; not read
    ".ts": "sktime .ts",
    ".tsf": "Monash .tsf",
    ".arff": "ARFF",
    **dict.fromkeys((".fasta", ".faa", ".fna"), "FASTA"),
    **dict.fromkeys((".fastq", ".fq"), "FASTQ"),
    ".mtx": "Matrix Market",
    **dict.fromkeys((".libsvm", ".svmlight"), "LIBSVM"),
    ".xml": "XML (Pascal VOC annotations)",
    ".ann": BRAT,
    ".yaml": "YAML",
    ".yml": "YAML",
    ".tfrecord": "TFRecord",
    ".zarr": "Zarr",
    ".lance": "Lance",
    **dict.fromkeys((".mp4", ".mkv", ".avi", ".mov", ".webm"), "video"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "pickle (never loaded: it can execute code)"),
    **dict.fromkeys((".zip", ".gz", ".zst", ".xz", ".bz2", ".tgz", ".7z"), "compressed archive"),
    **dict.fromkeys((".db", ".sqlite"), "database"),
    **dict.fromkeys((".mdb", ".lmdb"), "LMDB database"),
    ".dcm": "DICOM",
    **dict.fromkeys((".nii", ".nrrd", ".mha", ".mhd"), "medical volume"),
    **dict.fromkeys((".heic", ".heif", ".avif", ".jxl"), "HEIC, AVIF or JPEG XL"),
    **dict.fromkeys((".las", ".laz", ".ply", ".pcd"), "point cloud"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "spreadsheet"),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".rds", ".rdata"), "statistics package"),
    ".mat": "MATLAB",
    ".ipynb": "notebook",
    ".off": MESH,
    ".xyz": "XYZ (atoms or points)",
    **dict.fromkeys((".edf", ".bdf"), EDF),
    ".orc": "ORC",
    ".avro": "Avro",
    ".beton": "FFCV",
}

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"BM", 0, "image/bmp"),
    (b"II*\0", 0, "image/tiff"),
    (b"MM\0*", 0, "image/tiff"),
    (b"II+\0", 0, "image/tiff"),
    (b"MM\0+", 0, "image/tiff"),
    (b"WAVE", 8, "audio/wav"),
    (b"fLaC", 0, "audio/flac"),
    (b"OggS", 0, "audio/ogg"),
    (b"ID3", 0, "audio/mp3"),
    (b"\x93NUMPY", 0, "npy"),
    (b"PK\x03\x04", 0, "zip"),
    (b"PK\x05\x06", 0, "zip"),
    (b"PAR1", 0, "parquet"),
    (b"PARE", 0, "parquet"),
    (b"ARROW1\0\0", 0, "arrow"),
    (b"\xff\xff\xff\xff", 0, "arrow"),
    (b"FEA1", 0, "Feather of before 2020"),
    (b"ustar", 257, "tar"),
    (b"\x89HDF\r\n\x1a\n", 0, "HDF5"),
    (b"\x1f\x8b", 0, "compressed archive"),
    (b"\x28\xb5\x2f\xfd", 0, "compressed archive"),
    (b"BZh", 0, "compressed archive"),
    (b"\xfd7zXZ", 0, "compressed archive"),
    (b"\x00\x00\x00\x0cjP", 0, "image/jp2"),
    (b"\x80\x02", 0, "pickle (never loaded: it can execute code)"),
    (b"\x80\x03", 0, "pickle (never loaded: it can execute code)"),
    (b"\x80\x04\x95", 0, "pickle (never loaded: it can execute code)"),
    (b"\x80\x05\x95", 0, "pickle (never loaded: it can execute code)"),
    (b"SQLite format 3", 0, "database"),
    (b"Standard Jet DB", 4, "database"),
    (b"Standard ACE DB", 4, "database"),
    (b"DICM", 128, "DICOM"),
    (b"MATLAB 5.0 MAT-file", 0, "MATLAB"),
)

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
REMARKS = ("#", "%", "|", "//", "!")
"""How lines begin that say something of a table, and are not of it."""
IDX_TYPES = {8: ("|u1", 1), 9: ("|i1", 1), 11: (">i2", 2), 12: (">i4", 4), 13: (">f4", 4), 14: (">f8", 8)}
"""Dtype and bytes of a value, by the third byte of an IDX file."""
_IDX = re.compile(r"(.+?)[-.]idx\d(?:[-.](?:ubyte|byte|short|int|float|double))?", re.IGNORECASE)
TOKENS = 3
"""The fewest of a sentence, on average."""
LLM_C = {20240520: 2, 20240801: 4}
"""Bytes of a token by the first number of the files of llm.c."""
_TOKENS = re.compile(
    r"(?:.*[._-])?(?:train|training|val|valid|validation|dev|test|eval)(?:[._-]\d+)?\.bin|(?:.*[._-])?tokens?(?:[._-].*)?\.bin",
    re.IGNORECASE,
)
"""Names of files of token ids: ``train.bin``, ``fineweb_val_000000.bin``."""
IMAGE_TYPES = {
    "image/jpeg": ("JPEG", {".jpg", ".jpeg"}),
    "image/png": ("PNG", {".png"}),
    "image/gif": ("GIF", {".gif"}),
    "image/webp": ("WEBP", {".webp"}),
    "image/bmp": ("BMP", {".bmp"}),
    "image/tiff": ("TIFF", {".tif", ".tiff"}),
    "image/netpbm": ("Netpbm", {".ppm", ".pgm", ".pbm", ".pnm"}),
}
WEAK = {"image/bmp", "image/netpbm"}
"""Types whose mark is two letters, which a text may begin with."""
_NETPBM = re.compile(rb"P(?:4(?:[ \n]|\s#.*\n)+\d+[ \n]+\d+[ \n]|[56](?:[ \n]|\s#.*\n)+\d+[ \n]+\d+[ \n]+\d{1,5}[ \n])")
"""The binary formats: bits, greys and colours."""


MESH_HEAD = re.compile(rb"C?N?OFF\s*(?:#.*\s+)*\d+\s+\d+")
EDF_HEAD = re.compile(rb"(?:0       |\xffBIOSEMI)[ -~]{160}[ \d.:]{16}[\d ]{8}", re.DOTALL)
"""Version, patient, recording, the date and time of its start, and the bytes of the header, all padded with blanks."""


def sniff(head: bytes) -> str | None:
    """The type according to the first 512 bytes, or None: ``image/png``, ``audio/wav``, ``npy``, ``zip``…"""
    for mark, at, kind in _MAGIC:
        if head[at : at + len(mark)] == mark:
            return kind
    if (
        len(head) >= 10
        and head[8:9] == b"{"
        and head[9:10] in b'"} \n'
        and int.from_bytes(head[:8], "little") < 100 << 20
    ):
        return "safetensors"
    return "image/netpbm" if _NETPBM.match(head) else None


def kind_of(name: str, head: bytes) -> str | None:
    """The kind of file, one of the values of ``SUFFIXES``: from the bytes if possible, else from the suffix, else a guess."""
    suffix = suffix_of(name)
    named = SUFFIXES.get(suffix)
    seen = sniff(head)
    if EDF_HEAD.match(head):
        return EDF
    if named == MESH and not MESH_HEAD.match(head):
        named = None
    if named == BRAT and head and not _SPANS.match(head):
        named = guess_text(head)
    if name.lower().endswith(".nii.gz"):
        return SUFFIXES[".nii"]
    if seen is None and idx_stem(name) is not None and head[:2] == b"\0\0" and head[2:3] and head[2] in IDX_TYPES:
        return "idx"
    if seen is None and _TOKENS.fullmatch(name):
        return "token-bin"
    if seen is None:
        if named == "text" and _BOXES.match(head.decode("latin-1").rpartition("\n")[0] or head.decode("latin-1")):
            return "YOLO label"
        guess = (text_format(head) or _wide_table(head) or named) if named in (None, "text") else named
        guess = guess_text(head) if guess is None else guess
        if guess is None and of_single_bytes(head):  # whatever it is called
            guess = guess_text(head.decode("latin-1").encode())
        if named == "text" and guess == "text" and _OBJECT.match(head) and guess_text(head) == "jsonl":
            guess = "jsonl"  # whatever it is called, as RACE's questions
        guess = "text" if guess == "tsv" and has_tagged_tokens(head) else guess
        if named == "json" and _is_lines(head):
            guess = "jsonl"  # Yelp's and many others' files of lines are so named
        other = guess in ("csv", "tsv") or (guess is None and head and b"\0" not in head)  # a text in another encoding
        return "text" if other and LANGUAGE.search(name) else guess
    family = seen.split("/")[0]
    if seen == "zip":
        return (
            named if named in ("npz", "pt") else ("pt" if b"data.pkl" in head else "npz" if b".npy" in head else named)
        )
    if named == "pt" and seen.startswith("pickle"):
        return named  # the format of torch before 1.6: loaded with weights_only, or refused
    if seen in WEAK and named not in ("image", None):
        return named
    if named is not None and named != family and family not in ("image", "audio"):
        return family
    return family


_OF_SEVERAL = re.compile(r"[-_.]\d+[-_]of[-_]\d+\Z")


def suffix_of(name: str) -> str:
    """The suffix, in lower case, without the number of a shard behind it, as in ``train.tfrecord-00000-of-00002``."""
    name = _OF_SEVERAL.sub("", name)
    return "." + name.rpartition(".")[2].lower() if "." in name else ""


def head_bytes(name: str) -> int:
    """How much of a file tells what it is: of JSON, a line or two, and of tokens with tags a few sentences."""
    return 1 << 16 if name.lower().endswith(".json") else 1 << 13 if name.lower().endswith(".tsv") else 512


def _is_lines(head: bytes) -> bool:
    """Whether the first line is an object of its own, and another begins after it."""
    first, end, rest = head.lstrip().partition(b"\n")
    try:
        return bool(end) and rest.lstrip().startswith(b"{") and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\{[ \t]*"[^"\n]{1,64}"[ \t]*:')
"""How an object of JSON begins that stands in a line."""
_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et"
    " eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl"
    " km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj"
    " om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to"
    " tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
"""ISO 639-1."""
LANGUAGE = re.compile(
    rf"\.((?:{'|'.join(_CODES.split())})(?:[_-][A-Za-z]{{2,4}})?|[a-z]{{3}}_[A-Z][a-z]{{3}}|src|tgt|trg|source|target)\Z"
)
"""How files of parallel texts end: in a language, or its part in the translation."""
_BOXES = re.compile(r"(?:\d+(?: -?\d*\.\d+){4}\s*)+\Z")
"""A class and a box in each line; what else labels may hold is numbers that may mean anything, if no image is beside it."""


MOSTLY_ASCII = 0.9
"""The least share of ASCII in a text of another encoding, in a language of Latin letters."""
TEXT_FORMATS = {"ARFF", "FASTA", "FASTQ", "Matrix Market", "LIBSVM"}
"""Text files of records that are not read, and are no prose either."""
_SPARSE = re.compile(rb"[-+]?\d+(?:\.\d+)?(?: +\d+:[-+.\deE]+)+ *")
_RESIDUES = re.compile(rb">[^\n]+\n(?:[A-Za-z*-]{20,}\n)+[A-Za-z*-]*(?:\n|>|\Z)")


def text_format(head: bytes) -> str | None:
    """The format of a text of records that its first lines tell, one of ``TEXT_FORMATS``; None of any other."""
    head = head.replace(b"\r\n", b"\n")
    if head.startswith(b"%%MatrixMarket "):
        return "Matrix Market"
    if head.startswith(b">") and _RESIDUES.match(head):
        return "FASTA"
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"%")]
    if lines and re.match(rb"@relation\s", lines[0], re.IGNORECASE):
        return "ARFF"
    rows = lines[:-1] if len(lines) > 1 else [line.rpartition(b" ")[0] for line in lines]
    return "LIBSVM" if rows and all(map(_SPARSE.fullmatch, rows)) else None


def _wide_table(head: bytes) -> str | None:
    """What a table in UTF-16 is called where its file's name tells nothing; None of other bytes."""
    return "UTF-16 table (write it as UTF-8)" if guess_text(of_utf_16(head)) in ("csv", "tsv") else None


def of_utf_16(head: bytes) -> bytes:
    """The text of the first bytes in UTF-8; nothing of other bytes."""
    return head.decode("utf-16", "ignore").encode("utf-8", "ignore") if head.startswith(UTF_16) else b""


_SPANS = re.compile(rb"(?:\xef\xbb\xbf)?[TREAMN#]\d+\t")
"""How a file of brat begins: with the number of a span, a relation, an event or a note."""
_ARRAY = re.compile(r'\s*\[\s*(?:$|[\[\]{"\d-]|true|false|null)')
"""How a list of JSON begins; a text may begin with a word in brackets."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def has_tagged_tokens(head: bytes) -> bool:
    """Whether blank lines end sentences of several tokens, each with tags that recur."""
    text = head.decode("utf-8", "replace").replace("\r\n", "\n")
    whole = _BLANK_LINE.split(text.strip("\n"))[:-1]
    rows = [line.split("\t") for block in whole for line in block.split("\n") if not line.startswith("#")]
    alike = len({len(row) for row in rows}) == 1 and len(rows) >= TOKENS * len(whole)
    return len(whole) > 1 and alike and len(rows[0]) > 1 and 2 * len({row[-1] for row in rows}) <= len(rows)


_SECTION = re.compile(r"\[[A-Za-z][\w .:-]*\]")
"""The first line of a file of settings, such as ``[Sequence]``."""


def idx_stem(name: str) -> str | None:
    """The name of an IDX file without what says so: ``train-images-idx3-ubyte`` is ``train-images``; None of another file."""
    found = _IDX.fullmatch(name)
    return found[1] if found else None


def of_single_bytes(head: bytes) -> bool:
    """Whether bytes are lines of text in an encoding of one byte each, as older data sets are written: nearly all ASCII, and none that
    controls."""
    plain = sum(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)
    return b"\n" in head and plain >= MOSTLY_ASCII * len(head) and not any(byte < 9 or 13 < byte < 32 for byte in head)


NUMBERS_AND_NAME = re.compile(r'[ \t]*(?:(?:[-+]?\d+(?:\.\d*)?|\?)[ \t]+){3,}"[^"\n]*"[ \t\r]*')
"""A row of numbers in columns of fixed width before a name in quotes, as of the UCI repository."""


def guess_text(head: bytes) -> str | None:
    """Text formats have no magic number: JSON lines, JSON, tab- or comma-separated, else plain text; None if binary."""
    if not head or b"\0" in head:
        return None
    try:
        text = head.decode("utf-8", "strict")
    except UnicodeDecodeError as e:
        if e.start < len(head) - 4:
            return None
        text = head[: e.start].decode("utf-8")
    lines = text.splitlines()
    whole = lines[:-1] if len(lines) > 1 else lines
    if whole and whole[0].lstrip().startswith("{"):
        return "jsonl" if whole[0].rstrip().endswith("}") or len(lines) == 1 else "json"
    if whole and whole[0].lstrip().startswith("<annotation>"):
        return SUFFIXES[".xml"]
    if whole and _ARRAY.match(whole[0]) and not _SECTION.fullmatch(whole[0].strip()):
        return "json"
    table = [line for line in whole if line and not line.startswith(REMARKS)]
    if len(table) >= 2 and all(map(NUMBERS_AND_NAME.fullmatch, table)):
        return "text"  # one tab stands before the name, and blanks between the numbers
    for mark, kind in (("\t", "tsv"), (",", "csv")):
        counts = {line.count(mark) for line in table}
        if len(table) >= 2 and 0 not in counts and (len(counts) == 1 or table[0].count(mark) >= 2):
            return kind
    return "text"
