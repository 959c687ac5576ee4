// Opens pages in a headless Chromium and prints, as JSON, what a reader would meet: messages of the console, requests,
// width, findings of axe. With `view`, plays the host of an MCP App: a sandboxed frame that speaks JSON-RPC.
const fs = require("fs");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [chrome, mode, ...files] = process.argv.slice(2);

let pictures = 0;

async function looked(browser, open) {
  const found = [];
  for (const colorScheme of ["light", "dark"])
    for (const width of [1280, 390]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
      const page = await context.newPage();
      const said = [];
      const asked = [];
      page.on("console", (m) => said.push(`${m.type()}: ${m.text()}`));
      page.on("pageerror", (e) => said.push(String(e)));
      page.on("dialog", (d) => said.push(`dialog ${d.message()}`) && d.dismiss());
      page.on("request", (r) => asked.push(r.url().slice(0, 60)));
      const frame = await open(page);
      const shut = await frame.evaluate(() => document.documentElement.scrollWidth);
      const ground = await frame.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await frame.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
      await frame.evaluate(axe);
      const { violations } = await frame.evaluate(() => axe.run(document));
      found.push({
        colorScheme, width, said, ground, scrollWidth: shut,
        asked: asked.filter((u) => !/^(file|data|about|blob):/.test(u)),
        violations: violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" ")}`),
        charts: await frame.evaluate(() => document.querySelectorAll("svg.chart").length),
        heading: await frame.evaluate(() => (document.querySelector("h1") || {}).textContent || ""),
        text: await frame.evaluate(() => document.body.innerText.slice(0, 400)),
        told: await page.evaluate(() => window.told || []),
      });
      if (process.env.SCREENSHOTS) {
        const name = `${process.env.SCREENSHOTS}/${mode.replace(" ", "-")}-${++pictures}-${colorScheme}-${width}.png`;
        await page.screenshot({ path: name, fullPage: true });
      }
      await context.close();
    }
  return found;
}

// The host's side of the specification: initialize, then the tool's result, and resources read for the view.
function host([shell, page, result, reads]) {
  window.told = [];
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.style = "width: 100%; height: 700px; border: 0";
  const post = (m) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...m }, "*");
  window.addEventListener("message", ({ source, data: m }) => {
    if (source !== frame.contentWindow) return;
    window.told.push(m.method);
    if (m.method === "ui/initialize")
      post({ id: m.id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "t", version: "0" },
        hostCapabilities: { serverResources: {} }, hostContext: { theme: "dark" } } });
    else if (m.method === "ui/notifications/initialized") post({ method: "ui/notifications/tool-result", params: result });
    else if (m.method === "resources/read" && reads)
      post({ id: m.id, result: { contents: [{ uri: m.params.uri, mimeType: "text/html", text: page }] } });
    else if (m.id !== undefined) post({ id: m.id, error: { code: -32601, message: "not here" } });
  });
  document.body.append(frame);
  frame.srcdoc = shell;
}

(async () => {
  const browser = await chromium.launch({ executablePath: chrome, args: ["--no-sandbox"] });
  if (mode === "page") {
    const all = {};
    for (const file of files)
      all[file] = await looked(browser, async (page) => (await page.goto(`file://${file}`), page.mainFrame()));
    console.log(JSON.stringify(all));
  } else {
    const [shell, text, result] = files.map((f) => fs.readFileSync(f, "utf8"));
    const told = await looked(browser, async (page) => {
      await page.goto("about:blank");
      await page.evaluate(host, [shell, text, JSON.parse(result), mode === "view"]);
      const frame = page.frames()[1] || (await page.waitForEvent("frameattached"));
      await frame.waitForSelector(mode === "view" ? "h1" : "pre");
      return frame;
    });
    console.log(JSON.stringify({ view: told }));
  }
  await browser.close();
})().catch((e) => { console.error(e); process.exit(1); });
