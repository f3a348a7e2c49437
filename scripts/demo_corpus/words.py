"""Word lists for realistic names, places, jobs and objects."""

from __future__ import annotations

GIVEN = """Ana Maria Bob Alice John Peter Sofia Lucas Emma Liam Noah Olivia Mia Ella Hugo Marta Paulo João José Inês Zoë
Chloé René François Élodie Hélène Jürgen Jörg Björn Søren Åsa Anders Lars Ingrid Freya Astrid Nils Olga Ivan Dmitri Natasha
Yuki Hiroshi Kenji Sakura Aiko Haruto Wei Mei Li Jun Xiao Min Ji-woo Soo-jin Priya Arjun Ravi Anika Deepa Sanjay Fatima Omar
Ali Hassan Leila Yasmin Amina Kwame Ama Chidi Ngozi Tunde Zanele Thabo Amara Kofi Luis Carlos Elena Diego Lucía Sofía Andrés
Mateo Camila Valentina Giulia Marco Luca Paolo Chiara Francesca Giovanni Klaus Heidi Greta Otto Anton Hans Ursula Tom Tim Sam
Max Ben Jack Harry George Grace Ruby Ivy Rosa Clara Laura Sara Sarah Rachel David Daniel Michael James Robert William Thomas
Charles Mark Paul Steven Kevin Brian Susan Karen Nancy Lisa Betty Helen Sandra Donna Carol Ruth Sharon Julia Anna Eva Nina Vera
Piotr Agnieszka Zofia Jakub Łukasz Jan Tomáš Petra Zdeněk István Zsófia Gábor Mihai Ioana Andrei Dragan Milica Nikola Elif
Mehmet Ayşe Emre Cem Niamh Seán Siobhán Rhys Owen Isla Finn Aoife Tariq Zainab Imran Noor Rania Samir Karim Ahmed Linda Dana""".split()

FAMILY = """Souza Silva Santos Rossi Bianchi Ferrari Smith Jones Brown Taylor Wilson Müller Schmidt Weber Fischer Becker García
Martínez López Hernández Gómez Díaz Nguyen Tran Kim Lee Park Choi Tanaka Sato Suzuki Yamamoto Wang Zhang Chen Liu Huang Singh
Patel Kumar Sharma Gupta Khan Hussain Ahmed Haddad Mansour Okafor Adeyemi Mensah Dlamini Nkosi Diallo Traoré Kowalski Nowak
Wiśniewski Novák Dvořák Horváth Nagy Popescu Ionescu Petrov Ivanov Volkov Jensen Hansen Nielsen Larsen Johansson Lindqvist
Virtanen Korhonen Dubois Lefèvre Moreau Girard Petit Durand Peeters Janssen Bakker Visser Murphy Kelly Byrne Walsh Evans Davies
Hughes Clark Lewis Walker Hall Young King Wright Green Baker Adams Nelson Hill Campbell Mitchell Carter Roberts Turner Phillips
Parker Collins Stewart Morris Cook Rogers Reed Bell Cooper Ward Cox Gray Ross Price Wood Bennett Long Foster Yılmaz Demir Kaya
Papadopoulos Costa Almeida Carvalho Pereira Oliveira Ribeiro Lima Mendes Rocha Torres Vargas Castro Ortiz Silveira Fontaine""".split()

ACCENTED = ["é", "á", "ó", "ö", "ø", "ü", "ñ", "ç", "í", "ł", "š", "ã", "è", "ä", "å"]

CITIES = [
    city.strip()
    for city in """Porto, Milan, Oslo, Lisbon, Madrid, Paris, London, Berlin, Rome, Vienna, Prague, Dublin,
Athens, Helsinki, Stockholm, Copenhagen, Warsaw, Budapest, Brussels, Amsterdam, Zürich, Geneva, Munich, Hamburg, Lyon, Nice,
Turin, Naples, Seville, Bilbao, Kraków, Malmö, Bergen, São Paulo, Rio de Janeiro, Buenos Aires, Bogotá, Lima, Quito, New York,
New Delhi, Mumbai, Chennai, Tokyo, Osaka, Kyoto, Seoul, Busan, Beijing, Shanghai, Taipei, Hanoi, Bangkok, Manila, Jakarta, Sydney,
Perth, Auckland, Lagos, Accra, Nairobi, Kampala, Cairo, Tunis, Rabat, Dakar, Cape Town, Durban, Boston, Chicago, Denver, Seattle,
Austin, Dallas, Miami, Toronto, Montréal, Vancouver, Mexico City, Havana, Leeds, Bristol, York, Oxford, Cambridge, Glasgow,
Edinburgh, Cardiff, Belfast, Cork, Galway, Tallinn, Riga, Vilnius, Sofia, Zagreb, Ljubljana, Ghent, Utrecht, Basel, Graz, Haifa,
Amman, Beirut, Doha, Dubai, Istanbul, Ankara, Izmir, Coimbra, Faro, Valencia, Málaga, Florence, Venice, Bologna""".replace(
        "\n", " "
    ).split(",")
]

JOBS = [
    job.strip()
    for job in """nurse, teacher, architect, engineer, baker, doctor, pilot, chef, lawyer, plumber, carpenter,
electrician, farmer, gardener, librarian, journalist, photographer, painter, musician, actor, dentist, surgeon, pharmacist,
accountant, economist, cashier, waiter, barista, butcher, tailor, barber, mechanic, driver, sailor, soldier, firefighter,
police officer, judge, translator, editor, writer, poet, designer, web developer, data scientist, software engineer, biologist,
chemist, physicist, historian, professor, researcher, student, secretary, receptionist, manager, project manager, consultant,
salesman, bookseller, florist, jeweller, potter, weaver, shoemaker, locksmith, welder, roofer, bricklayer, surveyor, geologist,
astronomer, psychologist, therapist, social worker, vet, midwife, paramedic, optician, coach, referee, dancer, singer, composer,
conductor, violinist, pianist, tour guide, travel agent, flight attendant, bus driver, postman, courier, cleaner, janitor,
security guard, fisherman, beekeeper, winemaker, brewer, cheesemaker, civil engineer, marine biologist, graphic designer,
interior designer, school principal, bank clerk, tax advisor, notary, diplomat, interpreter, curator, archivist, zookeeper""".replace(
        "\n", " "
    ).split(",")
]

PRODUCTS = [
    thing.strip()
    for thing in """lamp, chair, table, desk, sofa, bookshelf, mirror, clock, vase, carpet, curtain, pillow,
blanket, kettle, toaster, blender, teapot, mug, plate, knife, pan, bowl, spoon, bottle, backpack, suitcase, umbrella, wallet, belt,
jacket, coat, shirt, sweater, scarf, hat, gloves, shoes, boots, sandals, jeans, dress, laptop, tablet, phone, keyboard, mouse,
monitor, printer, camera, headphones, speaker, charger, cable, router, drone, guitar, piano, violin, drum, notebook, pencil, pen,
stapler, folder, envelope, stamp, calendar, book, puzzle, board game, teddy bear, bicycle, helmet, tent, sleeping bag, rope, torch,
hammer, drill, screwdriver, ladder, paintbrush, bucket, hose, rake, shovel, coffee machine, vacuum cleaner, washing machine,
desk lamp, office chair, water bottle, running shoes, phone case, tea set, picture frame, candle, soap, towel, toothbrush,
apples, oranges, bread, cheese, rice, pasta, coffee beans, olive oil, honey, chocolate, wine, fan, heater, thermos, basket""".replace(
        "\n", " "
    ).split(",")
]

NOUNS = """red blue green black white wooden leather silver small large steel glass cotton wool vintage electric folding travel
garden kitchen ceramic golden yellow grey brown""".split()

TITLE_HEADS = """Dune Emma Ulysses Dracula Frankenstein Hamlet Macbeth Walden Persuasion Middlemarch Siddhartha Beloved Atonement
Foundation Neuromancer Momo Silence Gravity Winter Shadows Letters Stories Songs Memories Secrets Birds Rivers Mountains Islands
Stars Ghosts Bread Poems Mirrors Maps Clouds Ashes Tides Gardens""".split()

TITLE_TAILS = """Night Wind Sea Rain Fire Water Garden City Road House Forest Stone Light Dark Snow Gold River Moon Sun Time Love
War Peace Dreams Travel Glass Paper Salt Honey Wolves Winter Summer Tomorrow Yesterday Silence Music""".split()

STREETS = """Flores Oak Maple Church Station High Mill Park Garden Castle Bridge River Market King Queen Victoria Elm Cedar Linden
Rosen Berg Haupt Bahnhof Garibaldi Roma Mayor Sol Luz Augusta Paix Moulin Church Green Spring Lake Hill""".split()

DOMAINS = "example.com example.org mail.com post.net shop.com books.org school.edu office.net company.com home.io".split()

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

# Words of the sentences and of the field names; the tokenizer is trained on them so that most are one token.
COMMON = """the a an is was are be has have had will would can could and or but not no of in on at to for from with by about as it
its he she they we you his her their our your who which that this these there here when where what how much many some any all each
every one two three four five six seven eight nine ten people person name age years old lives works living working city town country
job title order number item items total price quantity amount customer client address street email phone contact date time event
meeting place location room starts begins ends day week month year today tomorrow yesterday review product rating stars sentiment
positive negative neutral ticket priority low medium high urgent problem issue category status open closed paid unpaid delivered
booking guests nights hotel table reserved reservation check weather forecast calendar create add send message subject body search
query find look calculate expression result please thanks thank hello dear regards good bad great terrible okay fine love hate like
broken late early fast slow cheap expensive string integer number boolean null true false datetime Person People Order Invoice Event
Review Ticket Address Booking Contact Item name full first last surname family given author book books copies copy shipped sent
deliver delivery company employer department manager team salary hobby favourite colour color size weight height length width code
reference id note notes comment description details info summary topic language currency unit units get set arguments temperature
degrees celsius rain sunny cold warm hot new other same also because although however very quite really just still only already yet
again after before until since during between under over near next last left right main hall library school office station airport
bought sold ordered wants needs asked called said told wrote paid costs worth born married single moved left joined met visited""".split()
