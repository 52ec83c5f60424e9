"""The command ``annotate``: the annotation interface as a server, with its people and suggestions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recipeflow.cli.annotations import print_skipped
from recipeflow.cli.shared import output
from recipeflow.errors import UsageError

if TYPE_CHECKING:
    from recipeflow.annotate.people import Person
    from recipeflow.annotate.suggest.background import Suggester
    from recipeflow.annotate.workspace import Workspace
    from recipeflow.web.security import PublicUrl


def annotate(
    release: Annotated[
        Path | None,
        typer.Argument(
            metavar="RELEASE", help="A release folder, or a folder with only recipes/<id>/*.txt and frames."
        ),
    ] = None,
    db: Annotated[Path, typer.Option(help="The file that stores all work; created if missing.")] = Path(
        "annotations.db"
    ),
    annotator: Annotated[
        list[str] | None, typer.Option(help="Show only this annotator's layer; can be repeated.")
    ] = None,
    blank: Annotated[bool, typer.Option("--blank", help="Start new layers without the release's annotation.")] = False,
    suggest: Annotated[
        list[str] | None, typer.Option(help="A release folder or layer to show as suggestions; can be repeated.")
    ] = None,
    parser: Annotated[
        str | None, typer.Option(help="A trained parser that suggests tags and flows too: its folder or Hub name.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A trained retrieval model that ranks frames for suggestions: folder or name.")
    ] = None,
    learn: Annotated[
        list[Path] | None, typer.Option(help="A finished release that suggestions learn from too; can be repeated.")
    ] = None,
    no_suggestions: Annotated[
        bool, typer.Option("--no-suggestions", help="Compute no suggestions, for a study without their influence.")
    ] = False,
    guidelines: Annotated[
        Path | None, typer.Option(help="A Markdown file with the project's rules, shown beside every recipe.")
    ] = None,
    curate: Annotated[bool, typer.Option("--curate", help="Compare layers and fill the gold layer.")] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen on; beyond this machine, every person gets a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)] = 8765,
    token: Annotated[
        str | None, typer.Option(help="One secret for all who may see this server's layers, instead of personal ones.")
    ] = None,
    personal: Annotated[
        bool, typer.Option("--personal", help="Give every person a token on this machine, too.")
    ] = False,
    new_token: Annotated[
        list[str] | None, typer.Option(help="Make another token for this person; can be repeated.")
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(help="The address of a reverse proxy before this server, such as https://recipes.example."),
    ] = None,
    max_video_size: Annotated[int, typer.Option(help="The largest film to upload, in megabytes.", min=1)] = 2000,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Annotate recipes in the browser, by mouse.

    Tags, flows and frames; each click is saved at once. The release folder is never changed. Every annotator has their
    own layer. Without a release, or with an empty folder, add your own recipes in the page: paste a text, drop a film.
    Videos without frames are sampled while you work. Stop with Ctrl-C.

    Beyond this machine, each --annotator gets a URL with a token of their own, which shows only their layer; --curate
    adds one for a curator, who sees all. They are printed once, and work again after a restart:

        vrf annotate kitchen --blank --host 0.0.0.0 --curate \\
          --annotator alice --annotator bob

    Example:  vrf annotate kitchen --annotator alice
    """
    from recipeflow.annotate.guidelines import read_guidelines
    from recipeflow.annotate.store import Store
    from recipeflow.annotate.suggest.background import Suggester
    from recipeflow.annotate.workspace import Workspace
    from recipeflow.web.security import PublicUrl

    public = None if public_url is None else PublicUrl.parse(public_url)
    people = _find_people(annotator or [], curate, host, token, personal, new_token or [], public)
    _check_place(db, release)
    if no_suggestions and (parser or model or learn):
        raise UsageError("expected --no-suggestions alone, found --parser, --model or --learn; omit one")
    if guidelines is not None:
        read_guidelines(guidelines)  # a wrong file is better reported now than by a page
    with Store(db) as store, Suggester(store) as suggester:
        largest = max_video_size * 1_000_000
        workspace = Workspace(
            store, release, blank=blank, curating=curate, annotators=annotator or (), largest_film=largest
        )
        if release is not None:
            print_skipped(workspace.import_folder(release).skipped)
        for name in annotator or ():
            workspace.add_layer(name)
        for source in suggest or ():
            print_skipped(workspace.suggest(source).skipped)
        workspace.films.uploads.clean_up()
        if waiting := workspace.recipe_films.sample_missing():
            output.print(f"sampling films in the background: {', '.join(waiting)}", markup=False, soft_wrap=True)
        if not no_suggestions:
            _prepare_suggestions(workspace, suggester, learn or (), parser, model)
        site = {"host": host, "port": port, "public": public}
        try:
            if people:
                _serve_people(workspace, people, new_token or [], guidelines, site)
            else:
                only = annotator[0] if annotator and len(annotator) == 1 else None
                _serve_all(workspace, only, guidelines, token, not no_browser, site)
        finally:
            if workspace.training is not None:
                workspace.training.close()


def _find_people(
    annotators: list[str],
    curate: bool,
    host: str,
    token: str | None,
    personal: bool,
    renewed: list[str],
    public: PublicUrl | None = None,
) -> list[Person]:
    """Who gets a token of their own: everybody, on a server that others can reach; nobody with one shared token."""
    from recipeflow.annotate.people import CURATOR, Person
    from recipeflow.web.security import check_exposure, is_loopback

    exposed = public is not None or not is_loopback(host)
    people = [Person(name) for name in dict.fromkeys(annotators)] + [Person(CURATOR, CURATOR)] * curate
    if token is None and (personal or exposed) and people:
        if unknown := set(renewed) - {person.name for person in people}:
            raise UsageError(f"expected --new-token of a person named here, found {unknown.pop()!r}; check the name")
        return people
    check_exposure(host, token, public)
    if personal or renewed:
        raise UsageError("expected --annotator or --curate, and no --token, for personal tokens; add or remove it")
    if exposed and len(annotators) > 1:
        names = ", ".join(annotators)
        message = f"expected a token for each of {names}, so that none sees another's layer, found one for all"
        raise UsageError(f"{message}; omit --token: a URL is printed for each")
    return []


def _serve_all(
    workspace: Workspace, only: str | None, guidelines: Path | None, token: str | None, browser: bool, site: dict
) -> None:
    from recipeflow.annotate.server import create_app
    from recipeflow.web.serving import serve

    db, app = workspace.store.path, create_app(workspace, only, guidelines)
    serve(app, token=token, announce=lambda address: _announce(address, db), open_browser=browser, **site)


def _serve_people(
    workspace: Workspace, persons: list[Person], renewed: list[str], guidelines: Path | None, site: dict
) -> None:
    from recipeflow.annotate.people import People
    from recipeflow.annotate.server import create_personal_app
    from recipeflow.web.serving import serve

    people = People(workspace.store, persons)

    def announce(address: str) -> None:
        _announce(address, workspace.store.path)
        for person in persons:
            if person.name in renewed or people.made(person) is None:
                line = f"{address}?token={people.make_token(person)}  (shown only now; keep it secret)"
            else:
                made = f"the URL made at {people.made(person)} still works"
                line = f"{made}; --new-token {person.name} makes another"
            output.print(f"{person.key}: {line}", markup=False, soft_wrap=True)

    serve(create_personal_app(workspace, persons, guidelines), token=people, announce=announce, **site)


def _prepare_suggestions(
    workspace: Workspace, suggester: Suggester, learn: Iterable[Path], parser: str | None, model: str | None
) -> None:
    """Load what suggestions are computed with; a wrong model is better reported now than by a page."""
    from recipeflow.annotate.suggest.learning import read_lessons
    from recipeflow.annotate.suggest.retraining import ParserTraining
    from recipeflow.training.saved_model import find_model_folder

    suggester.films, suggester.lessons = workspace.film, read_lessons(learn, workspace.scheme)
    for name, opening in ((parser, ("open_parser", parser, workspace.scheme)), (model, ("open_model", model))):
        if name is not None:
            find_model_folder(name)
            output.print(f"opening {name} for suggestions", markup=False, soft_wrap=True)
            suggester.use(*opening)
    workspace.suggester, workspace.training = suggester, ParserTraining(workspace.store, suggester)


def _check_place(db: Path, release: Path | None) -> None:
    """Keep the database out of the release folder, which is never changed."""
    if release is not None and db.resolve().is_relative_to(release.resolve()):
        message = f"expected the database outside {release}, which is never changed, found {db} in it"
        raise UsageError(f"{message}; choose another --db")


def _announce(address: str, db: Path) -> None:
    output.print(f"annotating at {address}", markup=False, soft_wrap=True)
    output.print(f"every click is saved in {db}; stop with Ctrl-C", markup=False, soft_wrap=True)
