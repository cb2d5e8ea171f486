/**
 * The files that pages load: style, scripts, pictures. They are read and compressed at the start; TypeScript is stripped
 * of its types, and style sheets contain those that they import. The files of a folder have one hash in their address, made of all of them, so relative imports between
 * scripts work unchanged and browsers may keep every file for good.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Router } from 'express';
import { ApiError, type IdOf } from '../errors.ts';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const FOREVER = 'public, max-age=31536000, immutable';

export interface Assets {
  /** The address of a file of the folder. */
  url(file: string): string;
  routes: Router;
}

interface Asset {
  type: string;
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
}

interface Loaded {
  files: Map<string, Asset>;
  hash: string;
}

/** By folder; read once for all applications of this process. */
const loaded = new Map<string, Loaded>();

/**
 * @param path of the files, such as `/ui/assets`
 * @param address of this path for browsers: the public address may have a path of its own
 * @param missing the id of the error for a file that is not there
 */
export function openAssets(folder: URL, path: string, address: string, missing: IdOf<'NOT_FOUND'>): Assets {
  const { files, hash } = filesOf(folder);
  const router = Router();
  router.get(`${path}/:hash/:file`, (req, res) => {
    const asset = files.get(req.params.file);
    if (!asset) throw new ApiError('NOT_FOUND', missing, 'This file does not exist.');
    const encoding = req.acceptsEncodings('br', 'gzip', 'identity') || 'identity';
    // A page of another version, during an upgrade: its file must not be kept under that address.
    res
      .set('Cache-Control', req.params.hash === hash ? FOREVER : 'no-store')
      .vary('Accept-Encoding')
      .type(asset.type);
    if (encoding === 'br' || encoding === 'gzip') res.set('Content-Encoding', encoding).send(asset[encoding]);
    else res.send(asset.plain);
  });
  return { routes: router, url: (file) => assetUrl(folder, address, file) };
}

/** The address of a file. @param address as for `openAssets` */
export function assetUrl(folder: URL, address: string, file: string): string {
  const { files, hash } = filesOf(folder);
  if (!files.has(file)) throw new Error(`There is no file ${file} in ${folder.pathname}.`);
  return `${address}/${hash}/${file}`;
}

function filesOf(folder: URL): Loaded {
  return loaded.get(folder.href) ?? load(folder);
}

function load(folder: URL): Loaded {
  const files = new Map<string, Asset>();
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) {
    const extension = file.split('.').at(-1) as string;
    const type = TYPES[extension];
    if (!type) continue;
    const text = readFileSync(new URL(file, folder), 'utf8');
    const plain = Buffer.from(
      extension === 'ts' ? withoutTypes(text) : extension === 'css' ? withImports(text, folder) : text,
    );
    hash.update(file).update(plain);
    files.set(file, { type, plain, br: brotliCompressSync(plain), gzip: gzipSync(plain) });
  }
  const all = { files, hash: hash.digest('hex').slice(0, 16) };
  loaded.set(folder.href, all);
  return all;
}

/** With the style sheets that it imports in place of their `@import`, so that a page asks for one file. */
function withImports(css: string, folder: URL): string {
  return css.replace(/^@import url\("([^"]+)"\);$/gm, (_, path) => readFileSync(new URL(path, folder), 'utf8'));
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
