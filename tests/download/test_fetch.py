import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from recipeflow.download.fetch import Fetcher, Manners
from recipeflow.errors import FetchError, ForeignHostError, GoneError, RobotsError, ServerBusyError, TooLargeError
from tests.download.site.server import Content, Site, always, cut, huge, late, redirect, status

QUICK = Manners(pause=0, timeout=20, attempts=3, backoff=0.01)
IMPATIENT, LATE = replace(QUICK, timeout=0.8), late(2)
"""Seconds: a busy machine answers in time, and what is late is later than that."""

BODY = bytes(range(256)) * 1200
VIDEO = "/videos/a.mp4"


@pytest.fixture
def site():
    with Site() as site:
        site.contents["/recipes/a"] = Content("ページ".encode(), "text/html")
        site.contents[VIDEO] = Content(BODY, "video/mp4")
        yield site


@pytest.fixture
def fetcher(site):
    with Fetcher(QUICK) as fetcher:
        yield fetcher


def manners(fault) -> Manners:
    return IMPATIENT if fault is LATE else QUICK


def page(fetcher, site, limit=10_000):
    return fetcher.get(f"{site.url}/recipes/a", limit).decode()


def save(fetcher, site, folder, limit=10_000_000):
    fetcher.save(site.url + VIDEO, folder / "video.mp4", limit)
    assert [path.name for path in folder.iterdir()] == ["video.mp4"]
    assert (folder / "video.mp4").read_bytes() == BODY


def test_a_page_is_fetched_after_robots_txt_under_our_name(site, fetcher):
    assert page(fetcher, site) == page(fetcher, site) == "ページ"
    assert [seen.path for seen in site.seen] == ["/robots.txt", "/recipes/a", "/recipes/a"]
    assert all(seen.headers["user-agent"].startswith("recipeflow/") for seen in site.seen)


@pytest.mark.parametrize("fault", [status(500), status(503), status(429), LATE, cut(5)])
def test_what_may_pass_is_tried_again(site, fault):
    site.faults["/recipes/a"] = [fault, fault]
    with Fetcher(manners(fault)) as fetcher:
        assert page(fetcher, site) == "ページ"
    assert len(site.requests("/recipes/a")) == 3


@pytest.mark.parametrize("fault", [status(503), LATE, cut(5)])
def test_what_does_not_pass_is_given_up(site, fault):
    site.faults["/recipes/a"] = always(fault)
    found = r"expected an answer from .*/recipes/a, found 3 times: .*; try again later"
    with Fetcher(manners(fault)) as fetcher, pytest.raises(FetchError, match=found):
        page(fetcher, site)
    assert len(site.requests("/recipes/a")) == 3


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_what_is_gone_is_asked_for_once(site, fetcher, code):
    site.faults["/recipes/a"] = always(status(code))
    with pytest.raises(GoneError, match=f"found {code}"):
        page(fetcher, site)
    assert len(site.requests("/recipes/a")) == 1


def test_a_server_that_is_not_there():
    with Site() as site:
        pass
    with Fetcher(QUICK) as fetcher, pytest.raises(FetchError, match="ConnectError"):
        fetcher.get(f"{site.url}/recipes/a", 100, ask_robots=False)


def test_retry_after_is_waited_for(site, fetcher):
    site.faults["/recipes/a"] = [status(429, retry_after="1")]
    start = time.monotonic()
    page(fetcher, site)
    assert time.monotonic() - start >= 1


def test_retry_after_as_a_date(site, fetcher):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    site.faults["/recipes/a"] = [status(503, retry_after=soon), status(503, retry_after="soon")]
    start = time.monotonic()
    page(fetcher, site)
    assert time.monotonic() - start >= 0.9  # the date has no fractions of a second


def test_a_server_that_wants_to_be_left_alone_for_long(site, fetcher):
    site.faults["/recipes/a"] = [status(429, retry_after="7200")]
    with pytest.raises(ServerBusyError, match=r"429 Too Many Requests with a Retry-After of 2.0 hours"):
        page(fetcher, site)


def test_there_is_a_pause_between_requests(site):
    with Fetcher(Manners(pause=0.3)) as fetcher:
        start = time.monotonic()
        page(fetcher, site)
        page(fetcher, site)
    assert time.monotonic() - start >= 0.6  # two pauses between three requests


def test_a_site_may_want_longer_pauses(site, fetcher):
    site.robots("User-agent: *\nCrawl-delay: 1\n")
    page(fetcher, site)
    start = time.monotonic()
    page(fetcher, site)
    assert time.monotonic() - start >= 0.9


@pytest.mark.parametrize("rules", ["User-agent: *\nDisallow: /recipes/", "User-agent: recipeflow\nDisallow: /"])
def test_what_robots_txt_forbids_is_not_fetched(site, fetcher, rules):
    site.robots(rules)
    with pytest.raises(RobotsError, match=r"robots.txt forbids it"):
        page(fetcher, site)
    assert [seen.path for seen in site.seen] == ["/robots.txt"]


def test_a_site_without_robots_txt_allows_everything(site, fetcher):
    del site.contents["/robots.txt"]
    assert page(fetcher, site) == "ページ"


def test_a_site_that_hides_its_robots_txt_allows_nothing(site, fetcher):
    site.faults["/robots.txt"] = [status(403)]
    with pytest.raises(RobotsError):
        page(fetcher, site)


def test_a_site_that_cannot_say_what_it_allows_is_left_alone(site, fetcher):
    site.faults["/robots.txt"] = always(status(500))
    with pytest.raises(ServerBusyError, match=r"expected .*robots.txt to be readable"):
        page(fetcher, site)
    assert not site.requests("/recipes/a")


def test_redirects_on_the_same_host_are_followed(site, fetcher):
    site.contents["/b"] = site.contents["/recipes/a"]
    site.faults["/recipes/a"] = [redirect("/b")]
    assert page(fetcher, site) == "ページ"


def test_redirects_are_asked_for_at_robots_txt_too(site, fetcher):
    site.faults["/recipes/a"] = [redirect("/private/a")]
    with pytest.raises(RobotsError):
        page(fetcher, site)


def test_redirects_in_a_circle_end(site, fetcher):
    site.faults["/recipes/a"] = always(redirect("/recipes/a"))
    with pytest.raises(FetchError, match="after at most 5 redirects"):
        page(fetcher, site)


def test_a_redirect_to_another_host_is_refused_unless_allowed(site, fetcher):
    elsewhere = site.url.replace("127.0.0.1", "localhost") + "/b"
    site.contents["/b"] = site.contents["/recipes/a"]
    site.faults["/recipes/a"] = always(redirect(elsewhere))
    with pytest.raises(ForeignHostError, match="found a redirect to localhost; pass --allow-host localhost"):
        page(fetcher, site)
    assert not site.requests("/b")
    with Fetcher(Manners(pause=0, allowed_hosts=("localhost",))) as allowing:
        assert page(allowing, site) == "ページ"


@pytest.mark.parametrize("announced", [True, False])
def test_answers_beyond_the_limit_are_refused(site, fetcher, tmp_path, announced):
    site.faults["/recipes/a"] = [huge(5_000_000, announced)]
    site.faults[VIDEO] = [huge(5_000_000, announced)]
    with pytest.raises(TooLargeError, match=r"expected at most 0.0 MB"):
        page(fetcher, site)
    with pytest.raises(TooLargeError, match=r"expected at most 0.1 MB"):
        save(fetcher, site, tmp_path, limit=100_000)
    assert not list(tmp_path.glob("*.mp4"))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1000


def test_an_address_that_is_none(fetcher):
    for address in ("ftp://example.org/a", "http://a:b/"):
        with pytest.raises(FetchError, match="expected a web address"):
            fetcher.get(address, 100, ask_robots=False)


def test_a_file_that_breaks_off_goes_on_where_it_broke_off(site, fetcher, tmp_path):
    site.faults[VIDEO] = [cut(100_000), status(503)]
    save(fetcher, site, tmp_path)
    requests = site.requests(VIDEO)
    assert [seen.status for seen in requests] == [200, 503, 206]
    assert requests[2].headers["range"] == "bytes=100000-"
    assert sum(seen.sent for seen in requests) == len(BODY)


def test_attempts_that_get_further_do_not_count(site, fetcher, tmp_path):
    site.ignores_range = True
    site.faults[VIDEO] = [cut(length) for length in (70_000, 140_000, 210_000, 280_000)]
    save(fetcher, site, tmp_path)


def test_a_file_with_a_wrong_length_is_given_up_in_the_end(site, fetcher, tmp_path):
    site.ignores_range = True
    site.faults[VIDEO] = always(cut(1000))
    with pytest.raises(FetchError, match="found 3 times: RemoteProtocolError"):
        save(fetcher, site, tmp_path)


def broken_off(site, folder, length=100_000):
    """Leave the first part of the video behind, as a killed process does."""
    site.faults[VIDEO] = [cut(length), status(404)]
    with Fetcher(QUICK) as fetcher, pytest.raises(GoneError):
        fetcher.save(site.url + VIDEO, folder / "video.mp4", 10_000_000)
    assert (folder / ".video.mp4.partial").stat().st_size == length
    site.seen.clear()


def test_a_later_run_goes_on(site, fetcher, tmp_path):
    broken_off(site, tmp_path, 100_000)
    save(fetcher, site, tmp_path)
    assert [(seen.status, seen.sent) for seen in site.requests(VIDEO)] == [(206, len(BODY) - 100_000)]


def test_a_file_that_has_changed_is_begun_again(site, fetcher, tmp_path):
    body, site.contents[VIDEO] = site.contents[VIDEO], Content(BODY[::-1], "video/mp4")
    broken_off(site, tmp_path)
    site.contents[VIDEO] = body
    save(fetcher, site, tmp_path)
    assert site.requests(VIDEO)[-1].status == 200


def test_a_server_that_ignores_ranges_sends_it_all_again(site, fetcher, tmp_path):
    site.ignores_range = True
    broken_off(site, tmp_path)
    save(fetcher, site, tmp_path)


def test_another_address_is_another_file(site, fetcher, tmp_path):
    broken_off(site, tmp_path)
    site.contents["/videos/b.mp4"] = site.contents[VIDEO]
    fetcher.save(f"{site.url}/videos/b.mp4", tmp_path / "video.mp4", 10_000_000)
    assert "range" not in site.requests("/videos/b.mp4")[0].headers


@pytest.mark.parametrize("note", [None, "{", "[]", '{"url": 1}'])
def test_without_a_note_of_where_it_came_from_it_is_begun_again(site, fetcher, tmp_path, note):
    broken_off(site, tmp_path)
    path = tmp_path / ".video.mp4.partial.json"
    path.unlink() if note is None else path.write_text(note)
    save(fetcher, site, tmp_path)
    assert site.requests(VIDEO)[-1].status == 200


def test_killed_just_before_the_end(site, fetcher, tmp_path):
    broken_off(site, tmp_path, 1000)
    (tmp_path / ".video.mp4.partial").write_bytes(BODY)
    save(fetcher, site, tmp_path)
    assert site.requests(VIDEO)[-1].status == 416


def test_more_is_there_than_there_should_be(site, fetcher, tmp_path):
    broken_off(site, tmp_path, 1000)
    (tmp_path / ".video.mp4.partial").write_bytes(BODY + b"x")
    save(fetcher, site, tmp_path)


def test_a_part_that_does_not_fit_is_not_glued_on(site, fetcher, tmp_path):
    broken_off(site, tmp_path)
    site.faults[VIDEO] = [
        status(206, content_range="bytes 5-9/10"),
        status(206, content_range="bytes 100000-9/10", etag='"x"'),
    ]
    save(fetcher, site, tmp_path)


def test_an_encoded_file_is_refused(site, fetcher, tmp_path):
    site.faults[VIDEO] = always(status(200, content_encoding="gzip"))
    with pytest.raises(FetchError, match="expected the plain bytes"):
        save(fetcher, site, tmp_path)
