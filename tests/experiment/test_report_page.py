import json
from html.parser import HTMLParser

import pytest
import torch
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.errors import DatasetFolderError, ReportError
from recipeflow.experiment.answers import answers_file, job_file
from recipeflow.experiment.report.data import DatasetRows, read_experiment
from recipeflow.experiment.report.page import render_report, write_report
from recipeflow.experiment.report.queries import pick_queries
from tests.experiment.reporting import EVIL, Reported, change_columns, make_experiment
from tests.search.searching import own_cache  # noqa: F401  (autouse)


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> Reported:
    return make_experiment(tmp_path_factory.mktemp("report"))


class Page(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def page(reported) -> Page:
    return Page((reported.folder / "report.html").read_text(encoding="utf-8"))


# The page.


def test_the_experiment_writes_a_page_with_every_section(page):
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert {"table", "recall", "ranks", "learning", "queries", "verb", "ingredient", "map", "made"} <= ids
    for text in ("149.00", "37.01", "verb + object + image", "no evidence for the paper's claim", "test_resnet"):
        assert text in page.text
    assert "What is missing" not in page.text


def test_the_page_needs_nothing_and_runs_nothing(page, reported):
    assert not page.all("script")
    addresses = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert addresses and all(address.startswith(("data:image/", "#")) for address in addresses)
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in policy and "script" not in policy
    assert (reported.folder / "report.html").stat().st_size < 5_000_000


def test_every_picture_is_described_in_words(page):
    pictures = page.all("img")
    assert len(pictures) > 20 and all(len(picture["alt"]) > 10 for picture in pictures)
    assert any("切" in picture["alt"] or "加え" in picture["alt"] for picture in pictures)


def test_the_same_files_give_the_same_page(reported, tmp_path):
    again = write_report(reported.folder, reported.dataset, tmp_path / "again.html")
    assert again.read_bytes() == (reported.folder / "report.html").read_bytes()


def test_words_of_a_release_are_text_and_never_markup(reported, tmp_path):
    evil = change_columns(reported.dataset, tmp_path / "vrf", "image_pairs", action=EVIL, object=EVIL)
    change_columns(evil, evil, "recipes", title=EVIL)
    html = write_report(reported.folder, evil, tmp_path / "evil.html").read_text(encoding="utf-8")
    page = Page(html)
    assert not page.all("script") and all("onerror" not in picture for picture in page.all("img"))
    assert page.text.count("<script>document.title") > 10


# What is missing is reported.


def test_jobs_of_earlier_versions_are_reported(reported, tmp_path):
    folder = reported.copy(tmp_path / "old")
    path = folder / job_file("both", 1)
    figures = json.loads(path.read_text())
    del figures["answers_sha256"]
    path.write_text(json.dumps(figures))
    (folder / answers_file("both", 1)).unlink()
    page = Page(write_report(folder).read_text(encoding="utf-8"))
    assert "“verb + object + image” were not saved in fold 1" in page.text and "delete jobs/both" in page.text
    assert "Map of" in page.text  # of the row that has answers


def test_a_dataset_without_text_still_gives_pictures(reported, tmp_path):
    mute = change_columns(reported.dataset, tmp_path / "vrf", "image_pairs", action=None, object=None)
    change_columns(mute, mute, "recipes", title=None)
    page = Page(write_report(reported.folder, mute, tmp_path / "mute.html").read_text(encoding="utf-8"))
    assert "The dataset has no text" in page.text and "Accuracy by verb" not in page.text
    assert len(page.all("img")) > 20 and "an action without text" in page.text


def test_a_dataset_without_images_still_gives_words(reported, tmp_path):
    blind = change_columns(reported.dataset, tmp_path / "vrf", "image_pairs", pre_image=None, post_image=None)
    page = Page(write_report(reported.folder, blind, tmp_path / "blind.html").read_text(encoding="utf-8"))
    assert "The dataset has no images" in page.text and "no picture" in page.text
    assert "Accuracy by verb" in page.text
    assert all(picture["src"].startswith("data:image/svg") for picture in page.all("img"))


def test_without_the_dataset_there_are_figures_only(reported, tmp_path):
    folder = reported.copy(tmp_path / "moved")
    results = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(results | {"dataset": str(tmp_path / "gone")}))
    page = Page(write_report(folder).read_text(encoding="utf-8"))
    assert "The dataset of this experiment is not available" in page.text and len(page.all("img")) == 3
    del results["dataset"]
    (folder / "results.json").write_text(json.dumps(results))
    assert "pass it with vrf report --dataset" in write_report(folder).read_text(encoding="utf-8")


def test_a_damaged_picture_is_reported_in_its_place(reported, tmp_path):
    broken = {"bytes": b"no picture at all", "path": "x.jpg"}
    torn = change_columns(reported.dataset, tmp_path / "vrf", "image_pairs", pre_image=broken)
    page = Page(write_report(reported.folder, torn, tmp_path / "torn.html").read_text(encoding="utf-8"))
    assert "no picture" in page.text and any(picture["alt"].startswith("Right") for picture in page.all("img"))


# Bad input.


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ReportError, match=r"results\.json.*run `vrf experiment"):
        write_report(tmp_path)
    (tmp_path / "results.json").write_text("[1, 2]")
    with pytest.raises(ReportError, match="found something else"):
        write_report(tmp_path)
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(ReportError, match=r"found: .*run `vrf experiment"):
        write_report(tmp_path)


def test_a_missing_job_is_named(reported, tmp_path):
    folder = reported.copy(tmp_path / "part")
    (folder / job_file("text", 1)).unlink()
    with pytest.raises(ReportError, match=r"jobs/text/fold-1\.json.*runs only what is missing"):
        write_report(folder)


def test_a_job_of_other_settings_is_named(reported, tmp_path):
    folder = reported.copy(tmp_path / "other")
    path = folder / job_file("text", 1)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": {"preset": "paper"}}))
    with pytest.raises(ReportError, match=r"fold-1\.json to have the settings of results\.json"):
        write_report(folder)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_answers_are_refused(reported, tmp_path, damage):
    folder = reported.copy(tmp_path / "torn")
    path = folder / answers_file("both", 0)
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-10])
    with pytest.raises(ReportError, match=r"expected the answers of a job.*delete fold-0\.json"):
        write_report(folder)


def test_another_dataset_is_refused(reported, tmp_path):
    shifted = change_columns(reported.dataset, tmp_path / "shifted", "image_pairs", fold=3)
    with pytest.raises(ReportError, match="in fold 0 with a post-action image"):
        write_report(reported.folder, shifted)
    results = json.loads((reported.folder / "results.json").read_text())
    other = reported.copy(tmp_path / "other")
    (other / "results.json").write_text(json.dumps(results | {"all_rows": 7}))
    with pytest.raises(ReportError, match="expected the 7 rows of image_pairs"):
        write_report(other, reported.dataset)
    with pytest.raises(DatasetFolderError, match="with --dataset"):
        write_report(reported.folder, tmp_path)


def test_settings_chosen_on_inner_folds_have_a_page_too(reported, tmp_path):
    folder = reported.copy(tmp_path / "inner")
    for path in (folder / "results.json", *folder.glob("jobs/*/*.json")):
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"settings": content["settings"] | {"inner": True}}))
    data, dataset = read_experiment(folder), DatasetRows(reported.dataset)
    with pytest.raises(ReportError, match="in fold 1 with"):
        dataset.check_experiment(data)
    dataset.columns["fold"] = [(fold + 1) % 10 for fold in dataset.columns["fold"]]
    dataset.check_experiment(data)


def test_the_command_makes_the_page_again(reported, tmp_path):
    done = CliRunner().invoke(app, ["report", str(reported.folder), "--out", str(tmp_path / "new.html")])
    assert done.exit_code == 0 and "new.html" in done.stdout.replace("\n", "")
    assert (tmp_path / "new.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    refused = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert isinstance(refused.exception, ReportError)


# The answers behind it.


def test_answers_agree_with_the_ranks_and_the_images(reported):
    data, dataset = read_experiment(reported.folder), DatasetRows(reported.dataset)
    for row in data.trained:
        for job in row.jobs:
            answers = job.answers
            first = answers.found[:, 0] == answers.targets
            assert (first == torch.tensor(job.ranks == 1)).float().mean() > 0.95  # rounding may part equal scores
            among = (answers.found == answers.targets[:, None]).any(1)
            assert (among == torch.tensor(job.ranks <= 5)).float().mean() > 0.95
            assert torch.allclose(answers.image_embeds.float().norm(dim=1), torch.tensor(1.0), atol=1e-2)
            own = dataset.images((int(number), "post") for number in job.rows)
            shown = dataset.images((int(number), "post") for number in answers.targets)
            for number, target in zip(job.rows.tolist(), answers.targets.tolist(), strict=True):
                assert own[number, "post"] == shown[target, "post"]


def test_picked_queries_are_what_their_headings_say(reported):
    data, dataset = read_experiment(reported.folder), DatasetRows(reported.dataset)
    picked = pick_queries(data.trained[-1], dataset, 2)
    assert all(query.rank == 1 and query.found[0][0] == query.target for query in picked["best"])
    worst = max(job.ranks.max() for job in data.trained[-1].jobs)
    assert picked["worst"][0].rank == worst > 1
    for queries in picked.values():
        recipes = [dataset[query.row]["recipe_id"] for query in queries]
        assert len(recipes) == len(set(recipes))


def test_an_experiment_without_a_model_has_a_page_too(reported):
    data, dataset = read_experiment(reported.folder), DatasetRows(reported.dataset)
    data.rows[:] = [row for row in data.rows if not row.about["inputs"]]
    data.results["rows"][:] = [row.about for row in data.rows]
    page = Page(render_report(data, dataset))
    assert len(page.all("img")) == 2 and "A map" not in page.text
