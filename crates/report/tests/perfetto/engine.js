// Runs Perfetto's trace processor, as its web page does, but in Node: `engine.js FOLDER
// REQUESTS`. FOLDER holds engine_bundle.js and its WebAssembly; REQUESTS is a file of
// framed RPC messages in base64, one a line. Prints the replies in the same form.

const { webcrypto } = require('crypto');
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, requests] = process.argv.slice(2);
const replies = [];
const port = { postMessage: (bytes) => replies.push(Buffer.from(bytes).toString('base64')) };

// The bundle expects to be a worker: these are all the things that it asks for. Nothing is
// fetched but its own files.
const worker = {
  console: { log: () => {}, warn: () => {}, error: console.error },
  location: { href: 'http://localhost/engine_bundle.js' },
  WorkerGlobalScope: class {},
  crypto: webcrypto,
  importScripts: () => {},
  performance,
  TextDecoder,
  TextEncoder,
  URL,
  XMLHttpRequest: class {
    open(_, url) {
      this.response = fs.readFileSync(path.join(folder, path.basename(url)));
    }
    send() {}
  },
};
worker.self = worker;
vm.createContext(worker);

function ask() {
  worker.onmessage({ data: port });
  const Bytes = vm.runInContext('Uint8Array', worker);
  for (const line of fs.readFileSync(requests, 'utf8').trim().split('\n')) {
    port.onmessage({ data: new Bytes(Buffer.from(line, 'base64')) });
  }
  process.stdout.write(replies.join('\n') + '\n');
}

function fail(why) {
  // Not the whole of its stack, which quotes the bundle.
  console.error(String(why).slice(0, 2000));
  process.exit(1);
}

process.on('uncaughtException', fail);
vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), worker);
// It loads its WebAssembly at once and sets it up when this script has come to its end.
setImmediate(ask);
