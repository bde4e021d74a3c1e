"""Token buckets."""

from headstart.serve.http.rates import Bucket, Rates


def test_bucket_by_hand():
    """Two a second, two at once: two pass at time 0, the third must wait half a second."""
    bucket = Bucket(rate=2.0, size=2.0)
    assert [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0)] == [True, True, False]
    assert bucket.take(0.4) is False
    assert bucket.take(0.5) is True
    assert bucket.take(0.5) is False
    assert bucket.take(0.4) is False  # a clock that jumps back gives nothing


def test_a_batch_is_paid_back():
    """Ten a second: after one and nine more, and twenty of debt, the next passes when 2.1 seconds are over."""
    bucket = Bucket(rate=10.0, size=10.0)
    assert bucket.take(0.0)
    assert bucket.charge(9)
    assert bucket.charge(20)
    assert bucket.charge(1) is False  # in debt already: a second batch at the same time
    assert bucket.take(2.0) is False
    assert bucket.take(2.11) is True


def test_ten_thousand_addresses_do_not_make_anybody_s_debt_forgotten():
    rates = Rates(1.0, clock=lambda: 0.0)
    assert rates.take("busy")
    for i in range(30_000):
        rates.take(f"address {i}")
        if i % 1000 == 0:
            assert not rates.take("busy")
    assert len(rates._buckets) <= 10_000


def test_without_a_rate_everything_passes():
    rates = Rates(None)
    assert all(rates.take("a") and rates.charge("a", 1000) for _ in range(1000))
