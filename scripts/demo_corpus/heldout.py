"""Held-out kinds of text, with field names that training excludes; used only for evaluation."""

from __future__ import annotations

from demo_corpus.frames import Frame
from demo_corpus.makers import clock, copied, day, decimal, flag, integer, listed, money, person
from demo_corpus.values import Source


def coined(source: Source) -> str:
    return source.own(lambda: source.word(1, 3).title())


PET = Frame(
    names="Pet Animal",
    plural="pets",
    slots={
        "pet": copied("pet_name", coined),
        "species": listed("species", ["dog", "cat", "rabbit", "parrot", "horse"]),
        "keeper": person("keeper"),
        "kilos": decimal("kilos", 1, 50),
        "vaccinated": flag("vaccinated", ["vaccinated"], ["not vaccinated"]),
    },
    sentences=[
        "{pet} is a {species} that belongs to {keeper}.",
        "{keeper} has a {species} called {pet}, {kilos} kilos, {vaccinated}.",
        "The {species} {pet} weighs {kilos} kilos.",
        "{keeper} brought {pet}, a {species}, to the vet.",
        "{pet} ({species}) is {vaccinated}.",
    ],
)
FLIGHT = Frame(
    names="Flight Trip",
    plural="flights",
    slots={
        "flight": copied("flight_number", Source.code),
        "origin": copied("departs_from", Source.city),
        "goal": copied("flies_to", Source.city),
        "gate": copied("gate", Source.code),
        "departs": clock("departs_at"),
        "day": day("travel_date"),
        "airline": copied("airline", Source.company),
    },
    sentences=[
        "Flight {flight} from {origin} to {goal} departs at {departs} from gate {gate}.",
        "{airline} flies from {origin} to {goal} on {day}.",
        "Your flight {flight} leaves {origin} on {day} at {departs}.",
        "{flight} to {goal}: gate {gate}, {departs}.",
        "Passengers to {goal} go to gate {gate}.",
    ],
)
CAR = Frame(
    names="Car Vehicle",
    plural="cars",
    slots={
        "model": copied("model", coined),
        "mileage": integer("mileage", 1000, 250000),
        "built": integer("built_in", 1990, 2024),
        "fuel": listed("fuel", ["petrol", "diesel", "electric", "hybrid"]),
        "cost": money("asking_price", 30000),
        "seller": person("sold_by"),
    },
    sentences=[
        "{seller} sells a {model} built in {built} with a mileage of {mileage} km for {cost}.",
        "The {model} runs on {fuel}, has {mileage} km and costs {cost}.",
        "A {fuel} car: {model}, built {built}.",
        "{model}, {mileage} km, {cost}, sold by {seller}.",
    ],
)
RECIPE = Frame(
    names="Recipe Dish",
    plural="recipes",
    slots={
        "dish": copied(
            "dish",
            lambda s: s.own(
                lambda: f"{s.word(1, 2).title()} {s.pick(['soup', 'pie', 'salad', 'stew', 'cake'])}"
            ),
        ),
        "serves": integer("servings", 1, 12),
        "cooking": integer("cooking_minutes", 5, 180),
        "difficulty": listed("difficulty", ["easy", "moderate", "hard"]),
        "vegan": flag("vegan", ["vegan"], ["not vegan"]),
        "cook": person("cook"),
    },
    sentences=[
        "{dish} serves {serves} and takes {cooking} minutes of cooking.",
        "{cook} makes {dish}, an {difficulty} dish, {vegan}.",
        "The {dish} by {cook} is {difficulty} and needs {cooking} minutes.",
        "For {serves} servings of {dish} cook it {cooking} minutes; it is {vegan}.",
    ],
)
MATCH = Frame(
    names="Match Game",
    plural="matches",
    slots={
        "home": copied("home_team", coined),
        "away": copied("away_team", coined),
        "home_goals": integer("home_goals", 0, 9),
        "away_goals": integer("away_goals", 0, 9),
        "stadium": copied("stadium", lambda s: s.own(lambda: s.word(1, 2).title() + " Stadium")),
        "played": day("played_on"),
        "referee": person("referee"),
    },
    sentences=[
        "The home team {home} played against the away team {away} on {played}.",
        "{home} met {away} in the {stadium}; the referee was {referee}.",
        "Home goals: {home_goals}. Away goals: {away_goals}. Referee: {referee}.",
        "{referee} led the match at {stadium} on {played}.",
    ],
)
MOVIE = Frame(
    names="Movie Film",
    plural="movies",
    slots={
        "film": copied("film_title", Source.title),
        "director": person("directed_by"),
        "lead": person("lead_actor"),
        "runtime": integer("runtime_minutes", 70, 240),
        "streaming": flag("can_be_streamed", ["can be streamed"], ["cannot be streamed"]),
    },
    sentences=[
        "{film} was directed by {director} and has a runtime of {runtime} minutes.",
        "The lead actor in {film} is {lead}, the film {streaming}.",
        "{director} directed {film} with {lead} in the lead.",
        "{film}, {runtime} minutes, {streaming}.",
    ],
)
PATIENT = Frame(
    names="Patient Visit",
    plural="patients",
    slots={
        "patient": person("patient"),
        "complaint": listed("complaint", ["cough", "fever", "headache", "back pain", "toothache"]),
        "doctor": person("physician"),
        "temperature": decimal("body_temperature", 36, 41),
        "insured": flag("insured", ["insured"], ["not insured"]),
        "ward": integer("ward", 1, 30),
    },
    sentences=[
        "The patient {patient} has a {complaint} and a body temperature of {temperature}.",
        "Physician {doctor} saw {patient}, who is {insured}, in ward {ward}.",
        "{patient}: {complaint}, ward {ward}, physician {doctor}.",
        "{doctor} treats the patient {patient} for {complaint}.",
    ],
)
FRAMES = [PET, FLIGHT, CAR, RECIPE, MATCH, MOVIE, PATIENT]
