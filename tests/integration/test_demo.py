"""The demo does what it promises, and leaves nothing."""

import re
import sys
from pathlib import Path

import pytest

from demo import run
from demo.company import PARTITIONS
from demo.played import Player
from testbed.sandbox import names
from tests.support.loaded_python import loaded_python
from tests.support.playbooks import loaded
from tests.support.processes import command_lines


@pytest.mark.timeout(1800)
def test_demo(tmp_path, monkeypatch, capfd):
    folder = tmp_path / "demo"
    monkeypatch.setattr(run, "FOLDER", folder)
    monkeypatch.setattr(run, "PLAYER", Player(tmp_path / "output"))
    monkeypatch.setattr(run, "CLUSTERS", (*run.CLUSTERS, "-e", f"demo_folder={folder}", *loaded()))
    monkeypatch.setattr(sys, "executable", loaded_python())  # the demo takes the ansible-playbook beside it
    monkeypatch.delenv("KEEP", raising=False)
    status = run.main()
    said = capfd.readouterr()
    assert status == 0, said.out[-5000:] + said.err
    # It is a story, and everything that the playbooks have printed is in files that it names.
    assert len(said.out.splitlines()) <= 160
    printed = [
        Path(line.split()[-1]) for line in said.out.splitlines() if line.startswith("Everything that it printed:")
    ]
    assert len(printed) == 8 and all("PLAY RECAP" in file.read_text() for file in printed)
    assert (tmp_path / "output/report.html").exists()
    (total,) = [line.split() for line in said.out.splitlines() if line.startswith(" all ")]
    consumed, repeated_by_mirror_maker, *_unused, repeated_by_us, lost_by_us = (
        int(cell.replace(",", "")) for cell in total[1:] if cell != "of"
    )
    assert consumed > 250_000
    assert repeated_by_mirror_maker > 1_000
    # Where 4 partitions became 6, some records of the group that is between two of a moment come again.
    (mailing,) = [line.split() for line in said.out.splitlines() if line.startswith(" mailing ")]
    its_repeats = int(mailing[-4])
    assert (repeated_by_us, lost_by_us) == (its_repeats, 0)
    assert its_repeats < 500
    assert all(topic in printed[0].read_text() for topic in PARTITIONS)
    # The last act compares what consumers have got on both clusters, record by record, and fails otherwise.
    assert re.search(
        r"checkout has consumed [\d,]+ records at onprem and [\d,]+ at cloud: each of [\d,]+ once", said.out
    )
    assert re.search(r"checkout is back at onprem, .* 1,000 more records there: still each of [\d,]+ once", said.out)
    assert re.search(r"the window: \d+\.\d s", said.out)
    assert names(folder) == []
    assert command_lines(str(folder)) == []
