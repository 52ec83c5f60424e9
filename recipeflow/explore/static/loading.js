// Data come as scripts that hand their content to one function: that works from a server and from file:// alike.

const pendingData = new Map();

Object.assign(window, { receiveExplorerData: (name, data) => pendingData.get(name)?.resolve(data) });

/**
 * What went wrong, in words.
 *
 * @param {unknown} problem
 */
export function messageOf(problem) {
  return problem instanceof Error ? problem.message : String(problem);
}

/** The content of `<name>.js`; loaded once, and again only after a failure. */
export function loadData(name) {
  if (!pendingData.has(name)) pendingData.set(name, startLoading(name));
  return pendingData.get(name).promise;
}

function startLoading(name) {
  const loading = {};
  loading.promise = new Promise((resolve, reject) => Object.assign(loading, { resolve, reject }));
  const script = document.createElement("script");
  script.src = `${name}.js`;
  script.addEventListener("load", () => {
    script.remove();
    // After its data, which have settled the promise already, this changes nothing.
    loading.reject(new Error(`${name}.js has unexpected content`));
  });
  script.addEventListener("error", () => {
    script.remove();
    pendingData.delete(name);
    loading.reject(new Error(`${name}.js could not be loaded`));
  });
  document.head.append(script);
  return loading;
}
