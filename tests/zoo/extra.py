"""The types of the package pydantic-extra-types; empty if the package or its dependencies are not installed."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import Annotated, Any, Union

from pydantic import TypeAdapter

from tests.zoo.specimen import Kind, Specimen

__all__ = ["EXTRA"]


def _read(target: Any, *values: Any) -> list[Any]:
    return [TypeAdapter(target).validate_python(value) for value in values]


def _of(target: Any, written: str, *refuses: str, **more: Any) -> Specimen:
    return Specimen(target, _read(target, written), [f'"{text}"' for text in refuses], **more)


def _path(target: Any, text: str) -> Specimen:
    limits = "whether it exists is checked after"
    return Specimen(target, texts=[f'"{text}"'], refuses=["1"], limits=limits, checked=True)


def _kind() -> Kind:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import phonenumbers
        from pydantic_extra_types import (
            color,
            coordinate,
            country,
            cron,
            currency_code,
            domain,
            dsn,
            epoch,
            iban,
            isbn,
            language_code,
            mac_address,
            mime_types,
            mongo_object_id,
            path,
            payment,
            pendulum_dt,
            phone_numbers,
            routing_number,
            s3,
            script_code,
            semantic_version,
            semver,
            timezone_name,
            ulid,
            uuid_types,
        )

    class FrenchPhone(phone_numbers.PhoneNumber):
        supported_regions = ["FR"]  # noqa: RUF012
        phone_format = "INTERNATIONAL"

    class NationalPhone(phone_numbers.PhoneNumber):
        default_region_code = "US"
        phone_format = "NATIONAL"

    e164 = Annotated[
        Union[str, phonenumbers.PhoneNumber], phone_numbers.PhoneNumberValidator(number_format="E164")
    ]
    numbers: dict[str, Any] = {"limits": "whether there is such a number is checked after", "checked": True}
    moment = dt.datetime(2023, 11, 14, 22, 13, 20, 250_000, dt.timezone.utc)
    version = "up to 18 digits a number, ten words of 31 characters"
    hosts = {
        "AmqpDsn": "amqp://guest@mq:5673/main",
        "ClickHouseDsn": "clickhouse+native://u:p@db:9000/x",
        "CockroachDsn": "cockroachdb://root@db:26257/x",
        "KafkaDsn": "kafka://localhost:9092",
        "MariaDBDsn": "mariadb://u@db:3306/x",
        "MongoDsn": "mongodb://a:1,b:2/x",
        "MySQLDsn": "mysql+pymysql://u@db:3306/x",
        "NatsDsn": "nats://localhost:4222",
        "PostgresDsn": "postgresql+asyncpg://u@a:5432,b:5432/x",
        "RedisDsn": "redis://localhost:6379/0",
        "SnowflakeDsn": "snowflake://u:p@host/x",
    }
    return {
        "color.Color": Specimen(
            color.Color,
            [color.Color("red"), color.Color("#fff8"), color.Color("#123457")],
            ['"#f00"', '"#aabbcc"', '"#ff0000ff"', '"reddish"', "[1, 2, 3]", "3"],
        ),
        "coordinate.Latitude": Specimen(
            coordinate.Latitude, [-41.25, 90.0, Decimal("41.25")], ["90.5", "-91", '"90.01"', '"x"']
        ),
        "coordinate.Longitude": Specimen(
            coordinate.Longitude, [-180.0, 179.5, Decimal("0.125")], ["180.5", "227", '"-180.5"']
        ),
        "coordinate.Coordinate": Specimen(
            coordinate.Coordinate,
            [coordinate.Coordinate(latitude=41.5, longitude=-2.25)],  # type: ignore[arg-type]
            ['{"latitude": 91, "longitude": 0}', '"41,2"', "[41.5, -2.25]", '{"latitude": 1}'],
        ),
        "country.CountryAlpha2": _of(country.CountryAlpha2, "ES", "XX", "es", "ESP"),
        "country.CountryAlpha3": _of(country.CountryAlpha3, "ESP", "XXX", "ES"),
        "country.CountryNumericCode": _of(country.CountryNumericCode, "724", "000", "7"),
        "country.CountryShortName": _of(country.CountryShortName, "Åland Islands", "Atlantis", ""),
        "cron.CronStr": Specimen(
            cron.CronStr,
            _read(cron.CronStr, "*/5 * * * *", "1,2,3,7 0-12/2 1,31 JAN-MAR MON-FRI", "0 0 29 2 *"),
            ['"* * * *"', '""', '"* * * * * *"', '"0 0 * * MON"'],
            limits="numbers, no names; whether such times exist is checked afterwards",
            checked=True,
            fails=['"60 * * * *"', '"* * 0 * *"', '"5-1 * * * *"'],
        ),
        "currency_code.ISO4217": _of(currency_code.ISO4217, "XAU", "XYZ", "eur", "EURO"),
        "currency_code.Currency": _of(currency_code.Currency, "EUR", "XAU", "XYZ"),
        "domain.DomainStr": Specimen(
            domain.DomainStr,
            _read(domain.DomainStr, "example.com", f"{'a' * 63}.b.xn--p1ai", "a.b-c.d.e.f.gh"),
            ['"example"', '"-a.com"', '"a..com"', '"a.c0m"', f'"{"a" * 64}.com"', '"Example.com"'],
            limits="up to three labels of 63 characters, or seven of 30",
        ),
        "epoch.Number": Specimen(epoch.Number, [moment], ["1e30", "253402300800", "-62135596801", '"x"']),
        "epoch.Integer": Specimen(epoch.Integer, [moment], ["1.5", "253402300800", "-62135596801"]),
        "iban.IBAN": Specimen(
            iban.IBAN,
            _read(iban.IBAN, "DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "NO9386011117947"),
            [
                '"NO938601111794"',
                '"DE89 3704 0044 0532 0130 00"',
                '"de89370400440532013000"',
                '"89DE370400440532013000"',
            ],
            limits="country, length and check digits are checked afterwards",
            checked=True,
            fails=['"DE88370400440532013000"', '"XX89370400440532013000"', '"NO9386011117948"'],
        ),
        "isbn.ISBN": Specimen(
            isbn.ISBN,
            _read(isbn.ISBN, "9780306406157", "8537809667"),
            ['"9770306406157"', '"978030640615"', '"978-0-306-40615-7"'],
            ['"8537809667"', '"080442957X"'],
            limits="the check digit is checked afterwards",
            checked=True,
            fails=['"9780306406158"', '"8537809668"'],
        ),
        "language_code.LanguageAlpha2": _of(language_code.LanguageAlpha2, "de", "xx", "DE"),
        "language_code.LanguageName": _of(language_code.LanguageName, "Dutch", "Klingonese", ""),
        "language_code.ISO639_3": _of(language_code.ISO639_3, "deu", "qqq", "de"),
        "language_code.ISO639_5": _of(language_code.ISO639_5, "gem", "deu", "ge"),
        "mac_address.MacAddress": Specimen(
            mac_address.MacAddress,
            _read(mac_address.MacAddress, "00-00-5E-00-53-01", "0000.5e00.5301.aabb", "0a" + ":0a" * 19),
            ['"00:00:5e:00:53"', '"00:00:5e:00:53:0g"', '"00:00:5E:00:53:01"', '"00005e005301"'],
        ),
        "mime_types.MimeType": _of(mime_types.MimeType, "application/json", "application/jsn", "json"),
        "mongo_object_id.MongoObjectId": _of(
            mongo_object_id.MongoObjectId,
            "5f9f2f4b9d3c5a7b4c7e6c1d",
            "5f9f2f4b9d3c5a7b4c7e6c1",
            "5f9f2f4b9d3c5a7b4c7e6c1g",
            limits="24 hex digits, though pydantic reads any 24 characters from JSON",
        ),
        "path.ResolvedFilePath": _path(path.ResolvedFilePath, "pyproject.toml"),
        "path.ResolvedDirectoryPath": _path(path.ResolvedDirectoryPath, "/"),
        "path.ResolvedNewPath": _path(path.ResolvedNewPath, "/never-there"),
        "path.ExistingPath": _path(path.ExistingPath, "/"),
        "path.ResolvedExistingPath": _path(path.ResolvedExistingPath, "/"),
        "payment.PaymentCardNumber": Specimen(
            payment.PaymentCardNumber,
            _read(payment.PaymentCardNumber, "4000000000000002", "378282246310005", "6759649826438453")
            + _read(payment.PaymentCardNumber, "5555555555554444", "6011111111111117", "36227206271667"),
            ['"41111111111"', '"41111111111111111111"', '"4000 0000 0000 0002"'],
            limits="the check digit and the length of the brand are checked afterwards",
            checked=True,
            fails=['"4000000000000003"', '"37828224631000"', '"400000000002"'],
        ),
        "pendulum_dt.DateTime": Specimen(
            pendulum_dt.DateTime, _read(pendulum_dt.DateTime, moment), ['"2021-02-30T00:00:00"', '"x"', "{}"]
        ),
        "pendulum_dt.Date": _of(pendulum_dt.Date, "2021-01-31", "2021-02-30", "x"),
        "pendulum_dt.Time": Specimen(
            pendulum_dt.Time, _read(pendulum_dt.Time, dt.time(1, 2, 3)), ['"25:00:00"', '"x"']
        ),
        "pendulum_dt.Duration": Specimen(
            pendulum_dt.Duration,
            _read(pendulum_dt.Duration, "P1DT25H", "P1Y2M3DT4H5M6.000007S", "PT0S", "PT59.25S"),
            ['"P"', '"PT"', '"P1.5D"', '"-P1D"', "1"],
            limits="not negative: pydantic-extra-types cannot read its own dumps of negative values",
        ),
        "phone_numbers.PhoneNumber": Specimen(
            phone_numbers.PhoneNumber,
            _read(
                phone_numbers.PhoneNumber, "+1 650-253-0000", "+49 30 123456", "+39 06 6982", "+80012345678"
            ),
            ['"tel:+49"', '"+1"', '"650-253-0000"', '"tel:+1--6502530000"'],
            fails=['"tel:+1-123-456-7890"', '"tel:+999-1234567"'],
            **numbers,
        ),
        "phone_numbers.PhoneNumber, INTERNATIONAL, FR": Specimen(
            FrenchPhone,
            _read(FrenchPhone, "+33 1 42 68 53 00"),
            ['"+33 42"', '"tel:+33-1-42-68-53-00"'],
            fails=['"+1 650-253-0000"', '"+33 11 42 68 53 00"'],
            **numbers,
        ),
        "phone_numbers.PhoneNumber, NATIONAL, US": Specimen(
            NationalPhone,
            _read(NationalPhone, "650-253-0000"),
            ['"abc"', '"1"'],
            fails=['"050-253-0000"'],
            **numbers,
        ),
        "phone_numbers.PhoneNumberValidator, E164": Specimen(
            e164,
            _read(e164, "+1 650-253-0000"),
            ['"+1"', '"tel:+1-650-253-0000"'],
            fails=['"+11234567890"'],
            **numbers,
        ),
        "routing_number.ABARoutingNumber": _of(
            routing_number.ABARoutingNumber,
            "122105155",
            "12210515",
            "1221051550",
            limits="the check digit is checked afterwards",
            checked=True,
            fails=['"122105156"'],
        ),
        "s3.S3Path": _of(s3.S3Path, "s3://bucket/a/b.csv", "s3://bucket", "http://bucket/a"),
        "script_code.ISO_15924": _of(script_code.ISO_15924, "Latn", "Xxxx", "latn"),
        "semantic_version.SemanticVersion": Specimen(
            semantic_version.SemanticVersion,
            _read(semantic_version.SemanticVersion, "1.2.3-rc.1+build.05", "0.0.0"),
            ['"1.2"', '"01.2.3"', '"1.2.3-"', '"1.2.3-01"'],
            limits=version,
        ),
        "semver.ManifestVersion": Specimen(
            semver.ManifestVersion,
            _read(semver.ManifestVersion, "1.2.3-rc.1+build.05"),
            ['"1.2"', '"v1.2.3"'],
            limits=version,
        ),
        "timezone_name.TimeZoneName": _of(
            timezone_name.TimeZoneName, "Europe/Lisbon", "Europe/Nowhere", "europe/lisbon"
        ),
        "ulid.ULID": Specimen(
            ulid.ULID,
            texts=['"01BTGNYV6HRNK8K8VKZASZCFPE"'],
            refuses=['"81BTGNYV6HRNK8K8VKZASZCFPE"', '"01BTGNYV6HRNK8K8VKZASZCFP"', '"U1"', "{}"],
            limits="text, not the number or the bytes",
        ),
        "uuid_types.UUID7": _of(
            uuid_types.UUID7, "018f0e8c-7a6a-7b1c-a3e4-fdf3e0ef7a4a", "018f0e8c-7a6a-4b1c-a3e4-fdf3e0ef7a4a"
        ),
        **{
            f"dsn.{name}": _of(getattr(dsn, name), url, "http://localhost:1/x", "")
            for name, url in hosts.items()
        },
    }


try:
    EXTRA: Kind = _kind()
except (ImportError, RuntimeError):  # the modules raise their own error for missing dependencies
    EXTRA = {}
