/**
 * QR codes as inline SVG: no image to load, no script, and sharp at any size. Dark on light in every theme, as many
 * cameras read nothing else, with the margin that ISO/IEC 18004 asks for.
 */
import { encode } from 'uqr';
import { type Html, html } from '../text/html.ts';

/** In modules. */
const MARGIN = 4;
/** Pixels of the page for each module. */
const SCALE = 4;

/** @param text what a camera reads @param label what is said instead of the picture */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: MARGIN });
  const side = size * SCALE;
  return html`<svg class="qr" role="img" aria-label="${label}" width="${side}" height="${side}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${pathOf(data)}"/></svg>`;
}

/** One rectangle for each run of dark modules in a row. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  const runs: string[] = [];
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      const start = x;
      while (row[x + 1]) x++;
      runs.push(`M${start} ${y}h${x - start + 1}v1h-${x - start + 1}z`);
    }
  }
  return runs.join('');
}
