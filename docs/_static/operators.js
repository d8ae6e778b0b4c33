// The table of operators: filters, sorts, and other versions, products and dtypes.
// The filters stand in the address after "#", so that a view can be linked.
"use strict";
{
  const NONE = 99; // no status: the form or the dtype does not exist, or was not swept
  const QUIET = ["same", "both refuse"];
  const box = document.getElementById("operator-table");
  const form = box.querySelector("form");
  const table = box.querySelector("table");
  const told = box.querySelector("[aria-live]");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const names = (select) => [...form.elements[select].options].map((option) => option.value);
  const statuses = names("status").slice(2);
  const forms = names("form").slice(1);
  const fields = [...form.elements].filter((field) => field.name);
  // A translation gives its words with the table; English ones stand here.
  const words = JSON.parse(box.dataset.words ?? "{}");
  const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const defaults = Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const sorting = { sort: "operator", dir: "up" };
  // There is no choice of the repair where no sweep was made with it.
  const VIEW = ["dtype", "version", "product", "kind", "repaired"].filter((name) => form.elements[name]);
  const repaired = () => form.elements.repaired?.value === "yes";

  const codes = (row) => [...row.cells].slice(3).map((cell) => code(cell.dataset.s));
  const code = (status) => (status ? statuses.indexOf(status) : NONE);
  const rows = [...body.rows].map((row) => ({
    row,
    name: row.cells[0].textContent,
    family: row.cells[1].textContent,
    first: codes(row), // what the page itself holds: the default view
    codes: codes(row),
  }));

  // --- what is asked for -----------------------------------------------------------------------

  function readAddress() {
    const text = location.hash.includes("=") ? location.hash.slice(1) : location.search;
    const wanted = new URLSearchParams(text);
    for (const field of fields) {
      field.value = wanted.get(field.name) ?? defaults[field.name];
      if (field.selectedIndex === -1) field.value = defaults[field.name];
    }
    const known = heads.map((head) => head.dataset.sort);
    sorting.sort = known.includes(wanted.get("sort")) ? wanted.get("sort") : "operator";
    sorting.dir = wanted.get("dir") === "down" ? "down" : "up";
    return [...wanted.keys()].some((key) => key in defaults);
  }

  function writeAddress() {
    const state = new URLSearchParams();
    for (const field of fields) {
      if (field.value !== defaults[field.name]) state.set(field.name, field.value);
    }
    if (sorting.sort !== "operator" || sorting.dir !== "up") {
      state.set("sort", sorting.sort);
      state.set("dir", sorting.dir);
    }
    const text = state.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  // --- data of the other views -------------------------------------------------------------------

  let loading = null;
  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = box.dataset.src;
      script.onload = () => resolve(window.npudocsOperators);
      script.onerror = () => {
        loading = null;
        reject(new Error(say("the data could not be loaded")));
      };
      document.head.append(script);
    });
    return loading;
  }

  /** Put the view's statuses into the rows; returns the sweeps that it is made of, or null for the page's own. */
  async function choose() {
    if (VIEW.every((name) => form.elements[name].value === defaults[name])) {
      for (const one of rows) one.codes = one.first;
      return null;
    }
    const data = await load();
    const { dtype, version, product, kind } = form.elements;
    const wanted = (field, value) => field.value === "all" || field.value === value;
    const sweeps = data.sweeps.filter(
      (one) =>
        one.kind === kind.value &&
        one.repaired === repaired() &&
        wanted(version, one.version) &&
        wanted(product, one.product),
    );
    const columns = sweeps.flatMap((sweep) =>
      Object.entries(sweep.cells)
        .filter(([name]) => wanted(dtype, name))
        .map(([, texts]) => texts),
    );
    const place = new Map(data.operators.map((name, number) => [name, number]));
    for (const one of rows) {
      const number = place.get(one.name);
      one.codes = forms.map((_, index) => Math.min(NONE, ...columns.map((texts) => decode(texts[index][number]))));
    }
    return sweeps;
  }

  const decode = (character) => (character === "." ? NONE : parseInt(character, 36));

  // --- drawing -------------------------------------------------------------------------------------

  function draw(sweeps) {
    const { search, status, family } = form.elements;
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const column = forms.indexOf(form.elements.form.value);
    const fits = (number) =>
      number !== NONE &&
      (!status.value ||
        (status.value === "differs" ? !QUIET.includes(statuses[number]) : statuses[number] === status.value));
    let shown = 0;
    for (const one of rows) {
      const looked = column < 0 ? one.codes : [one.codes[column]];
      one.worst = Math.min(...one.codes);
      const text = `${one.name} ${one.family}`.toLowerCase();
      const hit =
        looked.some(fits) && wanted.every((word) => text.includes(word)) && (!family.value || one.family === family.value);
      one.row.hidden = !hit;
      shown += hit;
      [one.worst, ...one.codes].forEach((number, index) => {
        const cell = one.row.cells[index + 2];
        const name = statuses[number] ?? "";
        if ((cell.dataset.s ?? "") !== name) {
          cell.textContent = say(name);
          if (name) cell.dataset.s = name;
          else delete cell.dataset.s;
        }
      });
      hideColumns(one.row, column);
    }
    hideColumns(table.tHead.rows[0], column);
    told.textContent = say("{shown} of {all} operators: {place}.", { shown, all: rows.length, place: place(sweeps) });
    sort();
  }

  /** With one form chosen, only its column is left. */
  function hideColumns(row, column) {
    [...row.cells].forEach((cell, index) => {
      cell.hidden = column >= 0 && index > 1 && index !== column + 3;
    });
  }

  function place(sweeps) {
    const { dtype, version, product, kind } = form.elements;
    const kindWords = kind.selectedOptions[0].textContent;
    const repair = repaired() ? [say("repaired")] : [];
    const dtypeWords = dtype.value === "all" ? say("all dtypes") : dtype.value;
    if (sweeps && !sweeps.length) {
      const where = [version, product].map((field) => field.value).filter((value) => value !== "all");
      return say("there is no record of {where}", { where: [...where, kindWords, ...repair].join(", ") });
    }
    if (sweeps && dtype.value !== "all" && !sweeps.some((one) => dtype.value in one.cells)) {
      return say("{dtype} was not swept there", { dtype: dtypeWords });
    }
    const list = (key) => [...new Set(sweeps.map((one) => one[key]))].join(", ");
    const [versions, products] = sweeps ? [list("version"), list("product")] : [version.value, product.value];
    const several = sweeps && (sweeps.length > 1 || dtype.value === "all") ? say("; the worst status of each") : "";
    const as = kind.value === "software" ? say("as") : say("on");
    const where = [`torch_npu ${versions} ${as} ${products}`, kindWords, ...repair, dtypeWords].join(", ");
    return `${where}${several}`;
  }

  function sort() {
    const { sort: by, dir } = sorting;
    const index = forms.indexOf(by);
    const keys = { operator: () => 0, worst: (one) => one.worst };
    const key = keys[by] ?? ((one) => one.codes[index]);
    const sign = dir === "down" ? -1 : 1;
    const compare = (a, b) => {
      if (by === "family" && a.family !== b.family) return sign * (a.family < b.family ? -1 : 1);
      const difference = by === "family" ? 0 : key(a) - key(b);
      return difference ? sign * difference : (by === "operator" ? sign : 1) * (a.place - b.place);
    };
    body.append(...[...rows].sort(compare).map((one) => one.row));
    for (const head of heads) {
      if (head.dataset.sort === by) head.setAttribute("aria-sort", dir === "up" ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    const kind = form.elements.kind.value;
    const area = table.parentElement;
    area.classList.toggle("npudocs-software", kind === "software");
    area.classList.toggle("npudocs-silicon", kind === "silicon");
  }

  let turn = 0;
  async function show() {
    const mine = ++turn;
    try {
      const sweeps = await choose();
      if (mine === turn) draw(sweeps);
    } catch (error) {
      told.textContent = say("{error}: this is still the view before.", { error: error.message });
    }
  }

  // --- wiring --------------------------------------------------------------------------------------

  rows.forEach((one, number) => (one.place = number));
  for (const head of heads) {
    head.dataset.sort ??= head.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const again = sorting.sort === head.dataset.sort && sorting.dir === "up";
      Object.assign(sorting, { sort: head.dataset.sort, dir: again ? "down" : "up" });
      writeAddress();
      sort();
    });
    head.append(button);
  }
  for (const cell of document.querySelectorAll("[data-state]")) {
    const link = document.createElement("a");
    link.href = cell.dataset.state;
    link.append(...cell.childNodes);
    cell.append(link);
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => (writeAddress(), show()));
  form.addEventListener("reset", () => {
    Object.assign(sorting, { sort: "operator", dir: "up" });
    setTimeout(() => (writeAddress(), show()));
  });
  window.addEventListener("hashchange", () => readAddress() && (show(), box.scrollIntoView()));
  form.hidden = false;
  const linked = readAddress();
  show().then(() => linked && box.scrollIntoView());
}
