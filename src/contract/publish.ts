/**
 * Publishes the OpenAPI document: `GET /openapi.json`, and pages of it below `GET /docs`.
 *
 * Guarantee: a page of `/docs` has no script, and loads only its style sheet, from this service.
 */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type Request, type Response, Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import { ApiError } from '../platform/errors.ts';
import { openAssets } from '../platform/html/assets.ts';
import { text } from '../platform/html/forms.ts';
import { PAGE_HEADERS } from '../platform/html/layout.ts';
import { type DocsPages, openDocs } from './docs/pages.ts';
import { openApiDocument } from './document.ts';

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const FOLDER = new URL('./docs/', import.meta.url);

/** `GET /openapi.json`, `GET /docs` and the pages below it, all below the path of the public address (BASE_URL). */
export function documentRoutes({ config }: { config: { baseUrl: string } }): Router {
  const path = new URL(config.baseUrl).pathname.replace(/\/$/, '');
  const assets = openAssets(FOLDER, '/docs/assets', `${path}/docs/assets`, 'PAGE-ASSET');
  const addresses = { style: assets.url('docs.css'), docs: `${path}/docs`, source: `${path}/openapi.json` };
  // Built on the first request, as few API processes ever serve it.
  const published = memo(() => openApiDocument({ version: packageJson.version, baseUrl: config.baseUrl }));
  const source = memo(() => packed(JSON.stringify(published())));
  const docs = memo((): DocsPages => openDocs(published(), addresses));
  const pages = new Map<string, Packed>();

  const router = Router();
  router.get('/openapi.json', (req, res) => {
    res.set('Cache-Control', 'no-cache').type('json');
    sendPacked(req, res, source());
  });
  router.use(assets.routes);
  router.get(['/docs', '/docs/:page'], (req, res) => {
    const name = String(req.params.page ?? '');
    const query = name === '' ? text(req.query, 'q') : '';
    const page = query === '' ? (pages.get(name) ?? packedPage(docs(), name)) : undefined;
    if (query === '' && page === undefined) throw new ApiError('NOT_FOUND', 'PAGE-ASSET', 'This page does not exist.');
    res.set({ ...PAGE_HEADERS, 'Cache-Control': 'no-cache', 'Content-Security-Policy': POLICY });
    if (page === undefined) return res.send(docs().search(query));
    pages.set(name, page);
    sendPacked(req, res, page);
  });
  return router;
}

function memo<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

interface Packed {
  identity: Buffer;
  br: Buffer;
  gzip: Buffer;
}

function packedPage(docs: DocsPages, name: string): Packed | undefined {
  const markup = docs.page(name);
  return markup === undefined ? undefined : packed(markup);
}

function packed(markup: string): Packed {
  const identity = Buffer.from(markup);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return { identity, br: brotliCompressSync(identity, quality), gzip: gzipSync(identity) };
}

function sendPacked(req: Request, res: Response, page: Packed): void {
  const encoding = (req.acceptsEncodings('br', 'gzip', 'identity') || 'identity') as keyof Packed;
  res.vary('Accept-Encoding');
  if (encoding !== 'identity') res.set('Content-Encoding', encoding);
  res.send(page[encoding]);
}
