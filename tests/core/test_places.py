import pytest

from edgeinf.core.places import Place, distance_km, find_place, places, round_trip_ms


def test_the_three_clouds_have_their_regions_on_the_globe():
    table = places().values()
    assert {p.cloud for p in table} == {"aws", "azure", "gcp"}
    assert all(-90 <= p.lat <= 90 and -180 <= p.lon <= 180 for p in table)
    assert len(table) > 100


def test_a_name_is_found_whatever_its_case():
    assert find_place("US-East-1").cloud == "aws"


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'sa-east-1'"):
        find_place("sa-eats-1")


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [("us-east-1", "sa-east-1", 7650), ("eu-west-2", "ap-southeast-2", 17000), ("eu-central-1", "eu-central-1", 0)],
)
def test_distances_are_those_of_the_globe(a, b, km):
    assert distance_km(find_place(a), find_place(b)) == pytest.approx(km, rel=0.02, abs=1)


def test_the_date_line_is_no_obstacle():
    assert distance_km(Place(name="a", lat=0, lon=179), Place(name="b", lat=0, lon=-179)) < 230


def test_light_needs_its_time():
    assert 70 < round_trip_ms(find_place("us-east-1"), find_place("sa-east-1")) < 80
