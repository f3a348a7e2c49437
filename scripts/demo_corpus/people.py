"""People: persons, contacts and addresses."""

from __future__ import annotations

from demo_corpus.frames import Frame
from demo_corpus.makers import city, copied, day, flag, person, whole
from demo_corpus.values import Source

HOBBIES = ["chess", "football", "painting", "hiking", "cooking", "reading", "tennis", "swimming", "cycling", "gardening", "knitting",
           "yoga", "fishing", "photography", "dancing", "running", "singing", "sailing", "climbing", "pottery", "astronomy"]
COUNTRIES = ["Portugal", "Italy", "Norway", "Spain", "France", "Germany", "Austria", "Ireland", "Greece", "Finland", "Sweden",
             "Denmark", "Poland", "Hungary", "Belgium", "Brazil", "Peru", "Chile", "Mexico", "Canada", "Japan", "Korea", "China",
             "India", "Vietnam", "Kenya", "Ghana", "Nigeria", "Egypt", "Morocco", "Turkey", "Iran", "Australia", "New Zealand"]


def country(source: Source) -> str:
    return source.own(lambda: source.pick(COUNTRIES) if source.chance(0.8) else source.word(2, 3).title() + "ia")


PERSON = Frame(
    names="Person Person Person Employee Human Profile User Individual Customer Someone Member",
    plural="people",
    groups={"home": "city country", "address": "city country", "work": "job company", "person": "name age"},
    slots={
        "name": person("name name full_name person person_name who", "the full name", "as written"),
        "age": whole("age age years age_years age_in_years how_old", 1, 99, "in years", "years old"),
        "job": copied("job job occupation profession role work position job_title", Source.job, "what they do", choice=True),
        "city": city("city city town location place hometown residence lives_in"),
        "company": copied("company employer organization workplace firm", Source.company, "the employer"),
        "country": copied("country nation nationality origin from_country", country),
        "hobby": copied("hobby interest pastime hobby_name", lambda s: s.own(lambda: s.pick(HOBBIES)), "in the free time", choice=True),
        "married": flag("married is_married has_spouse", ["is married", "is already married"], ["is not married", "is single", "is unmarried"]),
    },
    whole=[
        "{name}, {age}, works as {a_job} in {city}.", "{name}, {age}, works as {a_job}.", "{name} is {age}.", "{name} is {age} years old.",
        "{name} is a {age}-year-old {job} from {city}.", "{name} is a {age}-year-old {job}.", "{name} ({age}) is {a_job} in {city}.",
        "{name} is {a_job}.", "{name} is {a_job} from {city}.", "{name}, {a_job} from {city}, is {age}.", "{name} lives in {city}.",
        "{name}, {age}, lives in {city} and works as {a_job}.", "My name is {name}, I am {age} and I work as {a_job}.",
        "I am {name}, {age} years old, {a_job} in {city}.", "This is {name}. {He} is {age} and works as {a_job}.", "{name} ({age})",
        "Meet {name}, {a_job} at {company} in {city}.", "{name} works at {company} as {a_job}.", "{name}, {age}, {job}, {city}",
        "At {age}, {name} is the youngest {job} in {city}.", "{name} turned {age} this year and still works as {a_job} in {city}.",
        "In {city} lives {a_job} called {name}, aged {age}.", "{name}, aged {age}, moved to {city} to work for {company}.",
        "Our new {job} is {name}, {age}, from {city}.", "{name} from {country} is {age} and works as {a_job}.", "{name}: {age}, {job}.",
        "The {job} {name} lives in {city}.", "Did you know that {name} is {a_job}? {He} is {age}.", "{name} is {age} and {married}.",
        "{name} is {age}. {He} works as {a_job}. {His} home is {city}.", "Name: {name}. Age: {age}. Job: {job}.",
        "Name: {name}, age: {age}, city: {city}", "{name}, who is {age}, has been {a_job} for years.", "{name} ({job}, {age})",
        "For ten years {name} has worked as {a_job} in {city}.", "{name} was born in {country}, lives in {city} and is {age}.",
        "A {age}-year-old {job} named {name} joined {company}.", "{city}: {name}, {a_job}, {age}.", "Yesterday I met {name}, {a_job} from {city}.",
        "{name} is {a_job} by profession and {age} years of age.", "Say hello to {name}, our {age}-year-old {job}.",
        "{name} likes {hobby} and is {age}.", "{name}, {a_job} in {city}, {married}.", "{name} is {age} and lives in {city}.",
        "Hello, I'm {name} and I'm {age}.", "Hi, I'm {name}, {a_job} from {city}.", "{name} has a job as {a_job} at {company}.",
        "The name is {name}; I turned {age} last week.", "{age} years old, {name} works as {a_job}.", "{name} just turned {age}.",
    ],
    parts=[
        "{He} lives in {city}.", "{He} likes {hobby}.", "{His} hobby is {hobby}.", "{He} works for {company}.", "{He} comes from {country}.",
        "{name} {married}.", "{He} is {age}.", "{He} works as {a_job}.", "{His} employer is {company}.", "{His} home town is {city}.",
        "In {his} free time {he} enjoys {hobby}.", "{He} was born in {country}.", "By trade {he} is {a_job}.", "{He} is {age} years old.",
        "{He} grew up in {country}.", "{He} earns a living as {a_job}.", "{He} {married}.", "You find {him} in {city}.",
        "{He} is very fond of {hobby}.", "At {company} everyone knows {him}.", "{He} has a house in {city}.",
    ],
)

CONTACT = Frame(
    names="Contact Contact Person Card Customer Client BusinessCard Lead Subscriber",
    plural="contacts",
    groups={"address": "street city", "contact": "email phone"},
    slots={
        "name": person("name name full_name contact_name contact person"),
        "email": copied("email email email_address mail e_mail", Source.email, "the e-mail address"),
        "phone": copied("phone phone phone_number telephone mobile tel number", Source.phone, "as written"),
        "company": copied("company employer organization firm business", Source.company),
        "role": copied("role job position job_title title occupation", Source.job),
        "street": copied("street street_address address address_line", Source.street),
        "city": city("city town location place"),
    },
    whole=[
        "You can reach {name} at {email} or {phone}.", "{name}, {phone}, {email}", "{name} <{email}>", "Write to {name} at {email}.",
        "Call {name} on {phone}.", "Please contact {name} ({email}).", "{name} of {company}: {email}, {phone}.", "{name}'s number is {phone}.",
        "My e-mail is {email} and my phone is {phone}. {name}, {company}.", "The address of {name} is {street}, {city}.",
        "{name}, {role} at {company}, {email}.", "Contact: {name}, tel. {phone}.", "New contact: {name}, {company}, {email}.",
        "{name} lives at {street} in {city}; phone {phone}.", "For questions ask {name}, {email}.", "Send it to {name}, {street}, {city}.",
        "{name} can be called at {phone} or mailed at {email}.", "If you need help, call {name} ({phone}).", "Kind regards, {name}, {company}, {phone}",
        "{name} has a new e-mail address: {email}.", "{name} | {role} | {company} | {phone} | {email}", "{name} works for {company}, mail {email}.",
        "Our {role} {name} answers at {email}.", "{name} moved to {street}, {city}.", "Name: {name}. E-mail: {email}. Phone: {phone}.",
        "{name}'s e-mail is {email}.", "I am {name} from {company}, you can call me on {phone}.", "Reach out to {name} by mail: {email}.",
        "This is {name} from {city}, my number is {phone}.", "Ask for {name} at {company}, phone {phone}.",
    ],
    parts=[
        "The e-mail is {email}.", "The phone number is {phone}.", "{He} works for {company}.", "{He} is {role} there.", "{He} lives in {city}.",
        "The office is at {street}.", "Mail: {email}.", "Tel: {phone}.", "Company: {company}.", "{His} mobile is {phone}.",
        "You may also write to {email}.", "{He} is the {role} of {company}.", "The address is {street}, {city}.", "Post goes to {street}.",
    ],
)

ADDRESS = Frame(
    names="Address Address Place Location ShippingAddress Destination Home",
    plural="addresses",
    slots={
        "street": copied("street street street_address address line1 road", Source.street, "with the house number"),
        "city": city("city city town place municipality"),
        "postcode": copied("postcode zip postal_code zip_code postcode", lambda s: s.own(lambda: str(s.rng.randint(1000, 99999)))),
        "country": copied("country nation country_name", country),
        "name": person("name recipient addressee person resident"),
        "floor": whole("floor level storey", 1, 30),
    },
    whole=[
        "{street}, {city}", "{street}, {postcode} {city}", "{street}, {postcode} {city}, {country}", "{name}, {street}, {postcode} {city}",
        "Send it to {street}, {city}, {country}.", "The parcel goes to {name}, {street}, {city}.", "We live at {street} in {city}.",
        "My address is {street}, {city}.", "{name} lives at {street}, {postcode} {city}.", "The shop is at {street} in {city}, {country}.",
        "Deliver to {street}, {postcode} {city}, please.", "Our new office: {street}, floor {floor}, {city}.", "Ship to: {name}, {street}, {city}.",
        "Please send the letter to {name} at {street}, {city}.", "The house stands in {city}, at {street}.", "Address: {street}, {postcode} {city}.",
        "We moved from the old place to {street}, {city}, {country}.", "In {city} you find us at {street}.", "{city}, {street}",
        "The meeting is at {street}, {city}, on floor {floor}.", "{name} has moved to {street}, {city} in {country}.",
        "Come to {street} in {city} ({country}).", "Street: {street}; city: {city}; postcode: {postcode}", "Return to {street}, {city}.",
    ],
    parts=["The postcode is {postcode}.", "That is in {country}.", "It is on floor {floor}.", "Ring at {name}.", "The country is {country}.",
           "Zip code {postcode}.", "It is for {name}.", "Take the lift to floor {floor}."],
)

BIRTH = Frame(
    names="Person Birth Biography Artist Writer Scientist",
    plural="people",
    slots={
        "name": person("name full_name person who"),
        "born": day("born birthday date_of_birth birth_date birthdate"),
        "place": city("birthplace place_of_birth born_in city place"),
        "job": copied("job profession occupation known_as", Source.job, choice=True),
        "children": whole("children kids number_of_children child_count", 0, 8),
    },
    whole=["{name} was born on {born} in {place}.", "{name}, {a_job}, was born in {place}.", "Born on {born}, {name} is {a_job}.",
           "{name} (born {born}) is {a_job}.", "The {job} {name} was born in {place} on {born}.", "{name}'s birthday is {born}.",
           "{name} came into the world in {place}, on {born}.", "{name} has {children} children and works as {a_job}.",
           "{name}, born {born}, has {children} children.", "On {born} {name} was born."],
    parts=["{He} has {children} children.", "{He} became {a_job}.", "The birthplace is {place}.", "{He} works as {a_job}."],
)
FRAMES = [PERSON, PERSON, PERSON, CONTACT, ADDRESS, BIRTH]
