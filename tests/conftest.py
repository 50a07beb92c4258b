"""What all tests share: compiled code is kept in a folder of their own, and the engine is named."""

import os

import pytest


def pytest_report_header():
    """Say on which engine the tests run."""
    return f"engine: {os.environ.get('SIMPLEAUTODIFF_ENGINE', 'fast')}"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    before = os.environ.get("SIMPLEAUTODIFF_CACHE")
    os.environ["SIMPLEAUTODIFF_CACHE"] = str(tmp_path_factory.getbasetemp().parent / "code")
    yield
    if before is None:
        del os.environ["SIMPLEAUTODIFF_CACHE"]
    else:
        os.environ["SIMPLEAUTODIFF_CACHE"] = before
