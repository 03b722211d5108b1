"""A file of tests whose tests all skipped themselves counts as skipped: exit code 77, as CTest is
told in CMakeLists.txt."""


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    kinds = ("passed", "failed", "error", "xfailed")
    ran = sum(len(reporter.stats.get(kind, [])) for kind in kinds)
    if exitstatus == 0 and ran == 0 and reporter.stats.get("skipped"):
        session.exitstatus = 77
