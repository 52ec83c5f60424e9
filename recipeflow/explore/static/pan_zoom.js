// Moving and scaling a drawing inside its window: by dragging, by the wheel with Ctrl, by buttons and by keys.

const SMALLEST_SCALE = 0.2;
const LARGEST_SCALE = 3;
const SMALLEST_WINDOW = 240;

export class PanZoom {
  /** `svg` is the window, `content` the group to move. */
  constructor(svg, content) {
    this.svg = svg;
    this.content = content;
    this.size = { width: 1, height: 1 };
    this.place = { x: 0, y: 0, scale: 1 };
    svg.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    svg.addEventListener("pointerdown", (event) => this.grab(event));
    svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, () => (this.grabbed = null));
  }

  get window() {
    return { width: this.svg.clientWidth, height: this.svg.clientHeight };
  }

  apply() {
    const { x, y, scale } = this.place;
    this.content.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  /** Make the window as high as the whole drawing at its width, which is not larger than it is: the page scrolls, not the window. */
  fit() {
    const { width } = this.window;
    const scale = Math.min(1, width / this.size.width);
    this.svg.style.height = `${Math.max(SMALLEST_WINDOW, Math.ceil(this.size.height * scale))}px`;
    this.place = { scale, x: (width - this.size.width * scale) / 2, y: 0 };
    this.apply();
  }

  /** Scale by a factor; the point (x, y) of the window stays where it is. */
  zoom(factor, x = this.window.width / 2, y = this.window.height / 2) {
    const scale = Math.min(LARGEST_SCALE, Math.max(SMALLEST_SCALE, this.place.scale * factor));
    const change = scale / this.place.scale;
    this.place = { scale, x: x - (x - this.place.x) * change, y: y - (y - this.place.y) * change };
    this.apply();
  }

  move(dx, dy) {
    this.place.x += dx;
    this.place.y += dy;
    this.apply();
  }

  /** Bring a box of the drawing into the window where it is not, and let it be large enough to read. */
  reveal({ x, y, width, height }) {
    if (this.place.scale < 0.6) this.zoom(0.8 / this.place.scale, this.place.x + x * this.place.scale, this.place.y + y * this.place.scale);
    const { scale } = this.place;
    const shown = this.window;
    const left = this.place.x + x * scale;
    const top = this.place.y + y * scale;
    const margin = 40;
    const shift = (start, extent, room) => (start < margin ? margin - start : start + extent > room - margin ? room - margin - start - extent : 0);
    this.move(shift(left, width * scale, shown.width), shift(top, height * scale, shown.height));
  }

  turn(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.svg.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }

  grab(event) {
    this.grabbed = { x: event.clientX, y: event.clientY, far: false };
  }

  drag(event) {
    if (!this.grabbed) return;
    const [dx, dy] = [event.clientX - this.grabbed.x, event.clientY - this.grabbed.y];
    if (!this.grabbed.far && Math.hypot(dx, dy) < 4) return;
    if (!this.grabbed.far) this.svg.setPointerCapture(event.pointerId);
    this.grabbed = { x: event.clientX, y: event.clientY, far: true };
    this.move(dx, dy);
  }
}
