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

  describe('as a WebP', () => {
    /** A file of these chunks, whose lengths are right. */
    const file = (...chunks: [name: string, data: Buffer][]) => {
      const parts = chunks.map(([name, data]) => {
        const length = Buffer.alloc(4);
        length.writeUInt32LE(data.length);
        return Buffer.concat([Buffer.from(name, 'latin1'), length, data, Buffer.alloc(data.length % 2)]);
      });
      const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...parts]);
      const head = Buffer.from('RIFF\0\0\0\0', 'latin1');
      head.writeUInt32LE(body.length, 4);
      return Buffer.concat([head, body]);
    };
    /** The data of a chunk of a file. */
    const dataOf = (bytes: Buffer, name: string) => {
      const at = bytes.indexOf(name, 12, 'latin1');
      return Buffer.from(bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4)));
    };
    const changed = (data: Buffer, at: number, byte: number) => {
      const copy = Buffer.from(data);
      copy[at] = byte;
      return copy;
    };
    const frame = dataOf(LOSSY, 'VP8 ');
    const [extended, alpha, below] = ['VP8X', 'ALPH', 'VP8 '].map((name) => dataOf(TRANSPARENT, name)) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    const lossless = dataOf(LOSSLESS, 'VP8L');
    const tag = frame[0] as number;

    it('has a frame that is cut off, although every length is right', () => {
      const firstSize = frame.readUIntLE(0, 3) >> 5;
      taken(file(['VP8 ', frame]));
      for (const end of [10, 10 + firstSize - 1, 10 + firstSize])
        refused(dataUrl(file(['VP8 ', frame.subarray(0, end)])), WHOLE);
      refused(dataUrl(file(['VP8L', lossless.subarray(0, 5)])), WHOLE);
    });

    it('has more partitions than the frame holds', () => {
      // Segments, a filter and its adjustments are off: the number of partitions is in the bits 13 and 14.
      const first = (byte: number) => Buffer.concat([Buffer.from([0, byte]), Buffer.alloc(14)]);
      const withFirst = (data: Buffer, rest: Buffer) => {
        const head = Buffer.from(frame.subarray(0, 10));
        head.writeUIntLE((data.length << 5) | 0x10, 0, 3);
        return file(['VP8 ', Buffer.concat([head, data, rest])]);
      };
      taken(withFirst(first(0), Buffer.alloc(1)));
      refused(dataUrl(withFirst(first(0), Buffer.alloc(0))), WHOLE);
      refused(dataUrl(withFirst(Buffer.alloc(16, 0xff), Buffer.alloc(8))), WHOLE);
    });

    it('has a frame that is no first one, not shown, or of an unknown version', () => {
      for (const bits of [tag | 1, tag & ~0x10, tag | 0x0e])
        refused(dataUrl(file(['VP8 ', changed(frame, 0, bits)])), WHOLE);
      refused(dataUrl(file(['VP8 ', changed(frame, 3, 0)])), WHOLE);
      refused(dataUrl(file(['VP8L', changed(lossless, 0, 0)])), WHOLE);
      refused(dataUrl(file(['VP8L', changed(lossless, 4, (lossless[4] as number) | 0x20)])), WHOLE);
    });

    it('has parts twice, in another order, or that do not belong together', () => {
      const all: [string, Buffer][] = [
        ['VP8X', extended],
        ['ALPH', alpha],
        ['VP8 ', below],
      ];
      taken(file(...all));
      for (const wrong of [
        [all[1], all[0], all[2]],
        [all[0], all[2], all[1]],
        [all[0], all[1], all[1], all[2]],
        [all[0], all[1], all[2], all[2]],
        [all[0], all[0], all[2]],
        [all[1], all[2]],
        [all[0], all[1]],
        [all[0], all[1], ['VP8L', lossless]],
      ] as [string, Buffer][][]) {
        refused(dataUrl(file(...wrong)), WHOLE);
      }
      refused(
        dataUrl(file(all[0] as [string, Buffer], ['ALPH', changed(alpha, 0, 2)], all[2] as [string, Buffer])),
        WHOLE,
      );
      refused(dataUrl(file(all[0] as [string, Buffer], ['ALPH', Buffer.alloc(40)], all[2] as [string, Buffer])), WHOLE);
      taken(file(all[0] as [string, Buffer], ['ALPH', Buffer.alloc(1 + 48 * 24)], all[2] as [string, Buffer]));
    });

    it('hides something behind a chunk of odd length', () => {
      const odd = file(['VP8 ', Buffer.concat([frame, Buffer.alloc(1)])]);
      taken(odd);
      odd[odd.length - 1] = 0x3c;
      refused(dataUrl(odd), WHOLE);
    });
  });
});

describe('the flags of a WebP', () => {
  it('are those of what it has, whatever they were', () => {
    for (const flags of [0, 0xff, 0xffffff3e]) {
      const bytes = Buffer.from(TRANSPARENT);
      bytes.writeUInt32LE(flags, 20);
      assert.deepEqual(taken(bytes).bytes, TRANSPARENT);
    }
  });
});
