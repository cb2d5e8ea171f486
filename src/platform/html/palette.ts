/**
 * The colours of a page that follow from the two that an organization chose.
 *
 * Guarantee: text, links and buttons meet the contrast of WCAG 2.2 level AA (4.5:1) on everything that they are shown
 * on, in light and dark, whatever two colours were chosen: a colour that does not is made darker or lighter until it
 * does, in the colour space OKLCH, where its hue stays the same. The results are `#rrggbb` and nothing else.
 */
import {
  type Color,
  ColorSpace,
  contrastWCAG21,
  HSL,
  mix,
  OKLab,
  OKLCH,
  parse,
  serialize,
  sRGB,
  to,
  toGamut,
} from 'colorjs.io/fn';

for (const space of [sRGB, OKLab, OKLCH, HSL]) ColorSpace.register(space);

/** The colours of a page, as custom properties of look.css name them. */
export interface Palette {
  /** Behind the card. */
  page: string;
  card: string;
  /** Links, and the surface of buttons. */
  accent: string;
  /** While the pointer is over them. */
  accentStrong: string;
  /** The text of buttons. */
  onAccent: string;
  /** The surface of a code, and of a button without colour under the pointer. */
  tint: string;
}

export interface Palettes {
  light: Palette;
  dark: Palette;
}

/** What an organization chose; absent: as look.css has it. */
export interface ChosenColors {
  primaryColor?: string | undefined;
  backgroundColor?: string | undefined;
}

/**
 * What look.css has, which way colours move to be read on it, and the contrast of text with the page: in the dark the
 * page is as dark as the card, or a pale background would be a grey that is lighter than everything on it.
 */
const SCHEMES = {
  light: {
    card: '#ffffff',
    page: '#f3f5f9',
    soft: '#535b6c',
    accent: '#1f4fd8',
    onAccent: '#ffffff',
    away: -1,
    behind: 4.5,
  },
  dark: {
    card: '#171c25',
    page: '#0f1218',
    soft: '#aab3c4',
    accent: '#8fb0ff',
    onAccent: '#0d1325',
    away: 1,
    behind: 8,
  },
} as const;

/** A colour as it may be written: nothing else of CSS is one. */
export const COLOR = /^#[0-9a-f]{6}$/i;

const READABLE = 4.5;
/** How near to the least change of the lightness, of 1, a colour is moved. */
const NEAR = 0.004;
/** How much stronger a button is under the pointer. */
const STRONGER = 0.09;

/** Of the last organizations whose pages were shown: the search takes milliseconds. */
const known = new Map<string, Palettes>();
const MOST_KNOWN = 1000;

/** The colours of pages in light and dark. @throws Error for a colour that is not `#rrggbb` */
export function palettes(chosen: ChosenColors): Palettes {
  const key = `${chosen.primaryColor} ${chosen.backgroundColor}`;
  const found = known.get(key) ?? { light: palette('light', chosen), dark: palette('dark', chosen) };
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

/** Whether a colour is shown otherwise than it was chosen; in the dark it may, unless pages are always dark. */
export function isShifted(
  { primaryColor, backgroundColor, theme }: ChosenColors & { theme?: 'auto' | 'light' | 'dark' | undefined },
  { light, dark }: Palettes,
): boolean {
  const { accent, page } = theme === 'dark' ? dark : light;
  const differs = (color: string | undefined, shown: string) => color !== undefined && shown !== color.toLowerCase();
  return differs(primaryColor, accent) || differs(backgroundColor, page);
}

function palette(name: keyof typeof SCHEMES, { primaryColor, backgroundColor }: ChosenColors): Palette {
  const scheme = SCHEMES[name];
  const { card, soft, onAccent, away } = scheme;
  // The page moves away from the text, the accent away from what it is shown on.
  const page = moved(backgroundColor ?? scheme.page, -away, (color) => contrast(color, soft) >= scheme.behind);
  const tintOf = (accent: string) => hex(mix(read(card), read(accent), name === 'light' ? 0.08 : 0.12, MIXED));
  const accent = moved(primaryColor ?? scheme.accent, away, (color) =>
    [card, page, tintOf(color), onAccent].every((other) => contrast(color, other) >= READABLE),
  );
  return { page, card, accent, accentStrong: lighter(accent, away * STRONGER), onAccent, tint: tintOf(accent) };
}

const MIXED = { space: 'oklab', outputSpace: 'srgb' };

/** The nearest colour in this direction that is good: white or black are, at the end. */
function moved(color: string, direction: number, isGood: (color: string) => boolean): string {
  const start = hex(read(color));
  if (isGood(start)) return start;
  let [bad, good] = [0, 1];
  while (good - bad > NEAR) {
    const middle = (bad + good) / 2;
    if (isGood(lighter(start, direction * middle))) good = middle;
    else bad = middle;
  }
  return lighter(start, direction * good);
}

/** @param by a change of the lightness, of 1 */
function lighter(color: string, by: number): string {
  const changed = to(read(color), 'oklch');
  const [lightness = 0, chroma = 0, hue = 0] = changed.coords.map((value) => value ?? 0);
  changed.coords = [Math.min(1, Math.max(0, lightness + by)), chroma, hue];
  return hex(changed);
}

function contrast(one: string, other: string): number {
  return contrastWCAG21(read(one), read(other));
}

function read(color: string): Color {
  if (!COLOR.test(color)) throw new Error('A colour must be #rrggbb.');
  return parse(color);
}

function hex(color: Color): string {
  const inside = toGamut(to(color, 'srgb'), { space: 'srgb' });
  return serialize(inside, { format: 'hex', collapse: false });
}
