"""Takes samples of Python as lines of JSON, runs each in the same namespace, and prints what it printed and threw as JSON."""

import contextlib
import io
import json
import sys
import traceback

names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(json.loads(line), "sample", "exec"), names)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps({"stdout": printed.getvalue(), "error": error}), flush=True)
