"""Passwords of addresses, in whatever text they stand."""

import pytest

from headstart.addresses import mask_secrets


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://ann:s3cret@db.example/ads", "postgresql://ann:***@db.example/ads"),
        ("postgres://ann:s3:cr@t@db:5432/ads?sslmode=require", "postgres://ann:***@db:5432/ads?sslmode=require"),
        ("postgresql://db/ads?user=ann&password=s3cret&x=1", "postgresql://db/ads?user=ann&password=***&x=1"),
        ("host=db password=s3cret user=ann", "host=db password=*** user=ann"),
        ("host=db password = 's3 c\\'ret' user=ann", "host=db password = *** user=ann"),
        ('missing "=" after "postgresql://ann:s3cret@db" in connection info',
         'missing "=" after "postgresql://ann:***@db" in connection info'),
        ("store must be a path or postgresql://..., got 'mysql://a:b@c/d'",
         "store must be a path or postgresql://..., got 'mysql://a:***@c/d'"),
        ("postgresql://:s3cret@/ads", "postgresql://:***@/ads"),
        ("/var/lib/ads.sqlite: disk is full", "/var/lib/ads.sqlite: disk is full"),
        ("http://127.0.0.1:8000 ann@example.com", "http://127.0.0.1:8000 ann@example.com"),
        ("postgresql://ann@db:5432/ads", "postgresql://ann@db:5432/ads"),
        ("the password is wrong", "the password is wrong"),
    ],
)  # fmt: skip
def test_masked_and_nothing_else(text, masked):
    assert mask_secrets(text) == masked


def test_a_password_that_stands_alone_is_known_by_its_address():
    assert mask_secrets('invalid token: "s%zz"', "postgresql://ann:s%zz@db/ads") == 'invalid token: "***"'
    assert mask_secrets("nothing to hide", "postgresql://db/ads") == "nothing to hide"
