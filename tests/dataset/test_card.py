"""The dataset card of a build: what the Hub reads in it, and what people do."""

import re

import jinja2.meta
import pyarrow.parquet as pq
import pytest
from datasets import DatasetInfo, Features
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.card import COLUMNS, TEMPLATE, Contents, make_card
from recipeflow.release import ReleaseInfo
from tests.building import CONFIGS, read_rows, run_python
from tests.making import SALAD
from vrf_dataset import FEATURES


def test_features_stand_in_the_parquet_files_and_in_the_card(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    card = DatasetCard.load(tmp_path / "vrf" / "README.md")
    infos = DatasetInfosDict.from_dataset_card_data(card.data)
    for config in CONFIGS:
        features = Features(FEATURES[config])
        paths = list((tmp_path / "vrf" / config).iterdir())
        assert Features.from_arrow_schema(pq.read_schema(paths[0])) == features
        assert infos[config].features == features
        assert infos[config].splits["train"].num_examples == len(read_rows(tmp_path / "vrf", config))
        assert infos[config].download_size == sum(path.stat().st_size for path in paths)
        assert infos[config].dataset_size > 0
    assert [(row["config_name"], row.get("default", False)) for row in card.data["configs"]] == [
        ("flow_graphs", False),
        ("image_pairs", True),
        ("recipes", False),
    ]
    assert (card.data.language, card.data.license, card.data.pretty_name) == (["ja"], "mit", "Visual Recipe Flow")
    assert card.data.size_categories == ["n<1K"]


def test_the_card_explains_every_column_and_cites_the_paper(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    text = DatasetCard.load(tmp_path / "vrf" / "README.md").text
    assert {config: list(columns) for config, columns in COLUMNS.items()} == {
        config: list(columns) for config, columns in FEATURES.items()
    }
    for config in CONFIGS:
        section = text.split(f"### `{config}`")[1].split("\n## ")[0].split("\n### ")[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.M) == list(FEATURES[config])
    for part in ("Shirai, Keisuke", "hand-made", "`Targ` action target", "`Sf` state of food"):
        assert part in text
    counts = "7 have both images, 1 only the one after the action, 2 only the one before, and 2 none."
    assert f"Of 12 objects, {counts}" in text


def test_the_code_in_the_card_runs(release, tmp_path):
    build_dataset(release, tmp_path / "my-dataset")
    text = DatasetCard.load(tmp_path / "my-dataset" / "README.md").text
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    printed = run_python(code + "\nprint(len(train) + len(test))", tmp_path).splitlines()
    assert printed[0].startswith("切り きゅうり <PIL")
    assert "0-0-0 F-eq 1-0-2" in printed
    assert printed[-2:] == [SALAD.title, "12"]


def card_of(info: ReleaseInfo, rows: int = 5, contents: Contents | None = None, left_out: int = 0) -> DatasetCard:
    split = {"train": {"name": "train", "num_bytes": 1, "num_examples": rows}}
    infos = {
        config: DatasetInfo(features=Features(FEATURES[config]), splits=split, download_size=1, dataset_size=1)
        for config in CONFIGS
    }
    return make_card("vrf", infos, info, contents or Contents(1, 0, 0, 0, True), left_out)


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", ("mit", None)),
        ("CC-BY-4.0", ("cc-by-4.0", None)),
        ("CC BY 4.0", ("cc-by-4.0", None)),
        ("Our own terms (v2)", ("other", "our-own-terms-v2")),
        (None, ("unknown", None)),
        ("：", ("unknown", None)),
    ],
)
def test_the_licence_is_the_releases(licence, expected):
    card = card_of(ReleaseInfo(licence=licence))
    assert (card.data.license, card.data.get("license_name")) == expected
    assert f"states it: {licence or 'none stated'}" in card.text


@pytest.mark.parametrize(
    ("rows", "size"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (3705, "1K<n<10K"), (99_999, "10K<n<100K"), (10**9, "100M<n<1B")],
)
def test_size_categories(rows, size):
    assert card_of(ReleaseInfo(), rows).data.size_categories == [size]


def test_the_card_says_where_the_data_come_from():
    simulated = card_of(ReleaseInfo(source="simulated", version="3"), left_out=2)
    assert "**This is simulated data.**" in simulated.text
    assert "simulated" in simulated.data.tags
    assert "left out because of problems: 2" in simulated.text
    assert "Version of the release: 3." in simulated.text
    assert simulated.data.annotations_creators == ["machine-generated"]
    unknown = card_of(ReleaseInfo())
    assert "does not name its source" in unknown.text
    assert unknown.data.annotations_creators is None
    assert "simulated" not in str(unknown)


def test_the_template_names_only_what_it_is_given(monkeypatch):
    """Jinja fills an unknown name with nothing, which would leave a hole in the card."""
    given = {}
    monkeypatch.setattr(DatasetCard, "from_template", lambda data, **values: given.update(values, **data.to_dict()))
    card_of(ReleaseInfo())
    names = jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(TEMPLATE.read_text(encoding="utf-8")))
    assert names - {"card_data"} <= given.keys()
