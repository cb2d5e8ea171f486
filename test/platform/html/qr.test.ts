/** QR codes as inline SVG. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'uqr';
import { qrCode } from '../../../src/platform/html/qr.ts';

const ADDRESS = 'otpauth://totp/Acme:ann%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Acme';

test('the picture has exactly the dark modules of the code, and a margin of four', () => {
  const { markup } = qrCode(ADDRESS, 'QR code of "Ann"');
  const { data, size } = encode(ADDRESS, { ecc: 'M', border: 4 });
  const drawn = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [, x, y, width] of markup.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let i = 0; i < Number(width); i++) (drawn[Number(y)] as boolean[])[Number(x) + i] = true;
  }
  assert.deepEqual(drawn, data);
  assert.equal(
    data.slice(0, 4).some((row) => row.includes(true)),
    false,
  );
});

test('it needs no style, script or address, and its name is escaped', () => {
  const { markup } = qrCode(ADDRESS, 'QR code of "Ann"');
  assert.match(markup, /^<svg class="qr" role="img" aria-label="QR code of &quot;Ann&quot;"/);
  assert.doesNotMatch(markup, /style|href|script|otpauth/);
});
