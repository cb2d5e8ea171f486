/** The colours of pages: readable whatever was chosen, and as chosen where that can be. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isShifted, type Palette, palettes } from '../../../src/platform/html/palette.ts';

/** WCAG 2.2, "relative luminance" and "contrast ratio", written a second time. */
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Text beside links: look.css. */
const SOFT = { light: '#535b6c', dark: '#aab3c4' };

function requireReadable(scheme: 'light' | 'dark', palette: Palette): void {
  const pairs: [keyof Palette, keyof Palette][] = [
    ['accent', 'card'],
    ['accent', 'page'],
    ['accent', 'tint'],
    ['onAccent', 'accent'],
    ['accentStrong', 'card'],
    ['onAccent', 'accentStrong'],
  ];
  for (const [text, on] of pairs) {
    const ratio = contrast(palette[text], palette[on]);
    assert.ok(ratio >= 4.5, `${scheme}: ${text} ${palette[text]} on ${on} ${palette[on]} has ${ratio}`);
  }
  const soft = contrast(SOFT[scheme], palette.page);
  assert.ok(soft >= 4.5, `${scheme}: text on ${palette.page} has ${soft}`);
  for (const color of Object.values(palette)) assert.match(color, /^#[0-9a-f]{6}$/);
}

const color = fc.integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, '0')}`);

describe('the colours of a page', () => {
  it('can be read in light and dark, whatever two colours were chosen', () => {
    const edges = ['#000000', '#ffffff', '#808080', '#ffff00', '#0000ff', '#ff00ff', '#00ffff', '#7f7f00'];
    const both = fc.tuple(fc.oneof(color, fc.constantFrom(...edges)), fc.oneof(color, fc.constantFrom(...edges)));
    fc.assert(
      fc.property(both, ([primaryColor, backgroundColor]) => {
        const { light, dark } = palettes({ primaryColor, backgroundColor });
        requireReadable('light', light);
        requireReadable('dark', dark);
      }),
      { numRuns: 150 },
    );
  });

  it('are the chosen ones where these can be read, and say where they are not', () => {
    const green = { primaryColor: '#0B6B36', backgroundColor: '#eef6f1' };
    const { light, dark } = palettes(green);
    assert.deepEqual([light.accent, light.page], ['#0b6b36', '#eef6f1']);
    assert.notEqual(dark.accent, '#0b6b36');
    assert.equal(isShifted(green, { light, dark }), false);
    assert.equal(isShifted({ ...green, theme: 'dark' }, { light, dark }), true);
    const yellow = { primaryColor: '#ffee00' };
    assert.equal(isShifted(yellow, palettes(yellow)), true);
    const none = palettes({});
    assert.deepEqual([none.light.accent, none.dark.accent, none.light.page], ['#1f4fd8', '#8fb0ff', '#f3f5f9']);
    assert.equal(isShifted({}, none), false);
    assert.ok(contrast(dark.page, '#000000') < contrast('#1b212b', '#000000'), `${dark.page} is no dark background`);
  });

  it('keep the hue of a colour that is moved', () => {
    const { light, dark } = palettes({ primaryColor: '#ffff00' });
    for (const shown of [light.accent, dark.accent]) {
      const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(shown.slice(at, at + 2), 16)) as [number, number, number];
      assert.ok(Math.min(r, g) > b + 60, shown);
    }
  });

  it('are made of #rrggbb only', () => {
    for (const odd of ['red', '#fff', 'url(//evil)', '#00000g', '#1234567', 'rgb(0,0,0)', '']) {
      assert.throws(() => palettes({ primaryColor: odd }), /must be #rrggbb/);
    }
  });
});
