"""One sentence, one person.

Prints:

    Person(name='Ana Souza', age=34, job='nurse')
"""

from pydantic import BaseModel

import structkit as sk


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


if __name__ == "__main__":
    model = sk.load()
    print(repr(sk.extract(model, "Ana Souza, 34, works as a nurse in Porto.", Person)))
