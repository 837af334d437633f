"""CPU seconds of every test, its processes included, and a limit on them.

Wall seconds depend on how busy a machine is; CPU seconds are what a test costs. They still differ threefold between
machines, so a test without the mark `slow` may take a share of what all tests of the run took, and a few seconds in
any case: people run the suite only while it is quick. A fixture shared by several tests is not counted for the test
that happens to need it first.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest


class Limit(NamedTuple):
    """What one test may take: a share of the run's CPU seconds, and `seconds` where that is less."""

    seconds: float
    share: float


# Half as much again as the longest take of the whole suite, and on quick cores: where few tests run, that decides.
OF_A_TEST, OF_A_JOB = Limit(seconds=30.0, share=0.02), Limit(seconds=160.0, share=0.08)
JOBS = ("tests/end_to_end/", "tests/neighbours/", "tests/audits/")
SHOWN, WORTH_SHOWING = 25, 2.0
PROPERTY, FILE = "cpu_seconds", "FEDTEXT_CPU_SECONDS"  # a file that all of them are written to, a line a test


def spent() -> float:
    """Return CPU seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class CpuSeconds:
    """A pytest plugin: workers measure, and the process that prints the summary adds up."""

    def __init__(self) -> None:
        self.setup: dict[str, float] = defaultdict(float)
        self.call: dict[str, float] = {}
        self.slow: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure the setup of a test."""
        return (yield from self._measured(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure the test itself."""
        return (yield from self._measured(item, "call"))

    def _measured(self, item: pytest.Item, phase: str) -> Generator[None, object, object]:
        began = spent()
        try:
            return (yield)
        finally:
            item.user_properties.append((f"{PROPERTY}.{phase}", spent() - began))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record what a worker has measured."""
        if report.when == "teardown":
            measured = dict(report.user_properties)
            self.setup[report.nodeid] = float(str(measured.get(f"{PROPERTY}.setup", 0.0)))
            self.call[report.nodeid] = float(str(measured.get(f"{PROPERTY}.call", 0.0)))
            if "slow" in report.keywords:
                self.slow.add(report.nodeid)
            self._write_down(report.nodeid)

    def _write_down(self, name: str) -> None:
        """Append the test to the file at once: a night that is cut off is measured as far as it came."""
        if (file := os.environ.get(FILE)) and "PYTEST_XDIST_WORKER" not in os.environ:
            with open(file, "a", encoding="utf-8") as lines:
                lines.write(f"{self.call[name]:.2f}\t{self.setup[name]:.2f}\t{name}\n")

    def too_long(self) -> dict[str, float]:
        """Return tests without the mark that exceed the limit."""
        every = self.quick_seconds()
        return {name: took for name, took in self.call.items() if took > _limit(name, every) and name not in self.slow}

    def quick_seconds(self) -> float:
        """Return what all tests without the mark took, their setup included."""
        return sum(self.call[name] + self.setup[name] for name in self.call if name not in self.slow)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run if a test exceeds the limit, once all have run."""
        if self.too_long() and session.exitstatus == pytest.ExitCode.OK and not _is_worker(session.config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print seconds by package, and the slowest tests."""
        whole = {name: self.call[name] + self.setup[name] for name in self.call}
        if sum(whole.values()) < OF_A_TEST.seconds:
            return
        packages: dict[str, float] = defaultdict(float)
        for name, took in whole.items():
            packages["/".join(PurePosixPath(name.partition("::")[0]).parts[:2])] += took
        terminalreporter.section("processor seconds")
        for package, took in sorted(packages.items(), key=lambda one: -one[1]):
            terminalreporter.write_line(f"{took:8.0f} s  {package}")
        for name, took in sorted(whole.items(), key=lambda one: -one[1])[:SHOWN]:
            if took >= WORTH_SHOWING:
                terminalreporter.write_line(f"{took:8.1f} s  {name}")
        every = self.quick_seconds()
        for name, took in self.too_long().items():
            terminalreporter.write_line(
                f"TOO LONG: {name} took {took:.0f} processor seconds, and may take {_limit(name, every):.0f}: make it "
                "smaller, or mark it slow",
                red=True,
            )


def _limit(name: str, every: float) -> float:
    """Return the CPU seconds that a test may take of a run that took `every`."""
    limit = OF_A_JOB if name.startswith(JOBS) else OF_A_TEST
    return max(limit.seconds, limit.share * every)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
