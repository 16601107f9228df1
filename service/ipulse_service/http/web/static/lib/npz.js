// Reads the arrays of an npz file (a zip of npy files) for a preview: shape, type and range.

const TYPES = {
  f2: Float32Array,
  f4: Float32Array,
  f8: Float64Array,
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  b1: Uint8Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
};
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const MOST_LISTED = 400;

/**
 * @typedef {{name: string, dtype: string, shape: number[], low?: number, high?: number, mean?: number, why?: string}}
 * ArrayFacts
 */

/** @param {ArrayBuffer} buffer @returns {Promise<ArrayFacts[]>} */
export async function arraysOf(buffer) {
  const facts = [];
  for (const { name, bytes } of entries(buffer).slice(0, MOST_LISTED)) {
    const title = name.replace(/\.npy$/, "");
    try {
      facts.push({ name: title, ...describe(await bytes()) });
    } catch (error) {
      facts.push({ name: title, dtype: "?", shape: [], why: error.message });
    }
  }
  return facts;
}

/** The members of a zip file, by its central directory. @param {ArrayBuffer} buffer */
function entries(buffer) {
  const view = new DataView(buffer);
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
  if (end < 0) throw new Error("This is not an npz file.");
  const list = [];
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0 && view.getUint32(at, true) === ENTRY; count -= 1) {
    const [method, packed, nameSize, extraSize, noteSize, header] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint16(at + 28, true),
      view.getUint16(at + 30, true),
      view.getUint16(at + 32, true),
      view.getUint32(at + 42, true),
    ];
    const name = new TextDecoder().decode(new Uint8Array(buffer, at + 46, nameSize));
    const bytes = async () => {
      const start = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
      const raw = buffer.slice(start, packed === 0xffffffff ? undefined : start + packed);
      if (method === 0) return raw;
      if (method !== 8) throw new Error("its compression is not known here");
      return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
    };
    list.push({ name, bytes });
    at += 46 + nameSize + extraSize + noteSize;
  }
  return list;
}

/** Shape, type and range of an npy file. @param {ArrayBuffer} buffer */
function describe(buffer) {
  const view = new DataView(buffer);
  if (view.getUint8(0) !== 0x93) throw new Error("not an array");
  const isFirst = view.getUint8(6) === 1;
  const size = isFirst ? view.getUint16(8, true) : view.getUint32(8, true);
  const start = (isFirst ? 10 : 12) + size;
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, isFirst ? 10 : 12, size));
  const dtype = /'descr': *'([^']*)'/.exec(header)?.[1] ?? "?";
  const shape = (/'shape': *\(([^)]*)\)/.exec(header)?.[1] ?? "")
    .split(",")
    .filter((one) => one.trim())
    .map(Number);
  const values = valuesOf(
    buffer,
    start,
    dtype,
    shape.reduce((all, one) => all * one, 1),
  );
  return { dtype: dtype.replace(/^[<|=>]/, ""), shape, ...(values ? rangeOf(values) : {}) };
}

function valuesOf(buffer, start, dtype, count) {
  const code = dtype.replace(/^[<|=]/, "");
  if (!TYPES[code] || !count) return null;
  if (code === "f2") return Float32Array.from(new Uint16Array(buffer.slice(start, start + 2 * count)), half);
  const Kind = TYPES[code];
  return new Kind(buffer.slice(start, start + count * Kind.BYTES_PER_ELEMENT));
}

function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const value =
    exponent === 31
      ? fraction
        ? NaN
        : Infinity
      : exponent
        ? 2 ** (exponent - 15) * (1 + fraction / 1024)
        : 2 ** -14 * (fraction / 1024);
  return bits >> 15 ? -value : value;
}

function rangeOf(values) {
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  for (const one of values) {
    const value = Number(one);
    if (value < low) low = value;
    if (value > high) high = value;
    sum += value;
  }
  return { low, high, mean: sum / values.length };
}
