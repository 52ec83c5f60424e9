// Clicks and drags on entities: a drag from one to another draws a line on its way.

import { drawing } from "/shared/dom.js";

export class FlowPointer {
  constructor(host, { onClick, onDrag, onHover, onNothing }) {
    this.host = host;
    this.from = null;
    this.line = drawing("path", { class: "rubber" });
    this.layer = drawing("svg", { class: "arcs rubber-layer", "aria-hidden": "true" }, this.line);
    host.addEventListener("pointerdown", (event) => {
      const id = entityAt(event.target);
      if (event.button !== 0) return;
      if (!id) {
        if (!event.target.closest(".arc")) onNothing();
        return;
      }
      this.from = id;
    });
    host.addEventListener("pointerover", (event) => onHover(this.from ?? entityAt(event.target)));
    host.addEventListener("pointerleave", () => onHover(null));
    this.move = (event) => this.from && this.draw(event);
    this.end = (event) => {
      if (!this.from) return;
      const [from, to] = [this.from, entityAt(document.elementFromPoint(event.clientX, event.clientY))];
      this.from = null;
      this.layer.remove();
      if (from === to) onClick(from);
      else if (to && host.contains(document.elementFromPoint(event.clientX, event.clientY))) onDrag(from, to);
    };
    window.addEventListener("pointermove", this.move);
    window.addEventListener("pointerup", this.end);
  }

  draw(event) {
    const origin = this.host.getBoundingClientRect();
    const box = [...this.host.querySelectorAll("[data-entity]")]
      .find((span) => span.dataset.entity === this.from)
      ?.getBoundingClientRect();
    if (!box) return;
    if (!this.layer.isConnected) this.host.append(this.layer);
    const [x, y] = [(box.left + box.right) / 2 - origin.left, (box.top + box.bottom) / 2 - origin.top];
    this.line.setAttribute("d", `M${x} ${y}L${event.clientX - origin.left} ${event.clientY - origin.top}`);
  }

  close() {
    window.removeEventListener("pointermove", this.move);
    window.removeEventListener("pointerup", this.end);
  }
}

function entityAt(target) {
  return target?.closest?.("[data-entity]")?.dataset.entity ?? null;
}
