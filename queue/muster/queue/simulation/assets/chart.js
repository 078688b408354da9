/* The timeline: one band a queue with its use of quota, and below it a row a job, or packed lanes. */

const GUTTER = 208, AXIS = 26, BAND = 96, ROW = 20, LANE = 9, GAP = 14;
const ROWS_MAX = 400; // jobs up to which each has a row of its own

const canvas = document.getElementById("canvas");
const scroller = document.getElementById("scroller");
const pen = canvas.getContext("2d");
const view = { from: 0, to: Math.max(1, data.end), width: 0, height: 0 };
let picked = null;
let colors = {};

const rows = [];
{
  const packed = jobs.length > ROWS_MAX;
  let y = AXIS + 4;
  for (const queue of queues) {
    rows.push({ y, height: BAND, queue });
    y += BAND;
    const lines = packed ? lanes(queue) : queue.jobs.map(stretches);
    const height = packed ? LANE : ROW;
    for (const stretch of lines) {
      rows.push({ y, height, lane: stretch, job: packed ? null : stretch[0]?.job });
      y += height;
    }
    y += GAP;
  }
  document.getElementById("extent").dataset.height = y;
}

function x(time) {
  return GUTTER + (time - view.from) / (view.to - view.from) * (view.width - GUTTER - 12);
}
function time(at) {
  return view.from + (at - GUTTER) / (view.width - GUTTER - 12) * (view.to - view.from);
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["card", "ink", "faint", "line", "own", "borrowed", "waiting", "evicted",
    "nominal", "band", "picked"]) {
    colors[name] = style.getPropertyValue(`--${name}`).trim();
  }
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.strokeStyle = colors.waiting;
  brush.lineWidth = 1.6;
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  colors.hatch = pen.createPattern(tile, "repeat");
}

function resize() {
  const scale = window.devicePixelRatio || 1;
  view.width = scroller.clientWidth;
  view.height = scroller.clientHeight;
  canvas.width = view.width * scale;
  canvas.height = view.height * scale;
  canvas.style.width = `${view.width}px`;
  canvas.style.height = `${view.height}px`;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const extent = document.getElementById("extent");
  extent.style.height = `${Math.max(0, extent.dataset.height - view.height)}px`;
  draw();
}

let waitingForFrame = false;
function draw() {
  if (waitingForFrame) return;
  waitingForFrame = true;
  requestAnimationFrame(() => { waitingForFrame = false; paint(); });
}

function firstVisible(top) {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].y + rows[middle].height < top) low = middle + 1; else high = middle;
  }
  return low;
}

function paint() {
  pen.clearRect(0, 0, view.width, view.height);
  const top = scroller.scrollTop;
  const step = tick((view.to - view.from) / Math.max(2, (view.width - GUTTER) / 92));
  grid(step);
  for (let index = firstVisible(top + AXIS); index < rows.length; index++) {
    const row = rows[index];
    if (row.y - top > view.height) break;
    if (row.queue) band(row.queue, row.y - top); else lane(row, row.y - top);
  }
  axis(step);
}

function grid(step) {
  pen.strokeStyle = colors.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const left = Math.round(x(at)) + .5;
    pen.moveTo(left, 0);
    pen.lineTo(left, view.height);
  }
  pen.stroke();
}

function axis(step) {
  pen.fillStyle = colors.card;
  pen.fillRect(0, 0, view.width, AXIS);
  pen.fillStyle = colors.line;
  pen.fillRect(0, AXIS - 1, view.width, 1);
  pen.fillStyle = colors.faint;
  font(11.5);
  pen.textAlign = "left";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const left = x(at);
    if (left < GUTTER - 1 || left > view.width - 34) continue;
    pen.fillText(length(at), left + 4, 17);
  }
}

function font(size, weight = 400) {
  pen.font = `${weight} ${size}px system-ui, "Segoe UI", Roboto, Arial, sans-serif`;
}

function label(text, left, baseline, room) {
  if (pen.measureText(text).width > room) {
    while (text.length > 1 && pen.measureText(`${text}…`).width > room) text = text.slice(0, -1);
    text += "…";
  }
  pen.fillText(text, left, baseline);
}

/* --- A queue --- */

function band(queue, y) {
  pen.fillStyle = colors.band;
  pen.fillRect(0, y, view.width, BAND - 6);
  pen.fillStyle = colors.ink;
  pen.textAlign = "left";
  font(13.5, 650);
  label(queue.name, 14, y + 24, GUTTER - 26);
  font(12);
  pen.fillStyle = colors.faint;
  label(`owns ${amount(queue.nominal)}`, 14, y + 42, GUTTER - 26);
  label(queue.cohort ? `in ${queue.cohort}` : "in no cohort", 14, y + 58, GUTTER - 26);
  const now = queue.crowd ? `up to ${queue.crowd} waiting` : "nobody ever waits";
  label(`${queue.jobs.length} jobs, ${now}`, 14, y + 74, GUTTER - 26);
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, y, view.width - GUTTER - 12, BAND - 6);
  pen.clip();
  usage(queue, y + 8, BAND - 30);
  crowd(queue, y + BAND - 18, 6);
  pen.restore();
}

function usage(queue, y, height) {
  const peak = queue.peak || 1;
  const bottom = y + height;
  const level = (used) => bottom - used / peak * height;
  area(queue, level(0), (used) => level(Math.min(used, queue.nominal)), colors.own, .82);
  const beyond = (used) => level(Math.max(used, queue.nominal));
  area(queue, level(queue.nominal), beyond, colors.borrowed, .9);
  if (queue.nominal) {
    pen.strokeStyle = colors.nominal;
    pen.lineWidth = 1.25;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(GUTTER, level(queue.nominal) + .5);
    pen.lineTo(view.width - 12, level(queue.nominal) + .5);
    pen.stroke();
    pen.setLineDash([]);
  }
}

/* How many wait, as a strip that gets darker the more there are. */
function crowd(queue, y, height) {
  if (!queue.crowd) return;
  pen.fillStyle = colors.faint;
  let from = GUTTER, waiting = 0;
  walk(queue, (left, step) => {
    if (waiting && left > from) {
      pen.globalAlpha = .2 + .8 * waiting / queue.crowd;
      pen.fillRect(from, y, left - from, height);
    }
    from = left;
    waiting = step[2];
  });
  pen.globalAlpha = 1;
}

function area(queue, base, level, color, opacity) {
  pen.fillStyle = color;
  pen.globalAlpha = opacity;
  pen.beginPath();
  pen.moveTo(GUTTER, base);
  let last = GUTTER;
  walk(queue, (left, step) => { pen.lineTo(left, level(step[1])); last = left; });
  pen.lineTo(last, base);
  pen.fill();
  pen.globalAlpha = 1;
}

/* Go over the corners of the visible steps of a queue, from left to right. */
function walk(queue, point) {
  const found = queue.steps;
  let low = 0, high = found.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (found[middle][0] <= view.from) low = middle + 1; else high = middle;
  }
  let index = Math.max(0, low - 1), held = found[index];
  point(GUTTER, held);
  for (index++; index < found.length && found[index][0] <= view.to; index++) {
    const left = x(found[index][0]);
    point(left, held);
    held = found[index];
    point(left, held);
  }
  point(Math.min(view.width, x(Math.min(view.to, data.end))), held);
}

/* --- Jobs --- */

function lane(row, y) {
  const height = row.height;
  if (row.job) {
    const chosen = row.job === picked;
    font(12.5, chosen ? 650 : 400);
    pen.fillStyle = chosen ? colors.picked : colors.ink;
    pen.textAlign = "left";
    label(row.job.name, 26, y + 14, GUTTER - 80);
    pen.fillStyle = colors.faint;
    pen.textAlign = "right";
    font(12);
    pen.fillText(+row.job.amount.toFixed(3), GUTTER - 14, y + 14);
  }
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, y, view.width - GUTTER - 12, height);
  pen.clip();
  for (const stretch of visible(row.lane)) segment(stretch, y + 1, height - (height > 12 ? 5 : 2));
  pen.restore();
}

function visible(found) {
  if (found.length < 24) return found;
  let low = 0, high = found.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (found[middle].end < view.from) low = middle + 1; else high = middle;
  }
  const shown = [];
  for (; low < found.length && found[low].start <= view.to; low++) shown.push(found[low]);
  return shown;
}

function segment({ job, start, end, run }, y, height) {
  if (end < view.from || start > view.to) return;
  const left = Math.max(GUTTER - 4, x(start)), right = Math.min(view.width, x(end));
  const width = Math.max(1, right - left - (right - left > 3 ? .75 : 0));
  if (!run) {
    pen.fillStyle = colors.hatch;
    pen.fillRect(left, y, width, height);
    pen.strokeStyle = colors.waiting;
    pen.lineWidth = 1;
    if (width > 3) pen.strokeRect(left + .5, y + .5, width - 1, height - 1);
  } else {
    const part = run.amount ? run.borrowed / run.amount : 0;
    pen.globalAlpha = run.ending === EVICTED ? .5 : 1;
    pen.fillStyle = part ? colors.borrowed : colors.own;
    block(left, y, width, height);
    pen.globalAlpha = 1;
    if (part && part < 1) {
      pen.fillStyle = colors.own;
      block(left, y + height * part, width, height * (1 - part));
    }
    if (run.ending === EVICTED) {
      pen.fillStyle = colors.evicted;
      const mark = Math.min(4, Math.max(1.5, width / 3));
      pen.fillRect(right - mark, y - 1, mark, height + 2);
    }
  }
  if (job === picked) {
    pen.strokeStyle = colors.picked;
    pen.lineWidth = 1.5;
    pen.strokeRect(left - .5, y - .5, width + 1, height + 1);
  }
}

function block(left, y, width, height) {
  if (width < 6 || height < 8) { pen.fillRect(left, y, width, height); return; }
  pen.beginPath();
  pen.roundRect(left, y, width, height, 2.5);
  pen.fill();
}

/* --- Where things are --- */

function under(left, top) {
  if (top < AXIS) return null;
  const y = top + scroller.scrollTop;
  const row = rows[firstVisible(y)];
  if (!row || row.y > y) return null;
  const at = time(left);
  if (row.queue) return { queue: row.queue, at };
  if (left < GUTTER) return row.job ? { job: row.job } : null;
  const slack = (view.to - view.from) / view.width * 2;
  const stretch = visible(row.lane).find((s) => s.start - slack <= at && at <= s.end + slack);
  return stretch ? { job: stretch.job, stretch } : row.job ? { job: row.job } : null;
}

function zoom(factor, at = (view.from + view.to) / 2) {
  const span = Math.min(Math.max(1, data.end), Math.max(1000, (view.to - view.from) * factor));
  const part = (at - view.from) / (view.to - view.from);
  show(at - part * span, span);
}

function show(from, span) {
  view.from = Math.min(Math.max(0, from), Math.max(0, data.end - span));
  view.to = view.from + span;
  draw();
}

function reveal(job) {
  const start = job.arrives, end = job.runs.at(-1)?.end ?? data.end;
  if (start < view.from || end > view.to) {
    const span = Math.max((end - start) * 2.5, (view.to - view.from));
    show((start + end) / 2 - span / 2, Math.min(span, Math.max(1, data.end)));
  }
  const row = rows.find((r) => r.job === job || r.lane?.some((s) => s.job === job));
  if (!row) return;
  const top = scroller.scrollTop;
  if (row.y < top + AXIS + 20 || row.y + row.height > top + view.height - 20) {
    scroller.scrollTop = Math.max(0, row.y - view.height / 2);
  }
}
