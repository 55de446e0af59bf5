"""What a module has to say is shown on standard error only where the callback hides the task that shows it."""

import pytest
from ansible import constants as C  # noqa: N812
from ansible.plugins.loader import callback_loader

from ansible_collections.streamshift.kafka.plugins.plugin_utils._hidden_summary import show_hidden

RESULT = {"summary": ["Total: 1 group"], "notes": ["billing is in use"], "seconds": 2.04}
SHOWN = ["[cloud] Set the groups, 2.0 s:", "[cloud] Total: 1 group", "[cloud] billing is in use"]


@pytest.fixture(params=["default", "ansible.builtin.default"])
def default(request, monkeypatch):
    monkeypatch.setattr(C, "DEFAULT_STDOUT_CALLBACK", request.param)
    assert callback_loader.get("default")  # as ansible-playbook does


def shown(capsys, result, *, dry_run=False):
    show_hidden("Set the groups", "cloud", result, dry_run=dry_run)
    output = capsys.readouterr()
    assert not output.out
    return output.err.splitlines()


@pytest.mark.usefixtures("default")
@pytest.mark.parametrize(
    ("setting", "result", "lines"),
    [
        ("false", RESULT, SHOWN),
        ("true", RESULT, []),
        ("false", {"seconds": 1.0}, []),
        ("false", {**RESULT, "failed": True}, []),
    ],
)
def test_what_is_hidden_is_shown(monkeypatch, capsys, setting, result, lines):
    monkeypatch.setenv("ANSIBLE_DISPLAY_OK_HOSTS", setting)
    assert shown(capsys, result) == lines


@pytest.mark.usefixtures("default")
def test_a_dry_run_says_that_it_is_one(monkeypatch, capsys):
    monkeypatch.setenv("ANSIBLE_DISPLAY_OK_HOSTS", "false")
    assert shown(capsys, RESULT, dry_run=True)[0] == "[cloud] Set the groups (dry run), 2.0 s:"


def test_a_callback_without_this_option_shows_everything(monkeypatch, capsys):
    monkeypatch.setenv("ANSIBLE_DISPLAY_OK_HOSTS", "false")
    monkeypatch.setattr(C, "DEFAULT_STDOUT_CALLBACK", "minimal")
    assert callback_loader.get("minimal")
    assert shown(capsys, RESULT) == []
