"""Scores of checkpoints in a process of their own, and the log in the order of the checkpoints."""
import json
import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import torch


def _rounded(value):
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return round(value, 5) if isinstance(value, float) else value


def append_log(path, row):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, 'a') as log:
        log.write(json.dumps(row) + '\n')


class Log:
    """Writes the rows of a run, each as soon as its scores (plain data, or the future of it) are there, never one before
    another that was added earlier."""

    def __init__(self, path):
        self.path, self.thread, self.rows = path, ThreadPoolExecutor(1), []

    def add(self, row, scores):
        """Throws what the scores of an earlier row failed of."""
        self._check(row for row in self.rows if row.done())
        self.rows.append(self.thread.submit(self._write, row, scores))

    def wait(self):
        """Returns when everything is written; throws what scores failed of."""
        self._check(self.rows)

    def _check(self, rows):
        for written in list(rows):
            written.result()
            self.rows.remove(written)

    def _write(self, row, scores):
        row = {**row, **(scores.result() if isinstance(scores, Future) else scores)}
        append_log(self.path, row)
        print(json.dumps(_rounded(row)), flush=True)


EVALUATE = []  # of the process that scores: the function that it does it with


def _prepare(evaluator, arguments, nicer):
    """What the process that scores begins with. Signals to stop are for the training, which waits for the last scores."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.nice(nicer)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    EVALUATE.append(evaluator(*arguments))


def _end_with(parent):
    """A training that was killed leaves no process behind."""
    parent.join()
    os._exit(1)


def _scores_of(data):
    return EVALUATE[0](pickle.loads(data))


class ScoredBeside:
    """Scores networks beside the training, at lower priority, by `evaluator(*arguments)` (a function of a module, so that another
    process finds it). Called with a network → the future of its scores. While one is being scored the next are not scored:
    {}, so that a busy machine thins the scores and does not wait for them."""
    NICER = 5

    def __init__(self, evaluator, *arguments):
        # Not forked: the training has threads.
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context('spawn'), _prepare, (evaluator, arguments, self.NICER))
        self.pending = None

    def __call__(self, net):
        if self.pending and not self.pending.done():
            return {}
        self.pending = self.pool.submit(_scores_of, pickle.dumps(net.cpu()))
        return self.pending

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown()
