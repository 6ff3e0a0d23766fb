"""The files of download buttons: bounded in bytes, and gone with their reader."""

import pytest
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from dashboard.session.download_files import Files, let_go


@pytest.fixture
def server(monkeypatch):
    """(click, held): a click on a download button whose file has so many bytes, and the bytes that
    Streamlit's own books hold."""
    storage = MemoryMediaFileStorage("/media")
    manager = MediaFileManager(storage)
    monkeypatch.setattr(runtime, "exists", lambda: True)
    instance = type("Instance", (), {"media_file_mgr": manager})
    monkeypatch.setattr(runtime, "get_instance", instance)
    numbers = iter(range(10_000))

    def click(size, reader, books):
        number = next(numbers)

        def contents():
            data = number.to_bytes(4, "big") + bytes(size - 4)
            books.made(len(data), reader)
            return data

        button = manager.add_deferred(contents, "text/csv", f"1.{number}", "a.csv")
        url = manager.execute_deferred(button)
        assert len(storage.get_file(url.rsplit("/", 1)[1]).content) == size

    def held():
        stats = storage.get_stats()
        return sum(one.byte_length for family in stats.values() for one in family)

    return click, held


def test_files_are_bounded_and_the_newest_is_there_to_be_fetched(server):
    click, held = server
    books = Files(let_go, 1000)
    for number in range(60):
        click(100 + number, "ann", books)  # the click finds its own file
        assert held() <= books.nbytes <= 1000 + 160


def test_a_reader_who_leaves_frees_what_was_made(server):
    click, held = server
    books = Files(let_go, 10_000)
    click(100, "ann", books)
    books.leave("bob")
    assert held() == books.nbytes == 100
    books.leave("ann")
    assert held() == books.nbytes == 0


def test_a_file_larger_than_the_bound_is_still_handed_over(server):
    click, held = server
    books = Files(let_go, 1000)
    click(5_000, None, books)
    click(10, None, books)
    click(10, None, books)
    assert held() <= 5_020
    click(600, None, books)
    assert held() == books.nbytes == 620


def test_without_a_server_there_is_nothing_to_let_go():
    Files(let_go, 10).made(100, None)
    let_go()
