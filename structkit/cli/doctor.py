"""`structkit doctor`: what this machine, a model or a server can do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict

from structkit.doctor.check import Check, format_checks
from structkit.doctor.logits_model import check_logits_model
from structkit.doctor.machine import check_machine
from structkit.doctor.text_model import check_text_model
from structkit.errors import StructkitError
from structkit.models.names.load import load
from structkit.models.servers.connect import connect
from structkit.models.servers.model import ServerModel
from structkit.models.text.protocol import AnyModel, TextModel

__all__ = ["doctor"]


def doctor(arguments: argparse.Namespace) -> tuple[str, int]:
    """Return the table of the checks, and 1 if one of them failed."""
    if (arguments.model or arguments.api_key_env) and not _is_url(arguments):
        arguments.parser.error("--model and --api-key-env require the URL of a server")
    checks = [*_checks(arguments)]
    status = int(any(check.status == "no" for check in checks))
    if arguments.json:
        return json.dumps([asdict(check) for check in checks], ensure_ascii=False, indent=1), status
    text = format_checks(checks)
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text), status


def _checks(arguments: argparse.Namespace) -> Iterator[Check]:
    if arguments.source is None:
        yield from check_machine()
        return
    try:
        model = _model(arguments)
    except (StructkitError, ValueError) as error:
        found = error.message if isinstance(error, StructkitError) else str(error)  # one line
        remedy = "model and api_key are the options --model and --api-key-env" if _is_url(arguments) else ""
        yield Check(name="model", status="no", found=found, remedy=remedy)
        return
    if not isinstance(model, TextModel):
        yield from check_logits_model(model)
        return
    dialect = f"{model.dialect}: " if isinstance(model, ServerModel) else ""
    yield Check(name="model", status="yes", found=f"{dialect}{model.name}")
    try:
        yield from check_text_model(model)
    finally:
        if isinstance(model, ServerModel):
            model.close()


def _model(arguments: argparse.Namespace) -> AnyModel:
    source: str = arguments.source
    if not _is_url(arguments):
        return load(source)
    name = arguments.api_key_env
    key = None if name is None else os.environ.get(name)
    if name is not None and not key:
        raise ValueError(f"the environment variable {name} is not set; set it to the key of the server")
    return connect(source, arguments.model, key, timeout=60.0)


def _is_url(arguments: argparse.Namespace) -> bool:
    return str(arguments.source).startswith(("http://", "https://"))
