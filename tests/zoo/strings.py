"""Strings, bytes and types that are written as strings."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from re import Pattern
from typing import Annotated, NewType
from zoneinfo import ZoneInfo

import pydantic
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tests.zoo.specimen import Kind, Specimen

UserName = NewType("UserName", str)


class Lower(BaseModel):
    model_config = ConfigDict(str_to_lower=True, str_strip_whitespace=True, str_max_length=5)
    a: str


class Coerced(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)
    a: str


class PythonPatterns(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    a: Annotated[str, Field(pattern=r"^(?!b)\w+$")]


class InBase64(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    a: bytes


class InHex(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex", ser_json_bytes="hex")
    a: Annotated[bytes, Field(min_length=1, max_length=2)]


class LowerTexts(BaseModel):
    model_config = ConfigDict(str_to_lower=True, str_max_length=18)
    email: pydantic.EmailStr
    name: pydantic.NameEmail | None
    code: pydantic.Base64Bytes
    keys: dict[pydantic.EmailStr, str]


class HexOfBase64(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex")
    a: pydantic.Base64Bytes


class Reversed(pydantic.EncoderProtocol):
    @classmethod
    def decode(cls, data: bytes) -> bytes:
        if b"!" in data:
            raise ValueError("no exclamation mark")
        return data[::-1]

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value[::-1]

    @classmethod
    def get_json_format(cls) -> str:
        return "reversed"


class ShortBase64(pydantic.Base64Encoder):
    @classmethod
    def decode(cls, data: bytes) -> bytes:
        if len(data) > 8:
            raise ValueError("too long")
        return super().decode(data)


STRINGS: Kind = {
    "str": Specimen(str, ["", 'a"b\\c\n\té😀\x00\x1f\x7f'], ['"', "a", '"\t"', '"\\x"', "null"]),
    "str, min_length=3": Specimen(
        Annotated[str, Field(min_length=3)], ["abc", "ééé", "a" * 500], ['"ab"', '"éé"']
    ),
    "str, max_length=3": Specimen(
        Annotated[str, Field(max_length=3)], ["", "abc", "😀😀😀", '"""'], ['"abcd"', '"éééé"']
    ),
    "str, min_length=2, max_length=100": Specimen(
        Annotated[str, Field(min_length=2, max_length=100)], ["ab", "x" * 100], ['"a"', f'"{"x" * 101}"']
    ),
    "str, pattern": Specimen(
        Annotated[str, Field(pattern=r"^[a-z]+-\d{2}$")], ["a-12", "zz-00"], ['"a-1"', '"A-12"', '"a-123"']
    ),
    "str, pattern anywhere": Specimen(
        Annotated[str, Field(pattern=r"a\"b|\\")], ['xa"by', "\\"], ['"ab"', '""']
    ),
    "str, pattern and lengths": Specimen(
        Annotated[str, Field(pattern="^(ab)*$", min_length=3, max_length=5)],
        ["abab"],
        ['"ab"', '"ababab"', '"abc"'],
    ),
    "str, compiled pattern": Specimen(
        Annotated[str, Field(pattern=re.compile(r"^ab\Z", re.IGNORECASE))], ["ab", "AB"], ['"abc"', '"b"']
    ),
    "str, pattern of python-re": Specimen(
        PythonPatterns, [PythonPatterns(a="abc")], ['{"a": "bc"}', '{"a": ""}']
    ),
    "constr(min_length=1)": Specimen(pydantic.constr(min_length=1), ["a"], ['""']),
    "str, strip_whitespace": Specimen(
        Annotated[str, StringConstraints(strip_whitespace=True)], ["", "a b"], ["1"]
    ),
    "str, strip_whitespace, min_length=2": Specimen(
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=2)],
        ["ab", "a b"],
        ['"a "', '" a"', '"  "'],
    ),
    "str, to_lower": Specimen(
        Annotated[str, StringConstraints(to_lower=True)], ["", "ab é ß 1", "ế ʼ ﬁ"], ['"A"', '"É"', "1"]
    ),
    "str, to_upper, pattern": Specimen(
        Annotated[str, StringConstraints(to_upper=True, pattern="^[A-Z]{2}$")], ["AB"], ['"ab"', '"ABC"']
    ),
    "str, ascii_only": Specimen(
        Annotated[str, StringConstraints(ascii_only=True)], ["", "ab\n~"], ['"é"', '"😀"']
    ),
    "model, str_to_lower, str_strip_whitespace, str_max_length": Specimen(
        Lower, [Lower(a="abc")], ['{"a": "abcdef"}', '{"a": "A"}', '{"a": " a"}']
    ),
    "model, coerce_numbers_to_str": Specimen(Coerced, [Coerced(a="1")], ['{"a": 1}', '{"a": null}']),
    "model, str_to_lower, str_max_length, with other types of texts": Specimen(
        LowerTexts,
        [LowerTexts(email="a@b.cd", name=None, code=b"YWI=", keys={"a@b.cd": "x"})],
        [
            '{"email": "A@b.cd", "name": null, "code": "YWI=", "keys": {}}',
            '{"email": "aaaaaaaaaaaaaa@b.cd", "name": null, "code": "YWI=", "keys": {}}',
            '{"email": "a@b.cd", "name": null, "code": "YWI=", "keys": {"a@b.cd": "X"}}',
        ],
    ),
    "EncodedStr of a constrained str": Specimen(
        Annotated[str, Field(max_length=8), pydantic.EncodedStr(encoder=pydantic.Base64Encoder)],
        ["aaa"],
        ['"YWFhYWFhYWFh"', '"a"'],
    ),
    "Base64Bytes, val_json_bytes": Specimen(HexOfBase64, error="'python:base64' and 'python:hex'"),
    "StrictStr": Specimen(pydantic.StrictStr, ["a"], ["1"]),
    "NewType of str": Specimen(UserName, ["ana"], ["1"]),
    "SecretStr": Specimen(pydantic.SecretStr, texts=['"hunter2"', '""'], refuses=["1"]),
    "SecretStr, min_length=8": Specimen(
        Annotated[pydantic.SecretStr, Field(min_length=8)], texts=['"12345678"'], refuses=['"1234567"']
    ),
    "SecretBytes": Specimen(pydantic.SecretBytes, texts=['"é"'], refuses=["1"]),
    "SecretBytes, max_length=2": Specimen(
        Annotated[pydantic.SecretBytes, Field(max_length=2)], texts=['"é"', '"ab"'], refuses=['"éa"', '"abc"']
    ),
    "Secret[int]": Specimen(pydantic.Secret[int], texts=["1"], refuses=['"a"', "null"]),
    "Secret[date]": Specimen(
        pydantic.Secret[Annotated[int, Field(ge=10)]], texts=["10"], refuses=["9", "null"]
    ),
    "EncodedStr, an encoder of one's own": Specimen(
        Annotated[str, pydantic.EncodedStr(encoder=Reversed)],
        ["ab"],
        ["1", "null"],
        limits="the encoder decodes afterwards",
        checked=True,
        fails=['"a!"'],
    ),
    "EncodedBytes, an encoder derived from Base64Encoder": Specimen(
        Annotated[bytes, pydantic.EncodedBytes(encoder=ShortBase64)],
        [b"ab"],
        ['"a"', "1"],
        limits="the encoder decodes afterwards",
        checked=True,
        fails=['"YWJjZGVmZ2hp"'],
    ),
    "bytes": Specimen(bytes, [b"", b"abc", "é".encode()], ["1", '"\t"']),
    "bytes, min_length=2, max_length=3": Specimen(
        Annotated[bytes, Field(min_length=2, max_length=3)],
        [b"ab", "é".encode(), "€".encode(), b'"\\n'],
        ['"a"', '"abcd"', '"éé"', '"😀"'],
    ),
    "bytes, max_length=100": Specimen(
        Annotated[bytes, Field(max_length=100)],
        [b"", b"a" * 100, "é".encode() * 50],
        [f'"{"a" * 101}"', f'"{"é" * 51}"'],
    ),
    "StrictBytes": Specimen(pydantic.StrictBytes, [b"a"], ["1"]),
    "conbytes(max_length=1)": Specimen(pydantic.conbytes(max_length=1), [b"", b"a"], ['"ab"', '"é"']),
    "bytes, val_json_bytes='base64'": Specimen(
        InBase64, [InBase64(a=b""), InBase64(a=b"\xff\xfe")], ['{"a": "a"}', '{"a": "//8"}']
    ),
    "bytes, val_json_bytes='hex', lengths": Specimen(
        InHex, [InHex(a=b"\xff"), InHex(a=b"ab")], ['{"a": ""}', '{"a": "f"}', '{"a": "616263"}']
    ),
    "Base64Bytes": Specimen(
        pydantic.Base64Bytes, [b"", b"hi", b"\x00\xff\xfe"], ['"aGk"', '"a"', '"aGl="', '"_w=="']
    ),
    "Base64Str": Specimen(
        pydantic.Base64Str,
        ["", "hi", "hello"],
        ['"/w=="', '"aGk"'],
        limits="only ASCII inside",
    ),
    "Base64UrlBytes": Specimen(pydantic.Base64UrlBytes, [b"", b"\xff\xfe"], ['"_w"', '"/w=="']),
    "Base64UrlStr": Specimen(
        pydantic.Base64UrlStr, ["", "hello"], ['"_w=="', '"aGk"'], limits="only ASCII inside"
    ),
    "Pattern": Specimen(
        Pattern[str],
        [re.compile("a+"), re.compile(r"^\d{2,3}$")],
        ['"("', '"*"', '"[b-a]"'],
        limits="groups at most three deep",
    ),
    "Pattern[bytes]": Specimen(Pattern[bytes], error="a pattern of bytes cannot be read from JSON"),
    "Path": Specimen(Path, [Path("a/b"), Path("/")], ["1", "null"]),
    "PurePosixPath": Specimen(PurePosixPath, [PurePosixPath("a/b.txt")], ["1"]),
    "FilePath": Specimen(
        pydantic.FilePath,
        refuses=["1"],
        texts=[],
        limits="whether the file exists is checked afterwards",
        checked=True,
    ),
    "NewPath": Specimen(
        pydantic.NewPath,
        refuses=["1"],
        texts=['"no-such-file"'],
        limits="whether its folder exists is checked afterwards",
        checked=True,
    ),
    "ZoneInfo": Specimen(
        ZoneInfo, [ZoneInfo("Europe/Lisbon"), ZoneInfo("UTC")], ['"Europe/Nowhere"', '""', "1"]
    ),
    "ImportString": Specimen(
        pydantic.ImportString,
        texts=['"math.pi"'],
        refuses=["x"],
        limits="whether it can be imported is checked afterwards",
        checked=True,
    ),
    "PaymentCardNumber": Specimen(
        pydantic.PaymentCardNumber,
        texts=['"4000000000000002"', '"378282246310005"', '"5555555555554444"', '"6011111111111117"'],
        refuses=['"411111"', '"4000-0000-0000-0002"'],
        limits="the check digit and the length of the brand are checked afterwards",
        checked=True,
        fails=['"4000000000000003"', '"37828224631000"'],
    ),
}
