// Binary frames: a 12-byte header `<HBxHHI` (widget, codec, width, height, revision), then the payload.
const HEADER = 12;
const GREY = 0, JPEG = 1, RGB = 2, FLOAT = 3;

/** -> {widget, width, height} and one of `pixels` (ImageData), `bitmap` (ImageBitmap), `rows` (Float32Array[]). */
export async function decode(buffer) {
  const header = new DataView(buffer, 0, HEADER);
  const frame = { widget: header.getUint16(0, true), width: header.getUint16(4, true), height: header.getUint16(6, true) };
  const codec = header.getUint8(2);
  const { width, height } = frame;
  if (codec === GREY) frame.pixels = grey(new Uint8Array(buffer, HEADER, width * height), width, height);
  else if (codec === RGB) frame.pixels = rgb(new Uint8Array(buffer, HEADER, 3 * width * height), width, height);
  else if (codec === FLOAT) frame.rows = Array.from({ length: height }, (_, i) => new Float32Array(buffer, HEADER + 4 * i * width, width));
  else if (codec === JPEG) frame.bitmap = await createImageBitmap(new Blob([new Uint8Array(buffer, HEADER)], { type: "image/jpeg" }));
  else throw new Error(`unknown codec ${codec}`);
  return frame;
}

// One 32-bit store a pixel (little-endian ABGR) is several times faster than four 8-bit ones.
function grey(bytes, width, height) {
  const out = new Uint32Array(width * height);
  for (let i = 0; i < out.length; i++) out[i] = 0xff000000 | bytes[i] * 0x010101;
  return new ImageData(new Uint8ClampedArray(out.buffer), width, height);
}

function rgb(bytes, width, height) {
  const out = new Uint32Array(width * height);
  for (let i = 0, k = 0; i < out.length; i++, k += 3) out[i] = 0xff000000 | bytes[k + 2] << 16 | bytes[k + 1] << 8 | bytes[k];
  return new ImageData(new Uint8ClampedArray(out.buffer), width, height);
}
