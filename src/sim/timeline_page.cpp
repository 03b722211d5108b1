#include "sim/timeline_page.hpp"

namespace cmm::sim {

// The policy has the browser refuse whatever the page might load from elsewhere.
const std::string_view kPageHead = R"page(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>)page";

// Span colours are of middle lightness and carry black text, so they do on white and on black.
const std::string_view kPageStyle = R"page(</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1a1c1e; --soft: #5c6167; --line: #d9dce0; --band: #f3f4f6;
  --call: #d2d2d2; --wait: #b3b9c1; --transfer: #a5cf5d; --pack: #e8d94a; --multiply: #62b5ea; --memory: #f0a832;
  --forward: #2bb58c; --backward: #d68cb6; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181b; --text: #e8eaed; --soft: #a3a9b1; --line: #3a3f45; --band: #1e2226; } }
body { margin: 1.2rem; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0; }
p { margin: .2rem 0 .8rem; color: var(--soft); }
dl { display: flex; flex-wrap: wrap; gap: .3rem 1.8rem; margin: 0 0 .8rem; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-size: 1.05rem; font-variant-numeric: tabular-nums; }
ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; padding: 0; margin: 0 0 .5rem; }
li i { display: inline-block; width: .9em; height: .9em; margin-right: .4em; vertical-align: -.1em;
  border: 1px solid #0006; }
nav { margin: 0 0 .5rem; color: var(--soft); }
button { font: inherit; padding: .1rem .7rem; }
canvas { display: block; width: 100%; cursor: grab; touch-action: pan-y; outline-offset: 2px; }
#tip { position: fixed; display: none; pointer-events: none; max-width: 28rem; padding: .35rem .6rem;
  background: var(--text); color: var(--back); border-radius: 4px; font-size: 13px; }
</style></head><body>
)page";

const std::string_view kPageCanvas = R"page(<nav>
<button id="in">zoom in</button> <button id="out">zoom out</button> <button id="all">whole</button>
drag to move; Ctrl and the wheel, or + and &minus;, to zoom; arrow keys to move, 0 for the whole
</nav>
<noscript><p>The figures above stand by themselves; the lanes are drawn by a script, which is switched off here.</p></noscript>
<canvas tabindex="0" role="img" aria-label="timeline"></canvas><div id="tip"></div>
<script type="application/json" id="data">)page";

const std::string_view kPageScript = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.querySelector("canvas"), paint = canvas.getContext("2d");
const tip = document.getElementById("tip");
const gutter = 150, rowHeight = 18, groupHeight = 26, axisHeight = 24, laneGap = 4;

// Lanes with their place from the top, and their spans as {kind, row, begin, end, text}, in ticks.
const lanes = [], headings = [];
let height = axisHeight, last = 1;
for (const group of data.groups) {
  headings.push({ name: group.name, top: height });
  height += groupHeight;
  for (const lane of group.lanes) {
    const spans = [];
    let begin = 0;
    for (let i = 0; i < lane.spans.length; i += 5) {
      const [kind, row, ahead, length, text] = lane.spans.slice(i, i + 5);
      begin += ahead;
      spans.push({ kind: data.kinds[kind], row, begin, end: begin + length, text: data.texts[text] });
      last = Math.max(last, begin + length);
    }
    lanes.push({ name: lane.name, group: group.name, top: height, rows: lane.rows, spans });
    height += lane.rows * rowHeight + laneGap;
  }
  height += laneGap;
}

let from = 0, to = last;  // ticks shown
let width = 0;
const x = tick => gutter + (tick - from) / (to - from) * (width - gutter);
const tickAt = px => from + (px - gutter) / (width - gutter) * (to - from);

function time(ticks, digits = 4) {
  const seconds = ticks * data.tick;
  const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]].find(u => seconds >= u[0]) || [1e-9, "ns"];
  return Number((seconds / size).toPrecision(digits)) + " " + unit;
}

function show(begin, end) {
  const length = Math.min(last, Math.max(end - begin, 20));
  from = Math.min(Math.max(0, begin), last - length);
  to = from + length;
  draw();
}
function zoom(factor, at = (from + to) / 2) { show(at - (at - from) * factor, at + (to - at) * factor); }
function move(share) { show(from + share * (to - from), to + share * (to - from)); }

function drawAxis(color) {
  const rough = (to - from) / Math.max(2, (width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(f => f * power >= rough);
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    paint.fillStyle = color("--line");
    paint.fillRect(x(at), axisHeight - 6, 1, height - axisHeight + 6);
    paint.fillStyle = color("--soft");
    paint.fillText(at === 0 ? "0" : time(at), x(at) + 3, 9);
  }
}

function drawLane(lane, color) {
  let drawn = 0;
  for (const span of lane.spans) {
    if (span.end < from || span.begin > to) continue;
    const left = Math.max(gutter, x(span.begin)), top = lane.top + span.row * rowHeight;
    const wide = Math.max(1, x(span.end) - left);
    paint.fillStyle = color("--" + span.kind);
    paint.fillRect(left, top, wide, rowHeight - 2);
    ++drawn;
    if (wide < 4) continue;
    paint.strokeStyle = "#0006";
    paint.strokeRect(left + .5, top + .5, wide - 1, rowHeight - 3);
    if (wide < 30) continue;
    paint.save();
    paint.beginPath();
    paint.rect(left, top, wide - 2, rowHeight);
    paint.clip();
    paint.fillStyle = "#000";
    paint.fillText(span.text, left + 4, top + rowHeight / 2 - 1);
    paint.restore();
  }
  return drawn;
}

function draw() {
  const style = getComputedStyle(document.documentElement);
  const colors = {};
  const color = name => colors[name] ??= style.getPropertyValue(name).trim();
  const scale = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  paint.scale(scale, scale);
  paint.font = "12px system-ui, sans-serif";
  paint.textBaseline = "middle";
  for (const lane of lanes) {
    paint.fillStyle = color("--band");
    paint.fillRect(gutter, lane.top, width - gutter, lane.rows * rowHeight - 2);
  }
  drawAxis(color);
  let drawn = 0;
  for (const lane of lanes) {
    drawn += drawLane(lane, color);
    paint.fillStyle = color("--text");
    paint.fillText(lane.name, 12, lane.top + rowHeight / 2 - 1, gutter - 18);
  }
  paint.font = "600 13px system-ui, sans-serif";
  for (const heading of headings) {
    paint.fillStyle = color("--text");
    paint.fillText(heading.name, 0, heading.top + groupHeight / 2);
  }
  canvas.dataset.drawn = drawn;
}

function spanAt(px, py) {
  if (px < gutter) return null;
  const lane = lanes.find(l => py >= l.top && py < l.top + l.rows * rowHeight);
  if (!lane) return null;
  const row = Math.floor((py - lane.top) / rowHeight), at = tickAt(px), slack = tickAt(px + 2) - at;
  let best = null;
  for (const span of lane.spans) {
    if (span.row !== row || span.begin > at + slack || span.end < at - slack) continue;
    if (!best || span.end - span.begin < best.end - best.begin) best = span;
  }
  return best && { span: best, lane };
}

let grip = null;
canvas.addEventListener("pointerdown", event => {
  grip = { at: event.offsetX, from, to };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointerup", () => { grip = null; });
canvas.addEventListener("pointermove", event => {
  if (grip) {
    const by = (event.offsetX - grip.at) / (width - gutter) * (grip.to - grip.from);
    show(grip.from - by, grip.to - by);
  }
  const hit = grip ? null : spanAt(event.offsetX, event.offsetY);
  tip.style.display = hit ? "block" : "none";
  if (!hit) return;
  const { span, lane } = hit;
  tip.textContent = "";
  const lines = [span.text, lane.group + ", " + lane.name + ": " + span.kind,
    time(span.begin, 6) + " to " + time(span.end, 6) + ", " + time(span.end - span.begin)];
  for (const line of lines) tip.appendChild(document.createElement("div")).textContent = line;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (event.clientY + 24 + tip.offsetHeight > window.innerHeight
    ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
});
canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
canvas.addEventListener("wheel", event => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : .8, tickAt(Math.max(gutter, event.offsetX)));
}, { passive: false });
canvas.addEventListener("dblclick", event => zoom(.5, tickAt(event.offsetX)));
window.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = { "+": () => zoom(.8), "=": () => zoom(.8), "-": () => zoom(1.25), "0": () => show(0, last),
    ArrowLeft: () => move(-.1), ArrowRight: () => move(.1) }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
document.getElementById("in").onclick = () => zoom(.5);
document.getElementById("out").onclick = () => zoom(2);
document.getElementById("all").onclick = () => show(0, last);
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
</script></body></html>
)page";

}  // namespace cmm::sim
