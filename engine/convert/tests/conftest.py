"""`--long` runs the large networks as well."""
import pytest


def pytest_addoption(parser):
    parser.addoption('--long', action='store_true', help='the large networks as well (minutes)')


def pytest_configure(config):
    config.addinivalue_line('markers', 'long: minutes of one core')


def pytest_collection_modifyitems(config, items):
    if not config.getoption('--long'):
        for item in items:
            if item.get_closest_marker('long'):
                item.add_marker(pytest.mark.skip(reason='--long runs it'))
