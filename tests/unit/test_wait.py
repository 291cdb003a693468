# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting, with looks that are scripted and a wake that never rings unless told."""

from __future__ import annotations

import time

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Deadline
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome, Wake, wait_until

NOT_YET = Outcome(False, reasons=["not yet"])
SATISFIED = Outcome(True)
HOPELESS = Outcome(False, final=True, reasons=["never"])


class Looks:
    """Gives its outcomes one after the other, then the last one again and again."""

    def __init__(self, *outcomes):
        self.outcomes, self.taken = outcomes, 0

    def __call__(self):
        outcome = self.outcomes[min(self.taken, len(self.outcomes) - 1)]
        self.taken += 1
        return outcome


@pytest.fixture
def wake():
    """Without sources there are no watches: each wait is over at once here, so that no test takes long."""
    quiet = Wake(cluster=None, sources=())
    quiet.wait = lambda seconds: time.sleep(min(seconds, 0.01))
    return quiet


def wait(looks, wake, seconds, hold=0.0):
    _seen, outcome = wait_until(looks, lambda seen: seen, wake, Deadline(seconds), hold)
    return outcome


def test_a_deadline_of_zero_is_one_look(wake):
    looks = Looks(NOT_YET, SATISFIED)
    assert wait(looks, wake, 0) == NOT_YET
    assert looks.taken == 1


def test_what_is_so_already_needs_no_second_look(wake):
    looks = Looks(SATISFIED)
    assert wait(looks, wake, 60).satisfied
    assert looks.taken == 1


def test_it_looks_until_it_is_so(wake):
    assert wait(Looks(NOT_YET, NOT_YET, SATISFIED), wake, 60).satisfied


def test_what_can_never_be_so_ends_the_wait_at_once(wake):
    looks = Looks(NOT_YET, HOPELESS, SATISFIED)
    assert wait(looks, wake, 60) == HOPELESS
    assert looks.taken == 2


def test_the_last_look_is_taken_when_the_time_is_over_not_before(wake):
    began = time.monotonic()
    assert wait(Looks(NOT_YET), wake, 0.5) == NOT_YET
    assert time.monotonic() - began >= 0.5


def test_a_state_that_breaks_has_to_hold_anew(wake):
    began = time.monotonic()
    looks = Looks(SATISFIED, NOT_YET, SATISFIED)
    assert wait(looks, wake, 60, hold=0.4).satisfied
    assert time.monotonic() - began >= 0.4
    assert looks.taken > 3


def test_a_state_that_breaks_after_the_deadline_is_not_satisfied(wake):
    assert wait(Looks(SATISFIED, NOT_YET), wake, 0, hold=0.4) == NOT_YET


def test_holding_may_go_on_beyond_the_deadline(wake):
    assert wait(Looks(SATISFIED), wake, 0, hold=0.3).satisfied


def test_each_look_is_given_back_with_its_judgement(wake):
    seen, outcome = wait_until(iter([1, 2, 3]).__next__, lambda number: Outcome(number == 3), wake, Deadline(60))
    assert (seen, outcome.satisfied) == (3, True)
