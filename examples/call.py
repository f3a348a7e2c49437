"""Function calls: a union of functions selects the function and its arguments.

Prints:

    weather in Porto
    the result of 17 * 23
"""

from typing import Literal

from pydantic import BaseModel

import structkit as sk


class WeatherArguments(BaseModel):
    city: str


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
    for request in ["What is the weather in Porto?", "Calculate 17 * 23."]:
        call = sk.extract(model, request, Weather | Calculator)
        match call:
            case Weather():
                print("weather in", call.arguments.city)
            case Calculator():
                print("the result of", call.arguments.expression)
