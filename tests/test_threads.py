"""Native libraries on one thread, those too that are loaded after the first look for them."""

import os
import subprocess
import sys

CODE = """
from threadpoolctl import threadpool_info

from headstart.threads import one_native_thread

with one_native_thread():
    pass
import sklearn.ensemble

with one_native_thread():
    print(sorted({(each["user_api"], each["num_threads"]) for each in threadpool_info()}))
with one_native_thread("blas"):
    print(sorted({(each["user_api"], each["num_threads"]) for each in threadpool_info()}))
print(sorted({(each["user_api"], each["num_threads"]) for each in threadpool_info()}))
"""


def test_a_library_that_is_loaded_later_is_limited_too_and_all_have_their_threads_back():
    several = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    told = subprocess.run(
        [sys.executable, "-c", CODE], env={**os.environ, **several}, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == [
        "[('blas', 1), ('openmp', 1)]",
        "[('blas', 1), ('openmp', 2)]",
        "[('blas', 2), ('openmp', 2)]",
    ]
