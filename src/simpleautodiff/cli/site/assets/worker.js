// Python, in a worker: a program that does not end is stopped by ending the worker.

const fetched = self.fetch.bind(self);
let loaded = 0;

// Every file is counted as it comes; the largest comes compressed, whatever the host does.
self.fetch = async (address, options) => {
  const url = String(address.url ?? address);
  const packed = url.endsWith(".wasm");
  const answer = await fetched(packed ? `${url}.packed` : url, options);
  if (!answer.ok) throw new Error(`${url} cannot be loaded: ${answer.status} ${answer.statusText}`);
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(chunk, stream) {
      loaded += chunk.length;
      self.postMessage({ loaded });
      stream.enqueue(chunk);
    },
  }));
  const body = packed ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  return new Response(body, { headers: { "Content-Type": packed ? "application/wasm" : "" } });
};

async function start() {
  importScripts("python/pyodide.js");
  const archives = ["numpy.zip", "simpleautodiff.zip"].map(async (name) =>
    (await self.fetch(new URL(`python/${name}`, self.location))).arrayBuffer());
  const python = await loadPyodide({ indexURL: String(new URL("python/", self.location)) });
  for (const archive of archives) {
    python.unpackArchive(await archive, "zip", { extractDir: "/libraries" });
  }
  python.runPython("import sys; sys.path.insert(0, '/libraries')");
  return python.pyimport("simpleautodiff.cli.site.playground").answer_json;
}

const ready = start();
ready.then(() => self.postMessage({ ready: true }),
  (error) => self.postMessage({ failed: String(error.message ?? error) }));

self.onmessage = async ({ data }) => {
  const answer = await ready;
  self.postMessage({ answer: JSON.parse(answer(JSON.stringify(data))) });
};
