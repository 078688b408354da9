/* What is said about a job, the list of all decisions, and everything the hands do. */

const KINDS = [["admitted", "--own"], ["preempts", "--evicted"], ["waits", "--waiting"]];
const ENTRY = 64;
const byId = (id) => document.getElementById(id);

function element(name, text, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function dot(color) {
  const made = element("span", undefined, { className: "dot" });
  made.style.background = `var(${color})`;
  return made;
}

/* --- One job --- */

function pick(job, { scroll = false } = {}) {
  picked = job;
  const panel = byId("job");
  panel.hidden = !job;
  if (job) panel.replaceChildren(...described(job));
  panel.scrollTop = 0;
  history.replaceState(null, "", job ? `#${encodeURIComponent(job.name)}` : "#");
  if (job && scroll) reveal(job);
  draw();
  fillList();
}

function described(job) {
  const top = element("div", undefined, { className: "top" });
  const close = element("button", "✕", { title: "Close (Escape)", onclick: () => pick(null) });
  top.append(element("h3", job.name), close);
  const table = element("table");
  const waited = stretches(job).filter((s) => !s.run).reduce((sum, s) => sum + s.end - s.start, 0);
  const facts = [["queue", job.queue?.name ?? "none"], ["gang", job.gang],
    ["priority", job.priority], ["arrives", length(job.arrives)], ["waits", length(waited)]];
  for (const [what, value] of facts) {
    const line = table.insertRow();
    line.insertCell().textContent = what;
    line.insertCell().textContent = value;
  }
  const told = element("ul", undefined, { className: "told" });
  for (const [at, color, ...parts] of story(job)) {
    const item = element("li");
    item.append(dot(color), element("span", length(at), { className: "at" }), ...parts);
    told.append(item);
  }
  return [top, table, told];
}

function link(job) {
  return element("a", job.name, { onclick: () => pick(job, { scroll: true }) });
}

/* The ends of a job's runs and the decisions about it, in the order of time. */
function story(job) {
  const ends = job.runs.map((run) => {
    const lasted = length(run.end - run.start);
    if (run.ending === FINISHED) {
      return [run.end, "--own", `done after ${lasted}, gives back ${run.given}`];
    }
    if (run.ending === RUNNING) return [run.end, "--own", `still running, for ${lasted} now`];
    if (!run.preemptor) return [run.end, "--evicted", `stopped after ${lasted}: ${run.reason}`];
    const preempted = `preempted after ${lasted} (${run.reason}) for `;
    return [run.end, "--evicted", preempted, link(run.preemptor)];
  });
  const decided = job.notes.map((note) => {
    const more = note.victim ? [" → ", link(note.victim)] : [];
    return [note.at, KINDS[note.kind][1], note.text, ...more];
  });
  // The sort is stable: of one instant, what ended comes first, as it does in the simulation.
  return [...ends, ...decided].sort((a, b) => a[0] - b[0]);
}

/* --- All decisions: only the lines in sight exist --- */

function fillList() {
  const list = byId("list"), holder = byId("rows");
  holder.style.height = `${notes.length * ENTRY}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ENTRY) - 4);
  const last = Math.min(notes.length, first + Math.ceil(list.clientHeight / ENTRY) + 8);
  const lines = [];
  for (let index = first; index < last; index++) {
    const note = notes[index];
    const line = element("div", undefined, { className: "entry", title: note.text,
      onclick: () => pick(note.job, { scroll: true }) });
    line.style.top = `${index * ENTRY}px`;
    line.append(dot(KINDS[note.kind][1]), element("span", length(note.at), { className: "at" }),
      element("b", note.job.name), element("p", note.text));
    lines.push(line);
  }
  holder.replaceChildren(...lines);
}

/* --- Pointer --- */

function tip(event) {
  const box = byId("tip"), bounds = canvas.getBoundingClientRect();
  const left = event.clientX - bounds.left, top = event.clientY - bounds.top;
  const found = drag ? null : under(left, top);
  canvas.style.cursor = drag ? "grabbing" : found?.job ? "pointer" : "crosshair";
  box.hidden = !found || (found.queue && left < GUTTER);
  if (box.hidden) return;
  box.textContent = found.queue ? aboutQueue(found) : aboutJob(found);
  box.style.left = `${Math.min(left + 14, view.width - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(top + 16, view.height - box.offsetHeight - 8)}px`;
}

function aboutQueue({ queue, at }) {
  const step = queue.steps.findLast((s) => s[0] <= at) ?? queue.steps[0];
  const beyond = Math.max(0, step[1] - queue.nominal);
  const borrowed = beyond ? `, ${+beyond.toFixed(3)} of it borrowed` : "";
  return `${queue.name} at ${length(at)}\nuses ${amount(step[1])} (owns ${+queue.nominal.toFixed(3)}` +
    `)${borrowed}\n${step[2]} waiting`;
}

function aboutJob({ job, stretch }) {
  if (!stretch) return `${job.name}\n${job.gang}`;
  const { start, end, run } = stretch;
  const span = `${length(start)} to ${length(end)} (${length(end - start)})`;
  if (!run) return `${job.name} waits\n${span}`;
  const borrowed = run.borrowed ? `, ${amount(run.borrowed)} borrowed` : "";
  const whom = run.preemptor ? ` for ${run.preemptor.name}` : "";
  const evicted = run.ending === EVICTED ? `\nevicted${whom}` : "";
  return `${job.name} runs\n${span}\n${run.given}${borrowed}${evicted}`;
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.clientX, from: view.from, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const shift = event.clientX - drag.x;
    drag.moved ||= Math.abs(shift) > 3;
    const span = view.to - view.from;
    if (drag.moved) show(drag.from - shift / (view.width - GUTTER) * span, span);
  }
  tip(event);
});
canvas.addEventListener("pointerup", (event) => {
  const bounds = canvas.getBoundingClientRect();
  if (drag && !drag.moved) {
    const found = under(event.clientX - bounds.left, event.clientY - bounds.top);
    pick(found?.job ?? null);
  }
  drag = null;
});
canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
canvas.addEventListener("wheel", (event) => {
  if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
  event.preventDefault();
  const turn = event.deltaY || event.deltaX;
  zoom(turn > 0 ? 1.25 : .8, time(event.clientX - canvas.getBoundingClientRect().left));
}, { passive: false });

/* --- Keys and buttons --- */

byId("in").onclick = () => zoom(.5);
byId("out").onclick = () => zoom(2);
byId("fit").onclick = () => show(0, Math.max(1, data.end));
byId("theme").onclick = () => {
  const root = document.documentElement;
  root.dataset.theme = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark";
  readColors();
  draw();
};
byId("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  const found = wanted && jobs.find((job) => job.name.toLowerCase().includes(wanted));
  if (found) pick(found, { scroll: true });
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const keys = {
    "/": () => byId("search").focus(), "+": () => zoom(.5), "=": () => zoom(.5),
    "-": () => zoom(2), "0": () => byId("fit").click(), Escape: () => pick(null),
    ArrowLeft: () => show(view.from - (view.to - view.from) / 8, view.to - view.from),
    ArrowRight: () => show(view.from + (view.to - view.from) / 8, view.to - view.from),
    n: () => pick(jobs[((picked?.index ?? -1) + 1) % jobs.length], { scroll: true }),
    p: () => pick(jobs[((picked?.index ?? 1) - 1 + jobs.length) % jobs.length], { scroll: true }),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

byId("subtitle").textContent = data.subtitle;
byId("count").textContent = notes.length;
byId("figures").append(...data.figures.map(([what, value]) => {
  const pair = element("div");
  pair.append(element("dt", what), element("dd", value));
  return pair;
}));
scroller.addEventListener("scroll", draw);
byId("list").addEventListener("scroll", fillList);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); draw(); });
new ResizeObserver(() => { resize(); fillList(); }).observe(scroller);
readColors();
resize();
fillList();
const named = decodeURIComponent(location.hash.slice(1));
if (named) pick(jobs.find((job) => job.name === named) ?? null, { scroll: true });
