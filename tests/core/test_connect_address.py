"""Which addresses of a Spark Connect server pyspark can read, without showing what is in them."""

from __future__ import annotations

import pytest

from vde_dagster.core.connect_address import ConnectAddress

TOKEN = "t0ken"


@pytest.mark.parametrize(
    "text,shown",
    [
        ("sc://spark.example.com", "spark.example.com:15002"),
        ("sc://spark.example.com:443/", "spark.example.com:443"),
        (f"sc://10.0.0.1:443/;use_ssl=true;token={TOKEN}", "10.0.0.1:443"),
        ("sc://[::1]:15002", "[::1]:15002"),
        ("sc://[fe80::1%eth0]", "[fe80::1%eth0]:15002"),
        ("sc://spark_1.Example.com", "spark_1.example.com:15002"),
        ("sc://host/;token=a%2Fb%3D", "host:15002"),
    ],
)
def test_an_address_is_shown_by_its_host_and_port(text: str, shown: str) -> None:
    assert str(ConnectAddress.parse(text)) == shown


@pytest.mark.parametrize(
    "text,why",
    [
        ("spark://host:7077", "does not start with sc://"),
        ("local[2]", "does not start with sc://"),
        ("sc://", "has no host"),
        ("sc:///;use_ssl=true", "has no host"),
        ("sc://host:port", "host or its port"),
        ("sc://host:99999", "host or its port"),
        ("sc://[::1", "host or its port"),
        (f"sc://host:443;token={TOKEN}", "host or its port"),  # the / before it is missing
        (f"sc://host;token={TOKEN}", "host or its port"),
        (f"sc://host,{TOKEN}", "host or its port"),
        ("sc://a host:443", "host or its port"),
        (f"sc://me:{TOKEN}@host:443", "a user is a parameter"),
        (f"sc://{TOKEN}@host:443", "a user is a parameter"),
        (f"sc://host:443/path/;token={TOKEN}", "only parameters"),
        (f"sc://host:443/;token={TOKEN}/x", "only parameters"),
        (f"sc://host:443/?token={TOKEN}", "only parameters"),
        (f"sc://host:443/;token={TOKEN}=", "one name=value"),
        ("sc://host:443/;use_ssl=true;", "one name=value"),
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        ConnectAddress.parse(text)
    assert TOKEN not in str(caught.value)
