import pytest

from postedit.serve.batch_speeds import BatchSpeeds, ClientDemands, Demand


def test_small_batches_do_not_hide_how_fast_large_ones_are() -> None:
    speeds = BatchSpeeds()
    assert not speeds
    speeds.add(400, 0.5)
    for _ in range(100):
        speeds.add(20, 0.1)
    assert speeds.seconds_for(400) == pytest.approx(0.5)
    assert speeds.seconds_for(800) == pytest.approx(1.0)
    assert speeds.seconds_for(40) == pytest.approx(0.2)
    assert speeds.tokens_in(0.5) == 400


def test_before_a_large_batch_its_speed_is_that_of_the_next_smaller_size() -> None:
    speeds = BatchSpeeds()
    speeds.add(20, 0.1)
    assert speeds.seconds_for(400) == pytest.approx(2.0)
    assert speeds.seconds_for(1) == pytest.approx(0.005)


def test_a_change_of_speed_is_followed() -> None:
    speeds = BatchSpeeds()
    for _ in range(40):
        speeds.add(100, 1.0)
    for _ in range(40):
        speeds.add(100, 2.0)
    assert speeds.seconds_for(100) == pytest.approx(2.0, rel=0.01)


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def ask(demand: Demand, clock: _Clock, a_second: float, seconds: float, *, tokens: int | None = 50) -> float | None:
    """Ask at a rate of a model that does 1,000 tokens a second; return after how many seconds that was too much."""
    for number in range(round(a_second * seconds)):
        clock.now += 1 / a_second
        demand.add(tokens, 1000.0)
        if demand.is_excessive(1000.0):
            return number / a_second
    return None


def test_a_burst_is_no_overload() -> None:
    demand = Demand(_Clock())
    for _ in range(100):
        demand.add(50, 1000.0)
    assert not demand.is_excessive(1000.0)
    demand.add(50, 1000.0)
    assert demand.is_excessive(1000.0)


def test_clients_that_wait_for_their_answers_are_no_overload() -> None:
    clock = _Clock()
    assert ask(Demand(clock), clock, a_second=25, seconds=600) is None, "20 a second can be answered"


@pytest.mark.parametrize(("a_second", "most"), [(200, 0.6), (40, 12.0)])
def test_the_more_is_asked_the_sooner_it_is_an_overload(a_second: float, most: float) -> None:
    clock = _Clock()
    after = ask(Demand(clock), clock, a_second, seconds=60)
    assert after is not None
    assert most / 2 < after < most


def test_an_overload_of_any_length_ends_soon() -> None:
    clock = _Clock()
    demand = Demand(clock)
    assert ask(demand, clock, a_second=200, seconds=60) is not None
    for _ in range(12_000):
        clock.now += 1 / 200
        demand.add(None, 1000.0)  # refused unread
    assert demand.is_excessive(1000.0)
    clock.now += 1.8
    assert not demand.is_excessive(1000.0)


def test_a_request_that_is_refused_unread_counts_as_the_mean_of_others() -> None:
    clock = _Clock()
    demand = Demand(clock)
    for _ in range(50):
        demand.add(40, 1000.0)
        clock.now += 1.0
    assert ask(demand, clock, a_second=200, seconds=60, tokens=None) == pytest.approx(100 / (200 - 37.5), rel=0.02)


def test_who_asks_for_less_than_an_equal_share_causes_no_overload() -> None:
    clock = _Clock()
    demands = ClientDemands(clock)
    assert demands.is_excessive("anna", 1000.0), "nobody else does"
    for number in range(12_000):  # 200 requests a second for one minute, each with as much as 20 a second could have
        clock.now += 1 / 200
        demands.add("anna", 50, 1000.0)
        if number % 200 == 0:
            demands.add("ben", 50, 1000.0)
            assert not demands.is_excessive("ben", 1000.0)
    assert demands.is_excessive("anna", 1000.0)
    assert not demands.is_excessive("eve", 1000.0), "who has not asked before has asked for nothing"


def test_many_equal_clients_cause_an_overload_together() -> None:
    clock, together = _Clock(), 0
    demands = ClientDemands(clock)
    for number in range(4_000):  # ten times the speed
        clock.now += 1 / 200
        demands.add(f"{number % 50}", 50, 1000.0)
        together = sum(demands.is_excessive(f"{one}", 1000.0) for one in range(50))
    assert together == 50


def test_one_request_is_not_too_much_among_any_number_of_clients() -> None:
    demands = ClientDemands(_Clock())
    for number in range(5_000):
        demands.add("anna", 50, 1000.0)
        demands.add(f"client {number}", 50, 1000.0)
    excessive = [one for one in ("anna", *(f"client {n}" for n in range(5_000))) if demands.is_excessive(one, 1000.0)]
    assert excessive == ["anna"]
    demands.add("client 7", 50, 1000.0)
    assert demands.is_excessive("client 7", 1000.0), "a second one is"


def test_clients_whose_demand_is_met_are_forgotten() -> None:
    clock = _Clock()
    demands = ClientDemands(clock)
    for number in range(1_000):
        clock.now += 1.0
        demands.add(f"{number}", 50, 1000.0)
    assert len(demands._demands) <= 2
