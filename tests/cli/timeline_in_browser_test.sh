#!/usr/bin/env bash
# usage: timeline_in_browser_test.sh CMM
# Opens a page of `cmm simulate --html` in Chromium without a window: no message on its console, every
# span of the trace drawn, zoom and hover do what they say. Ends with 77 where there is no Chromium.
set -euo pipefail
cmm=$1
for name in chromium chromium-browser google-chrome; do
  browser=$(command -v $name || true)
  [ -z "$browser" ] || break
done
[ -n "$browser" ] || { echo "skipped: no Chromium here (tools/setup browser installs it)"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1"
  exit 1
}

# $1: page. Its document after the script has run; messages of the console go to $scratch/log.
document_of() {
  HOME=$scratch timeout 60 "$browser" --headless --disable-gpu --no-sandbox --window-size=1200,900 \
    --user-data-dir="$scratch/profile" --enable-logging=stderr --dump-dom "file://$1" 2>"$scratch/log"
}
value() { sed -nE "s/.*<canvas[^>]* data-$1=\"([^\"]*)\".*/\1/p" "$scratch/document"; }
expect_quiet() {
  ! grep CONSOLE "$scratch/log" || fail "the browser's console has messages"
}

"$cmm" simulate --ranks 6 --m 192 --algorithm bidirectional --html "$scratch/page.html" \
  --trace "$scratch/trace.json" >/dev/null
spans=$(grep -c '"ph":"X"' "$scratch/trace.json")

document_of "$scratch/page.html" >"$scratch/document"
expect_quiet
[ "$(value drawn)" = "$spans" ] || fail "$spans spans in the trace, '$(value drawn)' drawn"

# The same page with a visitor: zooms in, then points at the first span of the first lane.
visitor='<script>
document.getElementById("in").click(); document.getElementById("in").click();
canvas.dataset.zoomed = canvas.dataset.drawn;
document.getElementById("all").click();
const box = canvas.getBoundingClientRect();
canvas.dispatchEvent(new PointerEvent("pointermove",
  { clientX: box.left + gutter + 3, clientY: box.top + lanes[0].top + 5 }));
canvas.dataset.tip = tip.innerText.replaceAll("\n", "; ");
</script>'
sed "s|</body>||; s|</html>||" "$scratch/page.html" >"$scratch/visited.html"
echo "$visitor" >>"$scratch/visited.html"
document_of "$scratch/visited.html" >"$scratch/document"
expect_quiet
zoomed=$(value zoomed)
[ "$zoomed" -gt 0 ] && [ "$zoomed" -lt "$spans" ] || fail "$spans spans, $zoomed drawn after zooming"
case "$(value tip)" in
  "5.0 and "*" more; rank 5, multiply: multiply; 0 ns to "*) ;;
  *) fail "pointing at the first product says '$(value tip)'" ;;
esac
echo "$spans spans drawn, $zoomed after zooming in; $(value tip)"
