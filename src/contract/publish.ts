/**
 * Publishes the OpenAPI document: `GET /openapi.json`, and `GET /docs` in Swagger UI.
 *
 * Guarantee: the page of `/docs` loads everything from this service. Its Content-Security-Policy forbids other origins,
 * and inline scripts and styles.
 */
import { fileURLToPath } from 'node:url';
import { type Response, Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import { openApiDocument } from './document.ts';

/** `GET /openapi.json`. The document is built on the first request, as few API processes ever serve it. */
export function openApiRoutes({ config }: { config: { baseUrl: string } }): Router {
  const router = Router();
  let text: string | undefined;
  router.get('/openapi.json', (_req, res) => {
    text ??= JSON.stringify(openApiDocument({ version: packageJson.version, baseUrl: config.baseUrl }));
    res.set('Cache-Control', 'no-cache').type('json').send(text);
  });
  return router;
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @param path of the public address, without a slash at its end */
const pageAt = (path: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API documentation</title>
<link rel="stylesheet" href="${path}/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="${path}/docs/favicon-32x32.png">
</head>
<body>
<div id="docs"></div>
<script src="${path}/docs/swagger-ui-bundle.js"></script>
<script src="${path}/docs/start.js"></script>
</body>
</html>
`;

/** Without `validatorUrl: null`, Swagger UI sends the document to a validation service of its own. */
const startAt = (path: string) => `window.ui = SwaggerUIBundle({
  url: '${path}/openapi.json', dom_id: '#docs', deepLinking: true, docExpansion: 'list', filter: true, validatorUrl: null,
  defaultModelsExpandDepth: 0, tryItOutEnabled: false, persistAuthorization: false,
});
`;

const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

/** `GET /docs` and the files of the page, which a proxy may have put below a path (BASE_URL). */
export function docsRoutes({ config }: { config: { baseUrl: string } }): Router {
  const path = new URL(config.baseUrl).pathname.replace(/\/$/, '');
  const page = pageAt(path);
  const start = startAt(path);
  const router = Router();
  router.get('/docs', (_req, res) => {
    res.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' }).type('html').send(page);
  });
  router.get('/docs/start.js', (_req, res) => {
    mayBeKept(res).type('js').send(start);
  });
  for (const file of FILES) {
    const source = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`));
    // A parent folder may begin with a dot.
    router.get(`/docs/${file}`, (_req, res) => {
      mayBeKept(res).sendFile(source, { cacheControl: false, dotfiles: 'allow' });
    });
  }
  return router;
}

/** Allows caching for a day, as these files change only with a release. */
function mayBeKept(res: Response): Response {
  return res.set('Cache-Control', 'public, max-age=86400');
}
