// A picture of a recipe, or a box that says why there is none.

import { element } from "./dom.js";
import { say } from "./language.js";

/** Pictures of one recipe: `pictures` are the numbers of the frames that are there. */
export class PictureMaker {
  constructor(recipeNumber, stamp, pictures) {
    this.recipeNumber = recipeNumber;
    this.stamp = stamp;
    this.there = new Set(pictures);
  }

  /** Frame `number`, described by `alt`; `missing` says what it means when the annotation names no frame. */
  make(number, alt, missing = "no image was annotated") {
    if (number === null) return missingPicture(say("not shown"), `${alt}: ${say(missing)}`);
    if (!this.there.has(number)) return missingPicture(say("frame {number}", { number }), `${alt}: ${say("frame {number} is annotated, but not in this release", { number })}`);
    return loadedPicture(pictureAddress(this.recipeNumber, number, this.stamp), alt);
  }
}

/** The URL of a picture; a server's stamp keeps browsers from showing those of an earlier one. */
export function pictureAddress(recipeNumber, frame, stamp) {
  return `pictures/${recipeNumber}/${frame}.jpg${stamp ? `?v=${stamp}` : ""}`;
}

/** A picture that gives way to a box where it cannot be read. */
export function loadedPicture(address, alt) {
  const image = element("img", { class: "picture", src: address, alt, loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => image.replaceWith(missingPicture(say("unreadable"), `${alt}: ${say("the picture cannot be read")}`)));
  return image;
}

/** An empty frame with a word in it, and the whole reason for who hovers or listens. */
export function missingPicture(word, reason) {
  return element("div", { class: "picture missing", role: "img", "aria-label": reason, title: reason }, word);
}
