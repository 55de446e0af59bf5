"""Java programs that the tests run and the sandbox does not, fetched by Maven for the first time."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox_java import COPY_DEPENDENCIES, DEPENDENCY, cache_folder, locked

PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamshift</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""


def fetched(name: str, *artifacts: tuple[str, str, str]) -> Path:
    """A folder of the cache, called name, with these artifacts (group, artifact, version) and all that they need."""
    folder = cache_folder() / name
    with locked(folder.name):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
                project, target = Path(scratch) / "pom.xml", Path(scratch) / "jars"
                project.write_text(PROJECT.format("".join(DEPENDENCY.format(*artifact) for artifact in artifacts)))
                subprocess.run(
                    ["mvn", "-q", "-B", "-f", project, COPY_DEPENDENCIES, f"-DoutputDirectory={target}"],
                    check=True,
                    stdout=sys.stderr,  # Maven resets colours even if it is quiet, and programs answer on stdout
                    timeout=900,
                )
                target.rename(folder)
    return folder
