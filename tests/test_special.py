"""SciPy's special functions without the rest of the package."""

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_the_functions_are_scipy_s_own_and_the_package_can_still_be_imported():
    code = """
from headstart.special import stdtrit, ndtri
import sys
print("scipy.special" in sys.modules)
import scipy.special, scipy.stats
print(scipy.special.stdtrit is stdtrit, scipy.special.ndtri(0.9) == ndtri(0.9), scipy.stats.norm.cdf(0.0))
"""
    assert run(code).split() == ["False", "True", "True", "0.5"]


def test_beside_other_threads_the_package_is_imported_as_a_whole():
    code = """
import sys, threading
end = threading.Event()
threading.Thread(target=end.wait).start()
from headstart.special import betainc
print("scipy.special" in sys.modules, betainc(1, 1, 0.5))
end.set()
"""
    assert run(code).split() == ["True", "0.5"]
