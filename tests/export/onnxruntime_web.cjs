// Evaluate ONNX files by onnxruntime-web (WebAssembly) under node: node onnxruntime_web.cjs jobs.json
// A job: {model, inputs: [{name, type, dims, file or values}], outputs: [names], prefix}; writes prefix + name, raw numbers.
const fs = require("fs");
const ort = require("onnxruntime-web");

const ARRAYS = { float32: Float32Array, float64: Float64Array };

function tensor(given) {
  if (given.type === "string") return new ort.Tensor("string", given.values, given.dims);
  const bytes = fs.readFileSync(given.file);
  const data = new ARRAYS[given.type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return new ort.Tensor(given.type, data, given.dims);
}

async function main() {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  for (const job of JSON.parse(fs.readFileSync(process.argv[2], "utf8"))) {
    const session = await ort.InferenceSession.create(job.model, { executionProviders: ["wasm"] });
    const found = await session.run(Object.fromEntries(job.inputs.map((given) => [given.name, tensor(given)])));
    for (const name of job.outputs) {
      const data = found[name].data;
      fs.writeFileSync(job.prefix + name, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    }
  }
  console.log(ort.env.versions.web);
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
