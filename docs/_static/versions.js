// The version switch: a choice of the versions that lie next to this one, which keeps the page.
// Pages opened as files cannot read others; they go on naming their version.
"use strict";
if (location.protocol.startsWith("http")) {
  for (const box of document.querySelectorAll(".npudocs-version")) {
    const base = new URL(box.dataset.versions, location);
    fetch(base)
      .then((answer) => (answer.ok ? answer.json() : []))
      .then((versions) => {
        if (versions.length < 2) return;
        const select = document.createElement("select");
        select.setAttribute("aria-label", box.dataset.label);
        for (const { name, path } of versions) {
          const home = new URL(path, base).href;
          const here = home === new URL("./", base).href;
          select.append(new Option(name, home, here, here));
        }
        select.addEventListener("change", async () => {
          const page = new URL(box.dataset.page, select.value);
          const there = await fetch(page, { method: "HEAD" }).catch(() => null);
          location.href = there?.ok ? page : select.value;
        });
        box.replaceChildren(select);
      })
      .catch(() => {});
  }
}
