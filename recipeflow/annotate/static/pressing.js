// Whether a pointer or the space bar is down. A browser clicks only where it was pressed: an element that is replaced
// between press and release gets no click. So pages put off drawing until the release.

/** @type {Set<string>} */
const held = new Set();
/** @type {Set<() => void>} */
const waiting = new Set();

/**
 * Call `act` when nothing is pressed: now, or once the click of a release was delivered. The same function waits only
 * once.
 *
 * @param {() => void} act
 */
export function whenReleased(act) {
  if (held.size) waiting.add(act);
  else act();
}

/** @param {string} what */
function press(what) {
  held.add(what);
}

/** @param {string} what */
function release(what) {
  if (!held.delete(what) || held.size) return;
  // The click follows in the same task as the release.
  setTimeout(() => {
    if (held.size) return;
    const ready = [...waiting];
    waiting.clear();
    for (const act of ready) act();
  });
}

function releaseAll() {
  for (const what of [...held]) release(what);
}

if (typeof window !== "undefined") {
  const always = { capture: true };
  window.addEventListener("pointerdown", (event) => press(`pointer ${event.pointerId}`), always);
  window.addEventListener("pointerup", (event) => release(`pointer ${event.pointerId}`), always);
  window.addEventListener("pointercancel", (event) => release(`pointer ${event.pointerId}`), always);
  window.addEventListener("keydown", (event) => event.key === " " && press("space"), always);
  window.addEventListener("keyup", (event) => event.key === " " && release("space"), always);
  window.addEventListener("blur", releaseAll);
}
