// Importing a release folder.

import { element, replaceContent } from "/shared/dom.js";

import { postJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { t } from "./language.js";
import { openDialog } from "./shell.js";

const TEXT_FILES =
  /(^|\/)(annotations\.json|recipe_urls\.txt|release\.json|title\.txt|ingredients\.txt|instructions\.txt)$/;

export function openImport(app) {
  const result = element("div", { class: "import-result", role: "alert" });
  const send = async (path, body) => {
    try {
      const made = await postJson(path, body);
      const skipped = (made.skipped ?? []).map(({ id, reason }) =>
        element("p", { class: "problem" }, t("import.skipped", { id, reason })),
      );
      replaceContent(
        result,
        element("p", { class: "good" }, t("import.success", { count: made.recipes?.length ?? 1 })),
        skipped,
      );
      app.restart();
    } catch (refusal) {
      replaceContent(
        result,
        element(
          "p",
          { class: "problem" },
          describeProblem(refusal),
        ),
      );
    }
  };
  openDialog(
    t("import.title"),
    element("div", { class: "import-forms" }, releaseForm(send, result)),
    result,
  );
}

function releaseForm(send, result) {
  const files = element("input", { type: "file", id: "import-folder", webkitdirectory: true, multiple: true });
  const origin = element("input", { type: "text", id: "import-origin", value: "suggestions" });
  const choice = (value, checked) => {
    const input = element("input", { type: "radio", name: "as", value, checked });
    return element("label", { class: "row tight" }, input, t(`import.as.${value}`));
  };
  const submit = async (event) => {
    event.preventDefault();
    if (!files.files?.length) {
      replaceContent(result, element("p", { class: "problem" }, t("import.nofile")));
      return;
    }
    const as = new FormData(event.target).get("as");
    await send("/api/import/release", { files: await readTexts(files.files), as, origin: origin.value });
  };
  return element(
    "form",
    { class: "stack", on: { submit } },
    element("h3", {}, t("import.release")),
    element("label", { for: "import-folder", class: "soft" }, t("import.release.why")),
    files,
    choice("recipes", true),
    choice("suggestions", false),
    element("label", { for: "import-origin" }, t("import.origin")),
    origin,
    element("div", {}, element("button", { class: "primary" }, t("import.go"))),
  );
}

/** The text files of a chosen folder by their path inside it; pictures and films stay where they are. */
async function readTexts(files) {
  const wanted = [...files].filter((file) => TEXT_FILES.test(file.webkitRelativePath || file.name));
  const texts = await Promise.all(wanted.map((file) => file.text()));
  return Object.fromEntries(
    wanted.map((file, i) => [
      (file.webkitRelativePath || file.name)
        .split("/")
        .slice(file.webkitRelativePath ? 1 : 0)
        .join("/"),
      texts[i],
    ]),
  );
}
