"""Life: events, meetings, bookings and reminders."""

from __future__ import annotations

from demo_corpus.frames import Frame
from demo_corpus.makers import (
    city,
    clock,
    copied,
    day,
    flag,
    integer,
    listed,
    moment,
    money,
    person,
)
from demo_corpus.values import Source

EVENTS = [
    "Book club",
    "Concert",
    "Team lunch",
    "Workshop",
    "Yoga class",
    "Poetry evening",
    "Jazz night",
    "Film night",
    "Wine tasting",
    "Lecture",
    "Summer party",
    "Flea market",
    "Chess tournament",
    "Open day",
    "Reading",
    "Dance class",
    "Quiz night",
    "Choir practice",
    "Board meeting",
    "Design review",
    "Staff meeting",
    "Budget talk",
    "Training day",
    "Piano recital",
    "Garden party",
    "Exhibition",
]
ROOMS = [
    "main hall",
    "library",
    "town hall",
    "small room",
    "garden",
    "cafeteria",
    "gym",
    "studio",
    "lobby",
    "old theatre",
    "blue room",
    "school",
    "conference room",
    "park",
    "back room",
    "church",
    "museum",
    "reading room",
    "kitchen",
    "courtyard",
    "city museum",
]


def event_name(source: Source) -> str:
    return source.own(
        lambda: (
            source.pick(EVENTS)
            if source.chance(0.6)
            else f"{source.word(1, 2).title()} {source.pick(EVENTS).lower()}"
            if source.chance(0.6)
            else source.title()
        )
    )


def room(source: Source) -> str:
    return source.own(
        lambda: (
            source.pick(ROOMS)
            if source.chance(0.75)
            else f"{source.word(1, 2).title()} {source.pick(['Hall', 'Room', 'Centre', 'Café', 'Arena'])}"
        )
    )


EVENT = Frame(
    names="Event Event Meeting Appointment CalendarEvent Entry Happening Show Session",
    plural="events",
    groups={"when": "date time", "where": "place city"},
    slots={
        "title": copied("title name event event_name what topic subject summary", event_name),
        "date": day("date date day when event_date on starts_on"),
        "time": clock("time time start_time starts_at start begins_at hour"),
        "place": copied("place location place venue where room", room, "without the article", choice=True),
        "city": city("city town"),
        "organizer": person("organizer host organiser speaker contact led_by"),
        "guests": integer("guests attendees participants number_of_guests people seats", 2, 200),
        "price": money("price fee cost ticket_price entry_fee", 80),
    },
    sentences=[
        "{title} on {date} at {time} in the {place}.",
        "{title} on {date} at {time}.",
        "{title}, {date}, {time}.",
        "{title}: {date}, {time}, {place}.",
        "On {date} at {time} we have the {title} in the {place}.",
        "Join us for the {title} on {date} in {city}.",
        "{title} in the {place} on {date}, {time}.",
        "The {title} takes place on {date} at {time} in the {place}.",
        "{organizer} invites you to the {title} on {date}.",
        "{title} with {organizer}, {date}.",
        "The {title} begins at {time} on {date}.",
        "Do not miss the {title} on {date}!",
        "{title} ({date}) in {city}, hosted by {organizer}.",
        "We meet on {date} at {time} in the {place} for the {title}.",
        "Save the date: {title}, {date}.",
        "At {time} on {date}: {title} in the {place}, {city}.",
        "{guests} people came to the {title} on {date}.",
        "The {title} in {city} on {date} has room for {guests} guests.",
        "{title} | {date} | {time} | {place}",
        "Please come to the {title} in the {place} at {time}, {date}.",
        "Reminder: {title} on {date} at {time}.",
        "Our {title} is planned for {date} at {time} in {city}.",
        "{organizer} will lead the {title} in the {place} on {date}.",
        "The {title} starts at {time} in the {place}.",
        "Tickets for the {title} on {date} cost {price}.",
        "{title} will be held in the {place} on {date}; doors open at {time}.",
        "Come on {date} to the {place}: {title} at {time}.",
        "{title} at the {place}, {date}, {time}",
        "There is a {title} on {date} at {time} in the {place}.",
        "Next: {title}, {time}, {date}, in the {place}.",
        "The {title} is on {date}.",
    ],
    parts=[
        "It starts at {time}.",
        "It is in the {place}.",
        "The host is {organizer}.",
        "We expect {guests} guests.",
        "Entry costs {price}.",
        "It takes place in {city}.",
        "{organizer} organizes it.",
        "Be there at {time}.",
        "The fee is {price}.",
        "There are seats for {guests}.",
        "Where: {place}.",
        "Come to the {place}.",
        "It is led by {organizer}.",
    ],
)

BOOKING = Frame(
    names="Booking Booking Reservation Stay HotelBooking Request RoomBooking",
    plural="bookings",
    groups={"guest": "name guests", "stay": "checkin nights", "room": "room breakfast"},
    slots={
        "name": person("name guest guest_name name customer booked_by booker"),
        "hotel": copied(
            "hotel hotel_name hotel accommodation place venue",
            lambda s: s.own(lambda: s.pick(["Hotel ", "Casa ", "Villa ", "Pension "]) + s.word(1, 3).title()),
        ),
        "checkin": day("checkin check_in arrival date from_date start_date checkin"),
        "nights": integer("nights nights number_of_nights stay_nights duration", 1, 14),
        "guests": integer("guests guests people persons number_of_guests party_size adults", 1, 9),
        "room": listed("room room_type room type", ["single", "double", "twin", "suite"]),
        "breakfast": flag(
            "breakfast breakfast_included with_breakfast",
            ["with breakfast", "breakfast included"],
            ["without breakfast", "no breakfast"],
        ),
        "city": city(),
        "total": money("total price cost total_price amount", 900),
    },
    sentences=[
        "{name} booked {nights} nights at {hotel} from {checkin}.",
        "Please book a {room} room for {name} at {hotel}, {nights} nights.",
        "{hotel}, {city}: {name}, {guests} guests, from {checkin}.",
        "A {room} room for {guests} people, {nights} nights, arriving {checkin}, {breakfast}.",
        "{name} wants a {room} room in {city} for {nights} nights.",
        "I would like to reserve a {room} room at {hotel} from {checkin} for {nights} nights. {name}",
        "{name} and family, {guests} people, arrive on {checkin} for {nights} nights.",
        "Reservation for {name}: {room} room, {nights} nights, {breakfast}.",
        "{guests} guests, {nights} nights, {checkin}, {hotel}.",
        "We stay {nights} nights at {hotel} in {city}.",
        "Booking at {hotel} on the name of {name}, {guests} persons, {checkin}.",
        "{name} will arrive at {hotel} on {checkin} and stay {nights} nights.",
        "{hotel} in {city} for {nights} nights, {total} in all.",
        "The booking of {name} for {nights} nights costs {total}.",
        "{name}, {nights} nights, {room}, {breakfast}.",
        "From {checkin} we need a {room} room for {guests}.",
        "My name is {name}; I need a {room} room on {checkin}.",
        "For {name}: {hotel}, {city}, {nights} nights from {checkin}, {total}.",
        "Please keep a {room} room for {name}, {breakfast}.",
        "{guests} of us are coming to {city} on {checkin} for {nights} nights.",
    ],
    parts=[
        "We are {guests} people.",
        "The price is {total}.",
        "The hotel is in {city}.",
        "A {room} room, please.",
        "That is {breakfast}.",
        "We arrive on {checkin}.",
        "We stay {nights} nights.",
        "The guest is {name}.",
        "It comes {breakfast}.",
        "In all {total}.",
        "For {guests} guests.",
    ],
)

TABLE = Frame(
    names="Reservation TableBooking Booking Table Dinner",
    plural="reservations",
    groups={"when": "date time"},
    slots={
        "name": person("name guest customer reserved_by"),
        "people": integer("people guests party_size persons seats", 1, 14),
        "date": day("date day when"),
        "time": clock("time at hour start_time"),
        "restaurant": copied(
            "restaurant place venue",
            lambda s: s.own(
                lambda: s.pick(["Café ", "Bistro ", "Trattoria ", "Chez "]) + s.word(1, 2).title()
            ),
        ),
        "outside": flag("outside outdoor terrace", ["outside", "on the terrace"], ["inside", "indoors"]),
    },
    sentences=[
        "A table for {people} at {time} on {date}, please. {name}",
        "{name}, {people} people, {date}, {time}.",
        "Table for {people} at {restaurant} on {date} at {time}.",
        "{name} reserved a table for {people} at {restaurant}.",
        "Please reserve for {name}: {people} persons, {date} at {time}, {outside}.",
        "Can we have a table {outside} for {people} at {time}?",
        "We would like to eat at {restaurant} on {date}, {people} of us.",
        "Dinner at {restaurant}, {date}, {time}, {people} guests.",
        "{people} people at {time} under the name {name}.",
        "I want to book {restaurant} for {date} at {time}. {name}",
    ],
    parts=[
        "We want to sit {outside}.",
        "There will be {people} of us.",
        "The name is {name}.",
        "At {time}, please.",
        "The restaurant is {restaurant}.",
    ],
)


REMINDER = Frame(
    names="Reminder Deadline Log Appointment Meeting",
    plural="reminders",
    slots={
        "what": copied(
            "title what subject text name", lambda s: event_name(s) if s.chance(0.6) else s.product()
        ),
        "starts": moment("starts start when datetime at time date_time begins_at timestamp"),
        "who": person("who person attendee owner name"),
    },
    sentences=[
        "{what} on {starts}.",
        "Remind {who} of the {what} on {starts}.",
        "{starts}: {what}",
        "{who} has the {what} on {starts}.",
        "The {what} is due {starts}.",
        "Meeting with {who}: {starts}.",
        "{what} with {who} begins {starts}.",
        "Do not forget: {what}, {starts}.",
        "We will start the {what} on {starts}.",
        "{who} arrives on {starts}.",
        "Deadline for the {what}: {starts}.",
    ],
    parts=["Please tell {who}.", "{who} knows.", "It was noted by {who}."],
)
FRAMES = [REMINDER, EVENT, EVENT, BOOKING, TABLE]
