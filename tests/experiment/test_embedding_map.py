import numpy as np
import pytest
import torch

from recipeflow.experiment.report.embedding_map import HEIGHT, PICTURE, WIDTH, draw_map, group_styles, project


def test_the_projection_keeps_as_much_as_the_covariances_two_largest_eigenvalues():
    generator = torch.Generator().manual_seed(0)
    embeds = torch.randn(60, 5, generator=generator) * torch.tensor([1.0, 4.0, 0.5, 2.0, 0.1])
    points, others, kept = project(embeds, embeds[:3])
    assert others == pytest.approx(points[:3])
    values = np.linalg.eigvalsh(np.cov(embeds.double().numpy().T))[::-1]
    assert points.var(axis=0, ddof=1) == pytest.approx(values[:2])
    assert kept == pytest.approx(values[:2].sum() / values.sum())
    assert points.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("embeds", [torch.ones(1, 4), torch.ones(7, 4), torch.eye(2)])
def test_too_little_to_project_gives_points_all_the_same(embeds):
    points, _, kept = project(embeds, embeds)
    assert points.shape == (len(embeds), 2) and np.isfinite(points).all() and kept == pytest.approx(1.0)


def test_pictures_lie_inside_and_cover_no_other():
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(300, 8, generator=generator)
    queries = torch.cat([images[:30] * 0.5, images[:10] * 50])
    drawing = draw_map(range(300), images, range(300, 340), queries)
    assert [mark.row for mark in drawing.images] == list(range(300))
    assert 30 <= len(drawing.queries) == 40 - drawing.outside < 40
    shown = [(mark.x, mark.y) for mark in drawing.images if mark.has_picture]
    assert 20 < len(shown) < 300
    for place, (x, y) in enumerate(shown):
        assert PICTURE / 2 <= x <= WIDTH - PICTURE / 2 and PICTURE / 2 <= y <= HEIGHT - PICTURE / 2
        assert all(max(abs(x - left), abs(y - top)) > PICTURE for left, top in shown[:place])


def test_the_most_frequent_names_have_a_colour_and_a_shape_of_their_own():
    names = [None, *"aaaabbbccdefgh"]
    styles = group_styles(names)
    assert list(styles)[:3] == ["a", "b", "c"] and len(styles) == 6
    assert len({colour for colour, _ in styles.values()}) == len({shape for _, shape in styles.values()}) == 6
