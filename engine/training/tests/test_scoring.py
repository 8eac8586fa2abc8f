"""Scores beside the training: rows keep their order, nothing is lost, and nobody waits."""
import json
import multiprocessing
import os
import signal
import time

import pytest
import torch
from test_training import RECIPE, TINY, RandomBatches, trainer

from ground.scoring import ScoredBeside
from ground.trainer import Run, Trainer, build


def weighing(factor, wait=0.0):
    """An evaluator: a score of a network, its process, priority and how it takes SIGTERM."""
    def scores(net):
        time.sleep(wait)
        return {'score': factor * net.tail.bias.abs().sum().item(), 'process': os.getpid(), 'nice': os.nice(0),
                'ignores': signal.getsignal(signal.SIGTERM) == signal.SIG_IGN}
    return scores


def failing():
    def scores(net):
        raise ValueError('no shard')
    return scores


def rows_of(folder):
    return [json.loads(line) for line in (folder / 'log.jsonl').read_text().splitlines()]


def test_scores_come_from_another_process_at_lower_priority(tmp_path):
    beside, inside = trainer(), trainer()
    with ScoredBeside(weighing, 2.0) as scores:
        Run(beside, tmp_path / 'beside', scores, every=50).train()
    Run(inside, tmp_path / 'inside', weighing(2.0), every=50).train()
    rows, others = rows_of(tmp_path / 'beside'), rows_of(tmp_path / 'inside')
    assert [row['step'] for row in rows] == [row['step'] for row in others] == [50, 100]
    assert rows[-1]['score'] == others[-1]['score'] and rows[-1]['loss'] == others[-1]['loss']
    assert rows[-1]['process'] != others[-1]['process'] == os.getpid()
    assert rows[-1]['nice'] == min(19, os.nice(0) + ScoredBeside.NICER) and rows[-1]['ignores']
    assert not multiprocessing.active_children()


def test_slow_scores_are_thinned_and_the_last_checkpoint_has_its_own(tmp_path):
    with ScoredBeside(weighing, 1.0, 0.5) as scores:
        Run(trainer(), tmp_path, scores, every=5).train()
    rows = rows_of(tmp_path)
    assert [row['step'] for row in rows] == list(range(5, 101, 5))  # all rows, in order
    assert 'score' in rows[0] and 'score' in rows[-1] and sum('score' in row for row in rows) < 10


def test_a_run_that_is_told_to_stop_waits_for_its_last_scores(tmp_path):
    class Stopping(RandomBatches):
        def at(self, number):
            if number == 6:
                signal.raise_signal(signal.SIGTERM)
            return super().at(number)

    with ScoredBeside(weighing, 1.0) as scores:
        Run(Trainer(build(TINY), Stopping(), RECIPE, half=False), tmp_path, scores, every=5).train()
    rows = rows_of(tmp_path)
    assert [row['step'] for row in rows] == [5, 7] and 'score' in rows[1]
    again = trainer()
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    with ScoredBeside(weighing, 1.0) as scores:
        Run(again, tmp_path, scores, every=50).train()
    assert [row['step'] for row in rows_of(tmp_path)] == [5, 7, 50, 100]


def test_scores_that_fail_stop_the_run_behind_its_checkpoint(tmp_path):
    with ScoredBeside(failing) as scores, pytest.raises(ValueError, match='no shard'):
        Run(trainer(), tmp_path, scores, every=60).train()
    assert torch.load(tmp_path / 'last.pt', weights_only=True)['number'] == 100


def killed(pipe):
    """A training of its own, whose scores never end."""
    scores = ScoredBeside(weighing, 1.0, 600)
    scores(build(TINY))
    while not multiprocessing.active_children():
        time.sleep(0.05)
    pipe.send(multiprocessing.active_children()[0].pid)
    time.sleep(600)


def test_a_training_that_is_killed_leaves_no_process_behind():
    context = multiprocessing.get_context('spawn')
    here, there = context.Pipe()
    training = context.Process(target=killed, args=(there,))
    training.start()
    scoring = here.recv()
    time.sleep(0.2)
    training.kill()
    training.join()
    for _ in range(600):
        try:
            os.kill(scoring, 0)
        except ProcessLookupError:
            return
        with open(f'/proc/{scoring}/stat') as stat:
            if stat.read().rpartition(')')[2].split()[0] == 'Z':  # ended; whoever adopted it has yet to notice
                return
        time.sleep(0.1)
    raise AssertionError('the process that scores outlives its training')
