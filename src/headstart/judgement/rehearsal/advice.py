"""Which trust, floor and hold-out to switch on, by stated rules.

- The chance that the log is right is the mean of the audit's trust, w. A setting's price is its mean regret where the
  log is right about the best action, times w, plus where it is wrong about it, times 1 - w.
- Trust: the one of the smallest price without a floor; the audit's, if that costs no more than 2 % above it.
- A floor of 5 %, if it lowers the price; or if without it the best action would not be known from users in half of
  the worlds, with it it would, and it takes less than a tenth of the gain over today's policy.
- A hold-out of the smallest share of 1, 2, 5, 10 and 20 % with which the gain over today's policy would be found with
  a chance of 8 in 10, at 5 %; none, if none would or there is no gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headstart.judgement.rehearsal.policies import FLOORS, POWER, SETTINGS, TRUSTS, StartSetting
from headstart.judgement.rehearsal.rehearsal import Advice, Outlook
from headstart.judgement.rehearsal.worlds import RIGHT, Scenario
from headstart.numerals import number

_NEARLY = 1.02
_SHARES = (0.01, 0.02, 0.05, 0.10, 0.20)
_DEAR = 0.1  # of the gain over today's policy


def advise(
    forecasts: Sequence[Outlook], scenarios: Sequence[Scenario], trust: float, variance: float, n_users: int
) -> Advice:
    """What to switch on. `trust` is the chance that the log is right, `variance` that of an outcome."""
    by_name = {(each.policy, each.scenario): each for each in forecasts}
    prices = {each: _price(each, by_name, scenarios, trust) for each in SETTINGS}
    chosen, why_trust = _choose_trust(prices)
    floored, why_floor = _choose_floor(chosen, prices, by_name)
    gain = by_name[floored.name, RIGHT].over_today.mean
    share, why_share = _choose_hold_out(gain, variance, n_users)
    odds = (
        f"the log is taken to be right with a chance of {trust:.0%}, as the audit leaves it: prices are averaged "
        "over the scenarios by it"
    )
    return Advice(floored.trust, floored.floor, share, floored.name, (odds, why_trust, why_floor, why_share))


def _price(
    setting: StartSetting,
    by_name: dict[tuple[str, str], Outlook],
    scenarios: Sequence[Scenario],
    trust: float,
) -> float:
    right = [by_name[setting.name, each.name].regret.mean for each in scenarios if each.is_log_right]
    wrong = [by_name[setting.name, each.name].regret.mean for each in scenarios if not each.is_log_right]
    return float(trust * np.mean(right) + (1.0 - trust) * np.mean(wrong))


def _choose_trust(prices: dict[StartSetting, float]) -> tuple[StartSetting, str]:
    without = [StartSetting(trust, 0.0) for trust in TRUSTS]
    best = min(without, key=prices.__getitem__)
    audits = StartSetting(None, 0.0)
    told = ", ".join(f"{_tell_trust(each)} {number(prices[each])}" for each in without)
    if prices[audits] <= _NEARLY * prices[best]:
        return audits, f"trust is the audit's: no other loses less by more than 2 % (lost in all: {told})"
    return best, f"{_tell_trust(best)} loses least on average over the scenarios (lost in all: {told})"


def _tell_trust(setting: StartSetting) -> str:
    return "the audit's trust" if setting.trust is None else f"trust {setting.trust:g}"


def _choose_floor(
    chosen: StartSetting, prices: dict[StartSetting, float], by_name: dict[tuple[str, str], Outlook]
) -> tuple[StartSetting, str]:
    floored = StartSetting(chosen.trust, FLOORS[-1])
    price = prices[floored] - prices[chosen]
    if price <= 0.0:
        return floored, f"a floor of {floored.floor:.0%} loses less: {number(-price)} in all"
    without, within = by_name[chosen.name, RIGHT], by_name[floored.name, RIGHT]
    assert without.known is not None
    assert within.known is not None
    tells = without.known.share < 0.5 <= within.known.share
    if tells and price < _DEAR * within.over_today.mean:
        return floored, (
            f"a floor of {floored.floor:.0%} costs {number(price)} in all, and then the users themselves tell the "
            f"best action in {within.known.share:.0%} of worlds, not in {without.known.share:.0%}"
        )
    return chosen, (
        f"no floor: one of {floored.floor:.0%} would cost {number(price)} in all (users tell the best action in "
        f"{within.known.share:.0%} of worlds with it, in {without.known.share:.0%} without)"
    )


def _choose_hold_out(gain: float, variance: float, n_users: int) -> tuple[float, str]:
    """The smallest share that shows the gain, which is of all users together."""
    if gain <= 0.0:
        return 0.0, "no hold-out: no gain over today's policy is expected that it could show"
    each = gain / n_users
    for share in _SHARES:
        error = math.sqrt(variance / n_users * (1.0 / share + 1.0 / (1.0 - share)))
        if each >= POWER * error:
            return share, (
                f"a hold-out of {share:.0%} with today's policy costs {number(share * gain)} in all and shows a "
                f"gain of {number(each)} a user with a chance of 8 in 10"
            )
    return 0.0, (
        f"no hold-out: even one of {_SHARES[-1]:.0%} would not show a gain of {number(each)} a user above the noise "
        f"of {n_users:,} users"
    )
