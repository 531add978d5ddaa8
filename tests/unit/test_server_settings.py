"""Memory settings and the configuration file they are written to."""

from pathlib import Path

import pytest

from pgblend.cli.operate import cluster

GIGABYTE = cluster.GIGABYTE


def megabytes(total: int) -> dict[str, int]:
    found = cluster.memory_settings(total)
    assert all(setting.value.endswith("MB") for setting in found)
    return {setting.name: int(setting.value.removesuffix("MB")) for setting in found}


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (
            GIGABYTE // 16,
            {
                "shared_buffers": 32,
                "effective_cache_size": 64,
                "maintenance_work_mem": 16,
                "work_mem": 4,
            },
        ),
        (
            8 * GIGABYTE,
            {
                "shared_buffers": 2048,
                "effective_cache_size": 4096,
                "maintenance_work_mem": 512,
                "work_mem": 16,
            },
        ),
        (
            512 * GIGABYTE,
            {
                "shared_buffers": 8192,
                "effective_cache_size": 262144,
                "maintenance_work_mem": 2048,
                "work_mem": 64,
            },
        ),
    ],
    ids=["64 MB", "8 GB", "512 GB"],
)
def test_memory_is_shared_out_within_bounds(total: int, expected: dict[str, int]) -> None:
    assert megabytes(total) == expected


def test_the_container_s_limit_counts_when_it_is_lower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(cluster, "CONTROL_GROUP_LIMITS", (limit,))
    whole = cluster.machine_memory()
    limit.write_text(f"{64 * 1024 * 1024}\n")
    assert cluster.machine_memory() == 64 * 1024 * 1024
    limit.write_text("max\n")
    assert cluster.machine_memory() == whole


def test_the_file_has_one_line_for_a_setting_and_the_later_holds() -> None:
    rendered = cluster.render(
        [
            cluster.ServerSetting("shared_buffers", "1MB", "first"),
            cluster.ServerSetting("jit", "off", "why"),
            cluster.ServerSetting("shared_buffers", "2MB", "second"),
        ]
    )
    lines = [line for line in rendered.splitlines() if line and not line.startswith("#")]
    assert lines == ["shared_buffers = 2MB", "jit = off"]
    assert "# second\nshared_buffers" in rendered
    assert "first" not in rendered


def test_paths_with_quotes_and_backslashes_are_quoted() -> None:
    found = cluster.place_settings(5432, Path("/o'brien/so\\cket"), Path("/log"))
    values = {setting.name: setting.value for setting in found}
    assert values["unix_socket_directories"] == "'/o''brien/so\\\\cket'"
    assert values["listen_addresses"] == "'127.0.0.1'"


def test_only_throwaway_servers_give_up_safety() -> None:
    unsafe = {"fsync", "synchronous_commit", "full_page_writes"}
    assert unsafe <= {setting.name for setting in cluster.throwaway_settings()}
    durable = cluster.durable_settings() + cluster.planner_settings()
    assert not unsafe & {setting.name for setting in durable}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.8.0", ["0"]), ("0.8.3", ["0"]), ("0.8.4", []), ("0.10", []), (None, [])],
)
def test_one_process_builds_indexes_where_pgvector_has_a_fault(
    version: str | None, expected: list[str]
) -> None:
    found = cluster.index_settings(version)
    assert [setting.value for setting in found] == expected
