// Applies the chosen theme before the first paint; no module, so that nothing flashes.
(() => {
  const kept = (() => {
    try {
      return localStorage.getItem("ipulse-theme");
    } catch {
      return null;
    }
  })();
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
