"""Life: events, meetings, bookings, reviews and support tickets."""

from __future__ import annotations

from collections.abc import Callable

from demo_corpus.frames import Frame
from demo_corpus.makers import city, clock, copied, day, flag, judged, listed, moment, money, person, phrases, whole
from demo_corpus.values import Source

EVENTS = ["Book club", "Concert", "Team lunch", "Workshop", "Yoga class", "Poetry evening", "Jazz night", "Film night", "Wine tasting",
          "Lecture", "Summer party", "Flea market", "Chess tournament", "Open day", "Reading", "Dance class", "Quiz night", "Choir practice",
          "Board meeting", "Design review", "Staff meeting", "Budget talk", "Training day", "Piano recital", "Garden party", "Exhibition"]
ROOMS = ["main hall", "library", "town hall", "small room", "garden", "cafeteria", "gym", "studio", "lobby", "old theatre", "blue room",
         "school", "conference room", "park", "back room", "church", "museum", "reading room", "kitchen", "courtyard", "city museum"]
GOOD = ["great", "wonderful", "excellent", "fantastic", "lovely", "perfect", "amazing", "superb", "brilliant", "beautiful", "very good", "awesome",
        "delightful", "outstanding", "charming", "terrific", "really nice", "marvellous", "gripping", "impressive"]
BAD = ["terrible", "awful", "bad", "horrible", "disappointing", "poor", "boring", "useless", "dreadful", "a waste of money", "broken", "very bad",
       "dull", "a disaster", "annoying", "really poor", "cheaply made", "worse than expected", "a let-down", "unreadable"]
SOSO = ["okay", "average", "fine, nothing special", "so-so", "neither good nor bad", "all right", "acceptable", "ordinary", "mediocre but usable",
        "not bad, not great", "decent", "fair enough", "just average", "OK, I suppose", "as expected"]


def opinion(adjectives: list[str], lines: list[str]) -> Callable[[Source], str]:
    """A sentence of judgement."""
    frames = ["It is {}.", "It was {}.", "I found it {}.", "In my opinion it is {}.", "We think it is {}.", "Simply {}.", "It's {}!"]
    return lambda source: source.pick(lines) if source.chance(0.5) else source.pick(frames).format(source.pick(adjectives))


GLAD = ["I love it!", "I loved every page.", "Would buy again.", "Best purchase this year.", "Highly recommended.", "It works like a charm.",
        "I could not put it down.", "My children adore it.", "Worth every cent.", "I am very happy with it.", "Exceeded my expectations.",
        "Arrived early and works well.", "Five thumbs up.", "We enjoyed it very much.", "I am delighted.", "Could not be better.", "Thank you, it's lovely."]
SORRY = ["I hate it.", "It broke after two days.", "Never again.", "Do not buy it.", "I want my money back.", "It stopped working.", "I fell asleep over it.",
         "A complete waste of time.", "It arrived damaged.", "I am very disappointed.", "The quality is poor.", "It fell apart at once.", "I regret buying it.",
         "I gave up halfway.", "Not worth the price.", "We were let down.", "It is too slow and too loud.", "I sent it back."]
MEH = ["It does the job.", "Nothing special.", "I have no strong opinion.", "Some parts are good, others are not.", "It has its ups and downs.",
       "I neither liked nor disliked it.", "It is what it is.", "Could be better, could be worse.", "Good idea, weak result.", "An average product.",
       "Some like it, some do not.", "It is usable.", "I expected neither more nor less."]
CALM = ["There is no hurry.", "Whenever you have time.", "It is a small thing.", "Just a minor question.", "Not urgent at all.", "No rush.", "Only a cosmetic problem.",
        "It can wait.", "Just curious.", "When you find a moment.", "It is not important.", "Take your time.", "I was only wondering.", "A tiny detail."]
SOME = ["Please fix it this week.", "It would be good to have it soon.", "It slows us down a bit.", "Please look at it in the next days.", "We have a workaround for now.",
        "It happens now and then.", "I would like an answer by Friday.", "It is a bit annoying.", "Some of us are affected.", "Please check it when you can this week.",
        "It should be fixed before the month ends.", "Normal priority.", "It is somewhat important."]
FIRE = ["This is urgent!", "We cannot work at all.", "Please help immediately!", "Everything is down.", "I need it today.", "All our customers are affected.", "As soon as possible!",
        "We are losing money every hour.", "This is an emergency.", "It must be fixed now.", "Nothing works any more.", "Critical for our business.", "Please act at once.",
        "I have been waiting for weeks and I am furious.", "We lost all our data.", "Help, quickly!"]
PROBLEMS = ["cannot log in", "has a broken screen", "did not get the parcel", "was charged twice", "forgot the password", "sees an error on the start page",
            "wants to change the address", "cannot print", "has no internet connection", "asks about opening hours", "lost the invoice", "got the wrong book",
            "found a typo on the website", "wants a refund", "cannot open the file", "received a damaged parcel", "wants to cancel the order"]


def event_name(source: Source) -> str:
    return source.own(lambda: source.pick(EVENTS) if source.chance(0.6) else f"{source.word(1, 2).title()} {source.pick(EVENTS).lower()}"
                      if source.chance(0.6) else source.title())


def room(source: Source) -> str:
    return source.own(lambda: source.pick(ROOMS) if source.chance(0.75) else f"{source.word(1, 2).title()} {source.pick(['Hall', 'Room', 'Centre', 'Café', 'Arena'])}")


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
        "guests": whole("guests attendees participants number_of_guests people seats", 2, 200),
        "price": money("price fee cost ticket_price entry_fee", 80),
    },
    whole=[
        "{title} on {date} at {time} in the {place}.", "{title} on {date} at {time}.", "{title}, {date}, {time}.", "{title}: {date}, {time}, {place}.",
        "On {date} at {time} we have the {title} in the {place}.", "Join us for the {title} on {date} in {city}.", "{title} in the {place} on {date}, {time}.",
        "The {title} takes place on {date} at {time} in the {place}.", "{organizer} invites you to the {title} on {date}.", "{title} with {organizer}, {date}.",
        "The {title} begins at {time} on {date}.", "Do not miss the {title} on {date}!", "{title} ({date}) in {city}, hosted by {organizer}.",
        "We meet on {date} at {time} in the {place} for the {title}.", "Save the date: {title}, {date}.", "At {time} on {date}: {title} in the {place}, {city}.",
        "{guests} people came to the {title} on {date}.", "The {title} in {city} on {date} has room for {guests} guests.", "{title} | {date} | {time} | {place}",
        "Please come to the {title} in the {place} at {time}, {date}.", "Reminder: {title} on {date} at {time}.", "Our {title} is planned for {date} at {time} in {city}.",
        "{organizer} will lead the {title} in the {place} on {date}.", "The {title} starts at {time} in the {place}.", "Tickets for the {title} on {date} cost {price}.",
        "{title} will be held in the {place} on {date}; doors open at {time}.", "Come on {date} to the {place}: {title} at {time}.", "{title} at the {place}, {date}, {time}",
        "There is a {title} on {date} at {time} in the {place}.", "Next: {title}, {time}, {date}, in the {place}.", "The {title} is on {date}.",
    ],
    parts=["It starts at {time}.", "It is in the {place}.", "The host is {organizer}.", "We expect {guests} guests.", "Entry costs {price}.", "It takes place in {city}.",
           "{organizer} organizes it.", "Be there at {time}.", "The fee is {price}.", "There are seats for {guests}.", "Where: {place}.", "Come to the {place}.", "It is led by {organizer}."],
)

BOOKING = Frame(
    names="Booking Booking Reservation Stay HotelBooking Request RoomBooking",
    plural="bookings",
    groups={"guest": "name guests", "stay": "checkin nights", "room": "room breakfast"},
    slots={
        "name": person("name guest guest_name name customer booked_by booker"),
        "hotel": copied("hotel hotel_name hotel accommodation place venue", lambda s: s.own(lambda: s.pick(["Hotel ", "Casa ", "Villa ", "Pension "]) + s.word(1, 3).title())),
        "checkin": day("checkin check_in arrival date from_date start_date checkin"),
        "nights": whole("nights nights number_of_nights stay_nights duration", 1, 14),
        "guests": whole("guests guests people persons number_of_guests party_size adults", 1, 9),
        "room": listed("room room_type room type", ["single", "double", "twin", "suite"]),
        "breakfast": flag("breakfast breakfast_included with_breakfast", ["with breakfast", "breakfast included"], ["without breakfast", "no breakfast"]),
        "city": city(),
        "total": money("total price cost total_price amount", 900),
    },
    whole=[
        "{name} booked {nights} nights at {hotel} from {checkin}.", "Please book a {room} room for {name} at {hotel}, {nights} nights.", "{hotel}, {city}: {name}, {guests} guests, from {checkin}.",
        "A {room} room for {guests} people, {nights} nights, arriving {checkin}, {breakfast}.", "{name} wants a {room} room in {city} for {nights} nights.",
        "I would like to reserve a {room} room at {hotel} from {checkin} for {nights} nights. {name}", "{name} and family, {guests} people, arrive on {checkin} for {nights} nights.",
        "Reservation for {name}: {room} room, {nights} nights, {breakfast}.", "{guests} guests, {nights} nights, {checkin}, {hotel}.", "We stay {nights} nights at {hotel} in {city}.",
        "Booking at {hotel} on the name of {name}, {guests} persons, {checkin}.", "{name} will arrive at {hotel} on {checkin} and stay {nights} nights.", "{hotel} in {city} for {nights} nights, {total} in all.",
        "The booking of {name} for {nights} nights costs {total}.", "{name}, {nights} nights, {room}, {breakfast}.", "From {checkin} we need a {room} room for {guests}.",
        "My name is {name}; I need a {room} room on {checkin}.", "For {name}: {hotel}, {city}, {nights} nights from {checkin}, {total}.", "Please keep a {room} room for {name}, {breakfast}.",
        "{guests} of us are coming to {city} on {checkin} for {nights} nights.",
    ],
    parts=["We are {guests} people.", "The price is {total}.", "The hotel is in {city}.", "A {room} room, please.", "That is {breakfast}.", "We arrive on {checkin}.", "We stay {nights} nights.",
           "The guest is {name}.", "It comes {breakfast}.", "In all {total}.", "For {guests} guests."],
)

TABLE = Frame(
    names="Reservation TableBooking Booking Table Dinner",
    plural="reservations",
    groups={"when": "date time"},
    slots={
        "name": person("name guest customer reserved_by"), "people": whole("people guests party_size persons seats", 1, 14), "date": day("date day when"),
        "time": clock("time at hour start_time"), "restaurant": copied("restaurant place venue", lambda s: s.own(lambda: s.pick(["Café ", "Bistro ", "Trattoria ", "Chez "]) + s.word(1, 2).title())),
        "outside": flag("outside outdoor terrace", ["outside", "on the terrace"], ["inside", "indoors"]),
    },
    whole=["A table for {people} at {time} on {date}, please. {name}", "{name}, {people} people, {date}, {time}.", "Table for {people} at {restaurant} on {date} at {time}.", "{name} reserved a table for {people} at {restaurant}.",
           "Please reserve for {name}: {people} persons, {date} at {time}, {outside}.", "Can we have a table {outside} for {people} at {time}?", "We would like to eat at {restaurant} on {date}, {people} of us.",
           "Dinner at {restaurant}, {date}, {time}, {people} guests.", "{people} people at {time} under the name {name}.", "I want to book {restaurant} for {date} at {time}. {name}"],
    parts=["We want to sit {outside}.", "There will be {people} of us.", "The name is {name}.", "At {time}, please.", "The restaurant is {restaurant}."],
)


SENTIMENT = judged("sentiment sentiment sentiment mood opinion feeling tone polarity attitude",
                   {"positive": opinion(GOOD, GLAD), "negative": opinion(BAD, SORRY), "neutral": opinion(SOSO, MEH)})
REVIEW = Frame(
    names="Review Review ProductReview Feedback Opinion Rating CustomerReview",
    plural="reviews",
    slots={
        "product": copied("product product item thing what title subject", lambda s: s.product() if s.chance(0.6) else s.title()),
        "sentiment": SENTIMENT,
        "author": person("author reviewer name by user customer written_by"),
        "date": day("date reviewed_on written_on"),
        "price": money("price cost paid"),
    },
    whole=[
        "{sentiment}", "I bought the {product}. {sentiment}", "{product}: {sentiment}", "The {product} came last week. {sentiment}", "{author} about the {product}: {sentiment}", "{sentiment} The {product}, I mean.",
        "My review of {product}: {sentiment}", "We have used the {product} for a month. {sentiment}", "{author} wrote on {date}: {sentiment}", "About {product}. {sentiment} {author}", "For {price} I got the {product}. {sentiment}",
        "I read {product} last week. {sentiment}", "{product} by mail order. {sentiment}", "Review by {author}: {sentiment}", "What do I think of the {product}? {sentiment}", "{sentiment} Written by {author} on {date}.",
        "My wife gave me the {product}. {sentiment}", "I paid {price} for the {product}. {sentiment}", "{author} bought the {product}. {sentiment}", "Here is what I think about {product}: {sentiment}", "The {product} from your shop: {sentiment}",
        "{sentiment} {sentiment}", "After a week with the {product}: {sentiment}", "I just finished {product}. {sentiment}",
    ],
    parts=["It cost {price}.", "This was written by {author}.", "Signed, {author}.", "The price was {price}.", "({date})"],
)
TICKET = Frame(
    names="Ticket Ticket SupportTicket Issue Request Case Message CustomerMessage",
    plural="tickets",
    groups={"customer": "customer email", "contact": "email phone"},
    slots={
        "customer": person("customer customer name user reporter from_name sender"),
        "problem": copied("problem problem issue summary subject description topic", lambda s: s.own(lambda: s.pick(PROBLEMS) if s.chance(0.5) else f"{s.pick(['cannot find', 'has lost', 'has no', 'broke', 'wants'])} the {s.product()}")),
        "priority": judged("priority priority urgency severity importance level",
                           {"low": phrases(*CALM), "medium": phrases(*SOME), "high": phrases(*FIRE)}),
        "code": copied("code ticket ticket_id order_number reference order_id number id", Source.code),
        "email": copied("email email_address mail reply_to", Source.email),
        "product": copied("product item device", Source.product),
        "phone": copied("phone phone_number callback", Source.phone),
    },
    whole=[
        "{priority}", "{customer} {problem}. {priority}", "{priority} {customer} {problem}.", "Customer {customer} {problem}. {priority}", "Order {code}: the customer {problem}. {priority}", "My {product} does not work. {priority}",
        "Ticket {code} from {customer}: {priority}", "I have a question about the {product}. {priority} {customer}", "{customer} writes that the {product} is broken. {priority}", "The {product} from order {code} is missing. {priority}",
        "About my order {code}. {priority}", "{customer} ({email}) {problem}. {priority}", "A user, {customer}, {problem}. {priority}", "Hello, this is {customer}. {priority} It is about order {code}.", "Where is my {product}? {priority}",
        "Someone called {customer} {problem}; {email}. {priority}", "{customer}: \"{priority}\"", "Our {product} makes strange noises. {priority}", "Where is my order {code}? {priority}", "{customer} called because of {code}. {priority}",
        "Dear team, the {product} stopped. {priority} {customer}", "There is a scratch on the {product}. {priority}", "Support case {code}: {customer} {problem}. {priority}", "Message from {customer}: my {product} has not come. {priority}",
    ],
    parts=["Reply to {email}.", "The reference is {code}.", "Call back on {phone}.", "The number of the order is {code}.", "It is about the {product}.", "The user is {customer}.", "Phone: {phone}."],
)
REMINDER = Frame(
    names="Reminder Deadline Log Appointment Meeting", plural="reminders",
    slots={"what": copied("title what subject text name", lambda s: event_name(s) if s.chance(0.6) else s.product()), "starts": moment("starts start when datetime at time date_time begins_at timestamp"), "who": person("who person attendee owner name")},
    whole=["{what} on {starts}.", "Remind {who} of the {what} on {starts}.", "{starts}: {what}", "{who} has the {what} on {starts}.", "The {what} is due {starts}.", "Meeting with {who}: {starts}.", "{what} with {who} begins {starts}.", "Do not forget: {what}, {starts}.",
           "We will start the {what} on {starts}.", "{who} arrives on {starts}.", "Deadline for the {what}: {starts}."],
    parts=["Please tell {who}.", "{who} knows.", "It was noted by {who}."])
FRAMES = [REMINDER, EVENT, EVENT, BOOKING, TABLE, TICKET, TICKET]
