/** Pictures of organizations: which are taken, as what, and which are not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync } from 'node:zlib';
import { readLogo } from '../../src/contract/logo.ts';
import {
  ANIMATED,
  chunk,
  dataUrl,
  headerOf,
  LOSSLESS,
  LOSSY,
  png,
  pngOf,
  TRANSPARENT,
  WITH_METADATA,
} from '../support/pictures.ts';

const taken = (bytes: Buffer) => {
  const read = readLogo(dataUrl(bytes));
  assert.ok(typeof read !== 'string', String(read));
  return read;
};
const refused = (url: string, why: RegExp) => {
  const read = readLogo(url);
  assert.equal(typeof read, 'string');
  assert.match(String(read), why);
};

const WHOLE = /whole picture/;
const FORM = /PNG or WebP as a data URL/;
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');

describe('a picture that is taken', () => {
  it('stays as it is: PNG and WebP of each form', () => {
    for (const bytes of [png(), png({ width: 2048, height: 16 }), LOSSY, LOSSLESS, TRANSPARENT]) {
      assert.deepEqual(taken(bytes).bytes, bytes);
    }
    assert.equal(taken(png()).type, 'image/png');
    assert.equal(taken(LOSSY).type, 'image/webp');
  });

  it('may be interlaced, with the pixels of all seven passes', () => {
    // 16 × 17 pixels of grey: 2·3, 2·3, 4·2, 4·5, 8·4, 8·9 and 16·8 bytes, and one before each line.
    const lines = [
      [2, 3],
      [2, 3],
      [4, 2],
      [4, 5],
      [8, 4],
      [8, 9],
      [16, 8],
    ] as const;
    const size = lines.reduce((sum, [width, height]) => sum + height * (width + 1), 0);
    taken(pngOf(headerOf(16, 17, 0, 1), deflateSync(Buffer.alloc(size))));
    refused(dataUrl(pngOf(headerOf(16, 17, 0, 1), deflateSync(Buffer.alloc(size - 1)))), WHOLE);
  });

  it('loses texts, metadata and animation of a PNG, and metadata of a WebP', () => {
    const more = [chunk('tEXt', Buffer.from('Comment\0<script>alert(1)</script>')), chunk('acTL', Buffer.alloc(8))];
    assert.deepEqual(taken(png({ more })).bytes, png());
    const clean = taken(WITH_METADATA).bytes;
    assert.doesNotMatch(clean.toString('latin1'), /secret|<x|EXIF|XMP/);
    assert.deepEqual(taken(clean).bytes, clean);
    assert.equal(clean.readUInt32LE(4), clean.length - 8);
  });
});

describe('a picture that is refused', () => {
  it('is SVG, under its own name and under others', () => {
    refused(dataUrl(SVG, 'image/svg+xml'), FORM);
    refused(dataUrl(SVG, 'image/png'), /content is neither/);
    refused(`data:image/svg+xml,${encodeURIComponent(String(SVG))}`, FORM);
  });

  it('is something else than its data URL says, or no data URL', () => {
    refused(dataUrl(png(), 'image/webp'), /says: its content is image\/png/);
    refused(dataUrl(LOSSY, 'image/png'), /says: its content is image\/webp/);
    refused(dataUrl(Buffer.from('GIF89a'), 'image/gif'), FORM);
    for (const url of ['', 'https://example.com/a.png', 'javascript:alert(1)', ' data:image/png;base64,AAAA']) {
      refused(url, FORM);
    }
    refused(`${dataUrl(png())}"`, FORM);
    refused(`${dataUrl(png())}\n`, FORM);
    refused(dataUrl(png()).replace('image/png', 'image/png;charset=utf-8'), FORM);
  });

  it('is two things at once: something follows its end', () => {
    for (const bytes of [png(), LOSSY]) {
      refused(dataUrl(Buffer.concat([bytes, Buffer.from('<script>alert(1)</script>')])), /something follows its end/);
      refused(dataUrl(Buffer.concat([bytes, Buffer.from('PK\x05\x06')])), /something follows its end/);
    }
    refused(dataUrl(Buffer.concat([SVG, png()]), 'image/png'), /content is neither/);
    const late = deflateSync(Buffer.concat([Buffer.alloc(24 * 145), SVG]));
    refused(dataUrl(pngOf(headerOf(48, 24, 2), late)), WHOLE);
    const behind = Buffer.concat([deflateSync(Buffer.alloc(24 * 145)), SVG]);
    refused(dataUrl(pngOf(headerOf(48, 24, 2), behind)), WHOLE);
  });

  it('is cut off anywhere', () => {
    for (const bytes of [png(), LOSSY, LOSSLESS, TRANSPARENT]) {
      for (let end = 8; end < bytes.length; end++) {
        assert.equal(typeof readLogo(dataUrl(bytes.subarray(0, end))), 'string', `${end} of ${bytes.length}`);
      }
    }
  });

  it('is damaged in any byte of a PNG', () => {
    const good = png();
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] as number) ^ 0xff;
      assert.equal(typeof readLogo(dataUrl(bad, 'image/png')), 'string', `byte ${at}`);
    }
  });

  it('has too few or too many pixels, bytes or pictures', () => {
    refused(dataUrl(png({ width: 15 })), /16 to 2048 pixels a side .* not 15 × 24/);
    refused(dataUrl(png({ width: 2049 })), /not 2049 × 24/);
    refused(dataUrl(pngOf(headerOf(2000, 2000, 2), deflateSync(Buffer.alloc(1)))), /at most 2 million/);
    refused(dataUrl(pngOf(headerOf(48, 24, 2), deflateSync(Buffer.alloc(2 ** 26)))), WHOLE);
    refused(dataUrl(Buffer.concat([png(), Buffer.alloc(128 * 1024)])), /at most 128 KiB/);
    refused(dataUrl(ANIMATED), /must not be animated/);
  });

  it('has a header that no picture has', () => {
    for (const [color, depth] of [
      [1, 8],
      [5, 8],
      [2, 4],
      [3, 16],
      [0, 3],
    ] as const) {
      const header = headerOf(48, 24, color);
      header[8] = depth;
      refused(dataUrl(pngOf(header, deflateSync(Buffer.alloc(24 * 145)))), WHOLE);
    }
    refused(dataUrl(pngOf(headerOf(48, 24, 3), deflateSync(Buffer.alloc(24 * 49)))), WHOLE);
    refused(dataUrl(png({ more: [chunk('ABCD', Buffer.alloc(4))] })), WHOLE);
    refused(dataUrl(png({ more: [chunk('IEND', Buffer.alloc(0))] })), /something follows its end/);
    const wide = Buffer.from(TRANSPARENT);
    wide.writeUIntLE(200, 24, 3);
    refused(dataUrl(wide), WHOLE);
  });
});
