// The explorer: which page the address asks for, and showing it.

import { Catalogue } from "./catalogue.js";
import { element, replaceContent } from "./dom.js";
import { showGallery } from "./gallery.js";
import { setPageLanguage, say } from "./language.js";
import { loadData, messageOf } from "./loading.js";
import { showRecipe } from "./recipe_page.js";

const SITE_TITLE = "Visual Recipe Flow";

/** What an address asks for: `#/?q=…` is the gallery, `#/recipe/ID/VIEW/MORE` a recipe. */
function readAddress(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map(decodePart);
  if (parts[0] === "recipe" && parts[1]) return { page: "recipe", id: parts[1], view: parts[2] || "flows", more: parts[3] ?? null };
  return { page: "gallery", params: new URLSearchParams(query) };
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @type {(id: string) => HTMLElement} */
function partOfPage(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

class Explorer {
  constructor() {
    this.main = partOfPage("main");
    this.announcer = partOfPage("announcer");
    this.catalogue = new Catalogue();
    this.heights = new Map();
    this.hash = null;
    this.endPage = null;
  }

  async start() {
    setPageLanguage(partOfPage("language"), partOfPage("skip"));
    try {
      this.about = await loadData("data/about");
    } catch (error) {
      replaceContent(this.main, element("p", { class: "notice" }, say("Nothing can be shown: {reason}.", { reason: messageOf(error) })));
      return;
    }
    const source = this.about.source ? ` · ${this.about.source}` : "";
    partOfPage("about").textContent = `${this.about.name}${source}`;
    this.catalogue.loadAll();
    window.addEventListener("hashchange", () => this.show());
    this.show(true);
  }

  /** Show what the address asks for, and, but for the first time, take the keyboard and the reader there. */
  async show(isFirst = false) {
    const { hash } = window.location;
    if (hash && !hash.startsWith("#/")) return;
    if (this.hash !== null) this.heights.set(this.hash, window.scrollY);
    this.hash = hash;
    this.endPage?.();
    this.endPage = null;
    const address = readAddress(hash);
    const context = { catalogue: this.catalogue, about: this.about, announce: (text) => (this.announcer.textContent = text) };
    if (address.page === "recipe") {
      const ended = await showRecipe(this.main, { ...context, address, isWanted: () => this.hash === hash });
      if (this.hash !== hash) {
        ended?.();
        return;
      }
      this.endPage = ended;
    } else {
      this.endPage = showGallery(this.main, { ...context, params: address.params });
    }
    const heading = this.main.querySelector("h1");
    document.title = heading ? `${heading.textContent} · ${SITE_TITLE}` : SITE_TITLE;
    if (isFirst) return;
    this.main.focus({ preventScroll: true });
    window.scrollTo(0, this.heights.get(hash) ?? 0);
  }
}

new Explorer().start();
