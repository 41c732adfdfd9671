"""File name extensions: how text is read by name, and what is not worth opening."""

from __future__ import annotations


def as_set(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _each(names: str, what: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), what)


_CODE = (
    "py pyi pyx c h cc cpp cxx hpp hxx cs java kt kts scala groovy go rs swift m mm js mjs cjs jsx "
    "ts tsx vue svelte rb php pl pm lua r jl hs lhs ml mli fs fsx clj cljs ex exs erl hrl dart sh "
    "bash zsh fish ps1 psm1 bat cmd sql graphql proto thrift css scss sass less asm s v sv vhd "
    "vhdl f f90 f95 for pas d nim zig cu cl glsl hlsl tf hcl nix cmake mk gradle bzl el lisp "
    "scm rkt tcl vb vbs coffee elm sol vim awk sed"
)
_TEXT = (
    "txt text log cfg conf ini toml env properties yaml yml nfo me rest asc adoc asciidoc org "
    "wiki textile po bib ris diff patch"
)
TEXT_KINDS: dict[str, str] = {
    **{f".{name}": "code" for name in _CODE.split()},
    **{f".{name}": "text" for name in _TEXT.split()},
    ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown", ".mkd": "markdown",
    ".mdx": "markdown", ".qmd": "markdown", ".rmd": "markdown",
    ".rst": "rst", ".tex": "latex", ".latex": "latex", ".ltx": "latex", ".sty": "code",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".xht": "html", ".mhtml": "mail",
    ".mht": "mail", ".eml": "mail", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".geojson": "json", ".ipynb": "notebook", ".xml": "xml", ".rss": "xml", ".atom": "xml",
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".srt": "subtitles", ".vtt": "subtitles",
}  # fmt: skip
NAMES: dict[str, str] = {
    "makefile": "code", "dockerfile": "code", "rakefile": "code", "gemfile": "code",
    "jenkinsfile": "code", "readme": "text", "license": "text", "copying": "text",
    "changelog": "text", "authors": "text", "notice": "text",
}  # fmt: skip

BINARY_DOCUMENTS = as_set(
    ".pdf .docx .docm .dotx .pptx .pptm .potx .ppsx .xlsx .xlsm .xlsb .xls .ods .odt .odp .ott "
    ".otp .epub .msg .rtf .doc .ppt .zip .tar .gz .tgz .bz2 .xz .png "
    ".jpg .jpeg .tif .tiff .gif .bmp .parquet .pq .sqlite .sqlite3"
)
TABLES = as_set(".csv .tsv .tab .jsonl .ndjson .parquet .pq .sqlite .sqlite3 .db")
"""Read row by row: however large, they need little memory."""
IMAGES = as_set(".png .jpg .jpeg .tif .tiff .bmp .gif .webp")
DOCUMENTS = BINARY_DOCUMENTS | frozenset(TEXT_KINDS)

UNSUPPORTED: dict[str, str] = {
    **_each(".webp .heic .heif .avif .ico .svg .psd .raw .cr2 .nef .xcf .ai .eps", "an image"),
    **_each(".mp4 .mkv .avi .mov .webm .wmv .flv .mpg .mpeg .m4v .3gp", "video"),
    **_each(".mp3 .wav .flac .ogg .oga .opus .m4a .aac .wma .aiff .mid .midi", "audio"),
    **_each(
        ".exe .dll .so .dylib .a .o .obj .lib .bin .class .jar .war .pyc .pyo .pyd .wasm .whl .egg "
        ".deb .rpm .apk .dmg .iso .img .msi .com",
        "a program or a package",
    ),
    **_each(".ttf .otf .woff .woff2 .eot", "a font"),
    **_each(".7z .rar .zst .lz4 .lzma .cab .arj .z", "an archive of a kind that is not read"),
    **_each(".mdb .accdb .dbf", "a database"),
    **_each(
        ".feather .arrow .h5 .hdf5 .npy .npz .pkl .pickle .mat .rds .rdata .dta .sav "
        ".safetensors .onnx .pt .pth .gguf .joblib",
        "binary data",
    ),
    **_each(".map", "generated"),
    ".pages": "an Apple Pages document: export it as PDF or .docx",
    ".key": "an Apple Keynote document: export it as PDF",
    ".numbers": "an Apple Numbers document: export it as .xlsx",
    ".djvu": "a DjVu document: convert it to PDF",
    ".ps": "PostScript: convert it to PDF",
    ".mobi": "a Kindle book: convert it to EPUB",
    ".azw3": "a Kindle book: convert it to EPUB",
}
