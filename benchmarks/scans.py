"""Scanned pages: how many words are read, and what a page takes, by models and by tesseract.

    python -m benchmarks.scans [--pages 40]

Pages of print as a scanner or a phone makes them: turned a little, blurred, noisy, shrunk, packed
as JPEG. Both ways read the same pages, in turn. Fonts are those of the machine (DejaVu). Writes
benchmarks/results/scans.json.
"""

from __future__ import annotations

import io
import random
import re
import resource
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.common import ROOT, parser, save
from secondlook.retrieval.parse.ocr import recognizer
from secondlook.retrieval.parse.source import ParseLimits

WIDTH, HEIGHT, MARGIN, LOWEST = 1240, 1754, 120, 1500
FONTS = ("DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSans-Bold.ttf")


def page(number: int, words: list[str]) -> tuple[Image.Image, list[str]]:
    """A degraded page, and the words on it."""
    draw = random.Random(number)
    font = ImageFont.truetype(draw.choice(FONTS), draw.choice([22, 24, 28]))
    picture = Image.new("L", (WIDTH, HEIGHT), 255)
    pen, at, top, said = ImageDraw.Draw(picture), draw.randrange(len(words) - 500), MARGIN, []
    while top < LOWEST:
        line, at = " ".join(words[at : at + draw.randint(6, 9)]), at + 9
        if draw.random() < 0.2:
            line = f"Amount due: {draw.randint(10, 9999)}.{draw.randint(10, 99)} EUR"
        pen.text((MARGIN, top), line, font=font, fill=draw.choice([0, 40, 70]))
        said += line.split()
        top += int(font.size * 1.7)
    picture = picture.rotate(draw.uniform(-1.5, 1.5), fillcolor=255)
    picture = picture.filter(ImageFilter.GaussianBlur(draw.choice([0.0, 0.6, 1.0])))
    noise = np.random.default_rng(number).normal(0, draw.choice([5, 15, 30]), (HEIGHT, WIDTH))
    picture = Image.fromarray((np.asarray(picture) + noise).clip(0, 255).astype("uint8"))
    scale = draw.choice([0.6, 0.75, 1.0])
    packed = io.BytesIO()
    small = picture.resize((int(WIDTH * scale), int(HEIGHT * scale)))
    small.save(packed, "JPEG", quality=draw.choice([30, 50, 80]))
    return Image.open(packed).convert("L"), said


def read_of(said: list[str], found: str) -> float:
    """The share of the words that was read, letter by letter, wherever it stands."""
    wanted, given = (Counter(re.findall(r"\w+", text.lower())) for text in (" ".join(said), found))
    return sum((wanted & given).values()) / sum(wanted.values())


def processor_seconds() -> float:
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, both))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--pages", type=int, default=40)
    chosen = options.parse_args()
    words = Path(ROOT / "tests" / "support" / "law.txt").read_text("utf-8").split()
    ways = {"models": None, "tesseract": "eng"}
    found: dict[str, dict[str, list[float]]] = {way: {"words": [], "seconds": []} for way in ways}
    for number in range(chosen.pages + 1):  # the first one only warms up
        picture, said = page(number, words)
        for way, language in ways.items():
            read = recognizer(ParseLimits(ocr_language=language))
            if read is None:
                raise SystemExit(f"{way} is not installed")
            began = processor_seconds()
            text = " ".join(line.text for line in read(picture))
            if number:
                found[way]["seconds"].append(processor_seconds() - began)
                found[way]["words"].append(read_of(said, text))
    told: dict[str, Any] = {"pages": chosen.pages}
    for way, figures in found.items():
        shares = np.array(figures["words"])
        told[way] = {
            "words": round(float(shares.mean()), 4),
            "worst page": round(float(shares.min()), 4),
            "processor seconds a page": round(float(np.median(figures["seconds"])), 2),
        }
    save("scans", told)


if __name__ == "__main__":
    main()
