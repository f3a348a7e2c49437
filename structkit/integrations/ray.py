"""Ray Data: values for the texts in a column, by workers that each load a model once.

>>> from structkit.integrations.ray import RowExtractor
>>> worker = RowExtractor({"type": "integer"}, max_tokens=4)
>>> worker({"text": ["Ana is 34.", None]})["value"].tolist()
['34', None]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from typing_extensions import Unpack

from structkit.arguments.checks import check_count
from structkit.errors import MissingExtra
from structkit.generate.input.options import ResultOptions
from structkit.generate.input.settings import BatchSettings, Settings
from structkit.generate.run.batch import run_many
from structkit.models.names.load import load
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import AnyTarget, read_target

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["RowExtractor", "RowOptions", "extract_rows"]


class RowOptions(ResultOptions, total=False):
    """Keyword arguments of `extract_rows` and `RowExtractor`, in addition to those of `structkit.generate`."""

    model: str | None
    """The name of the model for `structkit.load`; by default the demo model."""

    load_options: Mapping[str, object]
    """Other arguments of `structkit.load`, such as `{"device": "cuda"}`."""

    column: str
    """The column with the texts. Default: `text`."""

    value: str
    """The new column with the values. Default: `value`."""

    error: str
    """The new column with the errors. Default: `error`."""

    rows_at_once: int
    """Maximum number of rows that a worker computes together. Default: 32."""


class RowExtractor:
    """A worker of `map_batches`: it loads a model once, and adds two columns to each batch.

    The value of a row is a JSON text, or the text of a regex, choice or grammar: Arrow would give all objects of a
    column the same fields. A row that fails has no value, but an error, and harms no other.

    Args:
        target: The target, or the text of a JSON Schema.
        options: See `RowOptions`.

    Raises:
        StructkitError: The target cannot be enforced, or there is no such model.
        TypeError: An option is unknown or has the wrong type.
        ValueError: The text is not a JSON Schema, or an option is out of range.
    """

    def __init__(self, target: AnyTarget | str, **options: Unpack[RowOptions]) -> None:
        self._target = _read_target(target)
        self._column = options.get("column", "text")
        self._value, self._error = options.get("value", "value"), options.get("error", "error")
        self._batch = _batch_settings(options)
        self._settings = _settings(options)
        self._model = load(options.get("model"), **options.get("load_options", {}))  # type: ignore[call-overload]

    def __call__(self, batch: Mapping[str, Sequence[object]]) -> dict[str, object]:
        """Return a batch with the two columns.

        Raises:
            KeyError: The batch does not have the column with the texts.
        """
        if self._column not in batch:
            raise KeyError(f"there is no column {self._column!r}; give column=..., one of {', '.join(batch)}")
        cells = list(batch[self._column])
        texts = {number: cell for number, cell in enumerate(cells) if isinstance(cell, str)}
        results = run_many(self._model, [*texts.values()], self._target, self._settings, self._batch)
        found = dict(zip(texts, results, strict=True))
        values, errors = np.full(len(cells), None, object), np.full(len(cells), None, object)
        for number, cell in enumerate(cells):
            match found.get(number):
                case None:
                    errors[number] = f"the cell is {cell!r:.40}; give a text, or leave the row out"
                case Exception() as error:
                    errors[number] = str(error)
                case result:
                    values[number] = result.text
        return {**batch, self._value: values, self._error: errors}


def extract_rows(
    rows: Dataset,
    target: AnyTarget | str,
    *,
    workers: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    batch_size: int = 128,
    **options: Unpack[RowOptions],
) -> Dataset:
    """Extract a value from the text in each row of a dataset of Ray, with workers that each load the model once.

    The values are those of `RowExtractor`, which a pipeline of your own gives to `map_batches`. A worker that dies is
    started again by Ray, and its batch is computed once more.

    Args:
        rows: The dataset, as `ray.data.read_parquet(...)` returns it.
        target: The target, or the text of a JSON Schema.
        workers: Number of workers.
        num_cpus: Processors of a worker. Leave one to the tasks that read and write files.
        num_gpus: Graphics cards of a worker, which `load_options={"device": "cuda"}` uses.
        batch_size: Rows that a worker gets at a time.
        options: See `RowOptions`.

    Raises:
        MissingExtra: The extra `ray` is not installed.
        StructkitError: The target cannot be enforced.
        TypeError: An option is unknown or has the wrong type.
        ValueError: The text is not a JSON Schema, or an option is out of range.

    >>> import ray  # doctest: +SKIP
    >>> rows = ray.data.read_parquet("texts/")  # doctest: +SKIP
    >>> extract_rows(rows, Person, workers=4).write_parquet("people/")  # doctest: +SKIP
    """
    try:
        from ray.data import ActorPoolStrategy
    except ImportError as missing:
        raise MissingExtra("ray", "extract_rows needs", "ray[data]") from missing
    # What is wrong in the call is an error here, not one of each worker.
    read_target(_read_target(target)).rules()
    _settings(options)
    _batch_settings(options)
    return rows.map_batches(
        RowExtractor,
        fn_constructor_args=(target,),
        fn_constructor_kwargs=dict(options),
        batch_size=batch_size,
        compute=ActorPoolStrategy(size=workers),
        num_cpus=num_cpus,
        num_gpus=num_gpus,
    )


def _batch_settings(options: RowOptions) -> BatchSettings:
    """Return the settings of a batch."""
    size = options.get("rows_at_once", 32)
    check_count("rows_at_once", size, 1)
    return BatchSettings(size=size, progress=False, return_exceptions=True)


def _settings(options: RowOptions) -> Settings:
    """Return the settings of a generation."""
    own = RowOptions.__annotations__.keys() - ResultOptions.__annotations__.keys()
    generation = {name: value for name, value in options.items() if name not in own}
    return Settings.read("extract_rows", cast("ResultOptions", generation), ResultOptions)


def _read_target(target: AnyTarget | str) -> AnyTarget:
    """Return the target of the text of a JSON Schema; any other target unchanged."""
    if not isinstance(target, str):
        return target
    try:
        schema = json.loads(target)
    except ValueError as error:
        raise ValueError(
            f"the target is not a JSON Schema: {error}; give json.dumps(schema), or a type"
        ) from error
    if not isinstance(schema, dict):
        raise ValueError(f"the target {target:.60} is not a JSON Schema; give json.dumps(schema), or a type")
    return JsonSchema(schema)
