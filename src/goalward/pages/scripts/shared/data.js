// The data of the page: a JSON document whose arrays are references into one compressed block of numbers.

const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };

export async function inflate(text) {
  const packed = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Replaces every reference in a document by its array.
export function resolve(value, buffer) {
  if (Array.isArray(value)) return value.map((each) => resolve(each, buffer));
  if (value === null || typeof value !== "object") return value;
  if (typeof value.type === "string" && typeof value.at === "number" && typeof value.size === "number") {
    return new KINDS[value.type](buffer, value.at, value.size);
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, buffer)]));
}

export async function readPage() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old: it cannot decompress the data of the page. Open the page in a browser from 2024 or later.");
  }
  const buffer = await inflate(document.getElementById("block").textContent);
  return resolve(JSON.parse(document.getElementById("document").textContent), buffer);
}

export function showFailure(error) {
  const message = document.createElement("p");
  message.className = "failure";
  message.textContent = `The page cannot be drawn: ${error.message}`;
  document.querySelector(".loading")?.remove();
  document.getElementById("page").prepend(message);
  console.error(error);
}
