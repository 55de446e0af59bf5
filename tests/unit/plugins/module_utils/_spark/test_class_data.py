"""An archive of classes is used where it is the user's own, made where there is none, and never needed."""

from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._spark.java import Java, class_data

JAVA = Java(Path("/usr/lib/jvm/java"), 17, "17.0.15", small=False)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMSHIFT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/spark"


def test_a_session_makes_it_and_the_next_one_uses_it(cache, tmp_path):
    first = class_data(JAVA, tmp_path)
    assert first.java_options == [f"-XX:ArchiveClassesAtExit={first.made}"] and first.made.parent == tmp_path
    first.keep()  # Java has written none
    assert not list(cache.iterdir())
    first.made.write_text("classes")
    first.keep()
    second = class_data(JAVA, tmp_path)
    assert second.java_options == [f"-XX:SharedArchiveFile={cache / first.made.name}", "-Xshare:auto"]
    assert [file.read_text() for file in cache.iterdir()] == ["classes"]
    assert cache.stat().st_mode & 0o777 == 0o700


def test_each_java_has_its_own(cache, tmp_path):
    others = [JAVA, JAVA._replace(version="21.0.1"), JAVA._replace(home=Path("/opt/java"))]
    assert len({class_data(each, tmp_path).kept for each in others}) == 3


def test_a_folder_that_others_can_write_into_is_not_used(cache, tmp_path):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert class_data(JAVA, tmp_path).java_options == []


def test_a_home_that_cannot_be_written_is_no_error(cache, tmp_path):
    cache.parent.write_text("a file")
    assert class_data(JAVA, tmp_path).java_options == []


@pytest.mark.parametrize("named", ["", "~nobody-of-this-name/cache"])
def test_a_user_without_a_home_is_no_error(named, monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMSHIFT_CACHE", named)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where neither HOME nor the list of users has one
    assert class_data(JAVA, tmp_path).java_options == []
