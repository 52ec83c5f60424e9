"""Commands that fetch the official data: ``download`` and ``frames``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recipeflow.cli.data import ReleaseArgument
from recipeflow.cli.shared import RayOption, errors, joined, output, resumable


def download(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.", show_default=False)],
    annotations: Annotated[
        Path | None, typer.Option(help="Copy annotations.json and recipe_urls.txt from this folder.")
    ] = None,
    annotations_only: Annotated[bool, typer.Option("--annotations-only", help="No pages and no videos.")] = False,
    pause: Annotated[float, typer.Option(help="Seconds between requests.", min=0)] = 1.0,
    quality: Annotated[int, typer.Option(help="JPEG quality of the frames.", min=1, max=100)] = 90,
    used_only: Annotated[bool, typer.Option("--used-only", help="Write only the annotated frames.")] = False,
    allow_host: Annotated[list[str] | None, typer.Option(help="A host that redirects may lead to.")] = None,
    max_video_size: Annotated[int, typer.Option(help="The largest video to fetch, in megabytes.", min=1)] = 500,
    site: Annotated[str | None, typer.Option(help="Fetch the pages from this mirror instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome for each recipe as JSON.")] = False,
) -> None:
    """Fetch the official release.

    First the annotations, then each recipe's page and video, then its frames. One request at a time, with pauses, as
    robots.txt allows. Stop it whenever you like: the same command resumes, and fetches nothing twice. A page that was
    edited after it was annotated is reported, not used. The exit code is 1 if anything is missing. Texts and videos
    belong to their owners: see docs/data.md before you share them.

    Example:  vrf download official --used-only
    """
    from recipeflow.download.downloading import DownloadPlan, download_annotations, download_release
    from recipeflow.download.fetch import Manners

    manners = Manners(pause=pause, allowed_hosts=tuple(allow_host or ()))
    plan = DownloadPlan(annotations, site=site, manners=manners, video_limit=max_video_size * 1_000_000)
    with resumable("run the same command again to resume: nothing is fetched twice"):
        if annotations_only:
            download_annotations(out, plan)
            output.print(f"the annotations are in {out}; try `vrf stats {out}`", markup=False, soft_wrap=True)
            return
        report = download_release(out, plan, quality, used_only)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        report.print(output)
    raise typer.Exit(0 if report.ok else 1)


def frames(
    release: ReleaseArgument,
    quality: Annotated[int, typer.Option(help="JPEG quality.", min=1, max=100)] = 90,
    used_only: Annotated[bool, typer.Option("--used-only", help="Write only the annotated frames.")] = False,
    workers: Annotated[int | None, typer.Option(help="Number of processes; one per core by default.", min=1)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Sample existing frames again.")] = False,
    ray: RayOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome for each recipe as JSON.")] = False,
) -> None:
    """Sample the videos of a release.

    Each recipes/ID/video.mp4 is sampled into recipes/ID/frames/frame_N.jpg. Frames are numbered as in the annotation:
    with fps the integer part of the frame rate, every ceil(fps/3)-th decoded frame is kept. A recipe's frames appear
    only when they are complete; run the command again to resume after an interruption. The exit code is 1 if a video
    could not be sampled.

    On a Ray cluster whose nodes share the release folder (docs/scale.md):

        vrf frames release --used-only --ray auto

    Example:  vrf frames release --used-only
    """
    from recipeflow.download.frames import FAILED, NO_VIDEO, TRUNCATED, sample_release

    with resumable("finished recipes are kept: run the same command again to resume"), joined(ray, workers) as cluster:
        report = sample_release(release, quality, used_only, workers, overwrite, cluster)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        output.print(report.table().rich())
        if without := [outcome.recipe for outcome in report.of(NO_VIDEO)]:
            output.print(f"{NO_VIDEO}: {', '.join(without)}", markup=False, soft_wrap=True)
    for outcome in (*report.of(TRUNCATED), *report.of(FAILED)):
        errors.print(f"{outcome.state}: {outcome.reason}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if report.of(FAILED) else 0)
