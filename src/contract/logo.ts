/**
 * The picture of an organization, as a data URL brings it: checked by its content, and written again without anything
 * that is not the picture.
 *
 * Guarantee: what comes out is one PNG (W3C PNG, third edition) or one WebP (RFC 9649) that is whole: every chunk has
 * its length, a PNG every checksum and exactly the pixels that its header names, a WebP the headers of its frame and all
 * their parts, which agree with each other. It has no text, no metadata, no animation, and nothing behind its end, where
 * a file that is two things at once would have the other one. Nothing else is a picture here; SVG is a document with
 * scripts and links. The pixels of a WebP are not decoded: a wrong one is a wrong colour in a browser's sandbox.
 */
import { crc32, inflateSync } from 'node:zlib';

export interface Logo {
  type: 'image/png' | 'image/webp';
  bytes: Buffer;
  /** In pixels. */
  width: number;
  height: number;
}

/** So that it fits into a body of an ordinary operation, and into a mail program's patience. */
export const MOST_LOGO_BYTES = 128 * 1024;
export const LOGO_PIXELS = { from: 16, to: 2048, inAll: 2 ** 21 } as const;

const DATA_URL = /^data:(image\/(?:png|webp));base64,([A-Za-z0-9+/]+={0,2})$/;
/** Longer ones are not decoded. */
const LONGEST_LOGO = 'data:image/webp;base64,'.length + Math.ceil(MOST_LOGO_BYTES / 3) * 4;

/** The picture of a data URL, or what is wrong with it, as the end of a sentence. */
export function readLogo(url: string): Logo | string {
  if (url.length > LONGEST_LOGO) return `must have at most ${MOST_LOGO_BYTES / 1024} KiB`;
  const [, type, base64 = ''] = DATA_URL.exec(url) ?? [];
  if (!type || base64.length % 4 !== 0) return 'must be a PNG or WebP as a data URL: data:image/png;base64,…';
  const bytes = Buffer.from(base64, 'base64');
  const found = bytes.subarray(0, 8).equals(PNG) ? 'image/png' : isWebp(bytes) ? 'image/webp' : undefined;
  if (!found) return 'must be a PNG or WebP, but its content is neither';
  if (found !== type) return `must be what its data URL says: its content is ${found}`;
  try {
    return { type: found, ...(found === 'image/png' ? cleanPng(bytes) : cleanWebp(bytes)) };
  } catch (error) {
    if (error instanceof Broken) return error.message;
    throw error;
  }
}

/** The picture as a data URL. */
export function logoUrl({ type, bytes }: Pick<Logo, 'type' | 'bytes'>): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** What is wrong with a picture. */
class Broken extends Error {}

const FOLLOWED = 'must be a picture alone: something follows its end';
const BROKEN = 'must be a whole picture: its content is damaged or incomplete';

function require(isTrue: boolean, message: string = BROKEN): asserts isTrue {
  if (!isTrue) throw new Broken(message);
}

function requireSize(width: number, height: number): void {
  const { from, to, inAll } = LOGO_PIXELS;
  const isGood = [width, height].every((side) => side >= from && side <= to) && width * height <= inAll;
  require(isGood, `must have ${from} to ${to} pixels a side and at most ${inAll / 2 ** 20} million in all, not ${width} × ${height}`);
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** What decides how the pixels look. Everything else, such as text, is left out. */
const KEPT = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'iCCP', 'sBIT']);
/** Samples of a pixel, and the bits that each may have, by the type of colour. */
const COLOR_TYPES: Readonly<Record<number, { samples: number; depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};

interface Chunk {
  name: string;
  data: Buffer;
  /** With its length, its name and its checksum. */
  whole: Buffer;
}

type Picture = Omit<Logo, 'type'>;

function cleanPng(bytes: Buffer): Picture {
  const chunks = pngChunks(bytes);
  const names = chunks.map(({ name }) => name);
  const unknown = names.find((name) => /^[A-Z]/.test(name) && !KEPT.has(name));
  require(unknown === undefined && names[0] === 'IHDR' && names.lastIndexOf('IHDR') === 0);
  const first = names.indexOf('IDAT');
  const data = chunks.filter(({ name }) => name === 'IDAT');
  // The data is in chunks one behind the other (section 5.6).
  require(first > 0 && names.slice(first, first + data.length).every((name) => name === 'IDAT'));
  const header = chunks[0]?.data as Buffer;
  requirePixels(header, Buffer.concat(data.map((chunk) => chunk.data)), names.includes('PLTE'));
  const kept = chunks.filter(({ name }) => KEPT.has(name)).map(({ whole }) => whole);
  return { bytes: Buffer.concat([PNG, ...kept]), width: header.readUInt32BE(0), height: header.readUInt32BE(4) };
}

function pngChunks(bytes: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = PNG.length; at < bytes.length; ) {
    require(at + 12 <= bytes.length);
    const end = at + 12 + bytes.readUInt32BE(at);
    require(end <= bytes.length);
    const name = bytes.toString('latin1', at + 4, at + 8);
    require(/^[A-Za-z]{4}$/.test(name) && crc32(bytes.subarray(at + 4, end - 4)) === bytes.readUInt32BE(end - 4));
    chunks.push({ name, data: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) });
    at = end;
    if (name === 'IEND') require(at === bytes.length, FOLLOWED);
  }
  require(chunks.at(-1)?.name === 'IEND');
  return chunks;
}

/** Whether the header is valid and the data holds all pixels, and no more. */
function requirePixels(header: Buffer, compressed: Buffer, hasPalette: boolean): void {
  require(header.length === 13);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 0, color = 0, compression, filter, interlace = 0] = header.subarray(8);
  requireSize(width, height);
  const type = COLOR_TYPES[color];
  require(type?.depths.includes(depth) === true && compression === 0 && filter === 0 && interlace <= 1);
  require(color !== 3 || hasPalette);
  const lineOf = (pixels: number) => 1 + Math.ceil((pixels * depth * (type?.samples ?? 0)) / 8);
  const size = passesOf(width, height, interlace === 1)
    .filter(([w, h]) => w > 0 && h > 0)
    .reduce((sum, [w, h]) => sum + h * lineOf(w), 0);
  require(inflatedLength(compressed, size) === size);
}

/** Width and height of each pass of the picture: one, or the seven of Adam7 (section 8.1). */
function passesOf(width: number, height: number, isInterlaced: boolean): [number, number][] {
  if (!isInterlaced) return [[width, height]];
  return ADAM7.map(([x, y, dx, dy]) => [Math.ceil((width - x) / dx), Math.ceil((height - y) / dy)]);
}

const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/**
 * The bytes that the data holds; undefined if it is damaged, has more than `most`, or something behind its end. Nothing
 * larger is ever in memory.
 */
function inflatedLength(compressed: Buffer, most: number): number | undefined {
  try {
    // `info` adds what the types do not know: how much of the input was read.
    const options = { maxOutputLength: most, info: true };
    const { buffer, engine } = inflateSync(compressed, options) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return engine.bytesWritten === compressed.length ? buffer.length : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE' || code?.startsWith('Z_')) return undefined;
    throw error;
  }
}

/** `RIFF`, the length of everything behind it, and `WEBP` (RFC 9649 section 2.4). */
function isWebp(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
}

/** Of the flags of `VP8X`: an alpha channel, a colour profile. */
const FLAGS = { alpha: 0x10, profile: 0x20 };
/** What a picture consists of, in this order (RFC 9649 section 2.7). */
const WEBP_PARTS = ['VP8X', 'ICCP', 'ALPH', 'VP8 ', 'VP8L'];

function cleanWebp(bytes: Buffer): Picture {
  require(bytes.length >= 20);
  const length = 8 + bytes.readUInt32LE(4);
  require(length >= bytes.length, FOLLOWED);
  require(length === bytes.length);
  const chunks = webpChunks(bytes);
  require(!chunks.some(({ name }) => name === 'ANIM' || name === 'ANMF'), 'must not be animated');
  const kept = chunks.filter(({ name }) => WEBP_PARTS.includes(name));
  const at = kept.map(({ name }) => WEBP_PARTS.indexOf(name));
  require(at.every((place, n) => n === 0 || place > (at[n - 1] as number)));
  const [extended, profile, alpha, lossy, lossless] = WEBP_PARTS.map((part) => kept.find(({ name }) => name === part));
  require((lossy === undefined) !== (lossless === undefined) && !(alpha && lossless));
  const size = lossy ? lossySize(lossy.data) : losslessSize(lossless?.data as Buffer);
  requireSize(...size);
  if (alpha) requireAlpha(alpha.data, size);
  const flags = (profile ? FLAGS.profile : 0) | (alpha || hasAlpha(lossless) ? FLAGS.alpha : 0);
  require(extended ? isCanvas(extended.data, size) : kept.length === 1);
  const [width, height] = size;
  return {
    bytes: riff(kept.map((chunk) => (chunk === extended ? withFlags(chunk, flags) : chunk.whole))),
    width,
    height,
  };
}

function isCanvas(data: Buffer, [width, height]: [number, number]): boolean {
  return data.length === 10 && data.readUIntLE(4, 3) + 1 === width && data.readUIntLE(7, 3) + 1 === height;
}

/** One byte says how the alpha of each pixel follows: as it is, or as a lossless picture (section 2.7.1.2). */
function requireAlpha(data: Buffer, [width, height]: [number, number]): void {
  const [info = 0xff] = data;
  const [compression, preprocessing, reserved] = [info & 3, (info >> 4) & 3, info >> 6];
  require(compression <= 1 && preprocessing <= 1 && reserved === 0);
  require(compression === 0 ? data.length === 1 + width * height : data.length > 1);
}

function hasAlpha(lossless: Chunk | undefined): boolean {
  return lossless !== undefined && (lossless.data.readUInt32LE(1) & (1 << 28)) !== 0;
}

function webpChunks(bytes: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 12; at < bytes.length; ) {
    require(at + 8 <= bytes.length);
    const length = bytes.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    require(end <= bytes.length);
    const data = bytes.subarray(at + 8, at + 8 + length);
    require(length % 2 === 0 || bytes[end - 1] === 0);
    chunks.push({ name: bytes.toString('latin1', at, at + 4), data, whole: bytes.subarray(at, end) });
    at = end;
  }
  return chunks;
}

/** Of a key frame that is shown, with all its partitions (RFC 6386 section 9.1). */
function lossySize(data: Buffer): [number, number] {
  require(data.length > FRAME_HEAD);
  const tag = data.readUIntLE(0, 3);
  const [isKey, version, isShown, firstSize] = [(tag & 1) === 0, (tag >> 1) & 7, ((tag >> 4) & 1) === 1, tag >> 5];
  require(isKey && version <= 3 && isShown && data.readUIntBE(3, 3) === 0x9d012a);
  require(firstSize > 0 && FRAME_HEAD + firstSize <= data.length);
  const first = data.subarray(FRAME_HEAD, FRAME_HEAD + firstSize);
  requirePartitions(data.subarray(FRAME_HEAD + firstSize), partitionsOf(first));
  return [data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff];
}

const FRAME_HEAD = 10;

/** The sizes of all but the last partition, which takes the rest, stand before them (section 9.5). */
function requirePartitions(data: Buffer, partitions: number): void {
  const table = 3 * (partitions - 1);
  require(table <= data.length);
  let used = table;
  for (let at = 0; at < table; at += 3) used += data.readUIntLE(at, 3);
  require(used < data.length);
}

/** How many partitions of coefficients the header of the frame names (section 19.2). */
function partitionsOf(first: Buffer): number {
  const bits = openBits(first);
  const [flag, skip] = [() => bits(1) === 1, (size: number) => void bits(size)];
  const signed = (size: number) => flag() && skip(size + 1);
  const times = (n: number, read: () => unknown) => Array.from({ length: n }, read);
  skip(2); // the colour space, and whether values are clamped
  if (flag()) {
    const [hasMap, hasData] = [flag(), flag()];
    if (hasData) {
      skip(1);
      times(4, () => signed(7)); // quantizers
      times(4, () => signed(6)); // strengths of the filter
    }
    if (hasMap) times(3, () => flag() && skip(8));
  }
  skip(1 + 6 + 3); // the filter
  if (flag() && flag()) times(8, () => signed(6));
  return 1 << bits(2);
}

/** Reads bits that are as often 0 as 1 from the arithmetic coding (section 7.3). */
function openBits(data: Buffer): (size: number) => number {
  let at = 2;
  let value = ((data[0] ?? 0) << 8) | (data[1] ?? 0);
  let [range, shifted] = [255, 0];
  const bit = (): number => {
    require(at <= data.length);
    const split = 1 + (((range - 1) * 128) >> 8);
    const isOne = value >= split << 8;
    value -= isOne ? split << 8 : 0;
    range = isOne ? range - split : split;
    for (; range < 128; range <<= 1) {
      value <<= 1;
      shifted = (shifted + 1) % 8;
      if (shifted === 0) value |= data[at++] ?? 0;
    }
    return isOne ? 1 : 0;
  };
  return (size) => Array.from({ length: size }, bit).reduce((all, one) => all * 2 + one, 0);
}

/** RFC 9649 section 3.4. */
function losslessSize(data: Buffer): [number, number] {
  require(data.length > 5 && data[0] === 0x2f);
  const bits = data.readUInt32LE(1);
  require(bits >>> 29 === 0);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}

/** What is reserved is 0. */
function withFlags({ whole }: Chunk, flags: number): Buffer {
  const copy = Buffer.from(whole);
  copy.writeUInt32LE(flags, 8);
  return copy;
}

function riff(chunks: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...chunks]);
  const head = Buffer.alloc(8);
  head.write('RIFF', 'latin1');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}
