"use strict";
/* The simulation as objects. Times are microseconds from the start; amounts are in units people use. */

const data = JSON.parse(document.getElementById("data").textContent);
const FINISHED = 0, EVICTED = 1, RUNNING = 2;
const ADMITTED = 0, PREEMPTED = 1, REFUSED = 2;

const queues = data.queues.map(([name, cohort, nominal], index) =>
  ({ index, name, cohort, nominal, jobs: [], runs: [] }));
const jobs = data.jobs.map(([name, queue, arrives, amount, gang, priority], index) =>
  ({ index, name, queue: queues[queue], arrives, amount, gang: data.words[gang],
     priority: data.words[priority], runs: [], notes: [] }));
for (const job of jobs) job.queue?.jobs.push(job);
for (const [job, queue, start, end, ending, amount, borrowed, given, reason, preemptor] of data.runs) {
  const run = { job: jobs[job], queue: queues[queue], start, end, ending, amount, borrowed,
    given: data.words[given], reason: data.words[reason], preemptor: jobs[preemptor] };
  run.job.runs.push(run);
  run.queue.runs.push(run);
}
const notes = data.notes.map(([job, at, kind, text, victim], index) => {
  const note = { index, job: jobs[job], at, kind, text: data.words[text], victim: jobs[victim] };
  note.job.notes.push(note);
  return note;
});

/* What a job did, stretch by stretch. */
function stretches(job) {
  const found = [];
  let since = job.arrives;
  for (const run of job.runs) {
    if (run.start > since) found.push({ job, start: since, end: run.start, run: null });
    found.push({ job, start: run.start, end: run.end, run });
    since = run.end;
  }
  const last = job.runs.at(-1);
  const over = last && (last.ending !== EVICTED || job.givenUp);
  if (!over && since < data.end) found.push({ job, start: since, end: data.end, run: null });
  return found;
}

for (const index of data.givenUp) jobs[index].givenUp = true;

/* Use of a queue as steps: [time, used, waiting jobs] from each time on. */
function steps(queue) {
  const changes = [];
  for (const run of queue.runs) {
    changes.push([run.start, run.amount, 0], [run.end, -run.amount, 0]);
  }
  for (const job of queue.jobs) {
    for (const { start, end, run } of stretches(job)) {
      if (!run) changes.push([start, 0, 1], [end, 0, -1]);
    }
  }
  changes.sort((a, b) => a[0] - b[0]);
  const found = [[0, 0, 0]];
  for (const [at, used, waiting] of changes) {
    const last = found.at(-1);
    const next = [at, last[1] + used, last[2] + waiting];
    if (last[0] === at) found[found.length - 1] = next; else found.push(next);
  }
  return found;
}

for (const queue of queues) {
  queue.steps = steps(queue);
  queue.peak = Math.max(queue.nominal, ...peaks(queue.steps, 1));
  queue.crowd = Math.max(0, ...peaks(queue.steps, 2));
}

/* The greatest of a column, in chunks: spreading hundreds of thousands of arguments fails. */
function peaks(rows, column) {
  let greatest = 0;
  for (const row of rows) if (row[column] > greatest) greatest = row[column];
  return [greatest];
}

/* Runs of a queue in as few lanes as they need, for queues with too many jobs for a row each. */
function lanes(queue) {
  const found = [], free = [];
  for (const run of [...queue.runs].sort((a, b) => a.start - b.start)) {
    let lane = free.findIndex((end) => end <= run.start);
    if (lane < 0) { lane = free.length; found.push([]); }
    free[lane] = run.end;
    found[lane].push({ job: run.job, start: run.start, end: run.end, run });
  }
  return found;
}

/* --- Words --- */

const UNITS = [["d", 864e8], ["h", 36e8], ["m", 6e7], ["s", 1e6], ["ms", 1e3]];
function length(us) {
  us = Math.round(us);
  if (us < 1e3) return us ? `${us} µs` : "0";
  if (us < 1e6) return `${Math.round(us / 1e3)} ms`;
  if (us < 6e7) return `${+(us / 1e6).toFixed(1)} s`;
  const at = UNITS.findIndex(([, unit]) => us >= unit);
  const [large, unit] = UNITS[at], [small, part] = UNITS[at + 1];
  const rest = Math.floor((us % unit) / part);
  return `${Math.floor(us / unit)}${large}${rest ? ` ${rest}${small}` : ""}`;
}

function amount(value) {
  return `${+value.toFixed(3)} ${data.resource}`;
}

const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n * 1e3])
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * 1e6), [1, 2, 5, 10, 15, 30].map((n) => n * 6e7),
    [1, 2, 3, 6, 12].map((n) => n * 36e8), [1, 2, 5, 10, 20, 50, 100].map((n) => n * 864e8));
function tick(shortest) {
  return TICKS.find((step) => step >= shortest) ?? TICKS.at(-1);
}
