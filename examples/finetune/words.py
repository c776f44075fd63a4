"""Words for the tasks. Those that a test uses are never in training: every third of each list is held out."""

from __future__ import annotations

__all__ = ["ADJECTIVES", "KINDS", "NAMES", "PLACES", "some"]

KINDS = {
    "animal": "dog cat horse rabbit sheep goat fox wolf bear deer mouse otter badger squirrel hedgehog donkey pig cow camel "
    "tiger lion leopard monkey elephant",
    "food": "bread cheese soup apple pear plum cake pie rice butter honey salad carrot potato onion sausage omelette pancake "
    "yogurt peach cherry noodle biscuit pudding",
    "vehicle": "car bus train truck bicycle tram lorry taxi boat ship ferry canoe tractor van motorcycle scooter helicopter "
    "plane submarine yacht wagon ambulance jeep limousine",
    "instrument": "violin piano flute trumpet guitar drum cello harp clarinet trombone banjo oboe organ accordion harmonica "
    "saxophone bassoon tuba mandolin viola lute xylophone bagpipe ukulele",
    "garment": "shirt coat hat scarf glove skirt jacket sweater dress sock boot shoe apron belt blouse trousers cap cloak vest "
    "sandal robe tie mitten shawl",
    "building": "house church school hospital library castle museum hotel theatre factory barn palace mosque temple prison "
    "cottage tower warehouse cathedral monastery villa chapel stable mansion",
}
"""Things, by what they are."""
NAMES = (
    "anna ben clara david emma frank grace henry irene jack karen leo maria nina oscar paul rosa simon tina victor wendy "
    "adam bella carl diana eric fiona george helen ivan julia kevin laura martin nora peter robert sarah thomas walter"
)
PLACES = (
    "oslo lima paris rome cairo delhi tokyo berlin madrid lisbon vienna prague warsaw athens dublin london boston chicago "
    "denver seattle toronto sydney moscow seoul bangkok manila nairobi havana geneva zurich munich hamburg milan naples "
    "venice florence brussels budapest stockholm helsinki"
)
ADJECTIVES = "red old small heavy blue new broken green large cheap brown white"


def some(words: str, held_out: bool) -> list[str]:
    """Those for training, or those that are held out from it."""
    return [word for number, word in enumerate(words.split()) if (number % 3 == 2) is held_out]
