"""Addresses: IP, URLs, DSNs and e-mail."""

from __future__ import annotations

import ipaddress
from typing import Annotated

import pydantic
from pydantic import BaseModel, ConfigDict, Field, UrlConstraints

from tests.zoo.specimen import Kind, Specimen

_URLS = "host names in ASCII; no `..` and no `.` in the path"
_DSN = "host names in ASCII"


class StrictAddress(BaseModel):
    model_config = ConfigDict(strict=True, str_max_length=9)
    ip: ipaddress.IPv4Address


NETWORK: Kind = {
    "IPv4Address": Specimen(
        ipaddress.IPv4Address,
        [ipaddress.IPv4Address("0.0.0.0"), ipaddress.IPv4Address("255.10.1.99")],
        ['"256.0.0.1"', '"1.2.3"', '"01.2.3.4"', '"::1"'],
    ),
    "IPv4Address, strict, str_max_length=9": Specimen(
        StrictAddress, [StrictAddress(ip=ipaddress.IPv4Address("1.2.3.4"))], ['{"ip": "100.100.1.1"}']
    ),
    "IPv6Address": Specimen(
        ipaddress.IPv6Address,
        [
            ipaddress.IPv6Address(text)
            for text in (
                "::",
                "::1",
                "2001:db8::",
                "1:2:3:4:5:6:7:8",
                "1:0:0:2::3",
                "::ffff:1.2.3.4",
                "1:2:3:4:5:6:7:0",
            )
        ],
        ['"1::2::3"', '"12345::"', '"1:2"', '"1.2.3.4"'],
        limits="without a zone",
    ),
    "IPv4Network": Specimen(
        ipaddress.IPv4Network,
        [ipaddress.IPv4Network(text) for text in ("0.0.0.0/0", "10.0.0.0/8", "192.168.4.0/22", "1.2.3.4/32")],
        ['"10.0.0.1/8"', '"1.2.3.4/33"', '"1.2.3/8"'],
    ),
    "IPv6Network": Specimen(
        ipaddress.IPv6Network,
        [
            ipaddress.IPv6Network(text)
            for text in ("::/0", "2001:db8::/32", "fe80::/10", "2001:db8:0:1::/64", "1:2:3:4:5:6:7:8/128")
        ],
        ['"2001:db8::1/32"', '"::/129"', '"fe80::/9x"'],
        limits="`::` only at the end of the address",
    ),
    "IPv4Interface": Specimen(
        ipaddress.IPv4Interface, [ipaddress.IPv4Interface("10.0.0.1/8")], ['"10.0.0.1/33"', '"10.0.0/8"']
    ),
    "IPv6Interface": Specimen(
        ipaddress.IPv6Interface,
        [ipaddress.IPv6Interface("::1/128"), ipaddress.IPv6Interface("2001:db8::5/32")],
        ['"::1/129"', '"1::2::3/4"'],
        limits="without a zone",
    ),
    "IPvAnyAddress": Specimen(
        pydantic.IPvAnyAddress,
        [ipaddress.IPv4Address("1.2.3.4"), ipaddress.IPv6Address("::1")],
        ['"1.2.3"', '"x"', '"::1/8"'],
    ),
    "IPvAnyInterface": Specimen(
        pydantic.IPvAnyInterface,
        [ipaddress.IPv4Interface("1.2.3.4/8"), ipaddress.IPv6Interface("::1/8")],
        ['"1.2.3"', '"::1/129"'],
    ),
    "IPvAnyNetwork": Specimen(
        pydantic.IPvAnyNetwork,
        [ipaddress.IPv4Network("10.0.0.0/8"), ipaddress.IPv6Network("2001:db8::/32")],
        ['"10.0.0.1/8"', '"::1/8"'],
    ),
    "AnyUrl": Specimen(
        pydantic.AnyUrl,
        [
            pydantic.AnyUrl(text)
            for text in (
                "https://example.com",
                "ftp://a.b/c",
                "foo://host",
                "http://u:p@h.io:8080/?q=1#f",
                "mailto:a@b.c",
            )
        ],
        ['"example.com"', '"http://"', '"http://1.2.3.256/"', '"http://a.b:99999/"', '""'],
        limits=_URLS,
    ),
    "AnyHttpUrl": Specimen(
        pydantic.AnyHttpUrl,
        [pydantic.AnyHttpUrl("http://localhost/a/b?c=d")],
        ['"ftp://a.b/"', '"http://"', '"x"'],
        limits=_URLS,
    ),
    "HttpUrl": Specimen(
        pydantic.HttpUrl,
        [
            pydantic.HttpUrl(text)
            for text in (
                "https://example.com",
                "http://1.2.3.4:81/a%20b",
                "https://[::1]/",
                "https://a.b/c#d",
            )
        ],
        [
            '"ftp://a.b/"',
            '"http://"',
            '"https://exa mple.com/"',
            f'"https://a.b/{"x" * 2080}"',
            '"https://-/ "',
        ],
        limits=_URLS,
    ),
    "FtpUrl": Specimen(pydantic.FtpUrl, [pydantic.FtpUrl("ftp://a.b/c")], ['"http://a.b/"'], limits=_URLS),
    "FileUrl": Specimen(
        pydantic.FileUrl, [pydantic.FileUrl("file:///a/b.txt")], ['"http://a.b/"', '"a"'], limits=_URLS
    ),
    "WebsocketUrl": Specimen(
        pydantic.WebsocketUrl, [pydantic.WebsocketUrl("wss://a.b/c?d")], ['"http://a.b/"'], limits=_URLS
    ),
    "AnyWebsocketUrl": Specimen(
        pydantic.AnyWebsocketUrl, [pydantic.AnyWebsocketUrl("ws://a.b")], ['"http://a.b/"'], limits=_URLS
    ),
    "AnyUrl, UrlConstraints": Specimen(
        Annotated[
            pydantic.AnyUrl, UrlConstraints(allowed_schemes=["svn", "git"], host_required=True, max_length=30)
        ],
        [pydantic.AnyUrl("svn://h/trunk"), pydantic.AnyUrl("git://a.b:1/c")],
        ['"http://a.b/"', '"svn:h"', f'"svn://h/{"x" * 30}"'],
        limits=_URLS,
    ),
    "HttpUrl, max_length=40": Specimen(
        Annotated[pydantic.HttpUrl, UrlConstraints(max_length=40)],
        [pydantic.HttpUrl("https://example.com/a")],
        [f'"https://a.b/{"x" * 40}"'],
        limits=_URLS,
    ),
    "PostgresDsn": Specimen(
        pydantic.PostgresDsn,
        [
            pydantic.PostgresDsn(text)
            for text in (
                "postgres://u:p@h:5432/db",
                "postgresql+asyncpg://u@localhost",
                "postgres://a,b:5/db",
            )
        ],
        ['"mysql://h/db"', '"postgres:///db"', '"postgres://"'],
        limits=_DSN,
    ),
    "CockroachDsn": Specimen(
        pydantic.CockroachDsn,
        [pydantic.CockroachDsn("cockroachdb://h/db")],
        ['"postgres://h/db"'],
        limits=_DSN,
    ),
    "MySQLDsn": Specimen(
        pydantic.MySQLDsn, [pydantic.MySQLDsn("mysql://u@h:3306/db")], ['"postgres://h/db"'], limits=_DSN
    ),
    "MariaDBDsn": Specimen(
        pydantic.MariaDBDsn, [pydantic.MariaDBDsn("mariadb://u@h:3306/db")], ['"mysql://h/db"'], limits=_DSN
    ),
    "ClickHouseDsn": Specimen(
        pydantic.ClickHouseDsn,
        [pydantic.ClickHouseDsn("clickhouse://h:9000/db")],
        ['"mysql://h/db"'],
        limits=_DSN,
    ),
    "SnowflakeDsn": Specimen(
        pydantic.SnowflakeDsn,
        [pydantic.SnowflakeDsn("snowflake://u:p@acct/db")],
        ['"mysql://h/db"'],
        limits=_DSN,
    ),
    "MongoDsn": Specimen(
        pydantic.MongoDsn,
        [pydantic.MongoDsn("mongodb://h"), pydantic.MongoDsn("mongodb+srv://a:1,b:2/db")],
        ['"redis://h"', '"mongodb://"'],
        limits=_DSN,
    ),
    "RedisDsn": Specimen(
        pydantic.RedisDsn,
        [pydantic.RedisDsn("redis://"), pydantic.RedisDsn("rediss://u:p@h:1/2")],
        ['"mongodb://h"'],
        limits=_DSN,
    ),
    "AmqpDsn": Specimen(pydantic.AmqpDsn, [pydantic.AmqpDsn("amqp://u:p@h/v")], ['"redis://h"'], limits=_DSN),
    "KafkaDsn": Specimen(pydantic.KafkaDsn, [pydantic.KafkaDsn("kafka://h")], ['"redis://h"'], limits=_DSN),
    "NatsDsn": Specimen(pydantic.NatsDsn, [pydantic.NatsDsn("nats://h")], ['"redis://h"'], limits=_DSN),
    "EmailStr": Specimen(
        pydantic.EmailStr,
        ["ana@example.com", "a.b+c@mail.example.co.uk", "A_1@x-y.org"],
        ['"a@b"', '"a@localhost"', '"@b.com"', '"a b@c.com"', '"a@b.test"', '"a..b@c.com"', '"a@-b.com"'],
        limits="in ASCII, the host in lower case",
    ),
    "NameEmail": Specimen(
        pydantic.NameEmail,
        [pydantic.NameEmail("Ana Sá", "ana@example.com")],
        ['"a@b"', '"Ana <a@b>"', '"Ana <ana@example.com"'],
        limits="names of words without punctuation",
    ),
    "EmailStr, max_length=12": Specimen(
        Annotated[pydantic.EmailStr, Field(max_length=12)], ["a@bcd.com"], ['"abcdef@bcdef.com"']
    ),
}
