/**
 * The files that a page of the console loads: style, scripts, logo.
 *
 * They are read and compressed at the start; TypeScript is stripped of its types. All have one hash in their address,
 * that of all of them, so relative imports between scripts work unchanged and browsers may keep every file for good.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Router } from 'express';
import { ApiError } from '../../errors.ts';
import { html } from '../../html.ts';
import type { At } from './at.ts';

const FOLDER = new URL('../browser/', import.meta.url);
const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const FOREVER = 'public, max-age=31536000, immutable';

export const LOGO = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 20V6.2C3 4.6 4.9 3.8 6 5l6 6.6L18 5c1.1-1.2 3-.4 3 1.2V20h-4v-8.3l-3.5 3.9a2 2 0 0 1-3 0L7 11.7V20z"/></svg>`;

export interface Assets {
  /** The address of a file of `src/console/browser`. */
  url(file: string): string;
  routes: Router;
}

interface Asset {
  type: string;
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
}

/** One reading for all applications of this process. */
let loaded: { files: Map<string, Asset>; hash: string } | undefined;

export function openAssets(at: At): Assets {
  loaded ??= load();
  const { files, hash } = loaded;
  const router = Router();
  router.get('/console/assets/:hash/:file', (req, res) => {
    const asset = files.get(req.params.file);
    if (!asset) throw new ApiError('NOT_FOUND', 'CONSOLE-ASSET', 'This file does not exist.');
    const encoding = req.acceptsEncodings('br', 'gzip', 'identity') || 'identity';
    // A page of another version, during an upgrade: its file must not be kept under that address.
    res
      .set('Cache-Control', req.params.hash === hash ? FOREVER : 'no-store')
      .vary('Accept-Encoding')
      .type(asset.type);
    if (encoding === 'br' || encoding === 'gzip') res.set('Content-Encoding', encoding).send(asset[encoding]);
    else res.send(asset.plain);
  });
  return {
    routes: router,
    url(file) {
      if (!files.has(file)) throw new Error(`There is no file ${file} in src/console/browser.`);
      return at(`/assets/${hash}/${file}`);
    },
  };
}

function load(): { files: Map<string, Asset>; hash: string } {
  const files = new Map<string, Asset>();
  const hash = createHash('sha256');
  for (const file of readdirSync(FOLDER).sort()) {
    const extension = file.split('.').at(-1) as string;
    const type = TYPES[extension];
    if (!type) continue;
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    const plain = Buffer.from(extension === 'ts' ? withoutTypes(text) : text);
    hash.update(file).update(plain);
    files.set(file, { type, plain, br: brotliCompressSync(plain), gzip: gzipSync(plain) });
  }
  return { files, hash: hash.digest('hex').slice(0, 16) };
}

/** Without the warning that the function is experimental: nobody who runs the service can do anything about it. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
