"""Get Python and NumPy for browsers from npm: two packages, whose contents are known in advance."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from simpleautodiff.errors import MissingExtraError

DOWNLOAD_SECONDS = 600


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm: its name, the version, and the digest of its archive."""

    name: str
    version: str
    sha512: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


# These two were built by the same compiler, for the same Python: change both or none.
PYODIDE = NpmPackage(
    "pyodide",
    "0.27.7",
    "RUSVJlhQdfWfgO9hVHCiXoG+nVZQRS5D9FzgpLJ/VcgGBLSAKoPL8kTiOikxbHQm1kRISeWUBdulEgO26qpSRA==",
)
NUMPY_PACKAGE = NpmPackage(
    "@emscripten-forge/numpy",
    "2.0.1-py312h4e66579-0",
    "64iP3tolNhBnKJBHs2b5Mg9s17BL8Bp9Ev2+U0fSCO3/zQlWQRCrExw2MgmfwjhNz+mwbKPG2eBsBcpBWV2xbA==",
)


def download(package: NpmPackage, folder: Path) -> Path:
    """Return the archive of a package, downloaded to a folder."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingExtraError(
            f"the site needs npm to get {package}, and there is none: install Node.js "
            "(https://nodejs.org, apt install npm, brew install node)"
        )
    there = set(folder.iterdir())
    command = [npm, "pack", str(package), "--pack-destination", str(folder), "--silent"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
    )
    found = sorted(set(folder.iterdir()) - there)
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MissingExtraError(
            f"npm could not get {package}: {said[0] if said else 'it says nothing'}\n"
            f"see what `npm pack {package}` says; `npm config get registry` is where it asks"
        )
    digest = base64.b64encode(hashlib.sha512(found[0].read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise MissingExtraError(
            f"npm sent another file than {package} is known to be: its digest is {digest}, "
            f"not {package.sha512}"
        )
    return found[0]
