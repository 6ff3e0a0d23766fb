"""What a process may do, by the setting and by the place it runs in."""

from pathlib import Path

import pytest

from dashboard.server import host
from dashboard.server.host import Host

HOME = Path("/home/someone/attnviz/dashboard/host.py")
CLOUD = Path("/mount/src/attnviz/dashboard/host.py")


@pytest.mark.parametrize(
    "environment",
    [
        {"PORT": "8080"},
        {"DYNO": "web.1", "PORT": "8080"},
        {"SPACE_ID": "someone/attnviz"},
        {"HOSTNAME": "streamlit"},
        {"ATTNVIZ_HOSTED": "1"},
        {"ATTNVIZ_HOSTED": "yes"},  # a slip must not open a server
    ],
)
def test_a_host_is_known_by_its_surroundings_or_by_the_setting(environment):
    found = host.read_host(environment, HOME)
    assert found.hosted and found.max_models == 1 and not found.folders
    assert found.longest < Host().longest and found.max_parameters < Host().max_parameters


def test_a_machine_of_ones_own_is_no_host_and_the_setting_has_the_last_word():
    assert host.read_host({}, HOME) == Host()
    assert not host.read_host({"DYNO": "web.1", "PORT": "80", "ATTNVIZ_HOSTED": "0"}, CLOUD).hosted
    assert host.read_host({"ATTNVIZ_ALLOW_FOLDERS": "1"}, HOME).folders


def test_community_cloud_is_known_by_its_folder_and_so_is_its_memory():
    """Lin-jun-xiang/docGPT-langchain#2: the app is stopped at a limit that the machine does not
    tell."""
    found = host.read_host({}, CLOUD)
    assert found.hosted and found.memory == 2_700_000_000
    assert host.read_host({"ATTNVIZ_MEMORY_MB": "1024"}, CLOUD).memory == 1_024_000_000
    assert host.read_host({"ATTNVIZ_MEMORY_MB": "a lot"}, HOME).memory is None
    assert host.read_host({"PORT": "80"}, HOME).memory is None


def test_no_folder_opens_on_a_host_unless_the_owner_allows_it():
    """mudler/LocalAI#9395"""
    assert not host.read_host({"PORT": "80"}, HOME).folders
    assert host.read_host({"PORT": "80", "ATTNVIZ_ALLOW_FOLDERS": "1"}, HOME).folders


def test_the_list_is_the_catalog_a_few_more_and_what_the_owner_adds():
    found = host.read_host({"PORT": "80", "ATTNVIZ_MODELS": "me/one, me/two\nlab/*"}, HOME)
    for allowed in ("smollm2-135m", "openai-community/gpt2", "me/one", "me/two", "lab/anything"):
        assert found.allows(allowed)
    for other in ("evil/x", "me/three", "lab", "labs/x", "openai-community/gpt2-xl", "*"):
        assert not found.allows(other)
    assert "me/one" in found.listed and "lab/*" not in found.listed and found.takes_any
    assert not host.read_host({"PORT": "80"}, HOME).takes_any
    assert Host().allows("anyone/anything") and Host().takes_any and not Host().listed
