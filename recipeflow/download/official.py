"""The authors' published files: where they are, and how they are copied into a release folder, byte for byte."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from recipeflow.download.fetch import Fetcher
from recipeflow.errors import ChecksumError, MissingFileError, OutputExistsError
from recipeflow.files import write_aside
from recipeflow.release.info import INFO, OFFICIAL_SHA256, ReleaseInfo, read_info
from recipeflow.release.parsing import ANNOTATIONS
from recipeflow.release.urls import URLS

COMMIT = "ac254a6514d8299b0b9d403709a5c993a8108be7"
ADDRESS = f"https://raw.githubusercontent.com/kskshr/Visual-Recipe-Flow/{COMMIT}/data"
CHECKSUMS = {
    ANNOTATIONS: OFFICIAL_SHA256,
    URLS: "356114b25fd1330a88736d8563f146d8718bced89604a46485c4c26a8ed464f0",
}
LIMIT = 100_000_000
OFFICIAL = ReleaseInfo(source="official", licence="MIT", version=COMMIT)


def fetch_annotations(out: Path, fetcher: Fetcher, address: str = ADDRESS) -> None:
    """Start a release folder with the published annotations, fetched unless they exist.

    Args:
        out: The release folder.
        fetcher: Makes the requests.
        address: The folder of the published files on the web.

    Raises:
        ChecksumError: If what is fetched is not what was published.
    """
    if all((out / name).is_file() and _sha256((out / name).read_bytes()) == CHECKSUMS[name] for name in CHECKSUMS):
        _begin(out, {}, OFFICIAL)
        return
    files = {}
    for name, expected in CHECKSUMS.items():
        # These files are published for programs to fetch; robots.txt is about pages.
        files[name] = fetcher.get(f"{address}/{name}", LIMIT, ask_robots=False)
        if (found := _sha256(files[name])) != expected:
            raise ChecksumError(
                f"expected {name} with the SHA-256 {expected}, found {found} at {address}; "
                "pass --annotations with a folder that contains the published files"
            )
    _begin(out, files, OFFICIAL)


def take_annotations(out: Path, folder: Path) -> None:
    """Start a release folder with the annotations, the URL list and the ``release.json`` of another folder."""
    files = {}
    for name in CHECKSUMS:
        try:
            files[name] = (folder / name).read_bytes()
        except OSError as error:
            message = f"expected a file of a release, found none ({error.strerror})"
            hint = "pass a folder that contains both, or omit --annotations to fetch them"
            raise MissingFileError(message, file=str(folder / name), value=name, hint=hint) from None
    info = read_info(folder)
    if info.source == OFFICIAL.source and _sha256(files[ANNOTATIONS]) == OFFICIAL_SHA256:
        info = replace(info, version=info.version or COMMIT)
    _begin(out, files, info)


def _begin(out: Path, files: dict[str, bytes], info: ReleaseInfo) -> None:
    """Write missing files; existing ones have to be equal, or it is another release."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / ANNOTATIONS).is_file() and any(not path.name.startswith(".") for path in out.iterdir()):
        raise OutputExistsError(
            f"expected {out} to be free, found something that was not written by this command "
            f"(it has no {ANNOTATIONS}); choose another output"
        )
    for name, content in files.items():
        path = out / name
        if not path.is_file():
            write_aside(path, content)
        elif path.read_bytes() != content:
            raise OutputExistsError(f"expected {path} as published, found a different file; choose another output")
    if not (out / INFO).is_file():
        write_aside(out / INFO, info.to_json())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
