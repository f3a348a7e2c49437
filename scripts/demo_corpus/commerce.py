"""Commerce: invoices, products, parcels, payments, vacancies, flats and other topics in a sentence."""

from __future__ import annotations

from demo_corpus.frames import Frame
from demo_corpus.makers import city, clock, copied, day, decimal, flag, integer, listed, money, person
from demo_corpus.values import Source

COLORS = ["red", "blue", "green", "black", "white", "yellow", "grey", "brown", "pink", "orange"]
SUBJECTS = [
    "Biology",
    "History",
    "Algebra",
    "Chemistry",
    "Physics",
    "Latin",
    "Music",
    "Geometry",
    "Statistics",
    "Drawing",
    "Geography",
    "Spanish",
]
GENRES = [
    "novel",
    "poetry",
    "crime",
    "fantasy",
    "history",
    "travel",
    "science fiction",
    "romance",
    "biography",
]

INVOICE = Frame(
    names="Invoice Invoice Bill Receipt Payment",
    plural="invoices",
    slots={
        "number": copied("number invoice_number id invoice_id code reference", Source.code),
        "customer": person("customer customer client billed_to name buyer payer"),
        "total": money("total total amount sum total_amount amount_due price", 2000),
        "date": day("date date invoice_date issued issued_on"),
        "due": day("due_date due payable_by deadline due_on"),
        "paid": flag(
            "paid is_paid paid settled",
            ["has been paid", "is already paid", "was paid in full"],
            ["has not been paid yet", "is not paid", "is still unpaid", "remains open"],
        ),
        "seller": copied("seller company vendor supplier from_company issuer", Source.company),
    },
    sentences=[
        "Invoice {number} for {customer}: {total}, due {due}.",
        "{seller} sent invoice {number} to {customer} on {date}.",
        "Invoice {number}, {date}, {total}.",
        "{customer} owes us {total} for invoice {number}.",
        "The bill of {customer} is {total}.",
        "Invoice {number} over {total} {paid}.",
        "Please pay {total} by {due}. {seller}",
        "{seller} bills {customer} {total}, to be paid by {due}.",
        "The invoice {number} {paid}.",
        "Total: {total}. Invoice: {number}. Customer: {customer}.",
        "On {date} we billed {customer} {total}.",
        "{customer} received bill {number} from {seller}.",
        "Your invoice {number} of {date} {paid}.",
        "{number} | {customer} | {total} | {due}",
        "Dear {customer}, your invoice {number} of {total} is due on {due}.",
        "The amount of {total} on invoice {number} is due on {due}.",
        "Invoice no. {number} from {seller}, total {total}.",
        "We issued {number} to {customer} on {date} over {total}.",
        "{customer} must pay {total} until {due}.",
        "Bill {number}: {customer}, {date}, {total}.",
    ],
    parts=[
        "It {paid}.",
        "It is due on {due}.",
        "The total is {total}.",
        "It was issued on {date}.",
        "The bill {paid}.",
        "The sender is {seller}.",
        "The customer is {customer}.",
        "Pay by {due}.",
    ],
)

PRODUCT = Frame(
    names="Product Product Item Article Good Offer",
    plural="products",
    slots={
        "name": copied("name product title product_name item article", Source.product),
        "price": money("price cost unit_price costs", 300),
        "color": listed("color colour color shade", COLORS),
        "size": listed("size format", ["small", "medium", "large"]),
        "stock": integer("stock quantity in_stock available units count", 1, 500),
        "weight": decimal("weight weight_kg kilograms mass", 0.1, 40),
        "maker": copied("brand maker manufacturer producer company", Source.company),
        "code": copied("code sku product_code article_number id", Source.code),
    },
    sentences=[
        "The {name} costs {price}.",
        "{maker} sells the {name} for {price}.",
        "A {size} {color} {name} for {price}.",
        "Our {name} ({code}) weighs {weight} kg.",
        "We have {stock} of the {name} in stock.",
        "The {name} by {maker} comes in {color}.",
        "For sale: {name}, {color}, {price}.",
        "New: the {name} by {maker}, {weight} kg, {price}.",
        "The {color} {name} is {price}, the size is {size}.",
        "There are {stock} pieces left of the {color} {name}.",
        "{price} for a {name}.",
        "Product {code}: {name}, {price}.",
        "A {name} from {maker} weighs {weight} kilograms.",
        "Do you have the {name} in {color}?",
        "I want the {color} {name}, size {size}.",
        "The price of the {name} is {price}.",
        "Article {code}, a {color} {name}, stock {stock}.",
        "{maker} makes a {size} {name}.",
    ],
    parts=[
        "It is {color}.",
        "The size is {size}.",
        "It weighs {weight} kg.",
        "The price is {price}.",
        "It is made by {maker}.",
        "We have {stock} left.",
        "The code is {code}.",
        "Colour: {color}.",
        "Brand: {maker}.",
        "It costs {price}.",
    ],
)

PARCEL = Frame(
    names="Parcel Shipment Delivery Package Tracking",
    plural="parcels",
    slots={
        "code": copied("code tracking_number tracking_code id number", Source.code),
        "carrier": copied("carrier courier shipped_by company", Source.company),
        "recipient": person("recipient receiver to name customer"),
        "city": city("city destination to_city town"),
        "date": day("date delivery_date arrives_on expected delivered_on"),
        "weight": decimal("weight weight_kg kg", 0.1, 30),
        "status": listed("status state", ["delivered", "shipped", "lost", "pending", "delayed"]),
    },
    sentences=[
        "Parcel {code} for {recipient} is {status}.",
        "{carrier} will bring parcel {code} to {recipient} on {date}.",
        "Your parcel {code} is {status}.",
        "The package to {city} weighs {weight} kg and is {status}.",
        "{carrier} took {code} to {city}.",
        "{recipient} in {city} gets parcel {code} on {date}.",
        "Tracking {code}: {status}, {city}.",
        "A parcel of {weight} kg goes to {recipient}, {city}.",
        "Shipment {code} by {carrier}, expected {date}.",
        "The {carrier} parcel for {recipient} was {status}.",
    ],
    parts=[
        "It weighs {weight} kg.",
        "The carrier is {carrier}.",
        "It arrives on {date}.",
        "It goes to {city}.",
        "The status is {status}.",
        "It is for {recipient}.",
    ],
)

PAYMENT = Frame(
    names="Transfer Payment Transaction Donation",
    plural="payments",
    slots={
        "sender": person("sender from_name payer from_account giver"),
        "receiver": person("receiver to_name payee recipient"),
        "amount": money("amount sum value total", 5000),
        "date": day("date when on"),
        "reason": copied("reason purpose subject note for_what", Source.product),
    },
    sentences=[
        "{sender} sent {amount} to {receiver}.",
        "{receiver} got {amount} from {sender} on {date}.",
        "On {date} {sender} paid {receiver} {amount} for a {reason}.",
        "Transfer of {amount} from {sender} to {receiver}.",
        "{sender} owes {receiver} {amount}.",
        "{amount} was paid to {receiver} by {sender}.",
        "{sender} gave {amount}.",
        "Please send {amount} to {receiver} by {date}.",
    ],
    parts=["It was for the {reason}.", "That was on {date}.", "The purpose is {reason}."],
)

VACANCY = Frame(
    names="Job Vacancy Position JobPosting Offer",
    plural="jobs",
    slots={
        "title": copied("title job position job_title role", Source.job, choice=True),
        "company": copied("company employer firm organization", Source.company),
        "salary": integer("salary pay wage annual_salary", 18000, 120000),
        "city": city(),
        "remote": flag(
            "remote is_remote home_office",
            ["remote work is possible", "you can work from home"],
            ["no remote work", "on site only"],
        ),
        "contact": copied("email contact apply_to contact_email", Source.email),
        "start": day("start start_date from_date begins"),
    },
    sentences=[
        "{company} is looking for {a_title} in {city}.",
        "Wanted: {title}, {city}, {salary} a year.",
        "{company} hires {a_title}; {remote}.",
        "We need {a_title} from {start}.",
        "Work as {a_title} at {company} for {salary} a year.",
        "{title} at {company}, {city}: apply to {contact}.",
        "Open position: {title} ({city}).",
        "Join {company} as {a_title}, {remote}.",
        "Become {a_title} in {city}! Write to {contact}.",
    ],
    parts=[
        "The salary is {salary}.",
        "Apply at {contact}.",
        "It is in {city}.",
        "You start on {start}.",
        "Good news: {remote}.",
    ],
)

BOOK = Frame(
    names="Book Book Novel Publication Work",
    plural="books",
    slots={
        "title": copied("title title name book book_title", Source.title),
        "author": person("author author writer written_by author_name"),
        "year": integer("year published year_published publication_year", 1850, 2025),
        "pages": integer("pages page_count number_of_pages length", 80, 900),
        "price": money("price cost", 50),
        "genre": listed("genre kind category type", GENRES),
    },
    sentences=[
        "{title} by {author}.",
        "{title} by {author}, {year}.",
        "{author} wrote {title} in {year}.",
        "{title} by {author} has {pages} pages and costs {price}.",
        "The novel {title} was written by {author}.",
        "I am reading {title} by {author}.",
        "{author}: {title} ({year}), {pages} pages",
        "{title} costs {price}.",
        "In {year} {author} published {title}.",
        "We have {title} by {author} for {price}.",
        "{title}, {pages} pages, {price}.",
        "The book {title} came out in {year}.",
    ],
    parts=[
        "It has {pages} pages.",
        "It costs {price}.",
        "It came out in {year}.",
        "The genre is {genre}.",
        "It is by {author}.",
        "Genre: {genre}.",
    ],
)

FLAT = Frame(
    names="Flat Apartment House Listing Property",
    plural="flats",
    slots={
        "city": city(),
        "rooms": integer("rooms number_of_rooms room_count", 1, 9),
        "size": integer("size area square_meters sqm", 20, 300),
        "rent": integer("rent price monthly_rent cost", 200, 4000),
        "street": copied("street address", Source.street),
        "balcony": flag(
            "balcony has_balcony",
            ["with a balcony", "has a balcony"],
            ["without a balcony", "has no balcony"],
        ),
        "owner": person("owner landlord contact"),
    },
    sentences=[
        "A flat with {rooms} rooms in {city}, {size} square metres, {rent} a month.",
        "{rooms} rooms at {street}, {city}.",
        "For rent in {city}: {rooms} rooms, {rent} euros.",
        "{owner} rents out {rooms} rooms in {city}.",
        "House at {street}: {rooms} rooms, {size} m2, {balcony}.",
        "The flat in {city} costs {rent} a month.",
    ],
    parts=[
        "The rent is {rent}.",
        "The owner is {owner}.",
        "It measures {size} square metres.",
        "It has {rooms} rooms.",
        "The flat {balcony}.",
    ],
)

COURSE = Frame(
    names="Course Class Lesson Lecture",
    plural="courses",
    slots={
        "name": copied(
            "name course title subject course_name",
            lambda s: s.own(lambda: s.pick(SUBJECTS) if s.chance(0.6) else s.word(2, 3).title()),
            choice=True,
        ),
        "teacher": person("teacher lecturer taught_by professor instructor"),
        "room": copied("room place hall", Source.code),
        "start": clock("time start start_time begins"),
        "students": integer("students participants enrolled class_size", 3, 120),
        "credits": integer("credits points", 1, 12),
    },
    sentences=[
        "{teacher} teaches {name} in room {room}.",
        "{name} with {teacher} at {start}.",
        "The course {name} gives {credits} credits.",
        "{students} students take {name} with {teacher}.",
        "{name}, room {room}, {start}, {teacher}.",
        "{name} starts at {start} in room {room}.",
    ],
    parts=[
        "The room is {room}.",
        "There are {students} students.",
        "It begins at {start}.",
        "You get {credits} credits.",
        "The teacher is {teacher}.",
    ],
)

GRADE = Frame(
    names="Grade Exam Result Score Mark",
    plural="grades",
    slots={
        "student": person("student name pupil candidate"),
        "subject": copied(
            "subject course class exam",
            lambda s: s.own(lambda: s.pick(SUBJECTS) if s.chance(0.6) else s.word(2, 3).title()),
        ),
        "points": integer("points score mark result grade", 0, 100),
        "passed": flag("passed has_passed success", ["passed", "has passed"], ["failed", "did not pass"]),
        "date": day("date exam_date"),
    },
    sentences=[
        "{student} got {points} points in {subject}.",
        "{student} {passed} the exam in {subject} with {points} points.",
        "In {subject} {student} scored {points}.",
        "{student} {passed} {subject} on {date}.",
        "{subject}: {student}, {points} points.",
        "The score of {student} was {points}.",
    ],
    parts=["The exam was on {date}.", "{student} {passed}.", "The subject was {subject}."],
)

COUNTRY = Frame(
    names="Country Place City Region",
    plural="places",
    slots={
        "name": copied("name city place town", Source.city),
        "population": integer("population inhabitants people", 1000, 9000000),
        "mayor": person("mayor leader head"),
        "river": copied("river water", lambda s: s.own(lambda: s.word(1, 2).title())),
        "area": decimal("area size", 1, 900),
        "founded": integer("founded year founding_year", 800, 1950),
    },
    sentences=[
        "{name} has {population} inhabitants.",
        "{name} was founded in {founded} and has {population} people.",
        "The mayor of {name} is {mayor}.",
        "{name} lies on the river {river}.",
        "{population} people live in {name}.",
    ],
    parts=[
        "The mayor is {mayor}.",
        "It was founded in {founded}.",
        "The river is the {river}.",
        "The area is {area} square kilometres.",
        "The population is {population}.",
    ],
)

SONG = Frame(
    names="Song Track Music Album",
    plural="songs",
    slots={
        "title": copied("title name song", Source.title),
        "artist": copied(
            "artist singer band performer by",
            lambda s: s.name() if s.chance(0.6) else s.own(lambda: "The " + s.word(1, 2).title() + "s"),
        ),
        "year": integer("year released release_year", 1950, 2025),
        "minutes": decimal("minutes length duration", 1.5, 9),
    },
    sentences=[
        "{title} by {artist}, {year}.",
        "{artist} sang {title} in {year}.",
        "Play {title} by {artist}.",
        "The song {title} by {artist} lasts {minutes} minutes.",
        "{artist} - {title} ({year})",
        "I like {title} by {artist}.",
    ],
    parts=["It is from {year}.", "It lasts {minutes} minutes.", "The artist is {artist}."],
)

FRAMES = [INVOICE, INVOICE, PRODUCT, PARCEL, PAYMENT, VACANCY, BOOK, BOOK, FLAT, COURSE, GRADE, COUNTRY, SONG]
