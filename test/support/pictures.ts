/** Pictures as data URLs: PNGs of a colour, made here, and WebPs of another program (Pillow 12). */
import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one colour, 48 × 24 pixels unless it says otherwise. */
export function png({ width = 48, height = 24, rgb = [11, 122, 62] as readonly number[], more = [] as Buffer[] } = {}) {
  const line = Buffer.concat([Buffer.from([0]), ...Array<Buffer>(width).fill(Buffer.from(rgb))]);
  const data = deflateSync(Buffer.concat(Array<Buffer>(height).fill(line)));
  return pngOf(headerOf(width, height, 2), data, more);
}

/** A PNG of its header and its compressed data. @param more chunks before the data */
export function pngOf(header: Buffer, data: Buffer, more: readonly Buffer[] = []): Buffer {
  const all = [SIGNATURE, chunk('IHDR', header), ...more, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat(all);
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** @param colorType of eight bits a sample */
export function headerOf(width: number, height: number, colorType: number, interlace = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, colorType, 0, 0, interlace], 8);
  return header;
}

/** A chunk of a PNG. */
export function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

const webp = (base64: string) => Buffer.from(base64, 'base64');

/** 48 × 24 pixels. */
export const LOSSY = webp(
  'UklGRlYAAABXRUJQVlA4IEoAAABQAwCdASowABgAPxGCuVcsKCWjpWgBgCIJQBdmfSAvasZNgAD+6GT38kupPixb3w6w76OXElDoxMU/Hto4+HliwSNorrgkXAAAAA==',
);
/** 24 × 16 pixels. */
export const LOSSLESS = webp('UklGRjQAAABXRUJQVlA4TCgAAAAvF8ADAJEXMET0P9xFRP8DRNo2lXj/igYPR0AgkORPttUxAZNqRv0n');
export const TRANSPARENT = webp(
  'UklGRogAAABXRUJQVlA4WAoAAAAQAAAALwAAFwAAQUxQSBgAAAABuYzof0Bp2wZMOv4/vLggYgImgLWOOwFWUDggSgAAAFADAJ0BKjAAGAA/EYS5VywoJaOlaAGAIglAGFZ6wC9qxk2AAP7oZPf2p8WepIP/Xom0qfHYlvQoDwAFL7OY/epDC5em4ANYAAAA',
);
/** With the texts `secret place` and `<x/>`. */
export const WITH_METADATA = webp(
  'UklGRqQAAABXRUJQVlA4WAoAAAAMAAAALwAAFwAAVlA4IEoAAABQAwCdASowABgAPxGCuVcsKCWjpWgBgCIJQBdmfSAvasZNgAD+6GT38kupPixb3w6w76OXElDoxMU/Hto4+HliwSNorrgkXAAAAEVYSUYoAAAATU0AKgAAAAgAAQEOAAIAAAANAAAAGgAAAABzZWNyZXQgcGxhY2UAAFhNUCAEAAAAPHgvPg==',
);
export const ANIMATED = webp(
  'UklGRsQAAABXRUJQVlA4WAoAAAACAAAADwAADwAAQU5JTQYAAAAAAAAAAABBTk1GSgAAAAAAAAAAAA8AAA8AAAAAAAJWUDggMgAAADABAJ0BKhAAEAABQCYloAADcAD+8ut///mwP/bz/wR6Af//0uD//pcH//S4P/SkAAAAQU5NRkYAAAAAAAAAAAAPAAAPAAAAAAAAVlA4IC4AAAA0AQCdASoQABAAAAAmJaAAA3AA/vtV4///S4P/+lwf/9Lg/9Lg//rV5Vesq6AA',
);

export function dataUrl(bytes: Buffer, type = bytes[0] === 0x89 ? 'image/png' : 'image/webp'): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}
