"""Choosing a function and filling in its arguments: a union is enough."""

from typing import Literal

from pydantic import BaseModel

import structkit as sk


class WeatherArguments(BaseModel):
    city: str
    day: str | None


class Weather(BaseModel):
    name: Literal["get_weather"]
    arguments: WeatherArguments


class CalculatorArguments(BaseModel):
    expression: str


class Calculator(BaseModel):
    name: Literal["calculate"]
    arguments: CalculatorArguments


if __name__ == "__main__":
    model = sk.load()
    for request in ["What is the weather in Porto tomorrow?", "Calculate 17 * 23."]:
        call = sk.extract(model, request, Weather | Calculator)
        match call:
            case Weather():
                print("weather:", call.arguments)
            case Calculator():
                print("calculator:", call.arguments)
