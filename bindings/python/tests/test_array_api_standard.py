"""The standard's own tests of `crossdock.array_api`, in a checkout of array-api-tests that `CROSSDOCK_ARRAY_API_TESTS` names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crossdock.array_api import _computing

HERE = Path(__file__).parent
SKIPS = HERE / "array_api_skips.txt"
CHECKOUT = os.environ.get("CROSSDOCK_ARRAY_API_TESTS")


@pytest.mark.skipif(not CHECKOUT, reason="CROSSDOCK_ARRAY_API_TESTS names no checkout of array-api-tests")
def test_the_tests_of_the_standard_pass():
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "array_api_module", f"--skips-file={SKIPS}"]
    command += ["--disable-deadline", "--hypothesis-derandomize", "--max-examples", "20", "array_api_tests"]
    environment = os.environ | {"ARRAY_API_TESTS_MODULE": "array_api_module", "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    ran = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    summary = ran.stdout.splitlines()[-1]
    print(summary)
    (passed,) = re.findall(r"(\d+) passed", summary)
    assert int(passed) >= 250
    skipped = [line for line in ran.stdout.splitlines() if line.startswith("SKIPPED")]
    # A few tests of skipped files are also skipped by their own marks.
    files = set(re.findall(r"^array_api_tests/\w+\.py$", SKIPS.read_text(), re.M))
    own = [line for line in skipped if "--skips-file" not in line]
    assert skipped and all(re.search(r"array_api_tests/\w+\.py", line)[0] in files for line in own), own


def test_every_skipped_test_has_a_reason_and_computes_or_indexes():
    text = SKIPS.read_text()
    for group in text.split("\n\n")[1:]:
        reason, *tests = group.splitlines()
        assert reason.startswith("# ") and tests and all(test.startswith("array_api_tests/") for test in tests), reason
    names = {*_computing.UNARY, *_computing.BINARY, "where"}
    assert set(re.findall(r"test_has_names\[(?!linalg|fft|array_method)\w+-(\w+)\]", text)) == names
    assert set(re.findall(r"test_func_signature\[(\w+)\]", text)) == names
